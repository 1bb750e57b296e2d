//! The catalog's own key space: loading it at start, committing changes to it.

use std::{ops::Bound, sync::Arc};

use bytes::Bytes;
use protocol::{
    Error,
    request::ScriptKind,
    rid::{ChildRid, CollectionRid, DatabaseRid, EncryptionKeyRid, OfferRid},
};
use store::{Batch, Direction, Durability, PageLimit};
use tokio::sync::oneshot;

use crate::{
    OpenError,
    catalog::{
        Catalog, Collection, Database, Offer,
        child_rows::Stored as _,
        encryption_keys::EncryptionKey,
        groups::Group,
        range::Range,
        rows::{
            decode_collection, decode_database, decode_offer, encode_collection, encode_database,
            encode_offer,
        },
        scripts::Script,
        user_rows,
        users::User,
    },
    errors,
    keys::u64_at,
};

/// The name of the catalog's key space.
pub(crate) const CATALOG: &str = "catalog";

/// The epoch in which the catalog is opened. It has one owner, which never changes, so there is nobody
/// to fence.
const CATALOG_EPOCH: u64 = 0;

/// The format of data that this build writes: 1 had no index, 2 no history of changes, no rows of
/// unique keys, and rows of expiry that could be out of date. Fixtures of every landed format are
/// kept in `crates/engine/testdata/formats`.
const CATALOG_FORMAT: u8 = 3;

/// Key of the format of the whole data directory.
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
/// A group of partitions, by its name.
const GROUP: u8 = b'G';
const SCRIPT: u8 = Script::PREFIX;
const ENCRYPTION_KEY: u8 = EncryptionKey::PREFIX;
/// A user (8 bytes follow) or a permission (16).
const USER: u8 = User::PREFIX;
/// A key space whose collection is gone; it is dropped, at the next start at the latest.
const DROPPED: u8 = b'X';

/// The catalog on disk.
pub(crate) struct CatalogStore {
    key_space: Arc<dyn store::KeySpace>,
}

/// A catalog as it was found.
pub(crate) struct Loaded {
    pub(crate) catalog: Catalog,
    /// Key spaces that are still to be dropped.
    pub(crate) dropped: Vec<String>,
    /// Rows whose owner is gone.
    pub(crate) orphans: Vec<Bytes>,
    /// The format of the data.
    pub(crate) format: u8,
}

impl Loaded {
    fn new(rows: &[(Bytes, Bytes)]) -> Result<Self, OpenError> {
        let format = check_format(rows)?;
        let catalog = load(rows)?;
        let dropped = rows.iter().filter(|(key, _)| key[0] == DROPPED);
        let dropped = dropped.map(|(key, _)| String::from_utf8_lossy(&key[1..]).into_owned());
        let (dropped, orphans) = (dropped.collect(), orphans(rows, &catalog));
        Ok(Self { catalog, dropped, orphans, format })
    }
}

impl CatalogStore {
    /// Opens the catalog; `seed` numbers the resources of a new one. Opens no partition.
    pub(crate) async fn open(
        store: &dyn store::Store,
        seed: u32,
    ) -> Result<(Self, Loaded), OpenError> {
        let this = Self { key_space: store.open(CATALOG, CATALOG_EPOCH).await? };
        let rows = this.all_rows().await?;
        if !rows.is_empty() {
            return Ok((this, Loaded::new(&rows)?));
        }
        // High enough to be told from another directory's, low enough never to run out.
        let catalog = Catalog {
            next_database: seed % 0x7000_0000 + 1,
            next_offer: seed % 0x40_0000 + 1,
            ..Catalog::default()
        };
        let mut batch = Batch::default();
        batch.put(FORMAT_KEY, vec![CATALOG_FORMAT]);
        put_next(&mut batch, &catalog);
        put_version(&mut batch, &catalog);
        for (name, group) in catalog.groups.iter() {
            batch.put(key(GROUP, name.as_bytes()), group.encode());
        }
        this.commit(batch).await.map_err(|_| OpenError::Unwritable)?;
        let (dropped, orphans) = (Vec::new(), Vec::new());
        Ok((this, Loaded { catalog, dropped, orphans, format: CATALOG_FORMAT }))
    }

    /// Reads a catalog without changing anything; an empty directory has an empty one.
    pub(crate) async fn inspect(store: &dyn store::Store) -> Result<Loaded, OpenError> {
        let rows = if store.key_spaces().await?.iter().any(|name| name == CATALOG) {
            Self { key_space: store.open(CATALOG, CATALOG_EPOCH).await? }.all_rows().await?
        } else {
            vec![(Bytes::from_static(FORMAT_KEY), Bytes::from_static(&[CATALOG_FORMAT]))]
        };
        Loaded::new(&rows)
    }

    async fn all_rows(&self) -> Result<Vec<(Bytes, Bytes)>, OpenError> {
        let snapshot = self.key_space.snapshot();
        let limit = PageLimit { entries: 10_000, bytes: 64 << 20 };
        let mut rows = Vec::new();
        let mut from = Bound::Unbounded;
        loop {
            let page = snapshot.scan((from, Bound::Unbounded), Direction::Forward, limit).await?;
            rows.extend(page.entries);
            match rows.last() {
                Some((key, _)) if page.has_more => from = Bound::Excluded(key.clone()),
                _ => return Ok(rows),
            }
        }
    }

    /// Removes rows whose owner is gone.
    pub(crate) async fn drop_orphans(&self, orphans: Vec<Bytes>) -> Result<(), OpenError> {
        if orphans.is_empty() {
            return Ok(());
        }
        tracing::info!(count = orphans.len(), "dropping rows of deleted collections and databases");
        let mut batch = Batch::default();
        for key in orphans {
            batch.delete(key);
        }
        self.commit(batch).await.map_err(|_| OpenError::Unwritable)
    }

    /// Writes the collections as this build reads them if an older build wrote them, and from then on
    /// refuses older builds: they would not keep the index, or the history.
    pub(crate) async fn upgrade(&self, catalog: &Catalog, format: u8) -> Result<(), OpenError> {
        if format >= CATALOG_FORMAT {
            return Ok(());
        }
        let mut batch = Batch::default();
        for collection in catalog.databases.values().flat_map(|db| db.collections.values()) {
            put_collection(&mut batch, collection);
        }
        batch.put(FORMAT_KEY, vec![CATALOG_FORMAT]);
        self.commit(batch).await.map_err(|_| OpenError::Unwritable)
    }

    /// Commits a change of the catalog durably.
    pub(crate) async fn commit(&self, batch: Batch) -> Result<(), Error> {
        let (sender, receiver) = oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        self.key_space.submit(batch, Durability::Durable, done);
        receiver.await.map_err(|_| errors::shut_down())?.map_err(errors::from_store)
    }

    /// Takes key spaces off the list of those to drop.
    pub(crate) async fn forget_dropped(&self, names: &[String]) -> Result<(), Error> {
        let mut batch = Batch::default();
        for name in names {
            batch.delete(dropped_key(name));
        }
        self.commit(batch).await
    }
}

/// Rows come in key order: databases (`B`) before collections (`C`) before their scripts (`S`).
/// Children may be there that are nobody's: see [`orphans`].
fn load(rows: &[(Bytes, Bytes)]) -> Result<Catalog, OpenError> {
    let mut catalog = Catalog::default();
    for (key, row) in rows {
        match key[0] {
            DATABASE => {
                let rid = DatabaseRid(word_at(key, 1)?);
                catalog.insert_database(decode_database(rid, row)?.into());
            }
            COLLECTION => {
                let rid = CollectionRid::from_bytes(&key[1..]).ok_or(OpenError::Damaged)?;
                let database = catalog.database_mut(rid.database).ok_or(OpenError::Damaged)?;
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
                let rid = ChildRid::from_bytes(&key[1..]).ok_or(OpenError::Damaged)?;
                let kind = rid.kind.script().ok_or(OpenError::Damaged)?;
                if let Some(collection) = catalog.collection_mut(rid.collection) {
                    Arc::make_mut(&mut collection.scripts).of_mut(kind).load(rid, row)?;
                }
            }
            ENCRYPTION_KEY => {
                let rid = EncryptionKeyRid::from_bytes(&key[1..]).ok_or(OpenError::Damaged)?;
                if let Some(database) = catalog.database_mut(rid.database) {
                    Arc::make_mut(&mut database.encryption_keys).load(rid, row)?;
                }
            }
            USER => user_rows::load(&mut catalog, key, row)?,
            _ if &key[..] == LAST_LSN_KEY => {
                catalog.last_lsn = u64_at(row, 0).ok_or(OpenError::Damaged)?;
            }
            _ if &key[..] == VERSION_KEY => {
                catalog.version = u64_at(row, 0).ok_or(OpenError::Damaged)?;
            }
            _ if &key[..] == NEXT_KEY => {
                let next = u64_at(row, 0).ok_or(OpenError::Damaged)?;
                catalog.next_database = u32::try_from(next >> 32).unwrap_or(u32::MAX);
                catalog.next_offer = u32::try_from(next & 0xFFFF_FFFF).unwrap_or(u32::MAX);
            }
            _ => {}
        }
    }
    Ok(catalog)
}

/// The version, with every change.
pub(crate) fn put_version(batch: &mut Batch, catalog: &Catalog) {
    batch.put(VERSION_KEY, catalog.version.to_be_bytes().to_vec());
}

/// The next numbers, whenever a database or an offer is created.
pub(crate) fn put_next(batch: &mut Batch, catalog: &Catalog) {
    let next = u64::from(catalog.next_database) << 32 | u64::from(catalog.next_offer);
    batch.put(NEXT_KEY, next.to_be_bytes().to_vec());
}

/// The highest LSN of deleted collections, whenever one is deleted.
pub(crate) fn put_last_lsn(batch: &mut Batch, catalog: &Catalog) {
    batch.put(LAST_LSN_KEY, catalog.last_lsn.to_be_bytes().to_vec());
}

pub(crate) fn put_database(batch: &mut Batch, database: &Database) {
    batch.put(key(DATABASE, &database.rid.bytes()), encode_database(database));
}

pub(crate) fn delete_database(batch: &mut Batch, database: &Database) {
    batch.delete(key(DATABASE, &database.rid.bytes()));
    database.encryption_keys.delete_all(batch, database.rid);
    database.users.delete_all(batch, database.rid);
}

pub(crate) fn put_collection(batch: &mut Batch, collection: &Collection) {
    batch.put(key(COLLECTION, &collection.rid.bytes()), encode_collection(collection));
}

/// Removes a collection and notes its key spaces as to be dropped, in one step.
pub(crate) fn delete_collection(batch: &mut Batch, collection: &Collection) {
    batch.delete(key(COLLECTION, &collection.rid.bytes()));
    for kind in ScriptKind::ALL {
        collection.scripts.of(kind).delete_all(batch, (collection.rid, kind));
    }
    put_dropped(batch, collection.rid, &collection.ranges);
}

/// Notes the key spaces of ranges as to be dropped: in the step that takes them out of the catalog.
pub(crate) fn put_dropped(batch: &mut Batch, collection: CollectionRid, ranges: &[Arc<Range>]) {
    for range in ranges {
        batch.put(dropped_key(&range.key_space(collection)), Bytes::new());
    }
}

pub(crate) fn put_offer(batch: &mut Batch, offer: &Offer) {
    batch.put(key(OFFER, &offer.rid.0.to_be_bytes()), encode_offer(offer));
}

pub(crate) fn delete_offer(batch: &mut Batch, offer: &Offer) {
    batch.delete(key(OFFER, &offer.rid.0.to_be_bytes()));
}

/// Rows of scripts whose collection is gone, and of encryption keys and users whose database is:
/// builds from before there were such rows leave them behind when they delete their owner.
fn orphans(rows: &[(Bytes, Bytes)], catalog: &Catalog) -> Vec<Bytes> {
    let is_orphan = |key: &Bytes| {
        // The rid of every child begins with its database's.
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

/// The format of the data, if this build knows it.
fn check_format(rows: &[(Bytes, Bytes)]) -> Result<u8, OpenError> {
    let format = rows.iter().find(|(key, _)| &key[..] == FORMAT_KEY).map(|(_, row)| &row[..]);
    match format {
        Some([found @ 1..=CATALOG_FORMAT]) => Ok(*found),
        Some([found]) if *found > CATALOG_FORMAT => {
            Err(OpenError::Newer { found: *found, supported: CATALOG_FORMAT })
        }
        _ => Err(OpenError::Damaged),
    }
}

fn word_at(key: &[u8], offset: usize) -> Result<u32, OpenError> {
    let bytes: [u8; 4] =
        key.get(offset..).and_then(|rest| rest.try_into().ok()).ok_or(OpenError::Damaged)?;
    Ok(u32::from_be_bytes(bytes))
}
