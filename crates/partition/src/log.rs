//! The log of a partition that is being copied: each committed batch is repeated as one log row, so
//! that the copy can follow.
//!
//! A log row is part of the batch that it repeats. So a snapshot contains either both or neither,
//! and nothing is replayed twice or left out.

use std::ops::Bound;

use bytes::Bytes;
use store::{Batch, Change, Direction, PageLimit, Snapshot};

use crate::{
    keys::{self, META_COUNTERS},
    rows::{Counters, Damaged},
};

/// Log rows to read at a time.
const PAGE: PageLimit = PageLimit { entries: 512, bytes: 4 << 20 };

/// One logged batch, and its effect on the counters.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Entry {
    /// How the batch changed the counters.
    pub counted: Counted,
    /// The rows that the batch wrote and deleted, in order, without the partition's own counters.
    pub changes: Vec<Change>,
}

/// A difference of counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counted {
    /// Documents added; negative if removed.
    pub documents: i64,
    /// Bytes of document text added; negative if removed.
    pub bytes: i64,
    /// Bytes of index rows added; negative if removed.
    pub index_bytes: i64,
}

impl Counted {
    /// The difference between the counters after a batch and before it.
    pub(crate) fn between(before: &Counters, after: &Counters) -> Self {
        Self {
            documents: after.documents.wrapping_sub(before.documents).cast_signed(),
            bytes: after.bytes.wrapping_sub(before.bytes).cast_signed(),
            index_bytes: after.index_bytes.wrapping_sub(before.index_bytes).cast_signed(),
        }
    }

    /// Applies the difference, never going below zero: counters that were wrong remain an estimate.
    pub fn add_to(&self, counters: &mut Counters) {
        counters.documents = counters.documents.saturating_add_signed(self.documents);
        counters.bytes = counters.bytes.saturating_add_signed(self.bytes);
        counters.index_bytes = counters.index_bytes.saturating_add_signed(self.index_bytes);
    }
}

/// Appends a copy of the batch to the log, without the partition's own counters: the copy has its
/// own.
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

/// Writes the length, then the bytes; a length beyond any row's stands for `None`.
fn put_bytes(row: &mut Vec<u8>, bytes: Option<&Bytes>) {
    let length = bytes.map_or(u32::MAX, |bytes| {
        u32::try_from(bytes.len()).expect("keys and rows are far smaller than 4 GB")
    });
    row.extend_from_slice(&length.to_be_bytes());
    if let Some(bytes) = bytes {
        row.extend_from_slice(bytes);
    }
}

/// Decodes a log row.
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

/// The log rows from this number on, in order; empty at the end.
pub async fn page(snapshot: &dyn Snapshot, from: u64) -> store::Result<Vec<(Bytes, Bytes)>> {
    let range = (Bound::Included(keys::log(from)), Bound::Included(keys::log(u64::MAX)));
    Ok(snapshot.scan(range, Direction::Forward, PAGE).await?.entries)
}

/// The number of the next log row as of this snapshot.
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
