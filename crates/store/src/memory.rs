//! A store that keeps everything in memory, for tests and for servers configured to persist
//! nothing.
//!
//! Each partition is one ordered map whose entries hold several versions (`versions`), with a queue
//! of batches in front of it (`partition`).
//!
//! Keys are copied, values are stored as given. A small value that is a slice of a large buffer keeps
//! the whole buffer alive, so pass it its own bytes.

mod journal;
mod key;
mod partition;
mod versions;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

use self::{
    journal::Disk,
    partition::{Handle, MemoryPartition},
};
use crate::{
    Batch, BoxFuture, Direction, Error, Keep, KeySpace, PageLimit, Result, Snapshot, Statistics,
    Store, check_name,
};

/// How much of the source a copy reads at a time.
const COPY_PAGE: PageLimit = PageLimit { entries: 4096, bytes: 4 << 20 };

/// A store without a disk.
#[derive(Default)]
pub struct MemoryStore {
    state: Mutex<State>,
    published: Arc<AtomicU64>,
    /// The disk for the journals; `None` for a store without journals.
    disk: Option<Arc<Disk>>,
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

    /// An empty store that tracks what a crash would leave.
    pub(crate) fn with_journals() -> Self {
        Self { disk: Some(Arc::default()), ..Self::default() }
    }

    /// A store with the same key spaces, containing only their durable entries.
    pub(crate) fn crashed(&self) -> Self {
        let crashed = Self::with_journals();
        let mut state = lock(&crashed.state);
        for (name, partition) in &lock(&self.state).partitions {
            let found = Arc::new(crashed.new_partition());
            found.start_with(partition.durable());
            state.partitions.insert(name.clone(), found);
        }
        drop(state);
        crashed
    }

    /// Whether any key space is held open.
    pub(crate) fn is_in_use(&self) -> bool {
        lock(&self.state).partitions.values().any(|partition| Arc::strong_count(partition) > 1)
    }

    /// Pauses durability, or resumes it and lets everything that waits become durable.
    pub(crate) fn set_paused(&self, is_paused: bool) {
        let Some(disk) = &self.disk else { return };
        disk.set_paused(is_paused);
        let partitions: Vec<_> = lock(&self.state).partitions.values().cloned().collect();
        for partition in partitions {
            partition.go_on();
        }
    }

    fn new_partition(&self) -> MemoryPartition {
        MemoryPartition::new(Arc::clone(&self.published), self.disk.clone())
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
        let partition = Arc::new(self.new_partition());
        state.partitions.insert(name.to_owned(), Arc::clone(&partition));
        Ok(partition)
    }

    async fn copy_pages(&self, from: &dyn Snapshot, to: &str, keep: &Keep) -> Result<()> {
        let target = self.open_now(to)?;
        let not_empty = || Error::Conflict(format!("partition `{to}` is not empty"));
        if !target.is_empty() {
            return Err(not_empty());
        }
        // Collected first and published at once, so that an interrupted copy leaves nothing behind.
        let mut batch = Batch::default();
        let mut start = std::ops::Bound::Unbounded;
        loop {
            let range = (start, std::ops::Bound::Unbounded);
            let page = from.scan(range, Direction::Forward, COPY_PAGE).await?;
            let Some((last, _)) = page.entries.last() else { break };
            start = std::ops::Bound::Excluded(last.clone());
            for (key, value) in page.entries {
                if keep(&key, &value) {
                    batch.put(key, value);
                }
            }
            if !page.has_more {
                break;
            }
        }
        if target.fill(batch)? { Ok(()) } else { Err(not_empty()) }
    }
}

impl Store for MemoryStore {
    /// The highest epoch is lost with the store, like everything in it.
    fn open<'a>(
        &'a self,
        partition: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            let partition = self.open_now(partition)?;
            partition.fence(epoch)?;
            Ok(Arc::new(Handle { partition, epoch }) as Arc<dyn KeySpace>)
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move { Ok(lock(&self.state).partitions.keys().cloned().collect()) })
    }

    fn drop_key_space<'a>(&'a self, partition: &'a str) -> BoxFuture<'a, Result<()>> {
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

    fn queue_bytes(&self) -> usize {
        // Batches are published at once.
        usize::MAX
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
            write_buffer_bytes: state.partitions.values().map(|p| p.size()).sum(),
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
                partition.make_durable();
            }
            Ok(())
        })
    }
}

fn closed() -> Error {
    Error::Closed("the store was closed".to_owned())
}

/// No code here panics while holding a lock, so a poisoned one has consistent state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
