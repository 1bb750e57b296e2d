//! The client encryption keys of a database. They cannot be deleted, as in the service: data
//! encrypted with a deleted key would be unreadable.

use std::sync::Arc;

use bytes::Bytes;
use catalog::{
    Catalog, Database, Version,
    children::Children,
    definition::{missing, shown, validate_name},
    encryption_keys::EncryptionKey,
};
use protocol::{
    Error, Options,
    continuation::Feed,
    limits::{ENCRYPTION_KEY_BYTES_MAX, ENCRYPTION_KEYS_MAX},
    request::{DatabasePath, EncryptionKeyPath},
    response::FeedKind,
    rid::{DatabaseRid, EncryptionKeyRid},
};
use value::{Object, Value};

use catalog::bodies;

use crate::family::Family;

/// Properties that only the server sets.
const SYSTEM: [&str; 5] = ["_rid", "_self", "_etag", "_ts", "_cts"];

/// The keys of this database.
pub(crate) struct EncryptionKeys(pub(crate) DatabasePath);

impl Family for EncryptionKeys {
    type Path = EncryptionKeyPath;
    type Parent = Arc<Database>;
    type Child = EncryptionKey;
    /// The name, and everything else that the client sends.
    type Draft = (String, Object);

    fn of(path: EncryptionKeyPath) -> (Self, String) {
        (Self(path.database), path.key)
    }

    fn feed(&self) -> (Feed, FeedKind) {
        (Feed::ClientEncryptionKeys, FeedKind::ClientEncryptionKeys)
    }

    fn limit(&self) -> (usize, &'static str, &'static str) {
        (ENCRYPTION_KEYS_MAX, "database", "client encryption keys")
    }

    fn parent(&self, catalog: &Catalog, _: &Options) -> Result<Arc<Database>, Error> {
        catalog.database(&self.0).cloned().ok_or_else(Error::owner_not_found)
    }

    fn parent_rid(&self, database: &Arc<Database>) -> DatabaseRid {
        database.rid
    }

    fn children<'a>(&self, database: &'a Arc<Database>) -> &'a Children<EncryptionKey> {
        &database.encryption_keys
    }

    fn children_mut<'a>(&self, database: &'a mut Arc<Database>) -> &'a mut Children<EncryptionKey> {
        Arc::make_mut(&mut Arc::make_mut(database).encryption_keys)
    }

    fn parse(&self, body: &[u8]) -> Result<(String, Object), Error> {
        parse(body)
    }

    fn id((id, _): &(String, Object)) -> &str {
        id
    }

    fn make(
        (id, properties): (String, Object),
        rid: EncryptionKeyRid,
        version: Version,
        old: Option<&EncryptionKey>,
    ) -> EncryptionKey {
        let created = old.map_or(version.ts, |old| old.created);
        EncryptionKey { rid, id, version, created, properties }
    }

    fn to_json(key: &EncryptionKey, _: &Options) -> Bytes {
        key.to_json()
    }

    /// Collection policies refer to keys by name.
    fn check_name(
        id: &str,
        old: &EncryptionKey,
        _: Option<&Arc<EncryptionKey>>,
    ) -> Result<(), Error> {
        if id == old.id {
            return Ok(());
        }
        Err(Error::bad_request("The id of a client encryption key cannot be changed."))
    }
}

/// Parses the body of a request into the name and everything else that the client sends.
fn parse(text: &[u8]) -> Result<(String, Object), Error> {
    bodies::check_size(text, ENCRYPTION_KEY_BYTES_MAX)?;
    let body = bodies::parse(text)?;
    let id = validate_name(body.get("id"))?;
    for name in ["encryptionAlgorithm", "wrappedDataEncryptionKey"] {
        bodies::string(&body, name)?;
    }
    match body.get("keyWrapMetadata") {
        Value::Undefined | Value::Null => return Err(missing("keyWrapMetadata")),
        Value::Object(_) => {}
        _ => {
            return Err(Error::bad_request("The property 'keyWrapMetadata' must be an object."));
        }
    }
    Ok((id, bodies::properties(body, &SYSTEM)?))
}

/// Refuses a new collection's policy if it names keys that the database does not have. Only ids
/// count: clients look keys up by them.
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
