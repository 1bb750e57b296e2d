//! Reads the old partitions as one source that the new ones are filled from.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, Ordering},
};

use bytes::Bytes;
use catalog::area::Area;
use index::Kind;
use partition::{
    keys::{self, Home, META_KEY, META_STATE},
    rows::{Counters, KeyCounters, State},
    terms::row_bytes,
};
use store::{BoxFuture, Direction, Error, KeyRange, Page, PageLimit, Result, Snapshot};

use crate::reshape::sides::Sides;

/// Snapshots of the old partitions, in which the state row reads as being filled: so a copy is
/// marked as unfinished from its first moment.
pub(crate) struct Source {
    pub(crate) snapshots: Vec<Arc<dyn Snapshot>>,
    /// Two partitions gave the same id to different paths.
    pub(crate) is_contradictory: AtomicBool,
}

impl Source {
    pub(crate) fn new(snapshots: Vec<Arc<dyn Snapshot>>) -> Self {
        Self { snapshots, is_contradictory: AtomicBool::new(false) }
    }

    /// Joins pages that all begin at the same place. If a page has more, entries after its end must
    /// wait, since its own partition may have entries that come first.
    fn join(&self, pages: Vec<Page>) -> Page {
        let has_more = pages.iter().any(|page| page.has_more);
        let ends = pages.iter().filter(|page| page.has_more);
        let known = ends.filter_map(|page| page.entries.last()).map(|(key, _)| key.clone()).min();
        let mut entries: Vec<_> = pages.into_iter().flat_map(|page| page.entries).collect();
        entries.sort_by(|(a, _), (b, _)| a.cmp(b));
        entries.dedup_by(|(key, value), (earlier, kept)| {
            let is_same = key == earlier;
            if is_same && value != kept && key[..] != *META_STATE && key[0] == keys::NAME {
                self.is_contradictory.store(true, Ordering::Relaxed);
            }
            is_same
        });
        if let Some(known) = known {
            entries.retain(|(key, _)| *key <= known);
        }
        for (key, value) in &mut entries {
            if key[..] == *META_STATE {
                *value = State::Filling.encode();
            }
        }
        Page { entries, has_more }
    }
}

impl Snapshot for Source {
    fn get_many<'a>(&'a self, _keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>> {
        Box::pin(async { Err(Error::Conflict("a copy reads in order".to_owned())) })
    }

    fn scan(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            if direction == Direction::Backward {
                return Err(Error::Conflict("a copy reads forward".to_owned()));
            }
            let mut pages = Vec::with_capacity(self.snapshots.len());
            for snapshot in &self.snapshots {
                pages.push(snapshot.scan(range.clone(), direction, limit).await?);
            }
            Ok(self.join(pages))
        })
    }
}

/// Selects the rows of a new partition, and sums them.
pub(crate) struct Intake {
    area: Area,
    /// The sides of the slots that are cut.
    sides: Arc<Sides>,
    documents: AtomicU64,
    bytes: AtomicU64,
    index_bytes: AtomicU64,
    /// Set by a row that this build does not know and that must not be lost.
    is_unknown: AtomicBool,
}

impl Intake {
    pub(crate) fn new(area: Area, sides: Arc<Sides>) -> Self {
        Self {
            area,
            sides,
            documents: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            index_bytes: AtomicU64::new(0),
            is_unknown: AtomicBool::new(false),
        }
    }

    /// Whether to take a row; counts it if so.
    pub(crate) fn takes(&self, key: &[u8], row: &[u8]) -> bool {
        let slot = match keys::home(key) {
            Some(Home::Slot(slot)) => slot,
            Some(Home::Everywhere) => return true,
            Some(Home::Nowhere) => return key == META_STATE,
            None => {
                self.is_unknown.store(true, Ordering::Relaxed);
                return false;
            }
        };
        if !self.area.slots().contains(&slot) {
            return false;
        }
        if self.sides.cuts(slot) {
            match self.sides.is_in(&self.area, slot, key, row) {
                Some(true) => {}
                Some(false) => return false,
                None => {
                    self.is_unknown.store(true, Ordering::Relaxed);
                    return false;
                }
            }
        }
        if key.starts_with(META_KEY) {
            match KeyCounters::decode(row) {
                Ok(counters) => {
                    self.documents.fetch_add(counters.documents, Ordering::Relaxed);
                    self.bytes.fetch_add(counters.bytes, Ordering::Relaxed);
                }
                Err(_) => self.is_unknown.store(true, Ordering::Relaxed),
            }
        } else if Kind::of(key).is_some() {
            self.index_bytes.fetch_add(row_bytes(key, row), Ordering::Relaxed);
        }
        true
    }

    /// The counters of the rows taken; `None` if there was a row that must not be left behind.
    pub(crate) fn counted(&self) -> Option<Counters> {
        let counters = Counters {
            documents: self.documents.load(Ordering::Relaxed),
            bytes: self.bytes.load(Ordering::Relaxed),
            index_bytes: self.index_bytes.load(Ordering::Relaxed),
            ..Counters::default()
        };
        (!self.is_unknown.load(Ordering::Relaxed)).then_some(counters)
    }
}

#[cfg(test)]
mod tests {
    use std::ops::Bound;

    use store::{Batch, Durability, Store, memory::MemoryStore};

    use super::*;

    async fn snapshot(
        engine: &MemoryStore,
        name: &str,
        rows: &[(&str, &str)],
    ) -> Arc<dyn Snapshot> {
        let partition = engine.open(name, 0).await.expect("a new partition");
        let mut batch = Batch::default();
        for (key, value) in rows {
            batch.put(key.as_bytes().to_vec(), value.as_bytes().to_vec());
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        partition.submit(batch, Durability::Durable, done);
        receiver.await.expect("done").expect("published");
        partition.snapshot()
    }

    /// Pages of any size, joined, contain every row of both partitions once and in order.
    #[tokio::test]
    async fn partitions_are_read_as_one() {
        let engine = MemoryStore::new();
        let left = [("Da", "1"), ("Dc", "2"), ("Ms", "x"), ("Nq", "n"), ("Pz", "3")];
        let right = [("Db", "4"), ("Ms", "y"), ("Nq", "n"), ("Nr", "m")];
        let snapshots =
            vec![snapshot(&engine, "l", &left).await, snapshot(&engine, "r", &right).await];
        let source = Source::new(snapshots);
        for entries in 1..8 {
            let limit = PageLimit { entries, bytes: 1 << 20 };
            let (mut keys, mut start) = (Vec::new(), Bound::Unbounded);
            loop {
                let range = (start, Bound::Unbounded);
                let page = source.scan(range, Direction::Forward, limit).await.expect("a page");
                for (key, row) in &page.entries {
                    keys.push(String::from_utf8_lossy(key).into_owned());
                    assert!(&key[..] != b"Ms" || *row == State::Filling.encode());
                }
                match page.entries.last() {
                    Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
                    _ => break,
                }
            }
            assert_eq!(keys, ["Da", "Db", "Dc", "Ms", "Nq", "Nr", "Pz"], "{entries}");
        }
        assert!(!source.is_contradictory.load(Ordering::Relaxed));
    }

    #[tokio::test]
    async fn an_id_with_two_paths_is_noticed() {
        let engine = MemoryStore::new();
        let snapshots = vec![
            snapshot(&engine, "l", &[("Nq", "n")]).await,
            snapshot(&engine, "r", &[("Nq", "other")]).await,
        ];
        let source = Source::new(snapshots);
        let limit = PageLimit { entries: 10, bytes: 1 << 20 };
        let range = (Bound::Unbounded, Bound::Unbounded);
        source.scan(range, Direction::Forward, limit).await.expect("a page");
        assert!(source.is_contradictory.load(Ordering::Relaxed));
    }
}
