//! The rows of users and permissions. All have one prefix and lie under their rids: a user, then its
//! permissions. In the place of number 0 is the next number.

use std::sync::Arc;

use bytes::Bytes;
use protocol::rid::{DatabaseRid, PermissionRid, UserRid};
use store::Batch;
use value::{Object, Value, json};

use crate::{
    OpenError,
    access::link::Link,
    catalog::{
        Catalog, Database, number,
        rows::{insert_version, small, text, version},
        to_bytes,
        users::{Mode, Permission, Rights, User, key_json},
    },
    keys::u64_at,
    rows::Damaged,
    users::definition::partition_key,
};

/// A user (8 bytes follow) or a permission (16).
pub(crate) const USER: u8 = b'U';

fn key(rid: &[u8]) -> Vec<u8> {
    [&[USER], rid].concat()
}

fn next_user(database: DatabaseRid) -> UserRid {
    UserRid { database, number: 0 }
}

fn next_permission(user: UserRid) -> PermissionRid {
    PermissionRid { user, number: 0 }
}

pub(crate) fn put_user(batch: &mut Batch, user: &User) {
    let mut row = Object::new();
    row.insert("id", user.id.as_str());
    insert_version(&mut row, user.version);
    batch.put(key(&user.rid.bytes()), to_bytes(row));
}

/// Removes a user with everything that it has.
pub(crate) fn delete_user(batch: &mut Batch, user: &User) {
    batch.delete(key(&user.rid.bytes()));
    for permission in user.permissions.iter() {
        delete_permission(batch, permission);
    }
    batch.delete(key(&next_permission(user.rid).bytes()));
}

/// Removes the users of a database that goes.
pub(crate) fn delete_users(batch: &mut Batch, database: &Database) {
    for user in database.users.iter() {
        delete_user(batch, user);
    }
    batch.delete(key(&next_user(database.rid).bytes()));
}

/// The next number of a database's users, whenever one is created.
pub(crate) fn put_next_user(batch: &mut Batch, database: &Database) {
    let next = database.users.next().to_be_bytes();
    batch.put(key(&next_user(database.rid).bytes()), next.to_vec());
}

pub(crate) fn put_permission(batch: &mut Batch, permission: &Permission) {
    let Permission { rid, id, version, rights, generation } = permission;
    let mut row = Object::new();
    row.insert("id", id.as_str());
    insert_version(&mut row, *version);
    // In halves: a number of JSON does not hold all of it. Rows from before have the lower one only.
    row.insert("generation", number(generation & u64::from(u32::MAX)));
    row.insert("generationHigh", number(generation >> 32));
    row.insert("mode", rights.mode.name());
    row.insert("resource", rights.resource.as_str());
    if let Some(key) = &rights.key {
        row.insert("key", key_json(key));
    }
    batch.put(key(&rid.bytes()), to_bytes(row));
}

pub(crate) fn delete_permission(batch: &mut Batch, permission: &Permission) {
    batch.delete(key(&permission.rid.bytes()));
}

/// The next number of a user's permissions, whenever one is created.
pub(crate) fn put_next_permission(batch: &mut Batch, user: &User) {
    let next = user.permissions.next().to_be_bytes();
    batch.put(key(&next_permission(user.rid).bytes()), next.to_vec());
}

/// Reads one of these rows. Databases are read before, and a user before its permissions; what a
/// build from before there were users left behind of a database is nobody's.
pub(crate) fn load(catalog: &mut Catalog, key: &[u8], row: &[u8]) -> Result<(), OpenError> {
    let rid = &key[1..];
    let owner = UserRid::from_bytes(rid.get(..8).unwrap_or_default()).ok_or(OpenError::Damaged)?;
    let Some(database) = catalog.database_mut(owner.database) else { return Ok(()) };
    let users = Arc::make_mut(&mut database.users);
    if rid.len() == 8 {
        if owner.number == 0 {
            users.set_next(u64_at(row, 0).ok_or(OpenError::Damaged)?);
            return Ok(());
        }
        let user = decode_user(owner, row)?;
        if users.named(&user.id).is_some() {
            return Err(OpenError::Damaged);
        }
        users.insert(user.into());
        return Ok(());
    }
    let rid = PermissionRid::from_bytes(rid).ok_or(OpenError::Damaged)?;
    let user = users.numbered_mut(owner.number.into()).ok_or(OpenError::Damaged)?;
    let permissions = Arc::make_mut(&mut user.permissions);
    if rid.number == 0 {
        permissions.set_next(u64_at(row, 0).ok_or(OpenError::Damaged)?);
    } else {
        let permission = decode_permission(rid, row)?;
        if permissions.named(&permission.id).is_some() {
            return Err(OpenError::Damaged);
        }
        permissions.insert(permission.into());
    }
    Ok(())
}

fn decode_user(rid: UserRid, row: &[u8]) -> Result<User, Damaged> {
    let row = parse(row)?;
    let permissions = Arc::default();
    Ok(User { rid, id: text(&row, "id")?, version: version(&row)?, permissions })
}

fn decode_permission(rid: PermissionRid, row: &[u8]) -> Result<Permission, Damaged> {
    let row = parse(row)?;
    let resource = text(&row, "resource")?;
    let rights = Rights {
        mode: Mode::parse(&text(&row, "mode")?).ok_or(DAMAGED)?,
        link: Link::parse(&resource).map_err(|_| DAMAGED)?,
        resource,
        key: partition_key(row.get("key")).map_err(|_| DAMAGED)?,
    };
    let id = text(&row, "id")?;
    let high = match row.get("generationHigh") {
        Value::Undefined => 0,
        _ => small(&row, "generationHigh")?,
    };
    let generation = u64::from(high) << 32 | u64::from(small(&row, "generation")?);
    Ok(Permission { rid, id, version: version(&row)?, rights, generation })
}

const DAMAGED: Damaged = Damaged("U");

fn parse(row: &[u8]) -> Result<Value, Damaged> {
    json::parse(row).map_err(|_| DAMAGED)
}

/// Whether the database of one of these rows is gone.
pub(crate) fn is_orphan(key: &Bytes, catalog: &Catalog) -> bool {
    let rid = key.get(1..9).and_then(UserRid::from_bytes);
    !rid.is_some_and(|rid| catalog.databases.contains_key(&rid.database.0))
}
