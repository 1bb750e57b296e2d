//! A key space of a flaky store, and its snapshots.

use std::sync::Arc;

use bytes::Bytes;

use super::line::{Line, Sent};
use crate::{
    Batch, BoxFuture, Completion, Debt, Direction, Durability, KeyRange, KeySpace, Page, PageLimit,
    Result, Snapshot,
};

/// A handle opened with some epoch.
pub(super) struct FlakyKeySpace {
    pub(super) inner: Arc<dyn KeySpace>,
    pub(super) line: Arc<Line>,
    pub(super) epoch: u64,
}

impl FlakyKeySpace {
    fn send(&self, batch: Option<Batch>, durability: Durability, done: Completion) {
        let (inner, epoch) = (Arc::clone(&self.inner), self.epoch);
        self.line.send(Sent { inner, epoch, batch, durability, done });
    }
}

impl KeySpace for FlakyKeySpace {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        let (inner, line) = (self.inner.snapshot(), Arc::clone(&self.line));
        Arc::new(FlakySnapshot { inner, line, epoch: self.epoch })
    }

    fn submit(&self, batch: Batch, durability: Durability, done: Completion) {
        self.send(Some(batch), durability, done);
    }

    fn barrier(&self, durability: Durability, done: Completion) {
        self.send(None, durability, done);
    }

    fn debt(&self) -> Debt {
        let debt = self.inner.debt();
        Debt { queued_batches: debt.queued_batches + self.line.waiting(), ..debt }
    }
}

struct FlakySnapshot {
    inner: Arc<dyn Snapshot>,
    line: Arc<Line>,
    epoch: u64,
}

impl Snapshot for FlakySnapshot {
    fn get_many<'a>(&'a self, keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>> {
        Box::pin(async move {
            self.line.read(self.epoch)?;
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
            self.line.read(self.epoch)?;
            self.inner.scan(range, direction, limit).await
        })
    }
}
