//! Memory limits for writes between parsing and publication, shared by all partitions of a store.

use std::sync::{
    Arc,
    atomic::{AtomicU64, Ordering},
};

use protocol::Error;
use store::Batch;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::{Partition, errors};

/// Kilobytes of documents that may be staged but unpublished, over all partitions.
const STAGED_MAX: usize = 32 * 1024;
/// The most kilobytes of batches that may be queued, even if the store would take more.
pub const QUEUED_MAX: usize = 48 * 1024;
/// Kilobytes of documents whose writers may wait for keys, over all partitions.
const WAITING_MAX: usize = 256 * 1024;
/// The overhead of a change in a batch, on top of its key and value.
pub const CHANGE_BYTES: usize = 64;

/// The memory limits shared by all partitions of a store.
pub struct Room {
    /// For staged, unpublished documents.
    pub staged: Share,
    /// For batches in the store's queue.
    pub(crate) queued: Share,
    /// For documents whose writers wait for a key's lock.
    pub waiting: Share,
    /// Counts the writes that are over.
    written: Arc<AtomicU64>,
}

impl Room {
    /// Leaves a quarter of the store's queue to small batches that do not wait.
    pub fn new(store: &dyn store::Store) -> Self {
        let queued = (store.queue_bytes() / 1024 / 4 * 3).clamp(1, QUEUED_MAX);
        Self {
            staged: Share::new(STAGED_MAX),
            queued: Share::new(queued),
            waiting: Share::new(WAITING_MAX),
            written: Arc::default(),
        }
    }

    /// Rises with each write, once what it has changed can be seen.
    pub fn written(&self) -> u64 {
        self.written.load(Ordering::Acquire)
    }
}

/// A memory limit, in kilobytes.
pub struct Share {
    kilobytes: u32,
    free: Arc<Semaphore>,
}

impl Share {
    fn new(kilobytes: usize) -> Self {
        let free = Arc::new(Semaphore::new(kilobytes));
        Self { kilobytes: u32::try_from(kilobytes).unwrap_or(u32::MAX), free }
    }

    /// Waits for this much memory; a request larger than the limit takes all of it.
    pub async fn take(&self, bytes: usize) -> Result<OwnedSemaphorePermit, Error> {
        let kilobytes = u32::try_from(bytes / 1024 + 1).unwrap_or(u32::MAX).min(self.kilobytes);
        let free = Arc::clone(&self.free);
        free.acquire_many_owned(kilobytes).await.map_err(|_| errors::shut_down())
    }

    /// Takes this much memory if it is available now.
    pub fn try_take(&self, bytes: usize) -> Option<OwnedSemaphorePermit> {
        let kilobytes = u32::try_from(bytes / 1024 + 1).ok()?;
        Arc::clone(&self.free).try_acquire_many_owned(kilobytes).ok()
    }
}

/// The memory of a queued write, released when the write is published.
#[derive(Debug)]
pub struct Permit {
    _staged: Option<OwnedSemaphorePermit>,
    _queued: OwnedSemaphorePermit,
    written: Arc<AtomicU64>,
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.written.fetch_add(1, Ordering::Release);
    }
}

impl Permit {
    /// Waits until a batch that no client asked for may be queued.
    pub async fn for_upkeep(partition: &Partition, batch: &Batch) -> Result<Self, Error> {
        let bytes = batch.size_bytes() + CHANGE_BYTES * batch.changes.len();
        Self::for_bytes(partition, bytes, None).await
    }

    /// Waits until a batch of about this size may be queued. `staged` is released together with the
    /// queue memory.
    pub async fn for_bytes(
        partition: &Partition,
        bytes: usize,
        staged: Option<OwnedSemaphorePermit>,
    ) -> Result<Self, Error> {
        let queued = partition.room.queued.take(bytes.saturating_mul(times(partition))).await?;
        let written = Arc::clone(&partition.room.written);
        Ok(Self { _staged: staged, _queued: queued, written })
    }
}

/// How often each batch is written: twice during a split, because its log repeats it.
fn times(partition: &Partition) -> usize {
    if partition.is_logging() { 2 } else { 1 }
}
