//! The memory that writes may take between their parsing and their publication.
//!
//! Twice a writer waits for room: for its document, before it locks its key, and for its batch, once
//! the size of that is known. The index can make a batch many times as large as its document, and
//! the store's queue refuses what it has no room for. Whoever has room in the queue waits for nothing
//! but the store, so nobody waits in a circle.

use std::sync::Arc;

use protocol::{Error, limits::DOCUMENT_ID_BYTES_MAX};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{
    Inner,
    documents::Place,
    errors,
    partition::{Partition, transaction::DocumentChange},
    rows::Header,
};

/// Kilobytes of documents that may be staged and not yet published, over all partitions.
const STAGED_MAX: u32 = 32 * 1024;
/// Kilobytes of batches that may be queued: less than any store's queue holds.
const QUEUED_MAX: u32 = 48 * 1024;
/// What a change of a batch takes beside its key and value.
const CHANGE_BYTES: usize = 64;

/// Both kinds of room, over all partitions.
pub(crate) struct Room {
    staged: Arc<Semaphore>,
    queued: Arc<Semaphore>,
}

impl Default for Room {
    fn default() -> Self {
        Self {
            staged: Arc::new(Semaphore::new(STAGED_MAX as usize)),
            queued: Arc::new(Semaphore::new(QUEUED_MAX as usize)),
        }
    }
}

/// The room of a write that is queued; given back when it is published.
#[derive(Debug)]
pub(crate) struct Permit {
    _staged: OwnedSemaphorePermit,
    _queued: OwnedSemaphorePermit,
}

/// The room of a write that is being staged.
pub(super) struct Staging<'a> {
    room: &'a Room,
    partition: &'a Partition,
    staged: OwnedSemaphorePermit,
}

impl<'a> Staging<'a> {
    /// Waits until the partition keeps up and a document of this size may be staged.
    pub(super) async fn begin(
        engine: &'a Inner,
        place: &Place<'a>,
        body: usize,
    ) -> Result<Self, Error> {
        // Counted here: re-indexing waits at the same place, and is nobody's request.
        place.partition.admit().await.inspect_err(|_| place.partition.budget.note_throttled())?;
        // The key stands in the primary row and in the key's counters; the document is there as
        // it came, as it will be stored, and as it is answered.
        let bytes = 3 * body + 2 * place.key.as_bytes().len() + 2 * DOCUMENT_ID_BYTES_MAX;
        let staged = take(&engine.room.staged, bytes, STAGED_MAX).await?;
        Ok(Self { room: &engine.room, partition: place.partition, staged })
    }

    /// Waits until the batch of these changes may be queued.
    pub(super) async fn for_batch(self, changes: &[DocumentChange]) -> Result<Permit, Error> {
        let bytes = changes.iter().map(size).fold(0, usize::saturating_add);
        // The log of a split repeats it.
        let times = if self.partition.is_logging() { 2 } else { 1 };
        let queued = take(&self.room.queued, bytes.saturating_mul(times), QUEUED_MAX).await?;
        Ok(Permit { _staged: self.staged, _queued: queued })
    }
}

/// What a change takes in the queue.
fn size(change: &DocumentChange) -> usize {
    let row = change.new.as_ref().map_or(Header::LENGTH, |new| new.row.len());
    let (added, removed) = change.terms.bytes();
    let terms = change.terms.added.len() + change.terms.removed.len();
    let terms_bytes = usize::try_from(added + removed).unwrap_or(usize::MAX);
    terms_bytes.saturating_add(row + 3 * change.primary_key.len() + CHANGE_BYTES * (terms + 8))
}

/// Takes room for so many bytes; what is larger than all of it takes all of it.
async fn take(
    room: &Arc<Semaphore>,
    bytes: usize,
    kilobytes_max: u32,
) -> Result<OwnedSemaphorePermit, Error> {
    let kilobytes = u32::try_from(bytes / 1024 + 1).unwrap_or(kilobytes_max).min(kilobytes_max);
    Arc::clone(room).acquire_many_owned(kilobytes).await.map_err(|_| errors::shut_down())
}
