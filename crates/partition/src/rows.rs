//! Encoding of the values of a partition's rows.
//!
//! Each row that may grow begins with a format byte. If this build does not know it, a newer build
//! wrote the row, and decoding fails. To save that byte, the two rows that exist for every document
//! or logical key, `P` and `Mk`, use their length as their version: a new version of either must
//! have a different length, and unknown lengths are rejected.

mod history;
mod times;

use bytes::Bytes;
pub use catalog::rows::Damaged;
use index::Directive;
use protocol::etag::Etag;

pub use self::{
    history::{ChangeKind, HistoryRow},
    times::{SLACK_S, Times},
};
use crate::keys::u64_at;

/// The format of the rows below but for the state's. Fixtures of every released format are in
/// `crates/engine/testdata/formats`.
pub(crate) const FORMAT: u8 = 1;

/// The format of a partition's index, which its state row names. Format 1 had longer keys.
const INDEX_FORMAT: u8 = 2;

/// The `P` row: where a document is, and its version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Primary {
    /// The number that the keys of the document's other rows contain.
    pub docnum: u64,
    /// The etag of the current version.
    pub etag: Etag,
    /// The LSN of the transaction that wrote the current version.
    pub lsn: u64,
    /// Length of the document's text.
    pub length: u32,
}

impl Primary {
    /// The length of the row, which is also its version.
    const LENGTH: usize = 36;

    /// Encodes the `P` row, always 36 bytes.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(Self::LENGTH);
        out.extend_from_slice(&self.docnum.to_be_bytes());
        out.extend_from_slice(&self.etag.0.to_be_bytes());
        out.extend_from_slice(&self.lsn.to_be_bytes());
        out.extend_from_slice(&self.length.to_be_bytes());
        out.into()
    }

    /// Decodes a `P` row.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let read = || {
            let etag = u128::from(u64_at(bytes, 8)?) << 64 | u128::from(u64_at(bytes, 16)?);
            let length = u32_at(bytes, 32)?;
            let row = Self {
                docnum: u64_at(bytes, 0)?,
                etag: Etag(etag),
                lsn: u64_at(bytes, 24)?,
                length,
            };
            (bytes.len() == Self::LENGTH).then_some(row)
        };
        read().ok_or(Damaged("P"))
    }
}

/// The header of a document's `D` row: all that a query needs without reading `P`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// The LSN of the transaction that wrote this version.
    pub lsn: u64,
    /// When it was last written, in seconds: the document's `_ts`.
    pub ts: u64,
    /// The document's own `ttl`; zero when it has none.
    pub ttl: i32,
    /// The version of the indexing policy that its terms follow.
    pub index_generation: u32,
    /// The indexing directive that it was written with.
    pub directive: Directive,
}

impl Header {
    /// The header's length in bytes.
    pub const LENGTH: usize = 26;

    /// Appends the header to a row, to be followed by the document.
    pub fn encode(&self, out: &mut Vec<u8>) {
        out.push(FORMAT);
        out.extend_from_slice(&self.lsn.to_be_bytes());
        out.extend_from_slice(&self.ts.to_be_bytes());
        out.extend_from_slice(&self.ttl.to_be_bytes());
        out.extend_from_slice(&self.index_generation.to_be_bytes());
        out.push(directive_byte(self.directive));
    }

    /// Writes the LSN into an encoded row: it is only known once the write is sequenced.
    pub(crate) fn set_lsn(row: &mut [u8], lsn: u64) {
        row[1..9].copy_from_slice(&lsn.to_be_bytes());
    }

    /// Splits a `D` row into header and document.
    pub fn decode(row: &Bytes) -> Result<(Self, Bytes), Damaged> {
        let read = || {
            let header = Self {
                lsn: u64_at(row, 1)?,
                ts: u64_at(row, 9)?,
                ttl: u32_at(row, 17)?.cast_signed(),
                index_generation: u32_at(row, 21)?,
                directive: directive_of(*row.get(25)?)?,
            };
            (row[0] == FORMAT).then(|| (header, row.slice(Self::LENGTH..)))
        };
        read().ok_or(Damaged("D"))
    }

    /// When the document expires under the collection's default; `None` if never.
    pub fn expiry(&self, default_ttl: Option<i32>) -> Option<u64> {
        let ttl = if self.ttl == 0 { default_ttl? } else { default_ttl.map(|_| self.ttl)? };
        u64::try_from(ttl).ok().map(|ttl| self.ts + ttl)
    }
}

/// The byte for a directive in a `D` row.
fn directive_byte(directive: Directive) -> u8 {
    match directive {
        Directive::Default => 0,
        Directive::Include => 1,
        Directive::Exclude => 2,
    }
}

/// The directive for a byte in a `D` row.
fn directive_of(byte: u8) -> Option<Directive> {
    match byte {
        0 => Some(Directive::Default),
        1 => Some(Directive::Include),
        2 => Some(Directive::Exclude),
        _ => None,
    }
}

/// The operation in an `F` row: what last happened to a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FeedOperation {
    /// The document was created.
    Create = 1,
    /// A version of the document was replaced.
    Replace = 2,
}

/// The `F` row of a version written in this second.
pub(crate) fn feed_entry(operation: FeedOperation, ts: u64) -> Bytes {
    let mut out = vec![operation as u8];
    out.extend_from_slice(&ts.to_be_bytes());
    out.into()
}

/// When the version of an `F` row was written; `None` if the row is damaged.
pub fn feed_time(row: &[u8]) -> Option<u64> {
    u64_at(row, 1)
}

/// The partition's counters, written with every commit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    /// Stored documents, including expired ones that have not been removed yet.
    pub documents: u64,
    /// Bytes of document text.
    pub bytes: u64,
    /// Bytes of the keys and values of index rows.
    pub index_bytes: u64,
    /// The sequence number of the next document.
    pub next_sequence: u64,
    /// The LSN of the last transaction.
    pub last_lsn: u64,
    /// Whether write times rise with LSNs.
    pub times: Times,
}

impl Counters {
    /// Encodes the `Mc` row, format byte first.
    pub(crate) fn encode(&self) -> Bytes {
        let mut out = vec![FORMAT];
        let numbers =
            [self.documents, self.bytes, self.index_bytes, self.next_sequence, self.last_lsn];
        for number in numbers.into_iter().chain(self.times.to_numbers()) {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.into()
    }

    /// Decodes the `Mc` row; rows written before `times` existed are shorter.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
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
pub struct KeyCounters {
    /// Documents with this partition key.
    pub documents: u64,
    /// Bytes of their text, compared with the size limit of a logical partition.
    pub bytes: u64,
}

impl KeyCounters {
    /// The length of the row, which is also its version.
    const LENGTH: usize = 16;

    /// Encodes the `Mk` row.
    pub fn encode(&self) -> Bytes {
        let mut out = Vec::with_capacity(Self::LENGTH);
        out.extend_from_slice(&self.documents.to_be_bytes());
        out.extend_from_slice(&self.bytes.to_be_bytes());
        out.into()
    }

    /// Decodes an `Mk` row.
    pub fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        let read = || {
            let row = Self { documents: u64_at(bytes, 0)?, bytes: u64_at(bytes, 8)? };
            (bytes.len() == Self::LENGTH).then_some(row)
        };
        read().ok_or(Damaged("Mk"))
    }
}

/// The `Ms` row: the state of a partition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// Created for a collection whose catalog row is not written yet.
    Creating = 1,
    /// Serving.
    Open = 2,
    /// Being filled from the partitions it will replace.
    Filling = 3,
}

impl State {
    /// Encodes the `Ms` row: the format of the index, then the state.
    pub fn encode(self) -> Bytes {
        Bytes::from(vec![INDEX_FORMAT, self as u8])
    }

    /// Decodes an `Ms` row, also an [older](Self::is_older) one; fails if a newer build wrote the
    /// partition.
    pub(crate) fn decode(bytes: &[u8]) -> Result<Self, Damaged> {
        match bytes {
            [1..=INDEX_FORMAT, 1] => Ok(Self::Creating),
            [1..=INDEX_FORMAT, 2] => Ok(Self::Open),
            [1..=INDEX_FORMAT, 3] => Ok(Self::Filling),
            _ => Err(Damaged("Ms")),
        }
    }

    /// Whether the index of the partition with this `Ms` row must be upgraded before it is used.
    pub(crate) fn is_older(bytes: &[u8]) -> bool {
        bytes.first().is_some_and(|format| *format < INDEX_FORMAT)
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
        let directive = Directive::Exclude;
        let header = Header { lsn: 1, ts: 1_700_000_000, ttl: -1, index_generation: 3, directive };
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
        // Rows of builds that did not record times.
        assert_eq!(Counters::decode(&counters.encode()[..41]), Ok(counters));
        counters.times.note(5, 1_700_000_000);
        let row = counters.encode();
        assert_eq!(Counters::decode(&row), Ok(counters));
        assert!((42..row.len()).all(|length| Counters::decode(&row[..length]).is_err()));
        assert_eq!(State::decode(&State::Open.encode()), Ok(State::Open));
    }

    #[test]
    fn damaged_rows_are_refused() {
        for length in 0..40 {
            let bytes = Bytes::from(vec![FORMAT; length]);
            assert_eq!(Header::decode(&bytes).is_err(), length < Header::LENGTH);
            assert!(Counters::decode(&bytes).is_err());
            // These rows use their length as version, so longer ones are unknown too.
            assert_eq!(Primary::decode(&bytes).is_err(), length != 36, "{length}");
            assert_eq!(KeyCounters::decode(&bytes).is_err(), length != 16, "{length}");
        }
        assert!(State::decode(&[INDEX_FORMAT + 1, 2]).is_err());
        assert!(State::decode(&[0, 2]).is_err());
        assert_eq!(State::decode(&[1, 2]), Ok(State::Open));
        assert!(State::is_older(&[1, 2]) && !State::is_older(&State::Open.encode()));
    }

    /// These bytes are on disk and must not change when the enum does.
    #[test]
    fn the_bytes_of_directives_stay() {
        let bytes = [(Directive::Default, 0), (Directive::Include, 1), (Directive::Exclude, 2)];
        for (directive, byte) in bytes {
            let header = Header { lsn: 1, ts: 2, ttl: 3, index_generation: 4, directive };
            let mut row = Vec::new();
            header.encode(&mut row);
            assert_eq!(row.last(), Some(&byte), "{directive:?}");
            let (read, _) = Header::decode(&row.clone().into()).expect("a whole row");
            assert_eq!(read.directive, directive);
            row[Header::LENGTH - 1] = 3;
            assert_eq!(Header::decode(&row.into()), Err(Damaged("D")), "a byte of a newer build");
        }
    }

    #[test]
    fn expiry_follows_the_collection() {
        let directive = Directive::Default;
        let header = |ttl| Header { lsn: 0, ts: 100, ttl, index_generation: 0, directive };
        assert_eq!(header(5).expiry(None), None, "ttl is off");
        assert_eq!(header(5).expiry(Some(-1)), Some(105));
        assert_eq!(header(-1).expiry(Some(10)), None);
        assert_eq!(header(0).expiry(Some(10)), Some(110));
        assert_eq!(header(0).expiry(Some(-1)), None);
    }
}
