//! Which store the tests run on.
//!
//! `SHEAF_TEST_STORE` chooses it: `memory` (the default), `lsm` (the embedded store, in a directory of its
//! own), `slow` (every call waits) or `journals` (one journal per partition, and each start of an engine
//! on a used store follows a crash that loses what was only buffered). A test that needs a particular
//! store makes it itself.

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use store::{
    Batch, BoxFuture, Durability, Keep, KeySpace, Result, Snapshot, Statistics, Store,
    memory::MemoryStore,
    testing::{Journals, Slow},
};
use tempfile::TempDir;

/// How long a call of the slow store takes at most.
const DELAY_MAX: Duration = Duration::from_micros(200);

tokio::task_local! {
    /// Set while an engine starts.
    static STARTING: ();
}

/// Runs the start of an engine. What the process before it had not made durable is lost, if the store
/// can lose anything.
pub(crate) async fn starting<T>(start: impl Future<Output = T>) -> T {
    STARTING.scope((), start).await
}

/// A new, empty store of the kind that was chosen.
pub(crate) fn new_store() -> Arc<dyn Store> {
    static SEED: AtomicU64 = AtomicU64::new(1);
    match std::env::var("SHEAF_TEST_STORE").as_deref() {
        Err(_) | Ok("memory") => Arc::new(MemoryStore::new()),
        Ok("lsm") => {
            let directory = tempfile::tempdir().expect("a directory");
            let options = store_lsm::Options::default();
            let store = store_lsm::LsmStore::open(directory.path(), options);
            Arc::new(Around::Directory(store.expect("the store opens"), directory))
        }
        Ok("slow") => {
            let seed = SEED.fetch_add(1, Ordering::Relaxed);
            Arc::new(Slow::new(Arc::new(MemoryStore::new()), seed, DELAY_MAX))
        }
        Ok("journals") => Arc::new(Around::Crashing(Mutex::default())),
        Ok(other) => {
            panic!("SHEAF_TEST_STORE must be memory, lsm, slow or journals, not `{other}`")
        }
    }
}

/// Writes a batch behind the database's back, and waits for it.
pub(crate) async fn commit(key_space: &dyn KeySpace, batch: Batch) {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let done = Box::new(move |result| drop(sender.send(result)));
    key_space.submit(batch, Durability::Durable, done);
    receiver.await.expect("each batch is completed").expect("written");
}

/// A store that needs something done around it.
enum Around {
    /// The directory goes away with its store.
    Directory(Arc<store_lsm::LsmStore>, #[expect(dead_code, reason = "dropped last")] TempDir),
    /// Crashes whenever an engine starts on it.
    Crashing(Mutex<Arc<Journals>>),
}

impl Around {
    /// The store as it is now.
    fn now(&self) -> Arc<dyn Store> {
        match self {
            Self::Directory(store, _) => Arc::clone(store) as _,
            Self::Crashing(journals) => Arc::clone(&journals.lock().expect("not poisoned")) as _,
        }
    }
}

impl Store for Around {
    fn open<'a>(
        &'a self,
        key_space: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            // The catalog is what an engine opens first.
            if let Self::Crashing(journals) = self
                && key_space == "catalog"
                && STARTING.try_with(|()| ()).is_ok()
            {
                let mut journals = journals.lock().expect("not poisoned");
                *journals = Arc::new(journals.crash());
            }
            self.now().open(key_space, epoch).await
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move { self.now().key_spaces().await })
    }

    fn drop_key_space<'a>(&'a self, key_space: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.now().drop_key_space(key_space).await })
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move { self.now().copy(from, to, keep).await })
    }

    fn queue_bytes(&self) -> usize {
        self.now().queue_bytes()
    }

    fn failure(&self) -> Option<String> {
        self.now().failure()
    }

    fn statistics(&self) -> Statistics {
        self.now().statistics()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move { self.now().close().await })
    }
}
