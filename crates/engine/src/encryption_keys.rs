//! Client encryption keys: create, read, replace, list. There is no delete, with the service neither:
//! what a key encrypted could not be read any more.

use std::sync::Arc;

use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response,
    continuation::Feed,
    limits::{ENCRYPTION_KEY_BYTES_MAX, ENCRYPTION_KEYS_MAX},
    request::{DatabasePath, EncryptionKeyPath},
    response::FeedKind,
    rid::EncryptionKeyRid,
};
use store::Batch;
use value::{Object, Value, json};

use crate::{
    Inner,
    catalog::{
        Catalog, Database,
        children::Child as _,
        encryption_keys::EncryptionKey,
        storage::{put_encryption_key, put_next_encryption_key},
    },
    charge::Meter,
    control::{AsyncPlan, Change},
    databases::invalid_body,
    definition::{missing, shown, validate_name},
    feeds::{Page, is_unchanged, require_match},
};

/// What the server says of a key, whatever the client says.
const SYSTEM: [&str; 4] = ["_rid", "_self", "_etag", "_ts"];

/// A key and the database that it belongs to.
struct Found {
    database: Arc<Database>,
    key: Arc<EncryptionKey>,
}

/// Reads the body of a request: the name, and all that the client says.
fn parse(text: &[u8]) -> Result<(String, Object), Error> {
    if text.len() > ENCRYPTION_KEY_BYTES_MAX {
        return Err(Error::new(Code::TooLarge, "Request size is too large"));
    }
    let body = json::parse(text).map_err(|error| invalid_body(&error))?;
    let id = validate_name(body.get("id"))?;
    for name in ["encryptionAlgorithm", "wrappedDataEncryptionKey"] {
        match body.get(name) {
            Value::Undefined | Value::Null => return Err(missing(name)),
            Value::String(_) => {}
            _ => return Err(wrong(name, "a string")),
        }
    }
    match body.get("keyWrapMetadata") {
        Value::Undefined | Value::Null => return Err(missing("keyWrapMetadata")),
        Value::Object(_) => {}
        _ => return Err(wrong("keyWrapMetadata", "an object")),
    }
    let Value::Object(mut properties) = body else {
        return Err(Error::bad_request("The input content is invalid: it is no object."));
    };
    for name in SYSTEM {
        properties.remove(name);
    }
    Ok((id, properties))
}

fn wrong(name: &str, wanted: &str) -> Error {
    Error::bad_request(format!("The property '{name}' must be {wanted}."))
}

pub(crate) async fn create(
    engine: &Arc<Inner>,
    database: DatabasePath,
    (body, upsert): (&[u8], bool),
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let (id, properties) = parse(body)?;
    let created = engine.change(Create { database, id, properties, upsert, options }).await;
    let (outcome, found) = meter.metadata_write(created)?;
    Ok(answer(outcome, &found))
}

struct Create {
    database: DatabasePath,
    id: String,
    properties: Object,
    upsert: bool,
    options: Options,
}

impl AsyncPlan<(Outcome, Found)> for Create {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let database = catalog.database(&self.database).ok_or_else(Error::owner_not_found)?;
        let mut database = Database::clone(database);
        // By rid too: a name must not take over another key's links.
        if let Some(old) = database.encryption_key(&self.id).cloned() {
            if !self.upsert || old.id != self.id {
                return Err(Error::new(
                    Code::Conflict,
                    "Resource with specified id or name already exists.",
                ));
            }
            require_match(&self.options, old.version.etag)?;
            let key = changed(engine, &old, self.properties);
            return Ok(put(catalog, Batch::default(), database, key, Outcome::Ok));
        }
        if database.encryption_keys.len() >= ENCRYPTION_KEYS_MAX {
            return Err(Error::new(
                Code::LimitReached,
                format!(
                    "A database may have at most {ENCRYPTION_KEYS_MAX} client encryption keys."
                ),
            ));
        }
        let owner = database.rid;
        // The numbers of a database's keys are far from the end of 32 bits: each is a commit.
        let rid = |number: u64| EncryptionKeyRid {
            database: owner,
            number: u32::try_from(number).unwrap_or(u32::MAX),
        };
        let keys = Arc::make_mut(&mut database.encryption_keys);
        let rid = rid(keys.take_number(|number| rid(number).to_string()));
        let mut batch = Batch::default();
        put_next_encryption_key(&mut batch, &database);
        let (id, version, properties) = (self.id, engine.new_version(), self.properties);
        let key = EncryptionKey { rid, id, version, properties };
        Ok(put(catalog, batch, database, key, Outcome::Created))
    }
}

/// The key with other properties.
fn changed(engine: &Inner, old: &EncryptionKey, properties: Object) -> EncryptionKey {
    EncryptionKey { rid: old.rid, id: old.id.clone(), version: engine.new_version(), properties }
}

/// Puts a key in its place, new or changed. The database's own version stays.
fn put(
    mut catalog: Catalog,
    mut batch: Batch,
    mut database: Database,
    key: EncryptionKey,
    outcome: Outcome,
) -> Change<(Outcome, Found)> {
    put_encryption_key(&mut batch, &key);
    let key = Arc::new(key);
    Arc::make_mut(&mut database.encryption_keys).insert(Arc::clone(&key));
    let database = Arc::new(database);
    catalog.insert_database(Arc::clone(&database));
    Change::new(batch, catalog, (outcome, Found { database, key }))
}

fn find(catalog: &Catalog, path: &EncryptionKeyPath) -> Result<Found, Error> {
    let database = catalog.database(&path.database).ok_or_else(Error::owner_not_found)?;
    let key = database.encryption_key(&path.key).ok_or_else(Error::not_found)?;
    Ok(Found { database: Arc::clone(database), key: Arc::clone(key) })
}

pub(crate) fn read(
    engine: &Inner,
    path: &EncryptionKeyPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let found = find(&engine.catalog(), path)?;
    if is_unchanged(options, found.key.version.etag) {
        return Ok(Response { body: Body::Empty, ..answer(Outcome::NotModified, &found) });
    }
    Ok(answer(Outcome::Ok, &found))
}

pub(crate) async fn replace(
    engine: &Arc<Inner>,
    path: EncryptionKeyPath,
    body: &[u8],
    options: Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let (id, properties) = parse(body)?;
    let replaced = engine.change(Replace { path, id, properties, options }).await;
    let (outcome, found) = meter.metadata_write(replaced)?;
    Ok(answer(outcome, &found))
}

struct Replace {
    path: EncryptionKeyPath,
    id: String,
    properties: Object,
    options: Options,
}

impl AsyncPlan<(Outcome, Found)> for Replace {
    async fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> Result<Change<(Outcome, Found)>, Error> {
        let Found { database, key: old } = find(&catalog, &self.path)?;
        require_match(&self.options, old.version.etag)?;
        if self.id != old.id {
            // Policies of collections name it.
            return Err(Error::bad_request("The id of a client encryption key cannot be changed."));
        }
        let key = changed(engine, &old, self.properties);
        Ok(put(catalog, Batch::default(), Database::clone(&database), key, Outcome::Ok))
    }
}

pub(crate) fn list(
    engine: &Inner,
    path: &DatabasePath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    meter.metadata_read();
    let catalog = engine.catalog();
    let database = catalog.database(path).ok_or_else(Error::owner_not_found)?;
    let items = database.encryption_keys.iter().map(|key| (key.number(), key));
    let print = |key: &Arc<EncryptionKey>| key.to_json();
    let feed = Feed::ClientEncryptionKeys;
    let page = Page::take(feed, &database.rid.bytes(), options, items, print)?;
    let meta = Meta { owner: Some(database.owner()), ..Meta::default() };
    Ok(page.answer(database.rid.to_string(), FeedKind::ClientEncryptionKeys, meta))
}

/// Refuses the keys of a new collection's policy that the database does not have. Only ids count:
/// clients look keys up by them.
pub(crate) fn check_known(database: &Database, ids: &[&str]) -> Result<(), Error> {
    let unknown: Vec<&str> =
        ids.iter().copied().filter(|id| database.encryption_keys.named(id).is_none()).collect();
    if unknown.is_empty() {
        return Ok(());
    }
    let list = unknown.join(", ");
    let message = format!("ClientEncryptionKey with id '[{}]' does not exist.", shown(&list));
    Err(Error::bad_request(message))
}

fn answer(outcome: Outcome, found: &Found) -> Response {
    Response {
        outcome,
        body: Body::Resource(found.key.to_json()),
        etag: Some(found.key.version.etag.to_string()),
        continuation: None,
        meta: Meta { owner: Some(found.database.owner()), ..Meta::default() },
    }
}
