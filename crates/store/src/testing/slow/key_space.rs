//! A key space of a slow store, and its snapshots.

use std::sync::Arc;

use bytes::Bytes;

use super::{Pace, line::Lines};
use crate::{
    Batch, BoxFuture, Completion, Debt, Direction, Durability, KeyRange, KeySpace, Page, PageLimit,
    Result, Snapshot,
};

/// Passes batches on in order.
pub(super) struct SlowKeySpace {
    pub(super) inner: Arc<dyn KeySpace>,
    pub(super) pace: Arc<Pace>,
    pub(super) lines: Arc<Lines>,
}

impl SlowKeySpace {
    fn send(
        &self,
        bytes: usize,
        done: Completion,
        call: impl FnOnce(&dyn KeySpace, Completion) + Send + 'static,
    ) {
        self.lines.count(bytes);
        let (pace, lines) = (Arc::clone(&self.pace), Arc::clone(&self.lines));
        let answer: Completion = Box::new(move |result| {
            let counted = Arc::clone(&lines);
            lines.back.add(&pace, move || {
                counted.discount(bytes);
                done(result);
            });
        });
        let inner = Arc::clone(&self.inner);
        self.lines.there.add(&self.pace, move || call(&*inner, answer));
    }
}

impl KeySpace for SlowKeySpace {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(SlowSnapshot { inner: self.inner.snapshot(), pace: Arc::clone(&self.pace) })
    }

    fn submit(&self, batch: Batch, durability: Durability, done: Completion) {
        let bytes = batch.size_bytes();
        self.send(bytes, done, move |inner, done| inner.submit(batch, durability, done));
    }

    fn barrier(&self, durability: Durability, done: Completion) {
        self.send(0, done, move |inner, done| inner.barrier(durability, done));
    }

    fn debt(&self) -> Debt {
        self.lines.debt(self.inner.debt())
    }
}

struct SlowSnapshot {
    inner: Arc<dyn Snapshot>,
    pace: Arc<Pace>,
}

impl Snapshot for SlowSnapshot {
    fn get_many<'a>(&'a self, keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>> {
        Box::pin(async move {
            self.pace.wait().await;
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
            self.pace.wait().await;
            self.inner.scan(range, direction, limit).await
        })
    }
}
