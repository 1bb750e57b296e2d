//! The client encryption keys of a database. They are wrapped by a key that only clients have, so
//! the server can neither use nor check them.

use bytes::Bytes;
use protocol::rid::EncryptionKeyRid;
use value::Object;

use crate::catalog::{Version, children::Child, number, quoted, to_bytes};

/// One key.
#[derive(Clone, Debug)]
pub(crate) struct EncryptionKey {
    pub(crate) rid: EncryptionKeyRid,
    pub(crate) id: String,
    pub(crate) version: Version,
    /// Everything that the client sent, as it was sent.
    pub(crate) properties: Object,
}

impl Child for EncryptionKey {
    fn number(&self) -> u64 {
        self.rid.number.into()
    }

    fn id(&self) -> &str {
        &self.id
    }
}

impl EncryptionKey {
    pub(crate) fn self_link(&self) -> String {
        format!("dbs/{}/clientencryptionkeys/{}/", self.rid.database, self.rid)
    }

    pub(crate) fn to_json(&self) -> Bytes {
        let mut object = self.properties.clone();
        object.insert("_rid", self.rid.to_string());
        object.insert("_self", self.self_link());
        object.insert("_etag", quoted(self.version.etag));
        object.insert("_ts", number(self.version.ts));
        to_bytes(object)
    }
}
