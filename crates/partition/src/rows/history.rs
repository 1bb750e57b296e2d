//! The `H` row: one change to a document, with the versions before and after it.

use bytes::Bytes;

use super::{Damaged, FORMAT, u32_at};
use crate::keys::u64_at;

/// Set in the operation byte if the document was deleted because it expired.
const EXPIRED: u8 = 0x80;

/// What happened to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ChangeKind {
    /// The document was created; there was no previous version.
    Create = 1,
    /// A new version replaced another.
    Replace = 2,
    /// The document was deleted by a client, or because it expired.
    Delete = 3,
}

/// A change to a document. At least one version is present.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HistoryRow {
    /// What happened to the document.
    pub kind: ChangeKind,
    /// Whether the document was deleted because it expired.
    pub is_expired: bool,
    /// When it happened, in seconds.
    pub time: u64,
    /// The LSN of the previous version; zero if there was none.
    pub previous_lsn: u64,
    /// The previous version; empty if there was none.
    pub previous: Bytes,
    /// The version written; empty if the document was deleted.
    pub current: Bytes,
}

impl HistoryRow {
    /// The row's length without the documents.
    const LENGTH: usize = 22;

    /// Encodes the `H` row, format byte first.
    pub(crate) fn encode(&self) -> Bytes {
        let length = Self::LENGTH + self.previous.len() + self.current.len();
        let mut out = Vec::with_capacity(length);
        out.push(FORMAT);
        out.push(self.kind as u8 | if self.is_expired { EXPIRED } else { 0 });
        out.extend_from_slice(&self.time.to_be_bytes());
        out.extend_from_slice(&self.previous_lsn.to_be_bytes());
        let previous = u32::try_from(self.previous.len())
            .expect("a document is far smaller than 4 GB: its size was checked");
        out.extend_from_slice(&previous.to_be_bytes());
        out.extend_from_slice(&self.previous);
        out.extend_from_slice(&self.current);
        out.into()
    }

    /// Decodes an `H` row; fails if it lacks a version that its kind requires.
    pub fn decode(row: &Bytes) -> Result<Self, Damaged> {
        let read = || {
            let kind = *row.get(1)?;
            let previous = Self::LENGTH + u32_at(row, 18)? as usize;
            let is_whole = row[0] == FORMAT && previous <= row.len();
            let change = is_whole.then(|| Self {
                kind: ChangeKind::Create,
                is_expired: kind & EXPIRED != 0,
                time: 0,
                previous_lsn: 0,
                previous: row.slice(Self::LENGTH..previous),
                current: row.slice(previous..),
            })?;
            let kind = match kind & !EXPIRED {
                1 => ChangeKind::Create,
                2 => ChangeKind::Replace,
                3 => ChangeKind::Delete,
                _ => return None,
            };
            let change =
                Self { kind, time: u64_at(row, 2)?, previous_lsn: u64_at(row, 10)?, ..change };
            let has_current = !change.current.is_empty();
            (has_current != (kind == ChangeKind::Delete)).then_some(change)
        };
        read().ok_or(Damaged("H"))
    }

    /// The time of a change, without decoding the rest of its row; `None` if it is damaged.
    pub fn time(row: &[u8]) -> Option<u64> {
        u64_at(row, 2)
    }

    /// The current version of the document or, if deleted, the last one.
    pub fn document(&self) -> &Bytes {
        if self.current.is_empty() { &self.previous } else { &self.current }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back() {
        let (before, behind) = (Bytes::from_static(b"{1}"), Bytes::from_static(b"{22}"));
        let create = HistoryRow {
            kind: ChangeKind::Create,
            is_expired: false,
            time: 1_700_000_000,
            previous_lsn: 0,
            previous: Bytes::new(),
            current: behind,
        };
        let replace = HistoryRow {
            kind: ChangeKind::Replace,
            previous_lsn: 7,
            previous: before,
            ..create.clone()
        };
        let delete = HistoryRow {
            kind: ChangeKind::Delete,
            is_expired: true,
            current: Bytes::new(),
            ..replace.clone()
        };
        for row in [create, replace, delete] {
            let bytes = row.encode();
            assert_eq!(HistoryRow::decode(&bytes), Ok(row.clone()));
            assert_eq!(HistoryRow::time(&bytes), Some(row.time));
            for length in 0..HistoryRow::LENGTH + row.previous.len() {
                assert!(HistoryRow::decode(&bytes.slice(..length)).is_err(), "{length}");
            }
            let mut newer = bytes.to_vec();
            newer[0] += 1;
            assert!(HistoryRow::decode(&newer.into()).is_err());
        }
    }
}
