//! The keys of terms. A key is a prefix that names the index, the value, and the number of the
//! document, so that the entries of one value are sorted by document:
//!
//! | key | index |
//! |---|---|
//! | `I` path (8), value, document (8) | every path of its own |
//! | `C` composite (8), values, document (8) | several paths together |
//! | `G` path (8), cell (8), document (8) | spatial |
//!
//! Integers are big-endian. A *term* is a key without the document's number.

use crate::kind::Kind;

/// Bytes of a prefix: the kind of index, and its id.
pub const PREFIX_BYTES: usize = 9;
/// Bytes of a document's number.
pub const NUMBER_BYTES: usize = 8;

/// The prefix of an index's keys: its kind, and the id of its path or composite index.
pub fn prefix(kind: Kind, id: u64) -> [u8; PREFIX_BYTES] {
    let mut bytes = [kind.prefix(); PREFIX_BYTES];
    bytes[1..].copy_from_slice(&id.to_be_bytes());
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
        let mut key = prefix(Kind::Path, 0x0102_0304_0506_0708).to_vec();
        assert_eq!(key, [b'I', 1, 2, 3, 4, 5, 6, 7, 8]);
        key.extend_from_slice(&[0x20, 0, 0, 0, 0, 0, 0, 1, 2]);
        assert_eq!(
            split(&key),
            Some((&prefix(Kind::Path, 0x0102_0304_0506_0708), &[0x20][..], 258))
        );
        assert_eq!(split(&key[1..]).map(|(_, value, _)| value.len()), Some(0));
        assert_eq!(split(&key[2..]), None);
        assert_eq!(prefix(Kind::Composite, 0)[0], b'C');
        assert_eq!(prefix(Kind::Spatial, 0)[0], b'G');
    }
}
