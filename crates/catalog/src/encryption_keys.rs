//! The client encryption keys of a database. They are wrapped with a key that only clients have, so
//! the server can neither use nor check them.

use bytes::Bytes;
use protocol::rid::EncryptionKeyRid;
use value::{Object, Value};

use crate::{
    Version,
    child_rows::Stored,
    children::Child,
    number, quoted,
    rows::{self, Damaged},
    to_bytes,
};

/// A client encryption key.
#[derive(Clone, Debug)]
pub struct EncryptionKey {
    /// The key's number in its database.
    pub rid: EncryptionKeyRid,
    /// The name by which encryption policies refer to the key.
    pub id: String,
    /// The version of the key; it changes when a client rewraps the key.
    pub version: Version,
    /// When it was created, in seconds.
    pub created: u64,
    /// Everything that the client sent, unchanged.
    pub properties: Object,
}

impl Child for EncryptionKey {
    fn number(&self) -> u64 {
        self.rid.number.into()
    }

    fn id(&self) -> &str {
        &self.id
    }
}

impl Stored for EncryptionKey {
    type Rid = EncryptionKeyRid;

    const PREFIX: u8 = b'E';

    fn rid(&self) -> EncryptionKeyRid {
        self.rid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn encode(&self) -> Object {
        let mut row = Object::new();
        rows::insert_version(&mut row, self.version);
        row.insert("created", number(self.created));
        row.insert("properties", Value::Object(self.properties.clone()));
        row
    }

    fn decode(rid: EncryptionKeyRid, row: &Value) -> Result<Self, Damaged> {
        let properties = rows::object(row, "properties")?;
        let id = rows::text(row.get("properties"), "id")?;
        let version = rows::version(row)?;
        // Earlier builds did not store it.
        let created = row.get("created").as_i64().and_then(|seconds| u64::try_from(seconds).ok());
        Ok(Self { rid, id, version, created: created.unwrap_or(version.ts), properties })
    }
}

impl EncryptionKey {
    /// The key's `_self`: its path by rids, with a slash at the end.
    pub fn self_link(&self) -> String {
        format!("dbs/{}/clientencryptionkeys/{}/", self.rid.database, self.rid)
    }

    /// The key as clients see it: what they sent, with system properties.
    pub fn to_json(&self) -> Bytes {
        let mut object = self.properties.clone();
        object.insert("_rid", self.rid.to_string());
        object.insert("_self", self.self_link());
        object.insert("_etag", quoted(self.version.etag));
        object.insert("_ts", number(self.version.ts));
        object.insert("_cts", number(self.created));
        to_bytes(object)
    }
}
