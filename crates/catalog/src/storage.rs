//! The rows of the catalog's key space: reads all of them at start, and writes those that change.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    request::ScriptKind,
    rid::{ChildRid, CollectionRid, DatabaseRid, EncryptionKeyRid, OfferRid},
};
use store::Batch;
use value::key::u64_at;

use crate::{
    Catalog, Collection, Database, Offer,
    child_rows::Stored as _,
    encryption_keys::EncryptionKey,
    groups::Group,
    range::Range,
    rows::{
        DAMAGED, Damaged, decode_collection, decode_database, decode_offer, encode_collection,
        encode_database, encode_offer,
    },
    scripts::Script,
    user_rows,
    users::User,
};

/// The name of the catalog's key space.
pub const CATALOG: &str = "catalog";

/// The data format that this build writes. Format 1 had no index; format 2 had no history of
/// changes, no unique key rows, and expiry rows that could be out of date; format 3 had longer index
/// keys. Fixtures of every released format are in `crates/engine/testdata/formats`.
pub const CATALOG_FORMAT: u8 = 4;

/// Key of the data format of the whole directory.
const FORMAT_KEY: &[u8] = b"V";
/// Key of the next numbers.
const NEXT_KEY: &[u8] = b"N";
/// Key of the highest LSN that a deleted collection gave out.
const LAST_LSN_KEY: &[u8] = b"L";
/// Key of the version.
const VERSION_KEY: &[u8] = b"R";
const DATABASE: u8 = b'B';
const COLLECTION: u8 = b'C';
const OFFER: u8 = b'O';
/// A group of partitions, by name.
const GROUP: u8 = b'G';
const SCRIPT: u8 = Script::PREFIX;
const ENCRYPTION_KEY: u8 = EncryptionKey::PREFIX;
/// A user (8 bytes follow) or a permission (16).
const USER: u8 = User::PREFIX;
/// A key space whose collection was deleted; dropped at the next start at the latest.
const DROPPED: u8 = b'X';

/// A catalog as loaded from the store.
pub struct Loaded {
    /// The catalog itself.
    pub catalog: Catalog,
    /// Key spaces still to be dropped.
    pub dropped: Vec<String>,
    /// Rows whose owner no longer exists.
    pub orphans: Vec<Bytes>,
    /// The format of the data.
    pub format: u8,
}

impl Loaded {
    /// Decodes all rows of a catalog in a format known to this build.
    pub fn new(rows: &[(Bytes, Bytes)], format: u8) -> Result<Self, Damaged> {
        let catalog = load(rows)?;
        let dropped = rows.iter().filter(|(key, _)| key[0] == DROPPED);
        let dropped = dropped.map(|(key, _)| String::from_utf8_lossy(&key[1..]).into_owned());
        let (dropped, orphans) = (dropped.collect(), orphans(rows, &catalog));
        Ok(Self { catalog, dropped, orphans, format })
    }
}

/// Rows come in key order: databases (`B`) before collections (`C`) before their scripts (`S`).
/// There may be children without an owner: see [`orphans`].
fn load(rows: &[(Bytes, Bytes)]) -> Result<Catalog, Damaged> {
    let mut catalog = Catalog::default();
    for (key, row) in rows {
        match key[0] {
            DATABASE => {
                let rid = DatabaseRid(word_at(key, 1)?);
                catalog.insert_database(decode_database(rid, row)?.into());
            }
            COLLECTION => {
                let rid = CollectionRid::from_bytes(&key[1..]).ok_or(DAMAGED)?;
                let database = catalog.database_mut(rid.database).ok_or(DAMAGED)?;
                let collection = decode_collection(rid, &database.id, row)?;
                database.insert_collection(collection.into());
            }
            OFFER => {
                let offer = decode_offer(OfferRid(word_at(key, 1)?), row)?;
                Arc::make_mut(&mut catalog.offers).insert(offer.into());
            }
            GROUP => {
                let name = String::from_utf8_lossy(&key[1..]).into_owned();
                Arc::make_mut(&mut catalog.groups).insert(name, Group::decode(row)?);
            }
            SCRIPT => {
                let rid = ChildRid::from_bytes(&key[1..]).ok_or(DAMAGED)?;
                let kind = rid.kind.script().ok_or(DAMAGED)?;
                if let Some(collection) = catalog.collection_mut(rid.collection) {
                    Arc::make_mut(&mut collection.scripts).of_mut(kind).load(rid, row)?;
                }
            }
            ENCRYPTION_KEY => {
                let rid = EncryptionKeyRid::from_bytes(&key[1..]).ok_or(DAMAGED)?;
                if let Some(database) = catalog.database_mut(rid.database) {
                    Arc::make_mut(&mut database.encryption_keys).load(rid, row)?;
                }
            }
            USER => user_rows::load(&mut catalog, key, row)?,
            _ if &key[..] == LAST_LSN_KEY => {
                catalog.last_lsn = u64_at(row, 0).ok_or(DAMAGED)?;
            }
            _ if &key[..] == VERSION_KEY => {
                catalog.version = u64_at(row, 0).ok_or(DAMAGED)?;
            }
            _ if &key[..] == NEXT_KEY => {
                let next = u64_at(row, 0).ok_or(DAMAGED)?;
                catalog.next_database = u32::try_from(next >> 32).unwrap_or(u32::MAX);
                catalog.next_offer = u32::try_from(next & 0xFFFF_FFFF).unwrap_or(u32::MAX);
            }
            _ => {}
        }
    }
    Ok(catalog)
}

/// Writes the version; called with every change.
pub fn put_version(batch: &mut Batch, catalog: &Catalog) {
    batch.put(VERSION_KEY, catalog.version.to_be_bytes().to_vec());
}

/// Writes the next numbers; called whenever a database or offer is created.
pub fn put_next(batch: &mut Batch, catalog: &Catalog) {
    let next = u64::from(catalog.next_database) << 32 | u64::from(catalog.next_offer);
    batch.put(NEXT_KEY, next.to_be_bytes().to_vec());
}

/// Writes the highest LSN of deleted collections; called whenever one is deleted.
pub fn put_last_lsn(batch: &mut Batch, catalog: &Catalog) {
    batch.put(LAST_LSN_KEY, catalog.last_lsn.to_be_bytes().to_vec());
}

/// Writes the row of a new or changed database; its collections have their own rows.
pub fn put_database(batch: &mut Batch, database: &Database) {
    batch.put(key(DATABASE, &database.rid.bytes()), encode_database(database));
}

/// Deletes a database with its encryption keys and users; its collections are deleted one by one.
pub fn delete_database(batch: &mut Batch, database: &Database) {
    batch.delete(key(DATABASE, &database.rid.bytes()));
    database.encryption_keys.delete_all(batch, database.rid);
    database.users.delete_all(batch, database.rid);
}

/// Writes the row of a collection, with its definition and its ranges.
pub fn put_collection(batch: &mut Batch, collection: &Collection) {
    batch.put(key(COLLECTION, &collection.rid.bytes()), encode_collection(collection));
}

/// Deletes a collection and marks its key spaces for dropping, in one batch.
pub fn delete_collection(batch: &mut Batch, collection: &Collection) {
    batch.delete(key(COLLECTION, &collection.rid.bytes()));
    for kind in ScriptKind::ALL {
        collection.scripts.of(kind).delete_all(batch, (collection.rid, kind));
    }
    put_dropped(batch, collection.rid, &collection.ranges);
}

/// Marks the key spaces of ranges for dropping, in the batch that removes them from the catalog.
pub fn put_dropped(batch: &mut Batch, collection: CollectionRid, ranges: &[Arc<Range>]) {
    for range in ranges {
        batch.put(dropped_key(&range.key_space(collection)), Bytes::new());
    }
}

/// Writes the row of a new or changed offer.
pub fn put_offer(batch: &mut Batch, offer: &Offer) {
    batch.put(key(OFFER, &offer.rid.0.to_be_bytes()), encode_offer(offer));
}

/// Deletes the row of an offer, when its resource is deleted.
pub fn delete_offer(batch: &mut Batch, offer: &Offer) {
    batch.delete(key(OFFER, &offer.rid.0.to_be_bytes()));
}

/// Finds rows of scripts whose collection no longer exists, and of encryption keys and users whose
/// database no longer exists. Builds older than these rows leave them behind when they delete the
/// owner.
fn orphans(rows: &[(Bytes, Bytes)], catalog: &Catalog) -> Vec<Bytes> {
    let is_orphan = |key: &Bytes| {
        // Every child's rid begins with its database's.
        let database = key.get(..5).and_then(|key| word_at(key, 1).ok());
        let Some(database) = database.and_then(|it| catalog.databases.get(&it)) else {
            return true;
        };
        let script = (key[0] == SCRIPT).then(|| ChildRid::from_bytes(&key[1..])).flatten();
        script.is_some_and(|rid| !database.collections.contains_key(&rid.collection.number))
    };
    let owned = rows.iter().map(|(key, _)| key);
    let owned = owned.filter(|key| matches!(key[0], SCRIPT | ENCRYPTION_KEY | USER));
    owned.filter(|key| is_orphan(key)).cloned().collect()
}

fn key(prefix: u8, rest: &[u8]) -> Vec<u8> {
    [&[prefix], rest].concat()
}

fn dropped_key(name: &str) -> Vec<u8> {
    key(DROPPED, name.as_bytes())
}

/// The data format, whether or not this build knows it.
pub fn format(rows: &[(Bytes, Bytes)]) -> Result<u8, Damaged> {
    let row = rows.iter().find(|(key, _)| &key[..] == FORMAT_KEY).map(|(_, row)| &row[..]);
    match row {
        Some([format]) if *format > 0 => Ok(*format),
        _ => Err(DAMAGED),
    }
}

/// Sets the data format to the one that this build writes.
pub fn put_format(batch: &mut Batch) {
    batch.put(FORMAT_KEY, vec![CATALOG_FORMAT]);
}

/// Writes the rows of a new, empty catalog.
pub fn put_new(batch: &mut Batch, catalog: &Catalog) {
    put_format(batch);
    put_next(batch, catalog);
    put_version(batch, catalog);
    for (name, group) in catalog.groups.iter() {
        put_group(batch, name, group);
    }
}

/// Writes a group's owner; called whenever it changes.
pub fn put_group(batch: &mut Batch, name: &str, group: &Group) {
    batch.put(key(GROUP, name.as_bytes()), group.encode());
}

/// Removes a key space from the list of those to drop.
pub fn forget_dropped(batch: &mut Batch, name: &str) {
    batch.delete(dropped_key(name));
}

fn word_at(key: &[u8], offset: usize) -> Result<u32, Damaged> {
    let bytes: [u8; 4] = key.get(offset..).and_then(|rest| rest.try_into().ok()).ok_or(DAMAGED)?;
    Ok(u32::from_be_bytes(bytes))
}
