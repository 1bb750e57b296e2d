//! Limits the memory that writes take between parsing and publication.
//!
//! A writer waits for memory twice: for its document, once it has its key, and for its batch, once
//! the size of the batch is known. The index can make a batch many times as large as its document,
//! and the store's queue refuses batches that do not fit. Writers cannot deadlock: one that holds
//! memory only ever waits for the store. So writers that wait for a key that a script holds for
//! seconds delay nobody else. Their number and waiting time are limited; beyond that they get 429.

use bytes::Bytes;
use partition::{
    Partition,
    locks::{KeyGuard, Turn},
    room::{CHANGE_BYTES, Permit, QUEUED_MAX},
    rows::Header,
    transaction::{DocumentChange, Overlay},
};
use protocol::{Code, Error, limits::DOCUMENT_ID_BYTES_MAX};
use tokio::{sync::OwnedSemaphorePermit, time::timeout};

use crate::{Inner, documents::Place};

/// Most bytes of the changes to several documents that are queued together.
pub(super) const TRANSACTION_BYTES_MAX: usize = QUEUED_MAX * 1024 / 2;
/// When a writer may retry if too many are waiting.
const WAITING_RETRY_MS: u64 = 100;
/// When a writer may retry after waiting too long for its key.
const KEY_RETRY_MS: u64 = 1000;
/// Most bytes of documents that one script may replace, delete and create. The number of workers
/// limits how many scripts run at a time.
pub(super) const SCRIPT_BYTES_MAX: usize = 16 * 1024 * 1024;

/// The memory of a write that is being staged.
pub(super) struct Staging<'a> {
    partition: &'a Partition,
    /// `None` for a script: the number of workers limits its memory.
    staged: Option<OwnedSemaphorePermit>,
}

/// Waits until the partition keeps up, and then for the key of a document of this size. Fails if
/// that takes too long, before anything is done.
pub(super) async fn wait_for_key<'a>(
    engine: &Inner,
    place: &Place<'a>,
    body: usize,
    turn: Turn,
) -> Result<KeyGuard<'a>, Error> {
    let partition = place.partition;
    // Counted here because re-indexing, which is not a client request, calls `admit`, too.
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
        let message = "Other requests have held the partition key for too long. Nothing of this \
                       request was executed.";
        come_back(place.partition, message, KEY_RETRY_MS)
    })
}

/// The error for a writer that was not admitted.
fn come_back(partition: &Partition, message: &str, retry_after_ms: u64) -> Error {
    partition.budget.note_throttled();
    let mut error = Error::new(Code::TooManyRequests, message);
    error.meta.retry_after_ms = Some(retry_after_ms);
    error
}

/// The memory an incoming document takes. The key is in the primary row and in the key's counters;
/// the document is in memory as received, as stored and as returned.
fn bytes_of(place: &Place<'_>, body: usize) -> usize {
    3 * body + 2 * place.key.as_bytes().len() + 2 * DOCUMENT_ID_BYTES_MAX
}

impl<'a> Staging<'a> {
    /// Waits until a document of this size may be staged.
    pub(super) async fn begin(place: &Place<'a>, body: usize) -> Result<Self, Error> {
        let staged = place.partition.room.staged.take(bytes_of(place, body)).await?;
        Ok(Self { partition: place.partition, staged: Some(staged) })
    }

    /// The memory of a script.
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
        Permit::for_bytes(self.partition, bytes, self.staged).await
    }
}

/// The approximate size of a change in the queue.
pub(super) fn size(change: &DocumentChange) -> usize {
    let row = change.new.as_ref().map_or(Header::LENGTH, |new| new.row.len());
    let (added, removed) = change.terms.bytes();
    let terms = change.terms.added.len() + change.terms.removed.len();
    let terms_bytes = usize::try_from(added + removed).unwrap_or(usize::MAX / 4);
    let past = change.past.as_ref().map_or(0, |past| past.previous.len() + row);
    let moved = change.moved_from.as_ref().map_or(0, Bytes::len);
    terms_bytes + row + past + 3 * (change.primary_key.len() + moved) + CHANGE_BYTES * (terms + 8)
}
