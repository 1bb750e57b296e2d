//! The row keys of a partition and of the catalog, with every prefix in one place.
//!
//! All integers are big-endian, so byte order is number order. Every key carries its slot, so a
//! split can route an entry without reading the document.

use std::ops::Range;

use bytes::Bytes;
use catalog::area::SLOT_BITS;
pub use catalog::area::SLOT_COUNT;
use index::Kind;
use protocol::rid::DocNum;
pub use value::key::u64_at;
use value::{
    key,
    partition_key::{Component, PartitionKey},
};

/// Bits of a document number below its slot.
pub const SEQUENCE_BITS: u32 = 36;

/// The highest sequence number of a partition.
pub const SEQUENCE_MAX: u64 = (1 << SEQUENCE_BITS) - 1;

/// Primary key -> [`crate::rows::Primary`].
pub const PRIMARY: u8 = b'P';
/// Document number -> header and document.
pub const DOCUMENT: u8 = b'D';
/// LSN, document number -> change feed entry.
pub const FEED: u8 = b'F';
/// LSN, document number -> a change, with the versions before and after it.
pub const HISTORY: u8 = b'H';
/// Path id -> path.
pub const NAME: u8 = b'N';
/// Expiry, document number -> nothing.
pub const EXPIRY: u8 = b'T';
/// Logical key, unique key, values -> document number.
pub const UNIQUE: u8 = b'U';
/// Document number -> the list of its attachments; with an attachment's number -> that attachment.
pub const ATTACHMENT: u8 = b'A';
/// Document number, attachment number -> media.
pub const MEDIA: u8 = b'B';
/// Number -> a batch that was committed while the partition was being copied.
pub const LOG: u8 = b'S';
/// State of the partition. Everything a partition records about itself has a key that starts with
/// `M`.
pub const META_STATE: &[u8] = b"Ms";
/// Counters of the partition.
pub const META_COUNTERS: &[u8] = b"Mc";
/// From where on the history is complete.
pub const META_HISTORY: &[u8] = b"Mh";
/// Counters of one logical key; slot and key follow.
pub const META_KEY: &[u8] = b"Mk";

/// Marks a logical key whose documents are being deleted; slot and key follow.
pub const META_CLEAR: &[u8] = b"Md";

/// Joins a slot and a sequence.
pub fn docnum(slot: u32, sequence: u64) -> DocNum {
    u64::from(slot) << SEQUENCE_BITS | sequence
}

/// The slot of a document number.
pub fn slot_of(docnum: DocNum) -> u32 {
    u32::try_from(docnum >> SEQUENCE_BITS).unwrap_or(u32::MAX)
}

/// A document number with its parts swapped: sequence first, then slot. Sorts a partition's
/// documents by creation.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Creation(pub u64);

impl Creation {
    /// Swaps the parts of a document number.
    pub fn of(docnum: DocNum) -> Self {
        Self((docnum & SEQUENCE_MAX) << SLOT_BITS | docnum >> SEQUENCE_BITS)
    }

    /// The original document number.
    pub fn docnum(self) -> DocNum {
        docnum(self.slot(), self.0 >> SLOT_BITS)
    }

    /// The slot of the document.
    pub fn slot(self) -> u32 {
        u32::try_from(self.0 & u64::from(SLOT_COUNT - 1)).unwrap_or(u32::MAX)
    }
}

/// The key shared by a partition key's documents: the slot, then each component.
///
/// Keys are stored whole, however long: see docs/adr/0004-whole-primary-keys.md.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LogicalKey {
    /// The slot that the partition key hashes to.
    pub slot: u32,
    bytes: Vec<u8>,
}

impl LogicalKey {
    /// The key of a full partition key, whose slot the caller has computed.
    pub fn new(slot: u32, key: &PartitionKey) -> Self {
        let mut bytes = slot_bytes(slot).to_vec();
        for component in &key.0 {
            component.encode_key(&mut bytes);
        }
        Self { slot, bytes }
    }

    /// The slot and components, as in every key of this partition key.
    pub fn as_bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// The primary key of the document with this id.
    pub fn primary(&self, id: &str) -> Bytes {
        let mut out = Vec::with_capacity(self.bytes.len() + id.len() + 4);
        out.push(PRIMARY);
        out.extend_from_slice(&self.bytes);
        key::encode_name(id, &mut out);
        out.into()
    }

    /// The common prefix of the primary keys of all its documents.
    pub fn primaries(&self) -> Bytes {
        [&[PRIMARY], &self.bytes[..]].concat().into()
    }

    /// The key of the row that marks its documents as being deleted.
    pub fn clear(&self) -> Bytes {
        [META_CLEAR, &self.bytes].concat().into()
    }

    /// The key of the row for these values of a unique key.
    pub fn unique(&self, number: u8, values: &[u8]) -> Bytes {
        [&[UNIQUE], &self.bytes[..], &[number], values].concat().into()
    }

    /// Decodes the partition key from a logical key's bytes.
    pub fn decode(bytes: &[u8]) -> Option<PartitionKey> {
        let mut rest = bytes.get(slot_bytes(0).len()..)?;
        let mut components = Vec::new();
        while !rest.is_empty() {
            let (component, after) = Component::decode_key(rest).ok()?;
            components.push(component);
            rest = after;
        }
        Some(PartitionKey(components))
    }

    /// The key of this partition key's own counters.
    pub fn counters(&self) -> Bytes {
        [META_KEY, &self.bytes].concat().into()
    }
}

/// The slot and components within a primary key, between the prefix and the id; the collection has
/// this many partition key paths.
pub fn logical_part(primary_key: &[u8], paths: usize) -> Option<&[u8]> {
    let mut rest = primary_key.get(4..)?;
    for _ in 0..paths {
        rest = Component::decode_key(rest).ok()?.1;
    }
    let (_, end) = key::decode_name(rest).ok()?;
    end.is_empty().then(|| &primary_key[1..primary_key.len() - rest.len()])
}

fn slot_bytes(slot: u32) -> [u8; 3] {
    let [_, a, b, c] = slot.to_be_bytes();
    [a, b, c]
}

/// Reads the slot that follows the first `prefix_len` bytes of a key.
pub fn slot_at(key: &[u8], prefix_len: usize) -> Option<u32> {
    let bytes = key.get(prefix_len..prefix_len + 3)?;
    Some(bytes.iter().fold(0, |slot, byte| slot << 8 | u32::from(*byte)))
}

/// The key of a document's `D` row.
pub fn document(docnum: DocNum) -> Bytes {
    let mut out = Vec::with_capacity(9);
    out.push(DOCUMENT);
    out.extend_from_slice(&docnum.to_be_bytes());
    out.into()
}

/// The keys of the `D` rows of several documents. They share one buffer.
pub fn documents(docnums: &[DocNum]) -> Vec<Bytes> {
    const LENGTH: usize = 1 + size_of::<DocNum>();
    let mut out = Vec::with_capacity(docnums.len() * LENGTH);
    for docnum in docnums {
        out.push(DOCUMENT);
        out.extend_from_slice(&docnum.to_be_bytes());
    }
    let mut out = Bytes::from(out);
    docnums.iter().map(|_| out.split_to(LENGTH)).collect()
}

/// The key of the list of a document's attachments.
pub fn attachments(docnum: DocNum) -> Bytes {
    [&[ATTACHMENT][..], &docnum.to_be_bytes()].concat().into()
}

/// The key of one attachment of a document.
pub fn attachment(docnum: DocNum, number: u32) -> Bytes {
    [&[ATTACHMENT][..], &docnum.to_be_bytes(), &number.to_be_bytes()].concat().into()
}

/// The key of an attachment's media.
pub fn media(docnum: DocNum, number: u32) -> Bytes {
    [&[MEDIA][..], &docnum.to_be_bytes(), &number.to_be_bytes()].concat().into()
}

/// The key of the row that maps this id to its path.
pub(crate) fn name(id: u64) -> Bytes {
    [&[NAME][..], &index::key::id_bytes(id)].concat().into()
}

/// The key of the row that mapped a hash to its path before ids had five bytes.
pub(crate) fn older_name(hash: u64) -> Bytes {
    [&[NAME][..], &hash.to_be_bytes()].concat().into()
}

/// The key of a document's change feed entry, under the LSN of its latest version.
pub fn feed(lsn: u64, docnum: DocNum) -> Bytes {
    pair(FEED, lsn, docnum)
}

/// The key of a change feed row: latest versions or full history, depending on the letter.
pub fn change(letter: u8, lsn: u64, docnum: DocNum) -> Bytes {
    pair(letter, lsn, docnum)
}

/// The key of the row that records when a document expires.
pub fn expiry(seconds: u64, docnum: DocNum) -> Bytes {
    pair(EXPIRY, seconds, docnum)
}

/// The key of the log row with this number.
pub(crate) fn log(number: u64) -> Bytes {
    let mut out = Vec::with_capacity(9);
    out.push(LOG);
    out.extend_from_slice(&number.to_be_bytes());
    out.into()
}

/// Where a row goes when its partition is split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Home {
    /// To the part with the documents of this slot.
    Slot(u32),
    /// To every part.
    Everywhere,
    /// To none: it is about the partition itself.
    Nowhere,
}

/// The document number in a key; `None` if its kind of row has none.
pub fn number_at(key: &[u8]) -> Option<DocNum> {
    match *key.first()? {
        DOCUMENT | ATTACHMENT | MEDIA => u64_at(key, 1),
        FEED | HISTORY | EXPIRY => u64_at(key, 9),
        _ if Kind::of(key).is_some() => Some(index::key::split(key)?.2),
        _ => None,
    }
}

/// The key range of rows in these slots, for a prefix that is followed by a slot.
pub fn slot_rows(prefix: &[u8], slots: Range<u32>) -> Range<Bytes> {
    let bound = |slot: u32| -> Bytes {
        // The end of the last slot must sort after all of its keys.
        let bytes = if slot < SLOT_COUNT { slot_bytes(slot).to_vec() } else { vec![u8::MAX; 4] };
        [prefix, &bytes].concat().into()
    };
    bound(slots.start)..bound(slots.end)
}

/// Where the row with this key goes in a split. `None` if this is not a partition key.
pub fn home(key: &[u8]) -> Option<Home> {
    let slot = match *key.first()? {
        PRIMARY | UNIQUE => slot_at(key, 1)?,
        DOCUMENT | FEED | HISTORY | EXPIRY | ATTACHMENT | MEDIA => slot_of(number_at(key)?),
        _ if Kind::of(key).is_some() => slot_of(number_at(key)?),
        NAME => return Some(Home::Everywhere),
        LOG => return Some(Home::Nowhere),
        _ if key.starts_with(META_KEY) => slot_at(key, META_KEY.len())?,
        _ if key.starts_with(META_CLEAR) => slot_at(key, META_CLEAR.len())?,
        _ if [META_STATE, META_COUNTERS, META_HISTORY].contains(&key) => {
            return Some(Home::Nowhere);
        }
        _ => return None,
    };
    Some(Home::Slot(slot))
}

fn pair(prefix: u8, first: u64, second: u64) -> Bytes {
    let mut out = Vec::with_capacity(17);
    out.push(prefix);
    out.extend_from_slice(&first.to_be_bytes());
    out.extend_from_slice(&second.to_be_bytes());
    out.into()
}

#[cfg(test)]
mod tests {
    use value::partition_key::Hashing;

    use super::*;

    #[test]
    fn document_numbers_sort_by_slot_then_sequence() {
        assert!(docnum(1, 0) > docnum(0, SEQUENCE_MAX));
        assert_eq!(slot_of(docnum(SLOT_COUNT - 1, SEQUENCE_MAX)), SLOT_COUNT - 1);
        assert!(docnum(SLOT_COUNT - 1, SEQUENCE_MAX) <= protocol::rid::DOCNUM_MAX);
    }

    #[test]
    fn keys_of_several_documents_are_those_of_each() {
        for numbers in [&[][..], &[7], &[docnum(5, 77), 0, DocNum::MAX]] {
            let each: Vec<Bytes> = numbers.iter().map(|number| document(*number)).collect();
            assert_eq!(documents(numbers), each);
        }
    }

    #[test]
    fn creations_sort_by_sequence_then_slot() {
        let of = |slot, sequence| Creation::of(docnum(slot, sequence));
        assert!(of(9, 1) < of(0, 2) && of(0, 2) < of(1, 2));
        for number in [docnum(0, 0), docnum(5, 77), docnum(SLOT_COUNT - 1, SEQUENCE_MAX)] {
            assert_eq!(Creation::of(number).docnum(), number);
        }
        assert_eq!(of(5, 77).slot(), 5);
        // The successor of the last slot is the first slot of the next sequence.
        assert_eq!(Creation(of(SLOT_COUNT - 1, 1).0 + 1), of(0, 2));
    }

    #[test]
    fn keys_carry_their_slot() {
        let key = PartitionKey(vec![Component::String("a".to_owned())]);
        let logical = LogicalKey::new(key.slot(Hashing::V2), &key);
        assert_eq!(slot_at(&logical.primary("x"), 1), Some(logical.slot));
        assert_eq!(slot_at(&logical.counters(), META_KEY.len()), Some(logical.slot));
        assert_eq!(logical_part(&logical.primary("x"), 1), Some(logical.as_bytes()));
        assert_eq!(logical_part(&logical.primary("x"), 3), None);
        assert_eq!(u64_at(&document(docnum(7, 9)), 1), Some(docnum(7, 9)));
    }

    #[test]
    fn every_row_has_a_home() {
        let key = PartitionKey(vec![Component::String("a".to_owned())]);
        let logical = LogicalKey::new(7, &key);
        let number = docnum(7, 9);
        let term =
            [&index::key::prefix(Kind::Path, 1)[..], b"value", &number.to_be_bytes()].concat();
        for row in [
            logical.primary("x"),
            logical.counters(),
            logical.unique(1, b"values"),
            logical.clear(),
            document(number),
            feed(5, number),
            change(HISTORY, 5, number),
            expiry(5, number),
            term.into(),
        ] {
            assert_eq!(home(&row), Some(Home::Slot(7)), "{row:?}");
        }
        assert_eq!(home(&name(1)), Some(Home::Everywhere));
        for row in [&log(3)[..], META_STATE, META_COUNTERS, META_HISTORY] {
            assert_eq!(home(row), Some(Home::Nowhere));
        }
        for row in [&b""[..], b"Z", b"D", b"Mz", b"P12"] {
            assert_eq!(home(row), None, "{row:?}");
        }
    }

    #[test]
    fn partition_keys_read_back() {
        let text = Component::String("a\0é".to_owned());
        let parts = [text, Component::Undefined, Component::Number(-1.5)];
        for length in 0..=parts.len() {
            let key = PartitionKey(parts[..length].to_vec());
            let logical = LogicalKey::new(7, &key);
            assert_eq!(LogicalKey::decode(logical.as_bytes()), Some(key));
        }
        for bad in [&[][..], &[0, 0], &[0, 0, 0, 0xfe], &[0, 0, 0, 0x60, b'a']] {
            assert_eq!(LogicalKey::decode(bad), None);
        }
    }
}
