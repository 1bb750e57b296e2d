//! Deleting all documents of a logical key at once.
//!
//! What was written before the call goes, what is written after it stays: versions are told apart by
//! their LSN. It goes in steps, each a transaction of the key, and the caller is answered when the last
//! is done. A row in the partition says that it was begun, so that the next start finishes what a
//! crash or a stop interrupts.

use std::{
    ops::Bound,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response, request::CollectionPath,
    rid::CollectionRid,
};
use store::{Batch, Direction, PageLimit};
use tokio::sync::oneshot;
use value::{key, partition_key::PartitionKey};

use crate::{
    Inner,
    budget::{Admission, Asked, Kind},
    catalog::Collection,
    charge::Meter,
    documents::{Place, describe, scope::header_key, stage::Stage, write::Retries},
    errors,
    keys::{LogicalKey, META_CLEAR, u64_at},
    partition::Refused,
    rows::{Damaged, Primary},
};

/// Documents of one step.
const STEP: usize = 100;
/// Bytes of documents of one step, unless it is a single one.
const STEP_BYTES: usize = 1 << 20;

pub(crate) async fn run(
    engine: &Arc<Inner>,
    path: &CollectionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let collection = engine.collection(path, options)?;
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key);
    let mut admission =
        Admission::new(Asked::new(Kind::Delete, path, [b"all", &[]], options, meter));
    admission.enter(engine, place.partition)?;
    let before = place.partition.counters().last_lsn;
    let clear = Clear { engine: Arc::clone(engine), rid: collection.rid, key, before };
    let (sender, receiver) = oneshot::channel();
    let mut spent = meter.part(1);
    spent.lookup();
    // It goes on when the caller does not wait.
    engine.in_background(async move {
        let cleared = clear.run(&mut spent).await;
        drop(sender.send((cleared, spent)));
    });
    let (cleared, spent) = receiver.await.map_err(|_| errors::shut_down())?;
    meter.add(&spent);
    admission.settle(engine, meter.total());
    place.note_charge(engine, meter);
    cleared?;
    let collection = engine.collection(path, options)?;
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key);
    let mut meta = Meta::default();
    describe(&mut meta, &place, place.partition.lsn());
    let (outcome, body) = (Outcome::Ok, Body::Empty);
    Ok(Response { outcome, body, etag: None, continuation: None, meta })
}

/// Finishes what was begun before the last stop.
pub(crate) async fn resume(engine: Arc<Inner>) {
    for clear in begun(&engine).await {
        let mut free = Meter::new(engine.options.charges, 1, None);
        if let Err(error) = clear.run(&mut free).await {
            tracing::warn!(%error, collection = %clear.rid, "a key was not deleted to its end");
        }
    }
}

/// What the rows of all partitions say.
async fn begun(engine: &Arc<Inner>) -> Vec<Clear> {
    let catalog = engine.catalog();
    let mut found = Vec::new();
    for collection in catalog.databases.values().flat_map(|db| db.collections.values()) {
        for partition in &collection.partitions {
            let (snapshot, _) = partition.read();
            let mut end = META_CLEAR.to_vec();
            end.push(u8::MAX);
            let range = (Bound::Included(META_CLEAR.into()), Bound::Included(end.into()));
            let limit = PageLimit { entries: 10_000, bytes: 1 << 20 };
            let Ok(page) = snapshot.scan(range, Direction::Forward, limit).await else { continue };
            found.extend(page.entries.iter().filter_map(|(row_key, row)| {
                let key = LogicalKey::decode(&row_key[META_CLEAR.len()..])?;
                let (engine, rid) = (Arc::clone(engine), collection.rid);
                Some(Clear { engine, rid, key, before: u64_at(row, 0)? })
            }));
        }
    }
    found
}

/// The deletion of one key.
struct Clear {
    engine: Arc<Inner>,
    rid: CollectionRid,
    key: PartitionKey,
    /// The LSN of the last version that goes.
    before: u64,
}

/// A document that goes.
struct Named {
    id: String,
    bytes: usize,
}

impl Clear {
    /// Deletes all; notes what the first step costs, which is what the caller pays.
    async fn run(&self, meter: &mut Meter) -> Result<(), Error> {
        self.note(true).await?;
        let result = self.steps(meter).await;
        let is_stopped = self.engine.is_closed.load(Ordering::Acquire);
        if !is_stopped {
            // What failed has failed: its caller knows, and is not surprised at the next start.
            self.note(false).await?;
        }
        result
    }

    /// Notes in the partition that it was begun, or that it is over.
    async fn note(&self, is_begun: bool) -> Result<(), Error> {
        let retries = Retries::new();
        loop {
            let collection = self.collection()?;
            let place = Place::of(&collection, &self.key);
            let row_key = place.key.clear();
            let mut batch = Batch::default();
            if is_begun {
                batch.put(row_key, self.before.to_be_bytes().to_vec());
            } else {
                batch.delete(row_key);
            }
            match place.partition.maintain(batch, Vec::new(), (0, 0), None) {
                Ok(published) => return published.await.map_err(|_| errors::shut_down())?,
                Err(error) => retries.wait(&self.engine, error.into()).await?,
            }
        }
    }

    async fn steps(&self, meter: &mut Meter) -> Result<(), Error> {
        let mut after = None;
        let mut is_first = true;
        loop {
            if self.engine.is_closed.load(Ordering::Acquire) {
                return Err(errors::shut_down());
            }
            let (documents, last) = self.page(after).await?;
            let mut rest = documents.as_slice();
            while !rest.is_empty() {
                let mut bytes = 0;
                let fits = |document: &&Named| {
                    bytes += document.bytes;
                    bytes <= STEP_BYTES
                };
                let count = rest.iter().take_while(fits).count().max(1);
                let (now, later) = rest.split_at(count);
                rest = later;
                let mut spent = meter.part(1);
                self.remove(now, &mut spent).await?;
                if std::mem::take(&mut is_first) {
                    meter.add(&spent);
                }
            }
            let Some(last) = last else { return Ok(()) };
            after = Some(last);
        }
    }

    /// Some documents that were there before; the last row looked at, if there are more.
    async fn page(&self, after: Option<Bytes>) -> Result<(Vec<Named>, Option<Bytes>), Error> {
        let retries = Retries::new();
        let (collection, prefix) = loop {
            let collection = self.collection()?;
            let place = Place::of(&collection, &self.key);
            // What was queued before the call must be there to be found.
            match place.partition.drain().await {
                Ok(()) => {
                    let prefix = place.key.primaries();
                    break (Arc::clone(&collection), prefix);
                }
                Err(error) => retries.wait(&self.engine, error.into()).await?,
            }
        };
        let place = Place::of(&collection, &self.key);
        let mut end = prefix.to_vec();
        end.push(u8::MAX);
        let start = after.map_or_else(|| Bound::Included(prefix.clone()), Bound::Excluded);
        let limit = PageLimit { entries: STEP, bytes: 1 << 20 };
        let (snapshot, _) = place.partition.read();
        let range = (start, Bound::Included(end.into()));
        let page = snapshot.scan(range, Direction::Forward, limit).await;
        let page = page.map_err(errors::from_store)?;
        let mut documents = Vec::new();
        for (row_key, row) in &page.entries {
            let primary = Primary::decode(row).map_err(errors::from_damaged)?;
            let id = key::decode_name(&row_key[prefix.len()..]);
            let (id, _) = id.map_err(|_| errors::from_damaged(Damaged("P")))?;
            if primary.lsn <= self.before {
                documents.push(Named { id, bytes: primary.length as usize });
            }
        }
        let last = page.entries.last().filter(|_| page.has_more);
        Ok((documents, last.map(|(row_key, _)| row_key.clone())))
    }

    /// Removes documents in one transaction, or one by one if their terms are too many for that.
    async fn remove(&self, documents: &[Named], meter: &mut Meter) -> Result<(), Error> {
        match self.remove_together(documents, meter).await {
            Err(error) if error.code == Code::TooLarge && documents.len() > 1 => {
                for document in documents.chunks(1) {
                    self.remove_together(document, meter).await?;
                }
                Ok(())
            }
            result => result,
        }
    }

    async fn remove_together(&self, documents: &[Named], meter: &mut Meter) -> Result<(), Error> {
        let retries = Retries::new();
        let before = *meter;
        loop {
            *meter = before;
            let collection = self.collection()?;
            let place = Place::of(&collection, &self.key);
            match self.attempt(&place, documents, meter).await {
                Ok(()) => return Ok(()),
                Err(refused) => retries.wait(&self.engine, refused).await?,
            }
        }
    }

    async fn attempt(
        &self,
        place: &Place<'_>,
        documents: &[Named],
        meter: &mut Meter,
    ) -> Result<(), Refused> {
        let bytes = documents.iter().map(|document| document.bytes).sum();
        let mut stage = Stage::begin(&self.engine, place, &self.key, bytes).await?;
        for document in documents {
            // One that was written since the call stays.
            if let Some(found) = stage.newest(&document.id).await?
                && found.primary.lsn <= self.before
            {
                stage.remove(found, meter).await?;
            }
        }
        stage.commit().await?.lsn().await?;
        Ok(())
    }

    fn collection(&self) -> Result<Arc<Collection>, Error> {
        let catalog = self.engine.catalog();
        let database = catalog.databases.get(&self.rid.database.0);
        let collection = database.and_then(|db| db.collections.get(&self.rid.number));
        collection.cloned().ok_or_else(Error::owner_not_found)
    }
}
