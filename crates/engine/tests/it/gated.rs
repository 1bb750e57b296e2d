//! A store that can hold writers where they look for the document that they are about to write, that
//! can hold back what is committed or fail it, and that can say that it is behind with its work.

use std::sync::{
    Arc, Mutex,
    atomic::{AtomicBool, AtomicUsize, Ordering},
};

use bytes::Bytes;
use store::{
    Batch, BoxFuture, Completion, Debt, Direction, Durability, Keep, KeyRange, KeySpace, Page,
    PageLimit, Result, Snapshot, Statistics, Store, memory::MemoryStore,
};
use tokio::sync::watch;

/// Whether primary rows can be looked up. Whoever looks for one while it is shut waits.
pub(crate) struct Gate {
    is_open: watch::Sender<bool>,
    waiting: AtomicUsize,
    /// When so many wait, others may pass although it is shut.
    waiting_max: AtomicUsize,
    is_behind: AtomicBool,
    /// What is held back of what was submitted; `None` while nothing is.
    held: Mutex<Option<Vec<Submitted>>>,
}

/// A batch on its way.
struct Submitted {
    partition: Arc<dyn KeySpace>,
    batch: Batch,
    durability: Durability,
    done: Completion,
}

impl Gate {
    /// From now on nothing is committed.
    pub(crate) fn hold_commits(&self) {
        self.held.lock().expect("not poisoned").get_or_insert_default();
    }

    /// Commits what was held back, and whatever comes.
    pub(crate) fn release_commits(&self) {
        let mut held = self.held.lock().expect("not poisoned");
        for Submitted { partition, batch, durability, done } in held.take().into_iter().flatten() {
            partition.submit(batch, durability, done);
        }
    }

    /// Fails what was held back.
    pub(crate) fn fail_commits(&self) {
        let mut held = self.held.lock().expect("not poisoned");
        for Submitted { done, .. } in held.take().into_iter().flatten() {
            done(Err(store::Error::Io("no more room".to_owned())));
        }
    }

    /// Waits until so many commits are held back.
    pub(crate) async fn holds_commits(&self, count: usize) {
        while self.held.lock().expect("not poisoned").as_ref().map_or(0, Vec::len) < count {
            tokio::time::sleep(std::time::Duration::from_millis(1)).await;
        }
    }

    pub(crate) fn set_open(&self, is_open: bool) {
        self.is_open.send_replace(is_open);
    }

    /// Says whether the store is behind with its work.
    pub(crate) fn set_behind(&self, is_behind: bool) {
        self.is_behind.store(is_behind, Ordering::Release);
    }

    /// Waits until so many wait.
    pub(crate) async fn holds(&self, count: usize) {
        while self.waiting.load(Ordering::Acquire) < count {
            tokio::task::yield_now().await;
        }
    }

    /// Is shut for the next one who comes, and for nobody else.
    pub(crate) fn shut_for_one(&self) {
        self.waiting_max.store(1, Ordering::Release);
        self.set_open(false);
    }

    async fn pass(&self) {
        if self.waiting.load(Ordering::Acquire) >= self.waiting_max.load(Ordering::Acquire) {
            return;
        }
        self.waiting.fetch_add(1, Ordering::AcqRel);
        let opened = self.is_open.subscribe().wait_for(|is_open| *is_open).await.is_ok();
        self.waiting.fetch_sub(1, Ordering::AcqRel);
        assert!(opened, "the gate outlives who waits at it");
    }
}

/// A memory store with a gate.
pub(crate) struct GatedStore {
    pub(crate) inner: Arc<MemoryStore>,
    pub(crate) gate: Arc<Gate>,
}

impl GatedStore {
    pub(crate) fn new() -> Self {
        let gate = Gate {
            is_open: watch::channel(true).0,
            waiting: AtomicUsize::new(0),
            waiting_max: AtomicUsize::new(usize::MAX),
            is_behind: AtomicBool::new(false),
            held: Mutex::new(None),
        };
        Self { inner: Arc::new(MemoryStore::new()), gate: Arc::new(gate) }
    }
}

impl Store for GatedStore {
    fn open<'a>(
        &'a self,
        partition: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            let (inner, gate) = (self.inner.open(partition, epoch).await?, Arc::clone(&self.gate));
            Ok(Arc::new(Gated { inner, gate }) as Arc<dyn KeySpace>)
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.inner.key_spaces()
    }

    fn drop_key_space<'a>(&'a self, partition: &'a str) -> BoxFuture<'a, Result<()>> {
        self.inner.drop_key_space(partition)
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

struct Gated<T: ?Sized> {
    inner: Arc<T>,
    gate: Arc<Gate>,
}

impl KeySpace for Gated<dyn KeySpace> {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(Gated { inner: self.inner.snapshot(), gate: Arc::clone(&self.gate) })
    }

    fn submit(&self, batch: Batch, durability: Durability, done: Completion) {
        // Locked until it is submitted: the order must not change.
        let mut held = self.gate.held.lock().expect("not poisoned");
        match held.as_mut() {
            Some(held) => {
                let partition = Arc::clone(&self.inner);
                held.push(Submitted { partition, batch, durability, done });
            }
            None => self.inner.submit(batch, durability, done),
        }
    }

    /// Whoever holds back commits holds back those who wait for them.
    fn barrier(&self, durability: Durability, done: Completion) {
        let mut held = self.gate.held.lock().expect("not poisoned");
        match held.as_mut() {
            Some(held) => {
                let partition = Arc::clone(&self.inner);
                held.push(Submitted { partition, batch: Batch::default(), durability, done });
            }
            None => self.inner.barrier(durability, done),
        }
    }

    fn debt(&self) -> Debt {
        let debt = self.inner.debt();
        let is_behind = self.gate.is_behind.load(Ordering::Acquire);
        Debt { pressure_percent: if is_behind { 100 } else { debt.pressure_percent }, ..debt }
    }
}

impl Snapshot for Gated<dyn Snapshot> {
    fn get_many<'a>(&'a self, keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>> {
        Box::pin(async move {
            // Primary rows: who re-indexes reads documents only, and is not held.
            if keys.iter().any(|key| key.starts_with(b"P")) {
                self.gate.pass().await;
            }
            self.inner.get_many(keys).await
        })
    }

    fn scan(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> BoxFuture<'_, Result<Page>> {
        self.inner.scan(range, direction, limit)
    }
}
