//! Reads from a frozen view. They run inline: a block is either cached, in the page cache, or one
//! short disk read away, and a hop to another thread costs more than the usual case.

use std::{
    ops::Bound,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use fjall::{Guard, Keyspace, Readable, Slice};
use store::{
    BoxFuture, Direction, KEY_BYTES_MAX, KeyRange, Page, PageLimit, Result, Snapshot,
    is_empty_range,
};

use crate::shared::{Counters, error_of};

/// One partition as it was when the committer took the snapshot.
pub(crate) struct LsmSnapshot {
    snapshot: Arc<fjall::Snapshot>,
    keyspace: Keyspace,
    counters: Arc<Counters>,
}

impl LsmSnapshot {
    pub(crate) fn new(
        snapshot: Arc<fjall::Snapshot>,
        keyspace: Keyspace,
        counters: Arc<Counters>,
    ) -> Self {
        Self { snapshot, keyspace, counters }
    }

    fn count_keys(&self, count: usize) {
        self.counters.keys_read.fetch_add(count as u64, Ordering::Relaxed);
    }

    fn get(&self, key: &Bytes) -> Result<Option<Bytes>> {
        // fjall panics on longer keys; nothing is stored under them.
        if key.len() > KEY_BYTES_MAX {
            return Ok(None);
        }
        let value = self.snapshot.get(&self.keyspace, key).map_err(error_of)?;
        Ok(value.map(|value| Bytes::copy_from_slice(&value)))
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

/// Collects a page. Keys and values are copied into one buffer and cut out of it afterwards: one
/// allocation per page instead of two per entry.
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

/// Replaces bounds that no key can have, because they are too long, by ones that mean the same.
/// Such a bound lies right behind its longest possible prefix.
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
            let page = self.page(range, direction, limit)?;
            self.count_keys(page.entries.len());
            Ok(page)
        })
    }
}
