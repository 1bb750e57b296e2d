//! The keys of terms. A key is a prefix that names the index, the value, and the number of the
//! document, so that the entries of one value are sorted by document:
//!
//! | key | index |
//! |---|---|
//! | `V` path (5), value, document (8) | every path of its own |
//! | `W` composite (5), values, document (8) | several paths together |
//! | `L` path (5), cell (8), document (8) | spatial |
//!
//! Integers are big-endian. A *term* is a key without the document's number. For the reasons see
//! docs/adr/0014-short-index-keys.md.

use crate::kind::Kind;

/// Bytes of the id of a path or composite index.
pub const ID_BYTES: usize = 5;
/// Bytes of a prefix: the kind of index, and its id.
pub const PREFIX_BYTES: usize = 1 + ID_BYTES;
/// Bytes of a document's number.
pub const NUMBER_BYTES: usize = 8;

/// The id that a hash gives: its first 40 bits. Never zero, which is the id of no path.
pub fn id(hash: u64) -> u64 {
    (hash >> 24).max(1)
}

/// The bytes of an id in keys.
pub fn id_bytes(id: u64) -> [u8; ID_BYTES] {
    let [_, _, _, bytes @ ..] = id.to_be_bytes();
    bytes
}

/// The id in a prefix, or in a key behind its first byte.
pub fn id_at(key: &[u8]) -> Option<u64> {
    let bytes = key.get(1..PREFIX_BYTES)?;
    Some(bytes.iter().fold(0, |id, byte| id << 8 | u64::from(*byte)))
}

/// The prefix of an index's keys: its kind, and the id of its path or composite index.
pub fn prefix(kind: Kind, id: u64) -> [u8; PREFIX_BYTES] {
    let mut bytes = [kind.prefix(); PREFIX_BYTES];
    bytes[1..].copy_from_slice(&id_bytes(id));
    bytes
}

/// Splits a key into prefix, value bytes and document number. `None` if it is too short.
pub fn split(key: &[u8]) -> Option<(&[u8; PREFIX_BYTES], &[u8], u64)> {
    let (prefix, rest) = key.split_first_chunk()?;
    let (value, number) = rest.split_last_chunk::<NUMBER_BYTES>()?;
    Some((prefix, value, u64::from_be_bytes(*number)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_come_apart() {
        let id = 0x01_0203_0405;
        let mut key = prefix(Kind::Path, id).to_vec();
        assert_eq!(key, [b'V', 1, 2, 3, 4, 5]);
        assert_eq!(id_at(&key), Some(id));
        assert_eq!(id_at(&key[1..]), None);
        key.extend_from_slice(&[0x20, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(split(&key), Some((&prefix(Kind::Path, id), &[0x20][..], 258)));
        assert_eq!(split(&key[1..]).map(|(_, value, _)| value.len()), Some(0));
        assert_eq!(split(&key[2..]), None);
        assert_eq!(prefix(Kind::Composite, 0)[0], b'W');
        assert_eq!(prefix(Kind::Spatial, 0)[0], b'L');
    }

    #[test]
    fn no_path_has_the_id_zero() {
        assert_eq!([0, 0xff_ffff, 1 << 24, 2 << 24, u64::MAX].map(id), [1, 1, 1, 2, (1 << 40) - 1]);
    }
}
