//! The definition of a collection: what a client posts or puts, checked and normalised the way the
//! service does it. One file for each policy; in reading order:
//! - `read`: typed access to what the client sent,
//! - `name`: names of databases and collections, ids of documents,
//! - `partition_key`, `unique_key`: fixed at creation,
//! - `indexing` with `index_path`: which values are indexed,
//! - `legacy_index`, `composite`, `spatial`, `vector`, `full_text`: the special indexes,
//! - `encryption`: what clients encrypt,
//! - `ttl`, `change_feed`, `conflict`, `computed_property`, `kept`: the rest.
//!
//! A definition is rebuilt from its own JSON at every start, so normalising must be idempotent and
//! must keep accepting whatever it once returned. Rules added later apply only to what clients send
//! (`check_new`).

mod change_feed;
mod composite;
mod computed_property;
mod conflict;
mod encryption;
mod full_text;
mod index_path;
mod indexing;
mod kept;
mod legacy_index;
mod name;
pub mod partition_key;
mod read;
mod spatial;
mod ttl;
mod unique_key;
mod vector;

use std::sync::Arc;

use index::Policy;
use protocol::Error;
use sql::program::Computed;
use value::path::Path;
use value::{Object, Value};

pub use name::{missing, validate_document_id, validate_name};
pub use partition_key::PartitionKeyDefinition;
pub use read::shown;

/// The properties that the service adds at the top level of every document.
const SYSTEM_PROPERTIES: [&str; 5] = ["_rid", "_self", "_etag", "_ts", "_attachments"];

/// Where a definition comes from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Source {
    /// From the store: already normalised, and documents follow it.
    Stored,
    /// From a client.
    Client {
        /// Whether the client still knows the `indexes` of included paths.
        keeps_legacy_indexes: bool,
    },
}

/// A collection's settings, as its creator wants them.
#[derive(Clone, Debug)]
pub struct Definition {
    /// The name.
    pub id: String,
    /// The partition key paths. They never change, except that a collection without a partition key
    /// can be given one.
    pub partition_key: PartitionKeyDefinition,
    /// Which values of a document are indexed.
    pub indexing: Arc<Policy>,
    /// Seconds after which documents expire; `None` if they never do, -1 if only those with their
    /// own `ttl` do.
    pub default_ttl: Option<i32>,
    /// For how many minutes the change feed keeps every version of a document; `None` if it keeps
    /// only the latest.
    pub history_minutes: Option<u32>,
    /// The paths of each unique key. Never changes.
    pub unique_keys: Vec<Vec<Path>>,
    /// The named expressions that queries use like properties.
    pub computed: Vec<Computed>,
    /// Whether shapes are on a plane instead of on the Earth.
    pub is_geometry: bool,
    /// The properties as returned to clients, in the service's order and without system properties.
    pub json: Object,
}

impl Definition {
    /// The definition that a POST requests. `partition_key_optional` is for clients from the time
    /// when a collection did not need a partition key.
    pub fn create(body: &Value, partition_key_optional: bool) -> Result<Self, Error> {
        let id = validate_name(body.get("id"))?;
        change_feed::check(body.get("changeFeedPolicy"))?;
        let partition_key =
            partition_key::create(body.get("partitionKey"), partition_key_optional)?;
        let unique_keys = unique_key::parse(body.get("uniqueKeyPolicy"))?;
        let computed =
            computed_property::compile(body.get("computedProperties"), &partition_key.0)?;
        partition_key::check_new(&partition_key.0)?;
        let source = Source::Client { keeps_legacy_indexes: true };
        let definition = Self::build(body, id, partition_key, unique_keys, source)?;
        definition.check_new(&Object::new())?;
        computed_property::check_spatial(&computed, definition.json.get("indexingPolicy"))?;
        encryption::check_new(body.get("clientEncryptionPolicy"), &definition.partition_key.paths)?;
        Ok(Self { computed, ..definition })
    }

    /// The definition that a PUT requests. The id, the partition key, the unique keys, the conflict
    /// resolution, the client encryption, and the vectors of paths that stay must not change;
    /// everything else is replaced, and omitted properties return to their defaults. The `indexes`
    /// of included paths vanish unless `keeps_legacy_indexes`.
    pub fn replace(&self, body: &Value, keeps_legacy_indexes: bool) -> Result<Self, Error> {
        let id = validate_name(body.get("id"))?;
        if id != self.id {
            return Err(Error::bad_request("the id of a collection cannot be changed"));
        }
        change_feed::check(body.get("changeFeedPolicy"))?;
        partition_key::check_unchanged(&self.partition_key, body.get("partitionKey"))?;
        unique_key::check_unchanged(&self.unique_keys, body.get("uniqueKeyPolicy"))?;
        vector::check_unchanged(&self.json, body)?;
        conflict::check_unchanged(&self.json, body.get("conflictResolutionPolicy"))?;
        encryption::check_unchanged(&self.json, body.get("clientEncryptionPolicy"))?;
        // Keep the stored spelling of the parts that cannot change.
        let stored = |name: &str| self.json.get(name).unwrap_or(&Value::Undefined);
        let partition_key = partition_key::create(stored("partitionKey"), false)?;
        let unique_keys = unique_key::parse(stored("uniqueKeyPolicy"))?;
        let computed =
            computed_property::compile(body.get("computedProperties"), &partition_key.0)?;
        let source = Source::Client { keeps_legacy_indexes };
        let definition = Self::build(body, id, partition_key, unique_keys, source)?;
        definition.check_new(&self.json)?;
        computed_property::check_spatial(&computed, definition.json.get("indexingPolicy"))?;
        Ok(Self { computed, ..definition })
    }

    /// Applies rules that only clients must obey, not stored definitions. `current` is the
    /// collection's previous definition, whose violations may stay.
    fn check_new(&self, current: &Object) -> Result<(), Error> {
        let member = |object: &'_ Object, name: &str| object.get(name).cloned().unwrap_or_default();
        if let Some(Value::Object(indexing)) = self.json.get("indexingPolicy") {
            vector::check_new(indexing, &member(current, "indexingPolicy"))?;
        }
        let full_text = self.json.get("fullTextPolicy");
        full_text::check_languages(full_text, &member(current, "fullTextPolicy"))?;
        match self.json.get("conflictResolutionPolicy") {
            Some(policy) if current.is_empty() => conflict::check_new(policy),
            _ => Ok(()),
        }
    }

    /// The client encryption keys that the definition uses.
    pub fn encryption_keys(&self) -> Vec<&str> {
        encryption::keys(&self.json)
    }

    /// This definition with a partition key, for a collection that has none.
    pub fn with_partition_key(&self, value: &Value) -> Result<Self, Error> {
        if !self.partition_key.is_system {
            return Err(Error::bad_request(
                "The collection already has a partition key, which cannot be changed.",
            ));
        }
        let mut json = self.json.clone();
        json.insert("partitionKey", value.clone());
        let json = Value::Object(json);
        // Everything else was checked before. Computed properties must not have the key's name.
        let key = partition_key::create(value, false)?;
        partition_key::check_new(&key.0)?;
        computed_property::compile(json.get("computedProperties"), &key.0)?;
        // A property whose encryption is randomized cannot become the key.
        encryption::check_new(json.get("clientEncryptionPolicy"), &key.0.paths)?;
        let definition = Self::restore(&json)?;
        if definition.partition_key.is_system {
            return Err(Error::bad_request(
                "`partitionKey.systemKey` means that there is no partition key: omit it.",
            ));
        }
        Ok(definition)
    }

    /// Restores a definition from its stored [`json`](Self::json).
    pub(crate) fn restore(json: &Value) -> Result<Self, Error> {
        let id = validate_name(json.get("id"))?;
        let partition_key = partition_key::create(json.get("partitionKey"), false)?;
        let unique_keys = unique_key::parse(json.get("uniqueKeyPolicy"))?;
        let properties = json.get("computedProperties");
        let computed = computed_property::compile(properties, &partition_key.0).unwrap_or_default();
        let definition = Self::build(json, id, partition_key, unique_keys, Source::Stored)?;
        Ok(Self { computed, ..definition })
    }

    /// Builds a definition from the fixed parts and the rest of the body; the caller adds the
    /// computed properties.
    fn build(
        body: &Value,
        id: String,
        (partition_key, partition_key_json): (PartitionKeyDefinition, Object),
        (unique_keys, unique_keys_json): (Vec<Vec<Path>>, Object),
        source: Source,
    ) -> Result<Self, Error> {
        let (is_geometry, geospatial) = spatial::parse_config(body.get("geospatialConfig"))?;
        let (policy, paths) = (body.get("indexingPolicy"), &partition_key.paths);
        let (indexing, indexing_json) = match source {
            Source::Stored => indexing::parse(policy, is_geometry, paths)?,
            Source::Client { keeps_legacy_indexes } => {
                indexing::parse_new(policy, is_geometry, paths, keeps_legacy_indexes)?
            }
        };
        let default_ttl = ttl::parse_default(body.get("defaultTtl"))?;
        if default_ttl.is_some() && indexing.is_none() {
            return Err(Error::bad_request(
                "`defaultTtl` needs an indexing mode other than `none`",
            ));
        }
        let vectors = vector::parse_policy(body.get("vectorEmbeddingPolicy"))?;
        vector::check_indexes(&indexing_json, vectors.as_ref())?;
        let full_text = full_text::parse_policy(body.get("fullTextPolicy"))?;
        full_text::check_indexes(&indexing_json, full_text.as_ref())?;

        let mut json = Object::new();
        json.insert("id", id.as_str());
        json.insert("indexingPolicy", indexing_json);
        json.insert("partitionKey", partition_key_json);
        if let Some(seconds) = default_ttl {
            json.insert("defaultTtl", i64::from(seconds));
        }
        if let Some(path) = ttl::parse_property_path(body.get("ttlPropertyPath"), default_ttl)? {
            json.insert("ttlPropertyPath", path);
        }
        json.insert("uniqueKeyPolicy", unique_keys_json);
        json.insert(
            "conflictResolutionPolicy",
            conflict::parse(body.get("conflictResolutionPolicy"))?,
        );
        json.insert("geospatialConfig", geospatial);
        let optional = [
            ("analyticalStorageTtl", ttl::parse_analytical(body.get("analyticalStorageTtl"))?),
            ("computedProperties", computed_property::parse(body.get("computedProperties"))?),
            ("vectorEmbeddingPolicy", vectors),
            ("fullTextPolicy", full_text),
        ];
        for (name, value) in optional {
            if let Some(value) = value {
                json.insert(name, value);
            }
        }
        for (name, policy) in kept::parse(body)? {
            json.insert(name, policy);
        }
        Ok(Definition {
            id,
            partition_key,
            indexing,
            default_ttl,
            history_minutes: change_feed::retention(body.get("changeFeedPolicy")),
            unique_keys,
            computed: Vec::new(),
            is_geometry,
            json,
        })
    }
}

#[cfg(test)]
mod tests;
