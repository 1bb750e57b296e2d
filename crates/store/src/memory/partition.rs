//! One partition: its versions, the queue of batches in front of them, and who may write.
//!
//! A snapshot is a sequence number, so taking one costs only an allocation and a short lock. A
//! batch is published inside [`KeySpace::submit`], and its completion runs there too. If another
//! thread is publishing on the same partition at that moment, that thread does both, so that the
//! order is kept and completions never run under a lock.
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
    journal::{Disk, Journal},
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
    /// The highest epoch that opened the partition. Locked while a batch is published, so that no
    /// batch of a lower epoch can follow once it is raised.
    epoch: Mutex<u64>,
    published: Arc<AtomicU64>,
    journal: Option<(Journal, Arc<Disk>)>,
}

/// A batch, or why it was refused, and its owner's epoch.
struct Waiting {
    batch: Result<Batch>,
    size_bytes: usize,
    epoch: u64,
    durability: Durability,
    done: Completion,
}

/// Batches waiting to be published, and the completions to run.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<Waiting>,
    bytes: usize,
    /// Some thread is publishing and will handle everything added meanwhile.
    is_draining: bool,
    /// Set once the partition is dropped or the store closed: later batches fail with this error.
    refusal: Option<Error>,
}

impl MemoryPartition {
    /// Creates an empty partition; `published` counts the batches of all partitions. With a disk it
    /// has a journal.
    pub(super) fn new(published: Arc<AtomicU64>, disk: Option<Arc<Disk>>) -> Self {
        Self {
            versions: Arc::default(),
            queue: Mutex::default(),
            epoch: Mutex::default(),
            published,
            journal: disk.map(|disk| (Journal::default(), disk)),
        }
    }

    /// Fills a new partition with what survived a crash.
    pub(super) fn start_with(&self, batch: Batch) {
        self.publish(batch, Durability::Durable);
    }

    /// Everything that would survive a crash.
    pub(super) fn durable(&self) -> Batch {
        self.journal.as_ref().map_or_else(Batch::default, |(journal, _)| journal.durable())
    }

    /// Whether a snapshot taken now would see nothing.
    pub(super) fn is_empty(&self) -> bool {
        self.versions.is_empty()
    }

    /// Approximate bytes held.
    pub(super) fn size(&self) -> u64 {
        self.versions.size()
    }

    /// Publishes a batch without queueing if the partition is empty; returns whether it was.
    pub(super) fn fill(&self, batch: Batch) -> Result<bool> {
        // Nothing is published while this is locked.
        let epoch = lock(&self.epoch);
        if let Some(refusal) = &lock(&self.queue).refusal {
            return Err(refusal.clone());
        }
        let is_empty = self.is_empty();
        if is_empty {
            self.publish(batch, Durability::Durable);
        }
        drop(epoch);
        Ok(is_empty)
    }

    /// Makes buffered batches durable.
    pub(super) fn make_durable(&self) {
        if let Some((journal, _)) = &self.journal {
            journal.write(&Batch::default(), Durability::Durable);
        }
    }

    /// Fails all batches that are submitted from now on.
    pub(super) fn refuse(&self, error: Error) {
        lock(&self.queue).refusal.get_or_insert(error);
    }

    /// Fences the owners of lower epochs, or fails if a higher epoch has already opened the
    /// partition.
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

    /// Publishes a batch unless its owner is fenced.
    fn publish_of(&self, epoch: u64, batch: Batch, durability: Durability) -> Result<()> {
        let highest = lock(&self.epoch);
        if epoch < *highest {
            return Err(Error::Fenced);
        }
        self.publish(batch, durability);
        drop(highest);
        Ok(())
    }

    /// Requires `epoch` to be locked.
    fn publish(&self, batch: Batch, durability: Durability) {
        if let Some((journal, _)) = &self.journal {
            journal.write(&batch, durability);
        }
        self.versions.apply(batch);
        self.published.fetch_add(1, Ordering::Relaxed);
    }

    /// Whether the disk accepts it now.
    fn can_publish(&self, next: &Waiting) -> bool {
        let is_paused = self.journal.as_ref().is_some_and(|(_, disk)| disk.is_paused());
        !is_paused || next.durability == Durability::Buffered
    }

    /// Publishes waiting batches, unless another thread is already doing so.
    pub(super) fn go_on(&self) {
        let drains = !std::mem::replace(&mut lock(&self.queue).is_draining, true);
        if drains {
            self.drain();
        }
    }

    /// Publishes until the queue is empty or has to wait for the disk. Completions run without a
    /// lock, because they may submit again.
    fn drain(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let Some(next) = queue.waiting.pop_front_if(|next| self.can_publish(next)) else {
                queue.is_draining = false;
                return;
            };
            queue.bytes -= next.size_bytes;
            drop(queue);
            let result = next.batch;
            let result =
                result.and_then(|batch| self.publish_of(next.epoch, batch, next.durability));
            let done = next.done;
            // A panic in a completion must not leave the queue without a drainer. The panic hook
            // has already reported it.
            let _ = catch_unwind(AssertUnwindSafe(move || done(result)));
        }
    }
}

/// An owner's handle of a partition.
pub(super) struct Handle {
    pub(super) partition: Arc<MemoryPartition>,
    pub(super) epoch: u64,
}

impl KeySpace for Handle {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(self.partition.snapshot())
    }

    fn submit(&self, batch: Batch, durability: Durability, done: Completion) {
        self.queue(batch, durability, done);
    }

    /// An empty batch is published in queue order, after everything queued before.
    fn barrier(&self, durability: Durability, done: Completion) {
        self.queue(Batch::default(), durability, done);
    }

    fn debt(&self) -> Debt {
        let queue = lock(&self.partition.queue);
        Debt { queued_batches: queue.waiting.len(), queued_bytes: queue.bytes, pressure_percent: 0 }
    }
}

impl Handle {
    fn queue(&self, batch: Batch, durability: Durability, done: Completion) {
        let size_bytes = batch.size_bytes();
        let checked = batch.check();
        let mut queue = lock(&self.partition.queue);
        let batch = queue.refusal.clone().map_or(checked, Err).map(|()| batch);
        let epoch = self.epoch;
        queue.waiting.push_back(Waiting { batch, size_bytes, epoch, durability, done });
        queue.bytes += size_bytes;
        drop(queue);
        self.partition.go_on();
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
