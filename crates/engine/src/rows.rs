//! The values of a partition's rows, as bytes.
//!
//! Each row that may grow begins with a format byte. A byte this build does not know means that a
//! newer one wrote the row: it is refused, never guessed at.

mod history;
mod times;

use bytes::Bytes;
use protocol::etag::Etag;

pub(crate) use self::{
    history::{ChangeKind, HistoryRow},
    times::{SLACK_S, Times},
};
use crate::keys::u64_at;

/// The format of partitions that this build writes. Fixtures of every landed format are kept in
/// `crates/engine/testdata/formats`.
pub(crate) const FORMAT: u8 = 1;

/// A row that cannot be read.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unreadable {0} row")]
pub(crate) struct Damaged(pub(crate) &'static str);

/// The `P` row: where a document is, and which version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Primary {
    pub(crate) docnum: u64,
    pub(crate) etag: Etag,
    pub(crate) lsn: u64,
    /// Length of the document's text.
    pub(crate) length: u32,
}

impl Primary {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(36);
        out.extend_from_slice(&self.docnum.to_be_bytes());
        out.extend_from_slice(&self.etag.0.to_be_bytes());
        out.extend_from_slice(&self.lsn.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
        out.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let read = || {
            let etag = u128::from(u64_at(bytes, 8)?) << 64 | u128::from(u64_at(bytes, 16)?);
            let length = u32_at(bytes, 32)?;
            let row = Self {
                docnum: u64_at(bytes, 0)?,
                etag: Etag(etag),
                lsn: u64_at(bytes, 24)?,
                length,
            };
            (bytes.len() == 36).then_some(row)
        };
        read().ok_or(Damaged("P"))
    }
}

/// What stands before a document in its `D` row: all that a query must know without `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Header {
    pub(crate) lsn: u64,
    /// Seconds of the last write, the document's `_ts`.
    pub(crate) ts: u64,
    /// The document's own `ttl`; zero when it has none.
    pub(crate) ttl: i32,
    /// Which version of the indexing policy its terms follow.
    pub(crate) index_generation: u32,
    /// The indexing directive it was written with.
    pub(crate) directive: u8,
}

impl Header {
    /// Bytes before the document.
    pub(crate) const LENGTH: usize = 26;

    pub(crate) fn encode(&self, out: &mut Vec<u8>) {
        out.push(FORMAT);
        out.extend_from_slice(&self.lsn.to_be_bytes());
        out.extend_from_slice(&self.ts.to_be_bytes());
        out.extend_from_slice(&self.ttl.to_be_bytes());
        out.extend_from_slice(&self.index_generation.to_be_bytes());
        out.push(self.directive);
    }

    /// Writes the LSN into an encoded row: it is known only once the write is sequenced.
    pub(crate) fn set_lsn(row: &mut [u8], lsn: u64) {
        row[1..9].copy_from_slice(&lsn.to_be_bytes());
    }

    /// Splits a `D` row into header and document.
    pub(crate) fn decode(row: &Bytes) -> Result<(Self, Bytes), Damaged> {
        let read = || {
            let header = Self {
                lsn: u64_at(row, 1)?,
                ts: u64_at(row, 9)?,
                ttl: u32_at(row, 17)?.cast_signed(),
                index_generation: u32_at(row, 21)?,
                directive: *row.get(25)?,
            };
            (row[0] == FORMAT).then(|| (header, row.slice(Self::LENGTH..)))
        };
        read().ok_or(Damaged("D"))
    }

    /// The directive, in the words of the index.
    pub(crate) fn index_directive(&self) -> index::Directive {
        match self.directive {
            1 => index::Directive::Include,
            2 => index::Directive::Exclude,
            _ => index::Directive::Default,
        }
    }

    /// When the document expires under a collection's default, if it does.
    pub(crate) fn expiry(&self, default_ttl: Option<i32>) -> Option<u64> {
        let ttl = if self.ttl == 0 { default_ttl? } else { default_ttl.map(|_| self.ttl)? };
        u64::try_from(ttl).ok().map(|ttl| self.ts + ttl)
    }
}

/// The `F` row: what happened last to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedOperation {
    Create = 1,
    Replace = 2,
}

pub(crate) fn feed_entry(operation: FeedOperation, ts: u64) -> Bytes {
    let mut out = vec![operation as u8];
    out.extend_from_slice(&ts.to_be_bytes());
    out.into()
}

/// When the version was written that an `F` row is about; `None` if the row is damaged.
pub(crate) fn feed_time(row: &[u8]) -> Option<u64> {
    u64_at(row, 1)
}

/// The partition's counters, kept with every commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counters {
    pub(crate) documents: u64,
    /// Bytes of document text.
    pub(crate) bytes: u64,
    pub(crate) index_bytes: u64,
    /// The next document's sequence.
    pub(crate) next_sequence: u64,
    pub(crate) last_lsn: u64,
    pub(crate) times: Times,
}

impl Counters {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = vec![FORMAT];
        let numbers =
            [self.documents, self.bytes, self.index_bytes, self.next_sequence, self.last_lsn];
        for number in numbers.into_iter().chain(self.times.to_numbers()) {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let read = || {
            let counters = Self {
                documents: u64_at(bytes, 1)?,
                bytes: u64_at(bytes, 9)?,
                index_bytes: u64_at(bytes, 17)?,
                next_sequence: u64_at(bytes, 25)?,
                last_lsn: u64_at(bytes, 33)?,
                times: Times::decode(bytes.get(41..)?)?,
            };
            (bytes[0] == FORMAT).then_some(counters)
        };
        read().ok_or(Damaged("Mc"))
    }
}

/// The counters of one logical key.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct KeyCounters {
    pub(crate) documents: u64,
    pub(crate) bytes: u64,
}

impl KeyCounters {
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(16);
        out.extend_from_slice(&self.documents.to_be_bytes());
        out.extend_from_slice(&self.bytes.to_be_bytes());
        out.into()
    }

    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let read = || Some(Self { documents: u64_at(bytes, 0)?, bytes: u64_at(bytes, 8)? });
        read().ok_or(Damaged("Mk"))
    }
}

/// What a partition is about to be, or is: the `Ms` row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum State {
    /// Made for a collection whose catalog row is not written yet.
    Creating = 1,
    /// Serving.
    Open = 2,
    /// Being filled from the partitions that it will take over from.
    Filling = 3,
}

impl State {
    pub(crate) fn encode(self) -> Bytes {
        Bytes::from(vec![FORMAT, self as u8])
    }

    /// `Err` with the format byte when a newer build wrote the partition.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        match bytes {
            [FORMAT, 1] => Ok(Self::Creating),
            [FORMAT, 2] => Ok(Self::Open),
            [FORMAT, 3] => Ok(Self::Filling),
            _ => Err(Damaged("Ms")),
        }
    }
}

fn u32_at(bytes: &[u8], offset: usize) -> Option<u32> {
    let bytes = bytes.get(offset..offset + 4)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_read_back() {
        let primary = Primary { docnum: 5, etag: Etag(u128::MAX - 7), lsn: 9, length: 77 };
        assert_eq!(Primary::decode(&primary.encode()), Ok(primary));
        let header =
            Header { lsn: 1, ts: 1_700_000_000, ttl: -1, index_generation: 3, directive: 2 };
        let mut row = Vec::new();
        header.encode(&mut row);
        assert_eq!(row.len(), Header::LENGTH);
        row.extend_from_slice(b"{}");
        Header::set_lsn(&mut row, 42);
        let (read, document) = Header::decode(&row.into()).expect("a whole row");
        assert_eq!(read, Header { lsn: 42, ..header });
        assert_eq!(&document[..], b"{}");
        let mut counters = Counters {
            documents: 1,
            bytes: 2,
            index_bytes: 3,
            next_sequence: 4,
            last_lsn: 5,
            times: Times::default(),
        };
        // Rows of builds that did not keep times.
        assert_eq!(Counters::decode(&counters.encode()[..41]), Ok(counters));
        counters.times.note(5, 1_700_000_000);
        let row = counters.encode();
        assert_eq!(Counters::decode(&row), Ok(counters));
        assert!((42..row.len()).all(|length| Counters::decode(&row[..length]).is_err()));
        assert_eq!(State::decode(&State::Open.encode()), Ok(State::Open));
    }

    #[test]
    fn damaged_rows_are_refused() {
        for length in 0..36 {
            let bytes = Bytes::from(vec![FORMAT; length]);
            assert!(Primary::decode(&bytes).is_err());
            assert_eq!(Header::decode(&bytes).is_err(), length < Header::LENGTH);
            assert!(Counters::decode(&bytes).is_err());
            assert_eq!(KeyCounters::decode(&bytes).is_err(), length < 16);
        }
        assert!(State::decode(&[FORMAT + 1, 2]).is_err());
    }

    #[test]
    fn expiry_follows_the_collection() {
        let header = |ttl| Header { lsn: 0, ts: 100, ttl, index_generation: 0, directive: 0 };
        assert_eq!(header(5).expiry(None), None, "ttl is off");
        assert_eq!(header(5).expiry(Some(-1)), Some(105));
        assert_eq!(header(-1).expiry(Some(10)), None);
        assert_eq!(header(0).expiry(Some(10)), Some(110));
        assert_eq!(header(0).expiry(Some(-1)), None);
    }
}
