//! Activity ids: the GUID that identifies a request in its answer and in the log.

use std::{
    hash::{BuildHasher as _, RandomState},
    sync::{
        LazyLock,
        atomic::{AtomicU64, Ordering},
    },
};

use hyper::HeaderMap;

/// Returns the client's id if it is a GUID, else a new one.
pub(crate) fn id(headers: &HeaderMap) -> u128 {
    headers
        .get("x-ms-activity-id")
        .and_then(|value| value.to_str().ok())
        .and_then(parse)
        .unwrap_or_else(random)
}

/// Formats an id as five groups of hex digits.
pub(crate) fn text(id: u128) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut text = String::with_capacity(36);
    for (at, byte) in id.to_be_bytes().into_iter().enumerate() {
        if [4, 6, 8, 10].contains(&at) {
            text.push('-');
        }
        text.push(char::from(DIGITS[usize::from(byte >> 4)]));
        text.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    text
}

fn parse(text: &str) -> Option<u128> {
    let groups: Vec<&str> = text.trim().split('-').collect();
    let digits = groups.concat();
    // `from_str_radix` would accept a sign.
    let is_guid = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_guid.then(|| u128::from_str_radix(&digits, 16).ok()).flatten()
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
        assert_eq!(parse(given).map(text).as_deref(), Some(given));
        assert_eq!(parse(&given.to_uppercase()).map(text).as_deref(), Some(given));
        for bad in ["", "1", "+f8fad5b-d9cb-469f-a165-70867728950e", &given[1..]] {
            assert_eq!(parse(bad), None, "{bad}");
        }
        let made = text(random());
        assert_eq!((&made[14..15], made.len()), ("4", 36));
        assert!("89ab".contains(&made[19..20]), "{made}");
        assert_ne!(made, text(random()));
    }
}
