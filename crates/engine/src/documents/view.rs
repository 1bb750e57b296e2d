//! What a transaction's own queries read: a snapshot overlaid with the rows that the transaction
//! has changed so far, including the index. Queries cannot tell the two apart.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Bound,
    sync::Arc,
};

use bytes::Bytes;
use partition::{
    keys::{META_COUNTERS, PRIMARY},
    rows::KeyCounters,
};
use store::{Batch, BoxFuture, Direction, KeyRange, Page, PageLimit, Snapshot, is_empty_range};

use crate::documents::staged::Staged;

/// Rows by key; `None` for a removed row.
type Rows = BTreeMap<Bytes, Option<Bytes>>;

/// The changes that queries can see.
pub(super) struct Shown {
    base: Arc<dyn Snapshot>,
    rows: Arc<Rows>,
    /// Their approximate size.
    bytes: usize,
}

/// The memory of a row apart from its key and value.
const ROW_BYTES: usize = 64;

fn size(key: &Bytes, row: Option<&Bytes>) -> usize {
    ROW_BYTES + key.len() + row.map_or(0, Bytes::len)
}

impl Shown {
    pub(super) fn over(base: Arc<dyn Snapshot>) -> Self {
        Self { base, rows: Arc::default(), bytes: 0 }
    }

    pub(super) fn bytes(&self) -> usize {
        self.bytes
    }

    pub(super) fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(View { base: Arc::clone(&self.base), rows: Arc::clone(&self.rows) })
    }

    /// Makes the rows of a change visible.
    pub(super) fn show(&mut self, change: &mut Staged, batch: Batch, counters: &Bytes) {
        let rows = Arc::make_mut(&mut self.rows);
        let mut keys = Vec::with_capacity(batch.changes.len());
        for row in batch.changes {
            // Counters cover all changes together.
            if row.key != META_COUNTERS && row.key != counters {
                keys.push(row.key.clone());
                let is_left = row.value.is_none() && row.key.starts_with(&[PRIMARY]);
                // One document gave up this id, and another already has it.
                if is_left && rows.get(&row.key).is_some_and(Option::is_some) {
                    continue;
                }
                self.bytes += size(&row.key, row.value.as_ref());
                rows.insert(row.key, row.value);
            }
        }
        change.shown = Some(keys);
    }

    /// Hides the rows of a change.
    pub(super) fn hide(&mut self, change: &mut Staged) {
        self.remove(change.shown.take().iter().flatten());
    }

    fn remove<'a>(&mut self, keys: impl Iterator<Item = &'a Bytes>) {
        let rows = Arc::make_mut(&mut self.rows);
        for key in keys {
            if let Some(row) = rows.remove(key) {
                self.bytes = self.bytes.saturating_sub(size(key, row.as_ref()));
            }
        }
    }

    /// Hides the rows under these keys, because their change was undone or got another id. Other
    /// changes may have rows under the same keys, such as a document that had the same id: those
    /// are shown again.
    pub(super) fn take_back(&mut self, keys: Option<Vec<Bytes>>, others: &mut [Staged]) {
        let keys: HashSet<Bytes> = keys.into_iter().flatten().collect();
        self.remove(keys.iter());
        for other in others {
            if other.shown.iter().flatten().any(|key| keys.contains(key)) {
                self.hide(other);
            }
        }
    }

    /// Shows the counters of the key.
    pub(super) fn count(&mut self, key: Bytes, counters: &KeyCounters) {
        let row = (counters.documents > 0).then(|| counters.encode());
        Arc::make_mut(&mut self.rows).insert(key, row);
    }
}

/// A snapshot overlaid with changes.
struct View {
    base: Arc<dyn Snapshot>,
    rows: Arc<Rows>,
}

impl Snapshot for View {
    fn get_many<'a>(
        &'a self,
        keys: &'a [Bytes],
    ) -> BoxFuture<'a, store::Result<Vec<Option<Bytes>>>> {
        Box::pin(async move {
            let mut values = self.base.get_many(keys).await?;
            for (key, value) in keys.iter().zip(&mut values) {
                if let Some(changed) = self.rows.get(key) {
                    value.clone_from(changed);
                }
            }
            Ok(values)
        })
    }

    fn scan(
        &self,
        mut range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> BoxFuture<'_, store::Result<Page>> {
        Box::pin(async move {
            let mut merged = Page::default();
            let mut bytes = 0;
            loop {
                let page = self.base.scan(range.clone(), direction, limit).await?;
                // The snapshot may have more entries after the last one of a page.
                let last =
                    page.entries.last().filter(|_| page.has_more).map(|(key, _)| key.clone());
                let stretch = up_to(range.clone(), last.as_ref(), direction);
                for (key, value) in merge(page, self.changed(stretch, direction), direction) {
                    if limit.is_reached(merged.entries.len(), bytes) {
                        merged.has_more = true;
                        return Ok(merged);
                    }
                    bytes += key.len() + value.len();
                    merged.entries.push((key, value));
                }
                let Some(last) = last else { return Ok(merged) };
                if limit.is_reached(merged.entries.len(), bytes) {
                    merged.has_more = true;
                    return Ok(merged);
                }
                range = behind(range, last, direction);
            }
        })
    }
}

impl View {
    /// The changed rows in a range, in the order of the scan.
    fn changed(&self, range: KeyRange, direction: Direction) -> Vec<(Bytes, Option<Bytes>)> {
        if is_empty_range(&range) {
            return Vec::new();
        }
        let rows = self.rows.range(range).map(|(key, row)| (key.clone(), row.clone()));
        match direction {
            Direction::Forward => rows.collect(),
            Direction::Backward => rows.rev().collect(),
        }
    }
}

/// The part of a range up to a key, inclusive.
fn up_to((from, to): KeyRange, last: Option<&Bytes>, direction: Direction) -> KeyRange {
    match (last, direction) {
        (None, _) => (from, to),
        (Some(last), Direction::Forward) => (from, Bound::Included(last.clone())),
        (Some(last), Direction::Backward) => (Bound::Included(last.clone()), to),
    }
}

/// The part of a range after a key.
fn behind((from, to): KeyRange, last: Bytes, direction: Direction) -> KeyRange {
    match direction {
        Direction::Forward => (Bound::Excluded(last), to),
        Direction::Backward => (from, Bound::Excluded(last)),
    }
}

/// Merges the entries of a snapshot and changes to them, both in scan order.
fn merge(
    page: Page,
    changed: Vec<(Bytes, Option<Bytes>)>,
    direction: Direction,
) -> Vec<(Bytes, Bytes)> {
    let is_before = |left: &Bytes, right: &Bytes| match direction {
        Direction::Forward => left < right,
        Direction::Backward => left > right,
    };
    let mut merged = Vec::with_capacity(page.entries.len() + changed.len());
    let mut changed = changed.into_iter().peekable();
    for (key, value) in page.entries {
        while let Some((own, row)) = changed.next_if(|(own, _)| is_before(own, &key)) {
            merged.extend(row.map(|row| (own, row)));
        }
        match changed.next_if(|(own, _)| *own == key) {
            Some((own, row)) => merged.extend(row.map(|row| (own, row))),
            None => merged.push((key, value)),
        }
    }
    merged.extend(changed.filter_map(|(own, row)| row.map(|row| (own, row))));
    merged
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use store::{Durability, Store as _, memory::MemoryStore};

    use super::*;

    const ALL: KeyRange = (Bound::Unbounded, Bound::Unbounded);

    fn rows(of: &[(u8, Option<u8>)]) -> Rows {
        let byte = |byte: u8| Bytes::copy_from_slice(&[byte + 1]);
        of.iter().map(|(key, value)| (byte(*key), value.map(byte))).collect()
    }

    async fn scanned(view: &View, direction: Direction, entries: usize) -> Vec<(Bytes, Bytes)> {
        let mut range = ALL;
        let mut all = Vec::new();
        loop {
            let limit = PageLimit { entries, bytes: 1 << 20 };
            let page = view.scan(range.clone(), direction, limit).await.expect("a page");
            assert!(page.entries.len() <= entries);
            let last = page.entries.last().map(|(key, _)| key.clone());
            all.extend(page.entries);
            let (true, Some(last)) = (page.has_more, last) else { return all };
            range = behind(range, last, direction);
        }
    }

    proptest! {
        /// The pages of a view, concatenated, equal the snapshot with the changes applied.
        #[test]
        fn changes_lie_over_the_snapshot(
            stored in proptest::collection::vec((0_u8..40, 0_u8..9), 0..40),
            changed in proptest::collection::vec((0_u8..40, proptest::option::of(0_u8..9)), 0..40),
            entries in 1_usize..9,
        ) {
            let stored: Vec<_> = stored.into_iter().map(|(key, value)| (key, Some(value))).collect();
            let (stored, changed) = (rows(&stored), rows(&changed));
            let runtime = tokio::runtime::Builder::new_current_thread().build().expect("a runtime");
            runtime.block_on(async {
                let store = MemoryStore::new();
                let partition = store.open("p", 0).await.expect("a partition");
                let mut batch = Batch::default();
                for (key, value) in &stored {
                    batch.put(key.clone(), value.clone().expect("stored"));
                }
                let (sender, receiver) = tokio::sync::oneshot::channel();
                let done = Box::new(move |result| drop(sender.send(result)));
                partition.submit(batch, Durability::Buffered, done);
                receiver.await.expect("done").expect("written");
                let mut expected = stored.clone();
                expected.extend(changed.clone());
                let expected: Vec<(Bytes, Bytes)> =
                    expected.into_iter().filter_map(|(key, row)| Some((key, row?))).collect();
                let view = View { base: partition.snapshot(), rows: Arc::new(changed) };
                assert_eq!(scanned(&view, Direction::Forward, entries).await, expected);
                let keys: Vec<Bytes> = (1..=41).map(|key| Bytes::copy_from_slice(&[key])).collect();
                let values = view.get_many(&keys).await.expect("values");
                let found = keys.into_iter().zip(values).filter_map(|(key, row)| Some((key, row?)));
                assert_eq!(found.collect::<Vec<_>>(), expected);
                let mut backward = scanned(&view, Direction::Backward, entries).await;
                backward.reverse();
                assert_eq!(backward, expected);
            });
        }
    }
}
