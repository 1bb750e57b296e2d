//! A store that counts what is read of it, and that can make the partitions of a query wait for each
//! other.

use std::{
    collections::HashSet,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use store::{
    Batch, BoxFuture, Completion, Debt, Direction, Durability, Keep, KeyRange, KeySpace, Page,
    PageLimit, Result, Snapshot, Statistics, Store, memory::MemoryStore,
};
use tokio::sync::Barrier;

/// What was read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Reads {
    /// Calls of snapshots.
    pub(crate) calls: usize,
    /// Documents that were asked for by their numbers.
    pub(crate) documents: usize,
}

#[derive(Default)]
pub(crate) struct Watch {
    calls: AtomicUsize,
    documents: AtomicUsize,
    /// Whether answers are waited for, how many are on their way, and how many were at most.
    is_slow: AtomicBool,
    on_their_way: AtomicUsize,
    most: AtomicUsize,
    /// How often somebody began to wait while nobody else did.
    waits: AtomicUsize,
    /// Where the first read of each key space waits, and which have passed.
    meeting: Mutex<Option<(Arc<Barrier>, HashSet<String>)>>,
}

impl Watch {
    /// What was read since this was asked before.
    pub(crate) fn take(&self) -> Reads {
        Reads {
            calls: self.calls.swap(0, Ordering::Relaxed),
            documents: self.documents.swap(0, Ordering::Relaxed),
        }
    }

    /// From now on the first read of a key space is answered when so many key spaces are read.
    pub(crate) fn meet(&self, count: usize) {
        let meeting = (Arc::new(Barrier::new(count)), HashSet::new());
        *self.meeting.lock().expect("not poisoned") = Some(meeting);
    }

    /// From now on every read is waited for, or none is.
    pub(crate) fn set_slow(&self, is_slow: bool) {
        self.is_slow.store(is_slow, Ordering::Relaxed);
        self.most.store(0, Ordering::Relaxed);
        self.waits.store(0, Ordering::Relaxed);
    }

    /// How many answers were waited for at the same time, at most.
    pub(crate) fn most(&self) -> usize {
        self.most.load(Ordering::Relaxed)
    }

    /// How long was waited since, where every answer takes as long, and those that are waited for
    /// at the same time come at the same time.
    pub(crate) fn waits(&self) -> usize {
        self.waits.load(Ordering::Relaxed)
    }

    async fn pass(&self, name: &str) {
        if self.is_slow.load(Ordering::Relaxed) {
            let count = self.on_their_way.fetch_add(1, Ordering::Relaxed) + 1;
            self.most.fetch_max(count, Ordering::Relaxed);
            self.waits.fetch_add(usize::from(count == 1), Ordering::Relaxed);
            tokio::task::yield_now().await;
            self.on_their_way.fetch_sub(1, Ordering::Relaxed);
        }
        let barrier = {
            let mut meeting = self.meeting.lock().expect("not poisoned");
            let Some((barrier, passed)) = &mut *meeting else { return };
            passed.insert(name.to_owned()).then(|| Arc::clone(barrier))
        };
        if let Some(barrier) = barrier {
            barrier.wait().await;
        }
    }
}

/// A memory store that is watched.
#[derive(Default)]
pub(crate) struct WatchedStore {
    inner: MemoryStore,
    pub(crate) watch: Arc<Watch>,
}

impl Store for WatchedStore {
    fn open<'a>(&'a self, name: &'a str, epoch: u64) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            let (inner, watch) = (self.inner.open(name, epoch).await?, Arc::clone(&self.watch));
            Ok(Arc::new(Watched { inner, watch, name: name.to_owned() }) as Arc<dyn KeySpace>)
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.inner.key_spaces()
    }

    fn drop_key_space<'a>(&'a self, name: &'a str) -> BoxFuture<'a, Result<()>> {
        self.inner.drop_key_space(name)
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        self.inner.copy(from, to, keep)
    }

    fn queue_bytes(&self) -> usize {
        self.inner.queue_bytes()
    }

    fn failure(&self) -> Option<String> {
        self.inner.failure()
    }

    fn statistics(&self) -> Statistics {
        self.inner.statistics()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.inner.close()
    }
}

struct Watched<T: ?Sized> {
    inner: Arc<T>,
    watch: Arc<Watch>,
    name: String,
}

impl KeySpace for Watched<dyn KeySpace> {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let (watch, name) = (Arc::clone(&self.watch), self.name.clone());
        Arc::new(Watched { inner: self.inner.snapshot(), watch, name })
    }

    fn submit(&self, batch: Batch, durability: Durability, done: Completion) {
        self.inner.submit(batch, durability, done);
    }

    fn barrier(&self, durability: Durability, done: Completion) {
        self.inner.barrier(durability, done);
    }

    fn debt(&self) -> Debt {
        self.inner.debt()
    }
}

impl Snapshot for Watched<dyn Snapshot> {
    fn get_many<'a>(&'a self, keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>> {
        Box::pin(async move {
            let documents = keys.iter().filter(|key| key.starts_with(b"D")).count();
            self.watch.calls.fetch_add(1, Ordering::Relaxed);
            self.watch.documents.fetch_add(documents, Ordering::Relaxed);
            self.watch.pass(&self.name).await;
            self.inner.get_many(keys).await
        })
    }

    fn scan(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            self.watch.calls.fetch_add(1, Ordering::Relaxed);
            self.watch.pass(&self.name).await;
            self.inner.scan(range, direction, limit).await
        })
    }
}
