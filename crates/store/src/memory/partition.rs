//! One partition: its versions, the queue of batches in front of them, and who may write.
//!
//! A snapshot is a sequence number, so taking one costs no more than an allocation and a short
//! lock. A batch is published inside [`KeySpace::submit`], and its completion runs there too,
//! unless another thread is publishing on the same partition at that moment: then that thread does
//! it, so that the order is kept and nobody runs a completion under a lock.
//!
//! Lock order: `epoch` before `queue`.

use std::{
    collections::VecDeque,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use super::{
    lock,
    versions::{Pin, Versions},
};
use crate::{
    Batch, BoxFuture, Completion, Debt, Direction, Durability, Error, KeyRange, KeySpace, Page,
    PageLimit, Result, Snapshot,
};

/// One ordered map with its queue of batches.
pub(super) struct MemoryPartition {
    versions: Arc<Versions>,
    queue: Mutex<Queue>,
    /// The highest epoch that opened the partition. Locked while a batch is published, so that
    /// nothing of a lower one can follow once it is raised.
    epoch: Mutex<u64>,
    published: Arc<AtomicU64>,
}

/// A batch, or why it was refused, and whose it is.
struct Waiting {
    batch: Result<Batch>,
    size_bytes: usize,
    epoch: u64,
    done: Completion,
}

/// Batches waiting for their turn, and what to answer them with.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Some thread publishes now and will take everything that is added meanwhile.
    is_draining: bool,
    /// Set once the partition is dropped or the store closed: later batches fail with it.
    refusal: Option<Error>,
}

impl MemoryPartition {
    /// An empty one; `published` counts the batches of all partitions.
    pub(super) fn new(published: Arc<AtomicU64>) -> Self {
        Self {
            versions: Arc::default(),
            queue: Mutex::default(),
            epoch: Mutex::default(),
            published,
        }
    }

    /// Whether a snapshot taken now would see nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Bytes held, roughly.
    pub(super) fn size(&self) -> u64 {
        self.versions.size()
    }

    /// Publishes a batch past the queue if the partition is empty, and says whether it was.
    pub(super) fn fill(&self, batch: Batch) -> Result<bool> {
        // Nothing is published while this is locked.
        let epoch = lock(&self.epoch);
        if let Some(refusal) = &lock(&self.queue).refusal {
            return Err(refusal.clone());
        }
        let is_empty = self.is_empty();
        if is_empty {
            self.publish(batch);
        }
        drop(epoch);
        Ok(is_empty)
    }

    /// Fails all batches that are submitted from now on.
    pub(super) fn refuse(&self, error: Error) {
        lock(&self.queue).refusal.get_or_insert(error);
    }

    /// Shuts out the owners of lower epochs, or is shut out by a higher one.
    pub(super) fn fence(&self, epoch: u64) -> Result<()> {
        let mut highest = lock(&self.epoch);
        if epoch < *highest {
            return Err(Error::Fenced);
        }
        *highest = epoch;
        Ok(())
    }

    pub(super) fn snapshot(&self) -> MemorySnapshot {
        MemorySnapshot { pin: Pin::new(Arc::clone(&self.versions)) }
    }

    /// Publishes a batch unless its owner was shut out.
    fn publish_of(&self, epoch: u64, batch: Batch) -> Result<()> {
        let highest = lock(&self.epoch);
        if epoch < *highest {
            return Err(Error::Fenced);
        }
        self.publish(batch);
        drop(highest);
        Ok(())
    }

    /// Only with `epoch` locked.
    fn publish(&self, batch: Batch) {
        self.versions.apply(batch);
        self.published.fetch_add(1, Ordering::Relaxed);
    }

    /// Publishes until the queue is empty. Completions run without a lock: they may submit again.
    fn drain(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let Some(next) = queue.waiting.pop_front() else {
                queue.is_draining = false;
                return;
            };
            queue.bytes -= next.size_bytes;
            drop(queue);
            let result = next.batch.and_then(|batch| self.publish_of(next.epoch, batch));
            let done = next.done;
            // A panic in a completion must not leave the queue without its drainer. The panic
            // hook has reported it by now.
            let _ = catch_unwind(AssertUnwindSafe(move || done(result)));
        }
    }
}

/// What an owner holds of a partition.
pub(super) struct Handle {
    pub(super) partition: Arc<MemoryPartition>,
    pub(super) epoch: u64,
}

impl KeySpace for Handle {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(self.partition.snapshot())
    }

    fn submit(&self, batch: Batch, _durability: Durability, done: Completion) {
        self.queue(batch, done);
    }

    /// An empty batch is published in its turn, behind everything that was queued before.
    fn barrier(&self, _durability: Durability, done: Completion) {
        self.queue(Batch::default(), done);
    }

    fn debt(&self) -> Debt {
        let queue = lock(&self.partition.queue);
        Debt { queued_batches: queue.waiting.len(), queued_bytes: queue.bytes, pressure_percent: 0 }
    }
}

impl Handle {
    fn queue(&self, batch: Batch, done: Completion) {
        let size_bytes = batch.size_bytes();
        let checked = batch.check();
        let mut queue = lock(&self.partition.queue);
        let batch = queue.refusal.clone().map_or(checked, Err).map(|()| batch);
        queue.waiting.push_back(Waiting { batch, size_bytes, epoch: self.epoch, done });
        queue.bytes += size_bytes;
        let drains = !std::mem::replace(&mut queue.is_draining, true);
        drop(queue);
        if drains {
            self.partition.drain();
        }
    }
}

/// A sequence number that the partition keeps readable.
pub(super) struct MemorySnapshot {
    pin: Pin,
}

impl Snapshot for MemorySnapshot {
    fn get_many<'a>(&'a self, keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>> {
        Box::pin(async move { Ok(self.pin.get_many(keys)) })
    }

    fn scan(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move { Ok(self.pin.scan(&range, direction, limit)) })
    }
}
