//! The rows of users and permissions. All have the same prefix and are keyed by rid, so a user
//! comes before its permissions.

use std::sync::Arc;

use protocol::rid::{PermissionRid, UserRid};
use store::Batch;
use value::{Object, Value};

use crate::{
    Catalog, Version,
    child_rows::Stored,
    link::Link,
    number,
    rows::{DAMAGED, Damaged, insert_version, small, text, version},
    users::{Mode, Permission, Rights, User, key_json, partition_key},
};

impl Stored for User {
    type Rid = UserRid;

    const PREFIX: u8 = b'U';

    fn rid(&self) -> UserRid {
        self.rid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn encode(&self) -> Object {
        let mut row = Object::new();
        row.insert("id", self.id.as_str());
        insert_version(&mut row, self.version);
        row
    }

    fn decode(rid: UserRid, row: &Value) -> Result<Self, Damaged> {
        let (id, version) = (text(row, "id")?, version(row)?);
        Ok(Self { rid, id, version, permissions: Arc::default() })
    }

    fn delete_inside(&self, batch: &mut Batch) {
        self.permissions.delete_all(batch, self.rid);
    }
}

impl Stored for Permission {
    type Rid = PermissionRid;

    const PREFIX: u8 = User::PREFIX;

    fn rid(&self) -> PermissionRid {
        self.rid
    }

    fn version(&self) -> Version {
        self.version
    }

    fn encode(&self) -> Object {
        let Self { rid: _, id, version, rights, generation } = self;
        let mut row = Object::new();
        row.insert("id", id.as_str());
        insert_version(&mut row, *version);
        // Two halves, because a JSON number cannot hold all of it. Older rows have only the lower
        // half.
        row.insert("generation", number(generation & u64::from(u32::MAX)));
        row.insert("generationHigh", number(generation >> 32));
        row.insert("mode", rights.mode_word.as_str());
        row.insert("resource", rights.resource.as_str());
        if let Some(key) = &rights.key {
            row.insert("key", key_json(key));
        }
        row
    }

    fn decode(rid: PermissionRid, row: &Value) -> Result<Self, Damaged> {
        let (mode_word, resource) = (text(row, "mode")?, text(row, "resource")?);
        let rights = Rights {
            mode: Mode::parse(&mode_word).ok_or(DAMAGED)?,
            mode_word,
            link: Link::parse(&resource).map_err(|_| DAMAGED)?,
            resource,
            key: partition_key(row.get("key")).map_err(|_| DAMAGED)?,
        };
        let high = match row.get("generationHigh") {
            Value::Undefined => 0,
            _ => small(row, "generationHigh")?,
        };
        let generation = u64::from(high) << 32 | u64::from(small(row, "generation")?);
        Ok(Self { rid, id: text(row, "id")?, version: version(row)?, rights, generation })
    }
}

/// Decodes one of these rows. Databases are loaded first, and a user before its permissions. A
/// build older than users may have left rows of a deleted database behind; they have no owner.
pub(crate) fn load(catalog: &mut Catalog, key: &[u8], row: &[u8]) -> Result<(), Damaged> {
    let rid = &key[1..];
    let owner = UserRid::from_bytes(rid.get(..8).unwrap_or_default()).ok_or(DAMAGED)?;
    let Some(database) = catalog.database_mut(owner.database) else { return Ok(()) };
    let users = Arc::make_mut(&mut database.users);
    if rid.len() == 8 {
        return users.load(owner, row);
    }
    let rid = PermissionRid::from_bytes(rid).ok_or(DAMAGED)?;
    let user = users.numbered_mut(owner.number.into()).ok_or(DAMAGED)?;
    Arc::make_mut(&mut user.permissions).load(rid, row)
}
