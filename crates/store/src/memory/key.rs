//! Keys of the map in memory.

use std::cmp::Ordering;

use bytes::Bytes;

/// Words of a key that are kept in the map's nodes.
const WORDS: usize = 4;
/// Bytes in these words.
const HEAD_BYTES: usize = WORDS * size_of::<u64>();

/// A key of which the first bytes are in the map's nodes. Most keys are no longer than that, so they
/// take no memory elsewhere, and a search compares a few numbers instead of following pointers to
/// bytes that are seldom in the processor's cache.
#[derive(Clone, Debug)]
pub(super) struct Key {
    /// The first bytes as big-endian numbers, with zeros behind a shorter key.
    head: [u64; WORDS],
    /// The length of the whole key.
    length: u32,
    /// What follows the head. Boxed, because few keys have any, and the map moves keys.
    tail: Option<Box<Bytes>>,
}

impl Key {
    /// The length of the key.
    pub(super) fn len(&self) -> usize {
        self.length as usize
    }

    /// The bytes of the key.
    pub(super) fn to_bytes(&self) -> Bytes {
        let mut head = [0; HEAD_BYTES];
        for (bytes, word) in head.chunks_exact_mut(size_of::<u64>()).zip(self.head) {
            bytes.copy_from_slice(&word.to_be_bytes());
        }
        match &self.tail {
            None => Bytes::copy_from_slice(&head[..self.len().min(HEAD_BYTES)]),
            Some(tail) => [&head[..], tail].concat().into(),
        }
    }
}

impl From<&[u8]> for Key {
    fn from(bytes: &[u8]) -> Self {
        let (first, rest) = bytes.split_at(bytes.len().min(HEAD_BYTES));
        let mut padded = [0; HEAD_BYTES];
        padded[..first.len()].copy_from_slice(first);
        let mut head = [0; WORDS];
        for (word, bytes) in head.iter_mut().zip(padded.as_chunks().0) {
            *word = u64::from_be_bytes(*bytes);
        }
        let length = u32::try_from(bytes.len()).expect("no key has 4 GB: stores check them");
        let tail = (!rest.is_empty()).then(|| Box::new(Bytes::copy_from_slice(rest)));
        Self { head, length, tail }
    }
}

impl Ord for Key {
    #[inline]
    fn cmp(&self, other: &Self) -> Ordering {
        // Not with an iterator: searches spend most of their time here.
        let (head, others) = (self.head, other.head);
        if head[0] != others[0] {
            return head[0].cmp(&others[0]);
        }
        if head[1] != others[1] {
            return head[1].cmp(&others[1]);
        }
        if head[2] != others[2] {
            return head[2].cmp(&others[2]);
        }
        if head[3] != others[3] {
            return head[3].cmp(&others[3]);
        }
        // A key of which the other one is the beginning, or that has zeros where the other one ends.
        match (&self.tail, &other.tail) {
            (Some(tail), Some(other)) => tail.cmp(other),
            _ => self.length.cmp(&other.length),
        }
    }
}

impl PartialOrd for Key {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Key {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Key {}

#[cfg(test)]
mod tests {
    use proptest::{collection::vec, prelude::*};

    use super::*;

    /// Bytes that are often the beginning of one another, shorter and longer than the head.
    fn bytes() -> impl Strategy<Value = Vec<u8>> {
        let lengths = prop_oneof![0..20_usize, 24..40_usize];
        (lengths, vec(prop_oneof![9 => Just(0_u8), 1 => 0_u8..3], 40)).prop_map(
            |(length, mut bytes)| {
                bytes.truncate(length);
                bytes
            },
        )
    }

    proptest! {
        #[test]
        fn keys_have_the_order_of_their_bytes(one in bytes(), other in bytes()) {
            let key = |bytes: &[u8]| Key::from(bytes);
            prop_assert_eq!(key(&one).cmp(&key(&other)), one.cmp(&other));
            prop_assert_eq!(key(&one) == key(&other), one == other);
        }

        #[test]
        fn bytes_come_back(bytes in bytes()) {
            let key = Key::from(&bytes[..]);
            prop_assert_eq!(&key.to_bytes()[..], &bytes[..]);
            prop_assert_eq!(key.len(), bytes.len());
        }
    }
}
