//! Brings documents to a new indexing policy or time to live, in the background, while queries and
//! writes continue.
//!
//! A document's row says which policy its terms follow. The catalog keeps old policies until no
//! document follows them any more; until then queries use only paths that all of them index. The
//! next start continues work that a crash interrupted.

use std::{
    ops::Bound,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use bytes::Bytes;
use catalog::{Catalog, Collection, storage};
use partition::{
    Partition, errors,
    keys::{self, LogicalKey, SEQUENCE_MAX, docnum, u64_at},
    locks::Turn,
    room::Permit,
    rows::{Damaged, Header},
    terms::{Indexed, TermChange},
    text::lenient_ttl,
    transaction::Overlay,
};
use protocol::{Code, Error, rid::CollectionRid};
use query::{expiry::is_expired, scope::document_key, served::Served};
use store::{Batch, Direction, PageLimit};
use value::{Value, json};

use partition::disk::DiskLevel;

use crate::{
    Inner,
    control::{AsyncPlan, Change},
    documents::{
        twins::{self, Holder},
        unique,
    },
};

/// Documents that are re-indexed before the next ones are read.
const PAGE: PageLimit = PageLimit { entries: 64, bytes: 1 << 20 };

/// How long to wait after a failure, in steps so that closing can interrupt.
const RETRY_STEP: Duration = Duration::from_millis(100);
const RETRY_STEPS: u32 = 600;

/// Starts the work on every collection that has some left.
pub(crate) fn resume(engine: &Arc<Inner>) {
    for collection in engine.view().collections().filter(|it| it.is_transforming()) {
        start(engine, collection);
    }
}

/// Starts the work on a collection whose policy has just changed.
pub(crate) fn start(engine: &Arc<Inner>, collection: &Arc<Served>) {
    for partition in &collection.partitions {
        partition.require_generation(collection.index_generation);
        partition.transformation.done.store(0, Ordering::Relaxed);
        partition.transformation.total.store(partition.counters().documents, Ordering::Relaxed);
    }
    let worker = Arc::clone(engine);
    let (rid, generation) = (collection.rid, collection.index_generation);
    engine.background.run(async move {
        let engine = worker;
        while let Some(collection) = current(&engine, rid, generation) {
            let Err(error) = transform(&engine, &collection).await else { return };
            // Other partitions have taken over, or this one is being reopened: continue on those.
            let is_moved = errors::is_staged_again(error.code) || error.code == Code::Unknown;
            if !is_moved {
                let collection = &collection.definition.id;
                tracing::warn!(%error, collection, "re-indexing failed: next attempt in a minute");
            }
            for _ in 0..if is_moved { 1 } else { RETRY_STEPS } {
                if engine.is_closed() {
                    return;
                }
                tokio::time::sleep(RETRY_STEP).await;
            }
        }
    });
}

/// The percentage of a collection's documents that follow its policy.
pub(crate) fn progress(collection: &Served) -> u8 {
    if !collection.is_reindexing() {
        return 100;
    }
    let (mut done, mut total) = (0, 0);
    for partition in &collection.partitions {
        let all = partition.transformation.total.load(Ordering::Relaxed);
        done += partition.transformation.done.load(Ordering::Relaxed).min(all);
        total += all;
    }
    // It must not reach 100 before the old policies are gone.
    u8::try_from((done * 100).checked_div(total).unwrap_or(99)).unwrap_or(99).min(99)
}

/// The collection, if it still has this policy.
fn current(engine: &Inner, rid: CollectionRid, generation: u32) -> Option<Arc<Served>> {
    let view = engine.view();
    let collection = view.by_rid(rid)?;
    (collection.index_generation == generation).then(|| Arc::clone(collection))
}

async fn transform(engine: &Arc<Inner>, collection: &Arc<Served>) -> Result<(), Error> {
    let (rid, generation) = (collection.rid, collection.index_generation);
    for partition in &collection.partitions {
        let first = keys::document(docnum(partition.range.slots.start, 0));
        let last =
            keys::document(docnum(partition.range.slots.end.saturating_sub(1), SEQUENCE_MAX));
        let mut start = Bound::Included(first);
        // Anything queued under an older policy must be visible to the scan.
        partition.drain().await?;
        loop {
            if engine.is_closed() || current(engine, rid, generation).is_none() {
                return Ok(());
            }
            let (snapshot, _) = partition.read()?;
            let range = (start, Bound::Included(last.clone()));
            let page = snapshot.scan(range, Direction::Forward, PAGE).await;
            let page = page.map_err(errors::from_store)?;
            // Re-indexing can wait for the store, and for room on the disk, as long as it takes.
            while partition.admit().await.is_err() && !engine.is_closed() {}
            while engine.options.disk.level() != DiskLevel::Ample && !engine.is_closed() {
                tokio::time::sleep(RETRY_STEP).await;
            }
            for (key, row) in &page.entries {
                let (header, text) = Header::decode(row).map_err(errors::from_damaged)?;
                if header.index_generation < generation {
                    let number = u64_at(key, 1).unwrap_or_default();
                    let now = engine.clock.now_seconds();
                    bring_up(collection, partition, number, &text, now).await?;
                }
            }
            let done = &partition.transformation.done;
            done.fetch_add(page.entries.len() as u64, Ordering::Relaxed);
            partition.drain().await?;
            match page.entries.last() {
                Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
                _ => break,
            }
        }
        // The catalog may forget the old definitions only once no document can revert to them.
        partition.drain_durably().await?;
    }
    engine.change_to_end(Forget { rid, generation }).await.map_err(|unchanged| unchanged.error)
}

/// Gives one document the terms of the new policy, unless a writer was faster.
async fn bring_up(
    collection: &Served,
    partition: &Arc<Partition>,
    number: u64,
    text: &Bytes,
    now: u64,
) -> Result<(), Error> {
    let damaged = || errors::from_damaged(Damaged("D"));
    let document = json::parse(text).map_err(|_| damaged())?;
    let key = document_key(collection, &document);
    let key = LogicalKey::new(collection.slot(&key), &key);
    let _guard = partition.lock(key.as_bytes(), Turn::Short).await;
    let row_key = keys::document(number);
    let rows = partition.newest(std::slice::from_ref(&row_key)).await?;
    let Some(row) = rows.into_iter().next().flatten() else { return Ok(()) };
    let (header, text) = Header::decode(&row).map_err(errors::from_damaged)?;
    if header.index_generation >= collection.index_generation {
        return Ok(());
    }
    let document = json::parse(&text).map_err(|_| damaged())?;
    let version = |policy| Indexed { document: &document, policy, directive: header.directive };
    let (old, new) = (collection.definition_of(header.index_generation), &collection.definition);
    let terms = TermChange::between(
        partition,
        number,
        Some(version(&old.indexing)),
        Some(version(&new.indexing)),
    )
    .await?;
    let old_expiry = header.expiry(old.default_ttl);
    let ttl = if header.ttl == 0 { lenient_ttl(&document) } else { header.ttl };
    let header = Header { index_generation: collection.index_generation, ttl, ..header };
    let mut row = Vec::with_capacity(row.len());
    header.encode(&mut row);
    row.extend_from_slice(&text);
    let row = Bytes::from(row);
    let index_bytes = terms.bytes();
    let mut batch = Batch::default();
    if let Some(expiry) = old_expiry {
        batch.delete(keys::expiry(expiry, number));
    }
    if let Some(expiry) = header.expiry(new.default_ttl) {
        batch.put(keys::expiry(expiry, number), Bytes::new());
    }
    batch.put(row_key.clone(), row.clone());
    terms.write_to(&mut batch);
    let mut rows = vec![(row_key, Some(row))];
    let unique = unique_rows(collection, partition, number, (&key, &document), now).await?;
    for (key, row) in &unique {
        match row {
            Some(row) => batch.put(key.clone(), row.clone()),
            None => batch.delete(key.clone()),
        }
    }
    rows.extend(unique);
    let permit = Permit::for_upkeep(partition, &batch).await?;
    let _published = partition.maintain(batch, rows, index_bytes, Some(permit))?;
    Ok(())
}

/// The changes to the rows of unique keys. Only under the lock of the key.
async fn unique_rows(
    collection: &Served,
    partition: &Partition,
    number: u64,
    (key, document): (&LogicalKey, &Value),
    now: u64,
) -> Result<Overlay, Error> {
    let mut rows = Overlay::new();
    let wanted = unique::rows(&collection.definition, key, document);
    for (key, held) in wanted.iter().zip(partition.newest(&wanted).await?) {
        let held = held.map(|row| Holder::decode(&row)).transpose();
        let held = held.map_err(errors::from_damaged)?;
        let is_free = is_free(collection, partition, held, now).await?;
        twins::bring_up(key, number, held, is_free, &mut rows);
    }
    Ok(rows)
}

/// Whether no unexpired document holds the row of a unique key. Only under the lock of its key.
async fn is_free(
    collection: &Served,
    partition: &Partition,
    held: Option<Holder>,
    now: u64,
) -> Result<bool, Error> {
    let Some(held) = held else { return Ok(true) };
    let rows = partition.newest(&[keys::document(held.number)]).await?;
    let Some(row) = rows.into_iter().next().flatten() else { return Ok(true) };
    let (header, text) = Header::decode(&row).map_err(errors::from_damaged)?;
    Ok(is_expired(&header, &text, collection, now))
}

/// Removes the old policies from the catalog.
struct Forget {
    rid: CollectionRid,
    generation: u32,
}

impl AsyncPlan<()> for Forget {
    async fn run(self, _engine: &Arc<Inner>, mut catalog: Catalog) -> Result<Change<()>, Error> {
        let mut batch = Batch::default();
        if let Some(database) = catalog.database_mut(self.rid.database)
            && let Some(collection) = database.collections.get(&self.rid.number)
            && collection.index_generation == self.generation
        {
            let mut collection = Collection::clone(collection);
            collection.retired.clear();
            storage::put_collection(&mut batch, &collection);
            database.insert_collection(collection.into());
        }
        Ok(Change::new(batch, catalog, ()))
    }
}
