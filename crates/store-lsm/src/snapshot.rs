//! Reads from a frozen view. They run inline: a block is cached, in the page cache, or one short
//! disk read away, and switching to another thread costs more than the usual case.

use std::{
    ops::Bound,
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use bytes::Bytes;
use fjall::{Guard, Keyspace, Readable, Slice};
use store::{
    BoxFuture, Direction, KEY_BYTES_MAX, KeyRange, Page, PageLimit, Result, Snapshot,
    is_empty_range,
};

use crate::{
    counters::Counters,
    error::error_of,
    rows::{Found, Rows},
};

/// A read that loads blocks and takes longer than this counts as slow: it blocked its thread.
const SLOW: Duration = Duration::from_millis(1);

/// One partition as it was when the committer took the snapshot.
pub(crate) struct LsmSnapshot {
    snapshot: Arc<fjall::Snapshot>,
    /// How many publications there were up to this snapshot, see `rows`.
    turn: u64,
    keyspace: Keyspace,
    counters: Arc<Counters>,
    rows: Arc<Rows>,
    slow: Duration,
}

impl LsmSnapshot {
    pub(crate) fn new(
        (snapshot, turn): (Arc<fjall::Snapshot>, u64),
        keyspace: Keyspace,
        counters: Arc<Counters>,
        rows: Arc<Rows>,
    ) -> Self {
        Self { snapshot, turn, keyspace, counters, rows, slow: SLOW }
    }

    fn count_keys(&self, count: usize) {
        self.counters.keys_read.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Runs a read, and counts it if it was slow. The blocks may have been loaded by concurrent
    /// reads, which then were slow as well.
    fn timed<T>(&self, read: impl FnOnce() -> T) -> T {
        let loads = || self.keyspace.metrics().block_load_io_count();
        let (before, began) = (loads(), Instant::now());
        let result = read();
        if began.elapsed() > self.slow && loads() > before {
            self.counters.slow_reads.fetch_add(1, Ordering::Relaxed);
        }
        result
    }

    fn get(&self, key: &Bytes) -> Result<Option<Bytes>> {
        // fjall panics on longer keys, which cannot exist anyway.
        if key.len() > KEY_BYTES_MAX {
            return Ok(None);
        }
        let read = || self.timed(|| self.snapshot.get(&self.keyspace, key)).map_err(error_of);
        let partition = self.keyspace.id();
        let place = self.rows.place(partition, key);
        let found = place.map(|place| (place, self.rows.find(place, partition, key, self.turn)));
        Ok(match found {
            Some((_, Found::Here(value))) => Some(value),
            Some((place, Found::Absent { is_wanted: true })) => {
                read()?.map(|value| self.rows.insert(place, partition, key, &value, self.turn))
            }
            _ => read()?.map(|value| Bytes::copy_from_slice(&value)),
        })
    }

    fn page(&self, range: KeyRange, direction: Direction, limit: PageLimit) -> Result<Page> {
        let range = shorten(range);
        if is_empty_range(&range) {
            return Ok(Page::default());
        }
        let mut entries = self.snapshot.range(&self.keyspace, range);
        match direction {
            Direction::Forward => page_of(entries, limit),
            Direction::Backward => page_of(std::iter::from_fn(|| entries.next_back()), limit),
        }
    }
}

/// Collects a page. Copies keys and values into one buffer and slices it afterwards: one allocation
/// per page instead of two per entry.
fn page_of(guards: impl Iterator<Item = Guard>, limit: PageLimit) -> Result<Page> {
    let mut buffer: Vec<u8> = Vec::new();
    let mut ends: Vec<(usize, usize)> = Vec::new();
    let mut has_more = false;
    for guard in guards {
        if limit.is_reached(ends.len(), buffer.len()) {
            has_more = true;
            break;
        }
        let (key, value): (Slice, Slice) = guard.into_inner().map_err(error_of)?;
        buffer.extend_from_slice(&key);
        let key_end = buffer.len();
        buffer.extend_from_slice(&value);
        ends.push((key_end, buffer.len()));
    }
    let buffer = Bytes::from(buffer);
    let mut start = 0;
    let mut entries = Vec::with_capacity(ends.len());
    for (key_end, end) in ends {
        entries.push((buffer.slice(start..key_end), buffer.slice(key_end..end)));
        start = end;
    }
    Ok(Page { entries, has_more })
}

/// Replaces bounds too long for any key by equivalent ones. Such a bound is directly after its
/// longest possible prefix.
fn shorten((start, end): KeyRange) -> KeyRange {
    let is_long = |key: &Bytes| key.len() > KEY_BYTES_MAX;
    let start = match start {
        Bound::Included(key) | Bound::Excluded(key) if is_long(&key) => {
            Bound::Excluded(key.slice(..KEY_BYTES_MAX))
        }
        start => start,
    };
    let end = match end {
        Bound::Included(key) | Bound::Excluded(key) if is_long(&key) => {
            Bound::Included(key.slice(..KEY_BYTES_MAX))
        }
        end => end,
    };
    (start, end)
}

impl Snapshot for LsmSnapshot {
    fn get_many<'a>(&'a self, keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>> {
        Box::pin(async move {
            self.count_keys(keys.len());
            keys.iter().map(|key| self.get(key)).collect()
        })
    }

    fn scan(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> BoxFuture<'_, Result<Page>> {
        Box::pin(async move {
            let page = self.timed(|| self.page(range, direction, limit))?;
            self.count_keys(page.entries.len());
            Ok(page)
        })
    }
}

#[cfg(test)]
mod tests {
    use store::Store as _;

    use super::*;
    use crate::{LsmStore, Options};

    /// Reads one key, counting any read that loads a block as slow; returns that count.
    async fn slow_reads(store: &LsmStore) -> u64 {
        let partition = store.shared.partition("p").unwrap();
        let mut snapshot = store.shared.snapshot(&partition);
        snapshot.slow = Duration::ZERO;
        let before = store.statistics().slow_reads;
        let found = snapshot.get_many(&["k".into()]).await.unwrap();
        assert_eq!(found, [Some("v".into())]);
        store.statistics().slow_reads - before
    }

    #[tokio::test]
    async fn reads_that_load_blocks_are_counted_as_slow() {
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        let partition = store.open("p", 0).await.unwrap();
        let (done, end) = std::sync::mpsc::channel();
        let mut batch = store::Batch::default();
        batch.put("k", "v");
        let done = Box::new(move |result| done.send(result).unwrap());
        partition.submit(batch, store::Durability::Durable, done);
        end.recv().unwrap().unwrap();
        assert_eq!(slow_reads(&store).await, 0, "it is in a write buffer");
        store.close().await.unwrap();
        drop((partition, store));

        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        assert_eq!(slow_reads(&store).await, 1, "it is in a file");
        assert_eq!(slow_reads(&store).await, 0, "it is cached");
    }
}
