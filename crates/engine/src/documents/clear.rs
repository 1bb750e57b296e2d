//! Deletes all documents of a logical key in one call.
//!
//! Versions written before the call are deleted, and later ones stay: their LSNs tell them apart.
//! The deletion runs in steps, each a transaction of the key, and the caller gets the answer after
//! the last one. A row in the partition notes that it was begun, so that the next start finishes a
//! deletion that a crash or a stop interrupted. A temporary failure is reported to the caller, and
//! the deletion continues in the background. Two deletions of one key share the row: it has the
//! later LSN, and both end together.

use std::{ops::Bound, sync::Arc, time::Duration};

use bytes::Bytes;
use partition::{
    Refused,
    budget::{Admission, Asked, Kind},
    charge::Meter,
    errors,
    keys::{LogicalKey, META_CLEAR, u64_at},
    locks::Turn,
    rows::{Damaged, Primary},
};
use protocol::{
    Body, Code, Error, Meta, Options, Outcome, Response, request::CollectionPath,
    rid::CollectionRid,
};
use query::{
    scope::header_key,
    served::{Served, View},
};
use store::{Batch, Direction, PageLimit};
use tokio::{sync::oneshot, time::timeout};
use value::{key, partition_key::PartitionKey};

use crate::{
    Inner,
    call::Call,
    documents::{Place, describe, stage::Stage, staging::lock_key, write::Retries},
};

/// Documents per step.
const STEP: usize = 100;
/// Bytes of documents per step, unless it is a single document.
const STEP_BYTES: usize = 1 << 20;
/// How long to rest before a failed step is retried.
const RETRY_AFTER: Duration = Duration::from_secs(1);

pub(crate) async fn run(
    call: Call,
    path: &CollectionPath,
    options: &Options,
    meter: &mut Meter,
) -> Result<Response, Error> {
    let engine = Arc::clone(&call.engine);
    let collection = call.collection(path, options)?;
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key)?;
    let mut admission =
        Admission::new(Asked::new(Kind::Delete, path, [b"all", &[]], options, meter));
    admission.enter(engine.now_s(), &place.partition.budget)?;
    let (rid, numbering) = (collection.rid, collection.numbering());
    let mut clear = Clear { engine: Arc::clone(&engine), rid, numbering, key, before: 0 };
    // Only published versions have their final LSNs.
    let drained = clear.drained(call).await.map_err(|error| match error.code {
        Code::Unknown => errors::stalled(),
        _ => error,
    })?;
    clear.before = Place::of(&drained, &clear.key)?.partition.lsn();
    drop(drained);
    let (sender, receiver) = oneshot::channel();
    let mut spent = meter.part(1);
    spent.lookup();
    // It continues if the caller does not wait.
    engine.background.run(async move {
        let cleared = match clear.begin().await {
            Ok(()) => clear.run(&mut spent).await.map_err(partly),
            // The note may be stored, and then the deletion must be carried out.
            Err(error) if error.code == Code::Unknown => Err(error),
            // It was not begun, so there is nothing to continue.
            Err(error) => return drop(sender.send((Err(error), spent))),
        };
        let is_open = cleared.as_ref().is_err_and(is_passing);
        drop(sender.send((cleared, spent)));
        if is_open {
            while rest(&clear.engine).await && !clear.is_over().await {}
        }
    });
    let (cleared, spent) = receiver.await.map_err(|_| errors::shut_down())?;
    meter.add(&spent);
    admission.settle(engine.now_s(), meter.total());
    place.note_charge(&engine, meter);
    cleared?;
    // The key may be in another partition by now.
    let collection = engine.view().intended(path, options)?;
    let key = header_key(&collection, options)?;
    let place = Place::of(&collection, &key)?;
    let mut meta = Meta::default();
    describe(&mut meta, &place, place.partition.lsn());
    let (outcome, body) = (Outcome::Ok, Body::Empty);
    Ok(Response { outcome, body, etag: None, continuation: None, meta })
}

/// Finishes the deletions that were interrupted by the last stop.
pub(crate) async fn resume(engine: Arc<Inner>) {
    let mut left = begun(&engine).await;
    loop {
        let mut later = Vec::new();
        for clear in left {
            if !clear.is_over().await {
                later.push(clear);
            }
        }
        if later.is_empty() || !rest(&engine).await {
            return;
        }
        left = later;
    }
}

/// Rests before a failed step is retried; `false` if the database is closing.
async fn rest(engine: &Inner) -> bool {
    tokio::select! {
        () = tokio::time::sleep(RETRY_AFTER) => true,
        () = engine.closing() => false,
    }
}

/// The error to report once documents may have been deleted: it must not say that nothing was done.
fn partly(error: Error) -> Error {
    let says_nothing_done = matches!(error.code, Code::Unavailable | Code::NotNow | Code::NotHere);
    if says_nothing_done { errors::unknown() } else { error }
}

/// Whether a retry may succeed.
fn is_passing(error: &Error) -> bool {
    // Deleting a deleted document does no harm, so a step may be repeated.
    matches!(
        error.code,
        Code::PartitionSplitting
            | Code::NotNow
            | Code::Unknown
            | Code::TooManyRequests
            | Code::RetryWith
    )
}

/// The unfinished deletions noted in all partitions.
async fn begun(engine: &Arc<Inner>) -> Vec<Clear> {
    let view = engine.view();
    let mut found = Vec::new();
    for collection in view.collections() {
        for partition in &collection.partitions {
            let Ok((snapshot, _)) = partition.read() else { continue };
            let mut end = META_CLEAR.to_vec();
            end.push(u8::MAX);
            let range = (Bound::Included(META_CLEAR.into()), Bound::Included(end.into()));
            let limit = PageLimit { entries: 10_000, bytes: 1 << 20 };
            let Ok(page) = snapshot.scan(range, Direction::Forward, limit).await else { continue };
            found.extend(page.entries.iter().filter_map(|(row_key, row)| {
                let key = LogicalKey::decode(&row_key[META_CLEAR.len()..])?;
                let (engine, rid) = (Arc::clone(engine), collection.rid);
                let numbering = collection.numbering();
                Some(Clear { engine, rid, numbering, key, before: u64_at(row, 0)? })
            }));
        }
    }
    found
}

/// The deletion of one key's documents.
struct Clear {
    engine: Arc<Inner>,
    rid: CollectionRid,
    /// The numbering of the key's documents. After the collection is given a partition key, this
    /// key has other documents.
    numbering: Vec<u8>,
    key: PartitionKey,
    /// The LSN of the last version to delete.
    before: u64,
}

/// A document to delete.
struct Named {
    id: String,
    bytes: usize,
}

impl Clear {
    /// Notes in the partition that the deletion was begun.
    async fn begin(&self) -> Result<(), Error> {
        self.note(|noted| Some(noted.map_or(self.before, |noted| noted.max(self.before)))).await
    }

    /// Removes the note, unless a later deletion is in progress.
    async fn end(&self) -> Result<(), Error> {
        self.note(|noted| noted.filter(|noted| *noted > self.before)).await
    }

    /// Deletes all documents; `meter` gets the cost of the first step, which is what the caller
    /// pays.
    async fn run(&self, meter: &mut Meter) -> Result<(), Error> {
        let result = self.steps(meter).await;
        let is_stopped = self.engine.is_closed();
        if is_stopped || result.as_ref().is_err_and(is_passing) {
            return result;
        }
        // The error is permanent and its caller gets it, so the next start must not try again.
        let ended = self.end().await;
        result.and(ended)
    }

    /// Deletes all documents, free of charge. `false` if a temporary failure leaves some.
    async fn is_over(&self) -> bool {
        let mut free = Meter::new(self.engine.options.charges, 1, None);
        match self.run(&mut free).await {
            Err(error) if is_passing(&error) => return false,
            Err(error) if !self.engine.is_closed() => {
                tracing::warn!(%error, collection = %self.rid, "cannot finish deleting a key");
            }
            _ => {}
        }
        true
    }

    /// Changes the LSN that the partition has noted for the key; `None` stands for no row.
    async fn note(&self, change: impl Fn(Option<u64>) -> Option<u64>) -> Result<(), Error> {
        let mut retries = Retries::new(Call::begin(&self.engine));
        loop {
            let collection = self.collection(&retries.call.view)?;
            let place = Place::of(&collection, &self.key)?;
            let row_key = place.key.clear();
            let noted = {
                // Other deletions of the same key read and change the row, too.
                let _guard = lock_key(&self.engine, &place, Turn::Short).await?;
                let rows = place.partition.newest(std::slice::from_ref(&row_key)).await?;
                let row = rows.into_iter().next().flatten();
                let row = change(row.and_then(|row| u64_at(&row, 0)));
                let row = row.map(|lsn| Bytes::from(lsn.to_be_bytes().to_vec()));
                let mut batch = Batch::default();
                match &row {
                    Some(row) => batch.put(row_key.clone(), row.clone()),
                    None => batch.delete(row_key.clone()),
                }
                place.partition.maintain(batch, vec![(row_key, row)], (0, 0), None)
            };
            match noted {
                Ok(published) => {
                    let published = timeout(place.partition.patience, published).await;
                    let published = published.map_err(|_| errors::unknown())?;
                    return published.map_err(|_| errors::unknown())?;
                }
                Err(error) => retries.wait(error.into()).await?,
            }
        }
    }

    async fn steps(&self, meter: &mut Meter) -> Result<(), Error> {
        let mut after = None;
        let mut is_first = true;
        loop {
            if self.engine.is_closed() {
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

    /// The collection, once everything queued so far in the partition of the key is published. If
    /// the store takes too long, the outcome of that is unknown.
    async fn drained(&self, call: Call) -> Result<Arc<Served>, Error> {
        let mut retries = Retries::new(call);
        loop {
            let collection = self.collection(&retries.call.view)?;
            let partition = Place::of(&collection, &self.key)?.partition;
            match timeout(partition.patience, partition.drain()).await {
                Ok(Ok(())) => return Ok(collection),
                Err(_) => return Err(errors::unknown()),
                Ok(Err(error)) => retries.wait(error.into()).await?,
            }
        }
    }

    /// Some of the documents written before the call, and the last row read if there are more.
    async fn page(&self, after: Option<Bytes>) -> Result<(Vec<Named>, Option<Bytes>), Error> {
        // Versions queued before the call must be visible to the scan.
        let collection = self.drained(Call::begin(&self.engine)).await?;
        let place = Place::of(&collection, &self.key)?;
        let prefix = place.key.primaries();
        let mut end = prefix.to_vec();
        end.push(u8::MAX);
        let start = after.map_or_else(|| Bound::Included(prefix.clone()), Bound::Excluded);
        let limit = PageLimit { entries: STEP, bytes: 1 << 20 };
        let (snapshot, _) = place.partition.read()?;
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

    /// Removes documents in one transaction, or one by one if one transaction cannot hold their
    /// terms.
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
        let mut retries = Retries::new(Call::begin(&self.engine));
        let before = *meter;
        loop {
            *meter = before;
            let collection = self.collection(&retries.call.view)?;
            let place = Place::of(&collection, &self.key)?;
            match self.attempt(&place, documents, meter).await {
                Ok(()) => return Ok(()),
                Err(refused) => {
                    retries.wait(place.confirmed(refused).await).await?;
                }
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
            // A document written since the call stays.
            if let Some(found) = stage.newest(&document.id).await?
                && found.primary.lsn <= self.before
            {
                stage.remove(found, meter).await?;
            }
        }
        stage.commit().await?.lsn().await?;
        Ok(())
    }

    fn collection(&self, view: &View) -> Result<Arc<Served>, Error> {
        let collection = view.by_rid(self.rid).ok_or_else(Error::owner_not_found)?;
        if collection.numbering() != self.numbering {
            return Err(Error::new(
                Code::Conflict,
                "The collection was given a partition key meanwhile. No more documents of the old \
                 key are deleted.",
            ));
        }
        Ok(Arc::clone(collection))
    }
}
