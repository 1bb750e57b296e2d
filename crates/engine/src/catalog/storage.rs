//! The catalog's own key space: loading it at start, committing changes to it.

use std::{collections::HashSet, ops::Bound, sync::Arc};

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
        rows::{
            CollectionRow, decode_collection, decode_database, decode_offer, encode_collection,
            encode_database, encode_offer,
        },
        scripts::Script,
        user_rows,
        users::User,
    },
    errors,
    keys::u64_at,
    partition::{OWNER_EPOCH, Partition, room::Room},
    rows::State,
};

/// The name of the catalog's key space.
const CATALOG: &str = "catalog";

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
const DATABASE: u8 = b'B';
const COLLECTION: u8 = b'C';
const OFFER: u8 = b'O';
const SCRIPT: u8 = Script::PREFIX;
const ENCRYPTION_KEY: u8 = EncryptionKey::PREFIX;
/// A user (8 bytes follow) or a permission (16).
const USER: u8 = User::PREFIX;
/// A key space whose collection is gone; it is dropped, at the next start at the latest.
const DROPPED: u8 = b'X';

/// The catalog on disk.
pub(crate) struct CatalogStore {
    engine: Arc<dyn store::Store>,
    partition: Arc<dyn store::KeySpace>,
    /// What all partitions may queue together.
    pub(crate) room: Arc<Room>,
}

/// The name of a partition's key space.
pub(crate) fn partition_name(collection: CollectionRid, range_id: u32) -> String {
    format!("p-{:08x}-{:08x}-{range_id}", collection.database.0, collection.number)
}

impl CatalogStore {
    /// Opens the catalog and every partition it names; `seed` numbers the resources of a new one.
    pub(crate) async fn open(
        engine: Arc<dyn store::Store>,
        seed: u32,
    ) -> Result<(Self, Catalog), OpenError> {
        let partition = engine.open(CATALOG, OWNER_EPOCH).await?;
        let room = Arc::new(Room::new(&*engine));
        let this = Self { engine, partition, room };
        let rows = this.all_rows().await?;
        if rows.is_empty() {
            // High enough to be told from another directory's, low enough never to run out.
            let catalog = Catalog {
                next_database: seed % 0x7000_0000 + 1,
                next_offer: seed % 0x40_0000 + 1,
                ..Catalog::default()
            };
            let mut batch = Batch::default();
            batch.put(FORMAT_KEY, vec![CATALOG_FORMAT]);
            put_next(&mut batch, &catalog);
            this.commit(batch).await.map_err(|_| OpenError::Unwritable)?;
            return Ok((this, catalog));
        }
        let format = check_format(&rows)?;
        let catalog = this.load(&rows).await?;
        this.tidy(&rows, &catalog).await?;
        if format < CATALOG_FORMAT {
            this.upgrade(&catalog).await?;
        }
        Ok((this, catalog))
    }

    /// Reads a catalog without changing anything, and counts the rows in it whose owner is gone; an empty directory has an empty one.
    pub(crate) async fn inspect(
        engine: Arc<dyn store::Store>,
    ) -> Result<(Catalog, usize), OpenError> {
        if !engine.key_spaces().await?.iter().any(|name| name == CATALOG) {
            return Ok((Catalog::default(), 0));
        }
        let partition = engine.open(CATALOG, OWNER_EPOCH).await?;
        let room = Arc::new(Room::new(&*engine));
        let this = Self { engine, partition, room };
        let rows = this.all_rows().await?;
        check_format(&rows)?;
        let catalog = this.load(&rows).await?;
        let orphans = orphans(&rows, &catalog).len();
        Ok((catalog, orphans))
    }

    async fn all_rows(&self) -> Result<Vec<(Bytes, Bytes)>, OpenError> {
        let snapshot = self.partition.snapshot();
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

    /// Rows come in key order: databases (`B`) before collections (`C`) before their scripts (`S`).
    /// Children may be there that are nobody's: see [`orphans`].
    async fn load(&self, rows: &[(Bytes, Bytes)]) -> Result<Catalog, OpenError> {
        let existing: HashSet<String> = self.engine.key_spaces().await?.into_iter().collect();
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
                    let collection =
                        self.open_collection(rid, &database.id, row, &existing).await?;
                    database.insert_collection(collection.into());
                }
                OFFER => {
                    let rid = OfferRid(word_at(key, 1)?);
                    catalog.offers.insert(rid.0, decode_offer(rid, row)?.into());
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

    async fn open_collection(
        &self,
        rid: CollectionRid,
        database_id: &str,
        row: &[u8],
        existing: &HashSet<String>,
    ) -> Result<Collection, OpenError> {
        let CollectionRow { mut collection, ranges } = decode_collection(rid, database_id, row)?;
        for range in ranges {
            let name = partition_name(rid, range.id);
            // Opening would make an empty one in its place.
            if !existing.contains(&name) {
                let collection = format!("{database_id}/{}", collection.definition.id);
                return Err(OpenError::Missing { name, collection });
            }
            let partition = Partition::open(&*self.engine, &self.room, name, range).await?;
            collection.partitions.push(partition.into());
        }
        Ok(collection)
    }

    /// Finishes what a crash left half done: drops key spaces of deleted collections, of partitions
    /// that were split, and of creations and splits that never reached the catalog. Any other key space is left alone and reported.
    async fn tidy(&self, rows: &[(Bytes, Bytes)], catalog: &Catalog) -> Result<(), OpenError> {
        let mut known = HashSet::from([CATALOG]);
        let collections = catalog.databases.values().flat_map(|db| db.collections.values());
        for partition in collections.flat_map(|collection| &collection.partitions) {
            known.insert(partition.name.as_str());
            // A crash may have come between the catalog's commit and this mark.
            match partition.state().await? {
                Some(State::Open) => {}
                Some(_) => partition.set_state(State::Open).await?,
                None => return Err(OpenError::Damaged),
            }
        }
        for (key, _) in rows.iter().filter(|(key, _)| key[0] == DROPPED) {
            let name = String::from_utf8_lossy(&key[1..]).into_owned();
            self.engine.drop_key_space(&name).await?;
            self.forget_dropped(&[name]).await.map_err(|_| OpenError::Unwritable)?;
        }
        let orphans = orphans(rows, catalog);
        if !orphans.is_empty() {
            tracing::info!(
                count = orphans.len(),
                "dropping rows of deleted collections and databases"
            );
            let mut batch = Batch::default();
            for key in orphans {
                batch.delete(key);
            }
            self.commit(batch).await.map_err(|_| OpenError::Unwritable)?;
        }
        for name in self.engine.key_spaces().await? {
            if known.contains(&name.as_str()) {
                continue;
            }
            let partition = self.engine.open(&name, OWNER_EPOCH).await?;
            // Marked as one that the catalog never named, or not even that.
            let is_unfinished = match Partition::state_of(&*partition).await? {
                Some(state) => state != State::Open,
                None => is_empty(&*partition).await?,
            };
            drop(partition);
            if is_unfinished {
                tracing::info!(name, "dropping the key space of an unfinished creation or split");
                self.engine.drop_key_space(&name).await?;
            } else {
                tracing::warn!(name, "a key space that no collection names was left alone");
            }
        }
        Ok(())
    }

    /// Writes the collections as this build reads them, and from then on refuses older builds:
    /// they would not keep the index, or the history.
    async fn upgrade(&self, catalog: &Catalog) -> Result<(), OpenError> {
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
        self.partition.submit(batch, Durability::Durable, done);
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
    put_dropped(batch, &collection.partitions);
}

/// Notes key spaces as to be dropped: in the step that takes them out of the catalog.
pub(crate) fn put_dropped(batch: &mut Batch, partitions: &[Arc<Partition>]) {
    for partition in partitions {
        batch.put(dropped_key(&partition.name), Bytes::new());
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

async fn is_empty(partition: &dyn store::KeySpace) -> Result<bool, OpenError> {
    let limit = PageLimit { entries: 1, bytes: 1 };
    let all = (Bound::Unbounded, Bound::Unbounded);
    let page = partition.snapshot().scan(all, Direction::Forward, limit).await?;
    Ok(page.entries.is_empty())
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
