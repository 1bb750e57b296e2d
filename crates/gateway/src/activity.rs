//! Activity ids: the GUID that identifies a request in its answer and in the log.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use protocol::guid;

use crate::headers::Lookup;

/// Returns the client's id if it is a GUID, else a new one.
pub(crate) fn id(headers: &impl Lookup) -> u128 {
    headers
        .value("x-ms-activity-id")
        .and_then(|value| value.to_str().ok())
        .and_then(|text| guid::parse(text.trim()))
        .unwrap_or_else(random)
}

/// Makes a version 4 GUID that no other request has. It is a name, not a secret, so a mixed counter
/// with a random start is enough; random numbers from the system would cost a system call per request,
/// and a keyed hash several hundred instructions.
fn random() -> u128 {
    const VERSION_4: u128 = 4 << 76;
    const VARIANT_1: u128 = 2 << 62;
    /// The golden ratio as a fraction of 64 bits. It is odd, so its multiples repeat after all others.
    const STEP: u64 = 0x9E37_79B9_7F4A_7C15;
    static STARTS: LazyLock<[u64; 2]> =
        LazyLock::new(|| [0, 1].map(|at: u64| RandomState::new().hash_one(at)));
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed).wrapping_mul(STEP);
    let [high, low] = STARTS.map(|start| u128::from(mixed(start.wrapping_add(number))));
    (high << 64 | low) & !(0xF << 76) & !(3 << 62) | VERSION_4 | VARIANT_1
}

/// Spreads each bit of a number over all bits of another one, as MurmurHash does in the end. No two
/// numbers have the same result.
fn mixed(number: u64) -> u64 {
    let number = (number ^ number >> 33).wrapping_mul(0xFF51_AFD7_ED55_8CCD);
    let number = (number ^ number >> 33).wrapping_mul(0xC4CE_B9FE_1A85_EC53);
    number ^ number >> 33
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn guids_are_echoed_and_anything_else_is_replaced() {
        let given = "0f8fad5b-d9cb-469f-a165-70867728950e";
        assert_eq!(guid::parse(given).map(guid::text).as_deref(), Some(given));
        assert_eq!(guid::parse(&given.to_uppercase()).map(guid::text).as_deref(), Some(given));
        for bad in ["", "1", "+f8fad5b-d9cb-469f-a165-70867728950e", &given[1..]] {
            assert_eq!(guid::parse(bad), None, "{bad}");
        }
        let made = guid::text(random());
        assert_eq!((&made[14..15], made.len()), ("4", 36));
        assert!("89ab".contains(&made[19..20]), "{made}");
        assert_ne!(made, guid::text(random()));
    }

    #[test]
    fn new_guids_differ_in_all_digits() {
        let made: Vec<u128> = (0..10_000).map(|_| random()).collect();
        let different: std::collections::HashSet<u128> = made.iter().copied().collect();
        assert_eq!(different.len(), made.len());
        let varying = made.iter().fold(0, |bits, id| bits | (id ^ made[0]));
        assert_eq!(varying, !(0xF << 76) & !(3 << 62));
    }
}
