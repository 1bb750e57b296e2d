//! Keys of the map in memory.

use bytes::Bytes;

/// A key with a copy of its first bytes beside the pointer to all of them. These decide most
/// comparisons of a search, so it need not follow the pointer, and the bytes behind it are seldom in
/// the processor's cache.
#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Key {
    /// The first bytes as big-endian numbers, with zeros behind a shorter key. Keys that differ here
    /// are in the order of their bytes; others are compared whole.
    head: [u64; 2],
    bytes: Bytes,
}

impl Key {
    /// All bytes of the key.
    pub(super) fn bytes(&self) -> &Bytes {
        &self.bytes
    }
}

impl From<Bytes> for Key {
    fn from(bytes: Bytes) -> Self {
        let mut first = [0; 16];
        let length = bytes.len().min(first.len());
        first[..length].copy_from_slice(&bytes[..length]);
        let number = |at: usize| {
            first[at..at + 8].iter().fold(0_u64, |number, byte| number << 8 | u64::from(*byte))
        };
        Self { head: [number(0), number(8)], bytes }
    }
}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    proptest! {
        #[test]
        fn keys_have_the_order_of_their_bytes(
            one in vec(0_u8..3, 0..20),
            other in vec(0_u8..3, 0..20),
        ) {
            let key = |bytes: &[u8]| Key::from(Bytes::copy_from_slice(bytes));
            prop_assert_eq!(key(&one).cmp(&key(&other)), one.cmp(&other));
        }
    }
}
