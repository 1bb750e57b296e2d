//! A store that fails.

mod key_space;
mod line;
mod plan;

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU64, Ordering},
    },
};

pub use self::plan::{Chances, Fault};
use self::{key_space::FlakyKeySpace, line::Line, plan::Plan};
use crate::{BoxFuture, Error, Keep, KeySpace, Result, Snapshot, Statistics, Store};

/// How many wrappers this process has created.
static WRAPPERS: AtomicU64 = AtomicU64::new(0);

/// Passes calls on to another store, and fails some of them: at chosen steps ([`Flaky::fail_in`])
/// or at random ([`Flaky::set_chances`]). Fails nothing until told to.
///
/// Failures keep the contract. After one batch of a key space has failed, those after it fail too,
/// until the key space is opened with a higher epoch. A batch reported as failed may have been
/// applied, or may be applied later, but never after an open with a higher epoch has returned.
///
/// Each wrapper is a new owner to the inner store: its epochs are higher than those of earlier
/// wrappers, so that a database can be reopened in a fresh wrapper around the same store.
pub struct Flaky {
    inner: Arc<dyn Store>,
    /// Offset of the epochs passed to the inner store.
    first_epoch: u64,
    plan: Arc<Plan>,
    lines: Mutex<BTreeMap<String, Arc<Line>>>,
}

impl Flaky {
    /// Creates a wrapper that passes everything on for now. The seed determines random choices.
    pub fn new(inner: Arc<dyn Store>, seed: u64) -> Self {
        let first_epoch = WRAPPERS.fetch_add(1, Ordering::Relaxed) << 32;
        Self { inner, first_epoch, plan: Arc::new(Plan::new(seed)), lines: Mutex::default() }
    }

    /// Fails one of the next calls: 0 is the next one. Counts asynchronous calls, batches and
    /// barriers, in the order in which they begin.
    pub fn fail_in(&self, steps: u64, fault: Fault) {
        self.plan.fail_in(steps, fault);
    }

    /// Fails calls at random from now on.
    pub fn set_chances(&self, chances: Chances) {
        self.plan.set_chances(chances);
    }

    /// The number of calls so far.
    pub fn steps(&self) -> u64 {
        self.plan.steps()
    }

    /// How many of them were failed or stalled on purpose, not counting those that failed because
    /// an earlier one had.
    pub fn faults(&self) -> u64 {
        self.plan.faults()
    }

    /// Releases stalled batches, and applies late ones.
    pub fn release(&self) {
        let lines: Vec<_> = lock(&self.lines).values().cloned().collect();
        for line in lines {
            line.release();
        }
    }

    /// Stops planning faults, and releases everything. What has failed stays failed until it is
    /// opened with a higher epoch.
    pub fn calm(&self) {
        self.plan.clear();
        self.release();
    }

    fn line(&self, key_space: &str) -> Arc<Line> {
        let mut lines = lock(&self.lines);
        let new = || Arc::new(Line::new(Arc::clone(&self.plan)));
        Arc::clone(lines.entry(key_space.to_owned()).or_insert_with(new))
    }

    /// Makes a call, unless the plan fails it.
    async fn call<T>(&self, call: impl Future<Output = Result<T>>) -> Result<T> {
        match self.plan.next(|chances| chances.calls) {
            None => call.await,
            Some(Fault::Applied | Fault::Late) => {
                call.await?;
                Err(unavailable("the answer was lost"))
            }
            Some(Fault::Unavailable | Fault::Fenced | Fault::Stalled) => {
                Err(unavailable("the call was lost"))
            }
        }
    }

    async fn open_line(&self, key_space: &str, epoch: u64) -> Result<Arc<dyn KeySpace>> {
        let line = self.line(key_space);
        line.settle(epoch)?;
        let inner = self.inner.open(key_space, self.first_epoch.saturating_add(epoch)).await?;
        Ok(Arc::new(FlakyKeySpace { inner, line, epoch }))
    }
}

impl Store for Flaky {
    fn open<'a>(
        &'a self,
        key_space: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            match self.plan.next(|chances| chances.calls) {
                None => self.open_line(key_space, epoch).await,
                Some(Fault::Fenced) => {
                    self.line(key_space).fence(epoch);
                    Err(Error::Fenced)
                }
                Some(Fault::Applied | Fault::Late) => {
                    self.open_line(key_space, epoch).await?;
                    Err(unavailable("the answer was lost"))
                }
                Some(Fault::Unavailable | Fault::Stalled) => Err(unavailable("the call was lost")),
            }
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(self.call(self.inner.key_spaces()))
    }

    fn drop_key_space<'a>(&'a self, key_space: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call(async move {
            self.inner.drop_key_space(key_space).await?;
            // A new key space of the same name starts without a history. Handles of the old one
            // keep theirs.
            let line = lock(&self.lines).remove(key_space);
            if let Some(line) = line {
                line.release();
            }
            Ok(())
        }))
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(self.call(self.inner.copy(from, to, keep)))
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

    /// Never fails on purpose, because a test ends with it. Publishes stalled batches first.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.release();
        self.inner.close()
    }
}

fn unavailable(why: &str) -> Error {
    Error::Unavailable(format!("{why}, on purpose"))
}

/// No code here panics while holding a lock, so a poisoned one has consistent state.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
