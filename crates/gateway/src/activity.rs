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

/// Makes a version 4 GUID that no other request has. It is a name, not a secret, so a keyed hash of
/// a counter is enough; random numbers from the system would cost a system call per request.
fn random() -> u128 {
    const VERSION_4: u128 = 4 << 76;
    const VARIANT_1: u128 = 2 << 62;
    static KEYS: LazyLock<[RandomState; 2]> =
        LazyLock::new(|| [RandomState::new(), RandomState::new()]);
    static COUNTER: AtomicU64 = AtomicU64::new(0);
    let number = COUNTER.fetch_add(1, Ordering::Relaxed);
    let [high, low] = [0, 1].map(|at| u128::from(KEYS[at].hash_one(number)));
    (high << 64 | low) & !(0xF << 76) & !(3 << 62) | VERSION_4 | VARIANT_1
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
}
