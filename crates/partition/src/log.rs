//! What a partition commits while it is being copied: each batch once more, as one row of the log,
//! so that the copy can follow.
//!
//! A row is part of the batch that it repeats. So a snapshot that holds the row holds the batch, and
//! one that lacks it lacks both: nothing is replayed twice and nothing is left out.

use std::ops::Bound;

use bytes::Bytes;
use store::{Batch, Change, Direction, PageLimit, Snapshot};

use crate::{
    keys::{self, META_COUNTERS},
    rows::{Counters, Damaged},
};

/// Rows of the log read at a time.
const PAGE: PageLimit = PageLimit { entries: 512, bytes: 4 << 20 };

/// One batch, and what it did to the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// What the batch did to the counters.
    pub counted: Counted,
    /// The rows that the batch wrote and deleted, in order, without the partition's own counters.
    pub changes: Vec<Change>,
}

/// A difference of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Documents that were added; negative if they were removed.
    pub documents: i64,
    /// Bytes of document text that were added, or removed.
    pub bytes: i64,
    /// Bytes of index rows that were added, or removed.
    pub index_bytes: i64,
}

impl Counted {
    /// What must be added to the counters before a batch to get those after it.
    pub(crate) fn between(before: &Counters, after: &Counters) -> Self {
        Self {
            documents: after.documents.wrapping_sub(before.documents).cast_signed(),
            bytes: after.bytes.wrapping_sub(before.bytes).cast_signed(),
            index_bytes: after.index_bytes.wrapping_sub(before.index_bytes).cast_signed(),
        }
    }

    /// Adds the difference up. Never below nothing: counters that were wrong stay an estimate.
    pub fn add_to(&self, counters: &mut Counters) {
        counters.documents = counters.documents.saturating_add_signed(self.documents);
        counters.bytes = counters.bytes.saturating_add_signed(self.bytes);
        counters.index_bytes = counters.index_bytes.saturating_add_signed(self.index_bytes);
    }
}

/// Repeats a batch in the log. The partition's own counters are left out: the copy has others.
pub(crate) fn append(batch: &mut Batch, number: u64, counted: Counted) {
    let mut row = Vec::with_capacity(batch.size_bytes() + 8 * batch.changes.len() + 24);
    for figure in [counted.documents, counted.bytes, counted.index_bytes] {
        row.extend_from_slice(&figure.to_be_bytes());
    }
    for change in batch.changes.iter().filter(|change| change.key != META_COUNTERS) {
        put_bytes(&mut row, Some(&change.key));
        put_bytes(&mut row, change.value.as_ref());
    }
    batch.put(keys::log(number), row);
}

/// Length and bytes; a length beyond any row's stands for none.
fn put_bytes(row: &mut Vec<u8>, bytes: Option<&Bytes>) {
    let length = bytes.map_or(u32::MAX, |bytes| {
        u32::try_from(bytes.len()).expect("keys and rows are far smaller than 4 GB")
    });
    row.extend_from_slice(&length.to_be_bytes());
    if let Some(bytes) = bytes {
        row.extend_from_slice(bytes);
    }
}

/// A row of the log, read back.
pub fn decode(row: &Bytes) -> Result<Entry, Damaged> {
    let figure = |offset| keys::u64_at(row, offset).map(u64::cast_signed);
    let read = || {
        let counted =
            Counted { documents: figure(0)?, bytes: figure(8)?, index_bytes: figure(16)? };
        let mut changes = Vec::new();
        let mut rest = row.slice(24..);
        while !rest.is_empty() {
            let key = take_bytes(&mut rest)??;
            changes.push(Change { key, value: take_bytes(&mut rest)? });
        }
        Some(Entry { counted, changes })
    };
    read().ok_or(Damaged("S"))
}

#[expect(clippy::option_option, reason = "outside: whether the row is whole; inside: its value")]
fn take_bytes(rest: &mut Bytes) -> Option<Option<Bytes>> {
    let length = u32::from_be_bytes(*rest.first_chunk()?);
    let mut tail = rest.slice(4..);
    if length == u32::MAX {
        *rest = tail;
        return Some(None);
    }
    let length = length as usize;
    if tail.len() < length {
        return None;
    }
    let bytes = tail.split_to(length);
    *rest = tail;
    Some(Some(bytes))
}

/// The rows of the log from this number on, in order; nothing if there are no more.
pub async fn page(snapshot: &dyn Snapshot, from: u64) -> store::Result<Vec<(Bytes, Bytes)>> {
    let range = (Bound::Included(keys::log(from)), Bound::Included(keys::log(u64::MAX)));
    Ok(snapshot.scan(range, Direction::Forward, PAGE).await?.entries)
}

/// The number that the next row of the log has in this snapshot.
pub(crate) async fn next_number(snapshot: &dyn Snapshot) -> store::Result<u64> {
    let range = (Bound::Included(keys::log(0)), Bound::Included(keys::log(u64::MAX)));
    let limit = PageLimit { entries: 1, bytes: 1 };
    let page = snapshot.scan(range, Direction::Backward, limit).await?;
    let last = page.entries.first().and_then(|(key, _)| keys::u64_at(key, 1));
    Ok(last.map_or(0, |last| last + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn batches_read_back() {
        let mut batch = Batch::default();
        batch.put("a", "1");
        batch.delete("b");
        batch.put("c", "");
        let changes = batch.changes.clone();
        batch.put(META_COUNTERS, "not repeated");
        let counted = Counted { documents: -1, bytes: 7, index_bytes: i64::MIN };
        append(&mut batch, 5, counted);
        let row = batch.changes.pop().expect("the row of the log");
        assert_eq!(row.key, keys::log(5));
        let row = row.value.expect("a row");
        assert_eq!(decode(&row), Ok(Entry { counted, changes }));
        for length in (0..row.len()).filter(|length| *length != 24) {
            let cut = decode(&row.slice(..length));
            assert!(cut.is_err() || cut.is_ok_and(|entry| entry.changes.len() < 3), "{length}");
        }
    }

    #[test]
    fn differences_add_up() {
        let before = Counters { documents: 5, bytes: 100, ..Counters::default() };
        let after = Counters { documents: 4, bytes: 120, index_bytes: 3, ..Counters::default() };
        let mut counters = before;
        Counted::between(&before, &after).add_to(&mut counters);
        assert_eq!(counters, after);
    }
}
