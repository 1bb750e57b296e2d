//! The store that keeps everything in memory: for tests, and for servers told to keep nothing.
//!
//! Each partition is one ordered map whose entries hold several versions (`versions`); a snapshot
//! is a sequence number, so taking one costs no more than an allocation and a short lock. A batch
//! is published inside [`Partition::submit`], and its completion runs there too, unless another
//! thread is publishing on the same partition at that moment: then that thread does it, so that
//! the order is kept and nobody runs a completion under a lock.
//!
//! Keys and values are kept as they are given. A small value that is a slice of a large buffer
//! keeps the whole buffer alive: give it bytes of its own.

mod versions;

use std::{
    collections::{BTreeMap, VecDeque},
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use self::versions::{Pin, Versions};
use crate::{
    Batch, BoxFuture, Completion, Debt, Direction, Durability, Engine, Error, Keep, KeyRange, Page,
    PageLimit, Partition, Result, Snapshot, Statistics, check_name,
};

/// How much of the source a copy reads at a time.
const COPY_PAGE: PageLimit = PageLimit { entries: 4096, bytes: 4 << 20 };

/// A store without a disk.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    published: Arc<AtomicU64>,
}

#[derive(Default)]
struct State {
    partitions: BTreeMap<String, Arc<MemoryPartition>>,
    is_closed: bool,
}

impl MemoryStore {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    fn open_now(&self, name: &str) -> Result<Arc<MemoryPartition>> {
        check_name(name)?;
        let mut state = lock(&self.state);
        if let Some(partition) = state.partitions.get(name) {
            return Ok(Arc::clone(partition));
        }
        if state.is_closed {
            return Err(closed());
        }
        let partition = Arc::new(MemoryPartition {
            versions: Arc::default(),
            queue: Mutex::default(),
            published: Arc::clone(&self.published),
        });
        state.partitions.insert(name.to_owned(), Arc::clone(&partition));
        Ok(partition)
    }

    async fn copy_pages(&self, from: &dyn Snapshot, to: &str, keep: &Keep) -> Result<()> {
        let target = self.open_now(to)?;
        if !target.versions.is_empty() {
            return Err(Error::Conflict(format!("partition `{to}` is not empty")));
        }
        let mut start = std::ops::Bound::Unbounded;
        loop {
            let range = (start, std::ops::Bound::Unbounded);
            let page = from.scan(range, Direction::Forward, COPY_PAGE).await?;
            let Some((last, _)) = page.entries.last() else { return Ok(()) };
            start = std::ops::Bound::Excluded(last.clone());
            let mut batch = Batch::default();
            for (key, value) in page.entries {
                if keep(&key, &value) {
                    batch.put(key, value);
                }
            }
            // Past the queue: the target is not in use yet, and an error can be returned at once.
            target.publish(batch);
            if !page.has_more {
                return Ok(());
            }
        }
    }
}

impl Engine for MemoryStore {
    fn open<'a>(&'a self, partition: &'a str) -> BoxFuture<'a, Result<Arc<dyn Partition>>> {
        Box::pin(async move { Ok(self.open_now(partition)? as Arc<dyn Partition>) })
    }

    fn partitions(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move { Ok(lock(&self.state).partitions.keys().cloned().collect()) })
    }

    fn drop_partition<'a>(&'a self, partition: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let mut state = lock(&self.state);
            if state.is_closed {
                return Err(closed());
            }
            let dropped = state.partitions.remove(partition);
            drop(state);
            if let Some(dropped) = dropped {
                dropped.refuse(Error::Closed(format!("partition `{partition}` was dropped")));
            }
            Ok(())
        })
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.copy_pages(from, to, keep))
    }

    fn failure(&self) -> Option<String> {
        None
    }

    fn statistics(&self) -> Statistics {
        let published = self.published.load(Ordering::Relaxed);
        let state = lock(&self.state);
        Statistics {
            commit_groups: published,
            committed_batches: published,
            write_buffer_bytes: state.partitions.values().map(|p| p.versions.size()).sum(),
            ..Statistics::default()
        }
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let mut state = lock(&self.state);
            state.is_closed = true;
            let partitions: Vec<_> = state.partitions.values().cloned().collect();
            drop(state);
            for partition in partitions {
                partition.refuse(closed());
            }
            Ok(())
        })
    }
}

/// One ordered map with its queue of batches.
struct MemoryPartition {
    versions: Arc<Versions>,
    queue: Mutex<Queue>,
    published: Arc<AtomicU64>,
}

/// Batches waiting for their turn, and what to answer them with.
#[derive(Default)]
struct Queue {
    waiting: VecDeque<(Result<Batch>, usize, Completion)>,
    bytes: usize,
    /// Some thread publishes now and will take everything that is added meanwhile.
    is_draining: bool,
    /// Set once the partition is dropped or the store closed: later batches fail with it.
    refusal: Option<Error>,
}

impl MemoryPartition {
    /// Fails all batches that are submitted from now on.
    fn refuse(&self, error: Error) {
        lock(&self.queue).refusal.get_or_insert(error);
    }

    fn publish(&self, batch: Batch) {
        self.versions.apply(batch);
        self.published.fetch_add(1, Ordering::Relaxed);
    }

    /// Publishes until the queue is empty. Completions run without a lock: they may submit again.
    fn drain(&self) {
        loop {
            let mut queue = lock(&self.queue);
            let Some((batch, size, done)) = queue.waiting.pop_front() else {
                queue.is_draining = false;
                return;
            };
            queue.bytes -= size;
            drop(queue);
            let result = batch.map(|batch| self.publish(batch));
            // A panic in a completion must not leave the queue without its drainer. The panic
            // hook has reported it by now.
            let _ = catch_unwind(AssertUnwindSafe(move || done(result)));
        }
    }
}

impl Partition for MemoryPartition {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(MemorySnapshot { pin: Pin::new(Arc::clone(&self.versions)) })
    }

    fn submit(&self, batch: Batch, _durability: Durability, done: Completion) {
        let size = batch.size_bytes();
        let checked = batch.check();
        let mut queue = lock(&self.queue);
        let batch = queue.refusal.clone().map_or(checked, Err).map(|()| batch);
        queue.waiting.push_back((batch, size, done));
        queue.bytes += size;
        let drains = !std::mem::replace(&mut queue.is_draining, true);
        drop(queue);
        if drains {
            self.drain();
        }
    }

    fn flush(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async { Ok(()) })
    }

    fn approximate_size(&self) -> u64 {
        self.versions.size()
    }

    fn debt(&self) -> Debt {
        let queue = lock(&self.queue);
        Debt { queued_batches: queue.waiting.len(), queued_bytes: queue.bytes, pressure_percent: 0 }
    }
}

/// A sequence number that the partition keeps readable.
struct MemorySnapshot {
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

fn closed() -> Error {
    Error::Closed("the store was closed".to_owned())
}

/// No code here panics under a lock, so a poisoned one holds a sound state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
