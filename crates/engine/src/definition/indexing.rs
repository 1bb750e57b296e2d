//! `indexingPolicy`: which values of a document are indexed. Modern, 2015 and camel- or
//! Pascal-cased spellings are accepted; what is returned is always the modern one.

use std::collections::BTreeMap;

use protocol::Error;
use value::{Object, Value};

use super::index_path::IndexPath;
use super::index_tree::Tree;
use super::partition_key::PartitionKeyDefinition;
use super::{composite, full_text, legacy_index, read, spatial, vector};

/// Most entries in each of the two lists of paths.
const PATHS_MAX: usize = 1500;

/// The path that the service excludes unless the client mentions it: etags are never searched.
const ETAG_PATH: &str = "/\"_etag\"/?";

/// Which values of a document are indexed.
#[derive(Clone, Debug)]
pub(crate) struct IndexingPolicy {
    /// Whether and when.
    pub mode: IndexingMode,
    /// Whether a document is indexed when the request does not say.
    pub automatic: bool,
    tree: Tree,
}

/// Whether and when documents are indexed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum IndexingMode {
    /// With the write.
    Consistent,
    /// COMPAT: an old mode that indexed later. It is kept and returned, and indexes with the write.
    Lazy,
    /// Never: documents are read by id, or scanned.
    None,
}

impl IndexingPolicy {
    /// How many scalar values of a document the policy indexes; the charge of a write counts them.
    /// Each element of an array counts. The id and the partition key are indexed whatever the
    /// paths say, as long as anything is. A document that the policy leaves to the request
    /// (`automatic` is false) counts as not asked for.
    pub(crate) fn indexed_values(
        &self,
        document: &Value,
        partition_key: &PartitionKeyDefinition,
    ) -> usize {
        if self.mode == IndexingMode::None {
            return 0;
        }
        let mut count = if self.automatic { self.tree.count(document) } else { 0 };
        if is_scalar(document.get("id")) && !self.counts(&["id"]) {
            count += 1;
        }
        for path in &partition_key.paths {
            let names = path.segments();
            let is_id = matches!(names, [name] if name == "id");
            if !is_id && is_scalar(document.at(path)) && !self.counts(names) {
                count += 1;
            }
        }
        count
    }

    /// Whether the paths alone index a scalar behind these property names.
    fn counts<S: AsRef<str>>(&self, names: &[S]) -> bool {
        self.automatic && self.tree.includes(names)
    }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Undefined | Value::Array(_) | Value::Object(_))
}

/// The policy, and its JSON as the service returns it. `is_geometry` is the collection's kind of
/// spatial data.
pub(super) fn parse(value: &Value, is_geometry: bool) -> Result<(IndexingPolicy, Object), Error> {
    if let Some(value) = read::given(value) {
        read::object(value, "indexingPolicy")?;
    }
    let (mode, mode_name) = parse_mode(value)?;
    let automatic = match read::member(value, "automatic") {
        Some(flag) => read::flag(flag, "indexingPolicy.automatic")?,
        None => mode != IndexingMode::None,
    };
    let mut paths = Paths::default();
    let included = paths.read(value, "includedPaths", true)?;
    let excluded = paths.read(value, "excludedPaths", false)?;
    let (included, excluded) = paths.complete(mode, automatic, included, excluded)?;

    let mut json = Object::new();
    json.insert("indexingMode", mode_name);
    json.insert("automatic", automatic);
    json.insert("includedPaths", included);
    json.insert("excludedPaths", excluded);
    let special = [
        ("compositeIndexes", composite::parse(read::member(value, "compositeIndexes"))?),
        ("spatialIndexes", spatial::parse(read::member(value, "spatialIndexes"), is_geometry)?),
        ("vectorIndexes", vector::parse_indexes(read::member(value, "vectorIndexes"))?),
        ("fullTextIndexes", full_text::parse_indexes(read::member(value, "fullTextIndexes"))?),
    ];
    for (name, indexes) in special {
        if let Some(indexes) = indexes {
            json.insert(name, indexes);
        }
    }
    let tree = Tree::new(paths.0.iter().map(|(path, is_included)| (path, *is_included)));
    Ok((IndexingPolicy { mode, automatic, tree }, json))
}

fn parse_mode(value: &Value) -> Result<(IndexingMode, &'static str), Error> {
    let Some(mode) = read::member(value, "indexingMode") else {
        return Ok((IndexingMode::Consistent, "consistent"));
    };
    let names = ["consistent", "lazy", "none"];
    let name = read::choice(mode, "indexingPolicy.indexingMode", &names)?;
    let mode = match name {
        "none" => IndexingMode::None,
        "lazy" => IndexingMode::Lazy,
        _ => IndexingMode::Consistent,
    };
    Ok((mode, name))
}

/// All paths of a policy; the flag tells the included ones from the excluded.
#[derive(Default)]
struct Paths(BTreeMap<IndexPath, bool>);

impl Paths {
    /// Reads one of the two lists, and answers with its normalised JSON.
    fn read(&mut self, policy: &Value, list: &str, is_included: bool) -> Result<Vec<Value>, Error> {
        let Some(value) = read::member(policy, list) else { return Ok(Vec::new()) };
        let mut entries = Vec::new();
        for entry in read::bounded_array(value, list, PATHS_MAX)? {
            read::object(entry, list)?;
            let path = read::member(entry, "path").unwrap_or(&Value::Undefined);
            let path = read::text(path, &format!("{list}.path"))?;
            self.add(path, is_included)?;
            let mut json = Object::new();
            json.insert("path", path);
            if let Some(indexes) = read::member(entry, "indexes").filter(|_| is_included)
                && let Some(indexes) = legacy_index::parse(indexes)?
            {
                json.insert("indexes", indexes);
            }
            entries.push(json.into());
        }
        Ok(entries)
    }

    fn add(&mut self, text: &str, is_included: bool) -> Result<(), Error> {
        let path = IndexPath::parse(text)?;
        let text = read::shown(text);
        if !is_included && !path.tuple.is_empty() {
            return Err(Error::bad_request(format!("the tuple `{text}` cannot be excluded")));
        }
        match self.0.insert(path, is_included) {
            None => Ok(()),
            Some(previous) if previous == is_included => {
                Err(Error::bad_request(format!("the indexing path `{text}` stands twice")))
            }
            Some(_) => Err(Error::bad_request(format!(
                "the indexing path `{text}` is both included and excluded"
            ))),
        }
    }

    /// Adds what the service adds to the two lists, and refuses what does not fit together.
    fn complete(
        &mut self,
        mode: IndexingMode,
        automatic: bool,
        mut included: Vec<Value>,
        mut excluded: Vec<Value>,
    ) -> Result<(Vec<Value>, Vec<Value>), Error> {
        if mode == IndexingMode::None {
            if automatic || !self.0.is_empty() {
                return Err(Error::bad_request(
                    "the indexing mode `none` needs `automatic` to be false, and no paths",
                ));
            }
            return Ok((included, excluded));
        }
        let path_entry =
            |path: &str| Value::from(Object::from_iter([("path".into(), path.into())]));
        if self.0.is_empty() {
            self.add("/*", true)?;
            included.push(path_entry("/*"));
        }
        if !self.0.keys().any(IndexPath::is_root) {
            return Err(Error::bad_request(
                "The special mandatory indexing path \"/\" is not provided in any of the path type \
                 sets. Please provide this path in one of the sets.",
            ));
        }
        if !self.0.keys().any(|path| path.starts_at("_etag")) {
            self.add(ETAG_PATH, false)?;
            excluded.push(path_entry(ETAG_PATH));
        }
        Ok((included, excluded))
    }
}

#[cfg(test)]
mod tests;
