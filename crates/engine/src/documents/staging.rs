//! The memory that writes may take between their parsing and their publication.
//!
//! Twice a writer waits for room: for its document, once it has its key, and for its batch, once
//! the size of that is known. The index can make a batch many times as large as its document, and
//! the store's queue refuses what it has no room for. Whoever has room waits for nothing but the
//! store, so nobody waits in a circle, and writers of a key that a script holds for seconds keep
//! nobody else waiting. There may be only so many of those, and they wait only so long: then they are
//! told to come back.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{Code, Error, limits::DOCUMENT_ID_BYTES_MAX};
use store::Batch;
use tokio::{
    sync::{OwnedSemaphorePermit, Semaphore},
    time::timeout,
};

use crate::{
    Inner,
    documents::Place,
    errors,
    partition::{
        Partition,
        locks::{KeyGuard, Turn},
        transaction::{DocumentChange, Overlay},
    },
    rows::Header,
};

/// Kilobytes of documents that may be staged and not yet published, over all partitions.
const STAGED_MAX: usize = 32 * 1024;
/// Most kilobytes of batches that may be queued, however much the store would take.
const QUEUED_MAX: usize = 48 * 1024;
/// Most bytes of the changes to several documents that are queued together.
pub(super) const TRANSACTION_BYTES_MAX: usize = QUEUED_MAX * 1024 / 2;
/// Kilobytes of documents whose writers may wait for keys, over all partitions.
const WAITING_MAX: usize = 256 * 1024;
/// When a writer may come back that found too many waiting.
const WAITING_RETRY_MS: u64 = 100;
/// When a writer may come back that waited for its key in vain.
const KEY_RETRY_MS: u64 = 1000;
/// Most bytes of documents that one script may replace, delete and make. How many scripts run at a
/// time is limited by their workers.
pub(super) const SCRIPT_BYTES_MAX: usize = 16 * 1024 * 1024;
/// What a change of a batch takes beside its key and value.
const CHANGE_BYTES: usize = 64;

/// Both kinds of room, over all partitions of a store.
pub(crate) struct Room {
    staged: Share,
    queued: Share,
    waiting: Share,
}

impl Room {
    /// A quarter of the store's queue is left to what is small and waits for nothing.
    pub(crate) fn new(store: &dyn store::Engine) -> Self {
        let queued = (store.queue_bytes() / 1024 / 4 * 3).clamp(1, QUEUED_MAX);
        Self {
            staged: Share::new(STAGED_MAX),
            queued: Share::new(queued),
            waiting: Share::new(WAITING_MAX),
        }
    }
}

/// Kilobytes that are shared out.
struct Share {
    kilobytes: u32,
    free: Arc<Semaphore>,
}

impl Share {
    fn new(kilobytes: usize) -> Self {
        let free = Arc::new(Semaphore::new(kilobytes));
        Self { kilobytes: u32::try_from(kilobytes).unwrap_or(u32::MAX), free }
    }

    /// Takes room for so many bytes; what is larger than all of it takes all of it.
    async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Error> {
        let kilobytes = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(self.kilobytes);
        let free = Arc::clone(&self.free);
        free.acquire_many_owned(kilobytes).await.map_err(|_| errors::shut_down())
    }

    /// The same, if there is room now.
    fn try_take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kilobytes = u32::try_from(bytes / 1024 + 1).ok()?;
        Arc::clone(&self.free).try_acquire_many_owned(kilobytes).ok()
    }
}

/// The room of a write that is queued; given back when it is published.
#[derive(Debug)]
pub(crate) struct Permit {
    _staged: Option<OwnedSemaphorePermit>,
    _queued: OwnedSemaphorePermit,
}

impl Permit {
    /// Waits until a batch that no client asked for may be queued.
    pub(crate) async fn for_upkeep(partition: &Partition, batch: &Batch) -> Result<Self, Error> {
        let bytes = batch.size_bytes() + CHANGE_BYTES * batch.changes.len();
        let queued = partition.room.queued.take(bytes.saturating_mul(times(partition))).await?;
        Ok(Self { _staged: None, _queued: queued })
    }
}

/// The room of a write that is being staged.
pub(super) struct Staging<'a> {
    partition: &'a Partition,
    /// A script has none: its worker is its room.
    staged: Option<OwnedSemaphorePermit>,
}

/// Waits until the partition keeps up, and for a key to write a document of this size to. Whoever
/// waits in vain is told so, and has done nothing.
pub(super) async fn wait_for_key<'a>(
    engine: &Inner,
    place: &Place<'a>,
    body: usize,
    turn: Turn,
) -> Result<KeyGuard<'a>, Error> {
    let partition = place.partition;
    // Counted here: re-indexing waits at the same place, and is nobody's request.
    partition.admit().await.inspect_err(|_| partition.budget.note_throttled())?;
    if let Some(guard) = partition.try_lock(place.key.as_bytes()) {
        return Ok(guard);
    }
    let Some(_waiting) = partition.room.waiting.try_take(bytes_of(place, body)) else {
        let message = "Too many writers are waiting for their partition keys.";
        return Err(come_back(partition, message, WAITING_RETRY_MS));
    };
    lock_key(engine, place, turn).await
}

/// Waits for a key, for as long as a writer may.
pub(super) async fn lock_key<'a>(
    engine: &Inner,
    place: &Place<'a>,
    turn: Turn,
) -> Result<KeyGuard<'a>, Error> {
    let lock = place.partition.lock(place.key.as_bytes(), turn);
    timeout(engine.options.key_patience, lock).await.map_err(|_| {
        let message = "Others have been writing to the partition key for too long. Nothing of \
                       this request was carried out.";
        come_back(place.partition, message, KEY_RETRY_MS)
    })
}

/// Turns a writer away that was not let in.
fn come_back(partition: &Partition, message: &str, retry_after_ms: u64) -> Error {
    partition.budget.note_throttled();
    let mut error = Error::new(Code::TooManyRequests, message);
    error.meta.retry_after_ms = Some(retry_after_ms);
    error
}

/// What a document on its way in takes. The key stands in the primary row and in the key's counters;
/// the document is there as it came, as it will be stored, and as it is answered.
fn bytes_of(place: &Place<'_>, body: usize) -> usize {
    3 * body + 2 * place.key.as_bytes().len() + 2 * DOCUMENT_ID_BYTES_MAX
}

impl<'a> Staging<'a> {
    /// Waits until a document of this size may be staged.
    pub(super) async fn begin(place: &Place<'a>, body: usize) -> Result<Self, Error> {
        let staged = place.partition.room.staged.take(bytes_of(place, body)).await?;
        Ok(Self { partition: place.partition, staged: Some(staged) })
    }

    /// The room of a script.
    pub(super) fn of_script(place: &Place<'a>) -> Self {
        Self { partition: place.partition, staged: None }
    }

    /// Waits until the batch of these changes and other rows may be queued.
    pub(super) async fn for_batch(
        self,
        changes: &[DocumentChange],
        rows: &Overlay,
    ) -> Result<Permit, Error> {
        let row = |(key, row): &(Bytes, Option<Bytes>)| {
            CHANGE_BYTES + key.len() + row.as_ref().map_or(0, Bytes::len)
        };
        let bytes: usize = changes.iter().map(size).chain(rows.iter().map(row)).sum();
        let queued = self.partition.room.queued.take(bytes * times(self.partition)).await?;
        Ok(Permit { _staged: self.staged, _queued: queued })
    }
}

/// The log of a split repeats each batch.
fn times(partition: &Partition) -> usize {
    if partition.is_logging() { 2 } else { 1 }
}

/// About what a change takes in the queue.
pub(super) fn size(change: &DocumentChange) -> usize {
    let row = change.new.as_ref().map_or(Header::LENGTH, |new| new.row.len());
    let (added, removed) = change.terms.bytes();
    let terms = change.terms.added.len() + change.terms.removed.len();
    let terms_bytes = usize::try_from(added + removed).unwrap_or(usize::MAX / 4);
    let past = change.past.as_ref().map_or(0, |past| past.previous.len() + row);
    let moved = change.moved_from.as_ref().map_or(0, Bytes::len);
    terms_bytes + row + past + 3 * (change.primary_key.len() + moved) + CHANGE_BYTES * (terms + 8)
}
