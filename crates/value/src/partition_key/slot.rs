//! Slots: the hash space in 2^24 equal pieces. A document's number begins with its slot, so the
//! store keeps items in hash order and partitions are split at slot boundaries.
//!
//! Several keys can share a slot.

use super::{Component, Epk, Hashing, hashing};

/// The number of slots.
pub const SLOTS: u32 = 1 << 24;

/// How many bits to drop from the first 32 bits of a 128-bit key; its top two bits are always zero.
const V2_SHIFT: u32 = 6;
/// How many bits to drop from the 32-bit hash of version 1.
const V1_SHIFT: u32 = 8;

/// See [`PartitionKey::slot`](super::PartitionKey::slot).
pub(super) fn of_key(components: &[Component], hashing: Hashing) -> u32 {
    let hashed = match (components, hashing) {
        ([], _) => return 0,
        ([first, ..], Hashing::MultiHash) => std::slice::from_ref(first),
        (all, _) => all,
    };
    match hashing {
        Hashing::V1 => hashing::hash_v1(hashed) >> V1_SHIFT,
        Hashing::V2 | Hashing::MultiHash => first_word(&hashing::hash_v2(hashed)) >> V2_SHIFT,
    }
}

/// The smallest effective partition key of a slot, where a partition that begins with the slot
/// begins. `SLOTS` and anything above is the end of the space.
pub fn slot_boundary(slot: u32, hashing: Hashing) -> Epk {
    if slot == 0 {
        return Epk::min();
    }
    if slot >= SLOTS {
        return Epk::max();
    }
    match hashing {
        Hashing::V1 => {
            let mut out = Vec::new();
            hashing::write_number(f64::from(slot << V1_SHIFT), &mut out);
            Epk::from_bytes(out)
        }
        Hashing::V2 | Hashing::MultiHash => {
            let mut bytes = [0; 16];
            bytes[..4].copy_from_slice(&(slot << V2_SHIFT).to_be_bytes());
            Epk::from_bytes(bytes)
        }
    }
}

/// The slot that contains a point of the hash space; for every key this is the key's own slot.
/// Points beyond the space count as its last. At present every point has a slot; `None` is reserved
/// for hashings whose points have to be decoded.
pub fn slot_of_epk(epk: &Epk, hashing: Hashing) -> Option<u32> {
    let slot = match hashing {
        // A version 1 point is a number of any length followed by anything: comparing it with the
        // boundaries, which sort like the slots, also handles malformed ones.
        Hashing::V1 => last_boundary_at_or_below(epk),
        Hashing::V2 | Hashing::MultiHash => first_word(epk.as_bytes()) >> V2_SHIFT,
    };
    Some(slot.min(SLOTS - 1))
}

fn last_boundary_at_or_below(epk: &Epk) -> u32 {
    let (mut low, mut high) = (0, SLOTS);
    while high - low > 1 {
        let middle = low.midpoint(high);
        if slot_boundary(middle, Hashing::V1) <= *epk {
            low = middle;
        } else {
            high = middle;
        }
    }
    low
}

/// The first four bytes as a number; missing bytes count as zero.
fn first_word(bytes: &[u8]) -> u32 {
    let mut word = [0; 4];
    let length = bytes.len().min(4);
    word[..length].copy_from_slice(&bytes[..length]);
    u32::from_be_bytes(word)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::partition_key::PartitionKey;
    use crate::partition_key::component::tests::any_component;
    use proptest::prelude::*;

    const ALL: [Hashing; 3] = [Hashing::V1, Hashing::V2, Hashing::MultiHash];

    #[test]
    fn boundaries_have_the_form_of_keys() {
        for hashing in ALL {
            assert_eq!(slot_boundary(0, hashing), Epk::min());
            assert_eq!(slot_boundary(SLOTS, hashing), Epk::max());
            assert_eq!(slot_of_epk(&Epk::min(), hashing), Some(0));
            assert_eq!(slot_of_epk(&Epk::max(), hashing), Some(SLOTS - 1));
        }
        let half = slot_boundary(SLOTS / 2, Hashing::V2).to_string();
        assert_eq!(half, "20000000000000000000000000000000");
        assert_eq!(slot_boundary(SLOTS / 2, Hashing::V1).to_string(), "05C1E0");
        assert_eq!(slot_boundary(1, Hashing::V1).to_string(), "05C070");
    }

    #[test]
    fn points_that_are_no_keys_have_a_slot_too() {
        let slot = |text: &str, hashing| slot_of_epk(&Epk::parse_hex(text).unwrap(), hashing);
        assert_eq!(slot("20", Hashing::V2), Some(SLOTS / 2));
        assert_eq!(slot("40", Hashing::V2), Some(SLOTS - 1));
        assert_eq!(slot("04", Hashing::V1), Some(0));
        assert_eq!(slot("05C1", Hashing::V1), Some(0x1ff));
        assert_eq!(slot("06", Hashing::V1), Some(SLOTS - 1));
    }

    proptest! {
        #[test]
        fn a_key_lies_in_the_slot_of_its_point(
            components in proptest::collection::vec(any_component(), 0..4)
        ) {
            let key = PartitionKey(components);
            for hashing in ALL {
                let (slot, epk) = (key.slot(hashing), key.effective(hashing));
                prop_assert_eq!(slot_of_epk(&epk, hashing), Some(slot));
                prop_assert!(slot_boundary(slot, hashing) <= epk);
                prop_assert!(epk < slot_boundary(slot + 1, hashing));
            }
        }

        #[test]
        fn boundaries_rise_with_the_slots(a in 0..=SLOTS, b in 0..=SLOTS) {
            for hashing in ALL {
                let (first, second) = (slot_boundary(a, hashing), slot_boundary(b, hashing));
                prop_assert_eq!(first.cmp(&second), a.cmp(&b));
                if a < SLOTS {
                    prop_assert_eq!(slot_of_epk(&first, hashing), Some(a));
                }
            }
        }

        #[test]
        fn any_point_has_a_slot(bytes: Vec<u8>) {
            for hashing in ALL {
                let slot = slot_of_epk(&Epk::from_bytes(bytes.clone()), hashing);
                prop_assert!(slot.is_some_and(|slot| slot < SLOTS));
            }
        }
    }
}
