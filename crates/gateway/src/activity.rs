//! Activity ids: the GUID that names a request in the answer and in the log.

use hyper::HeaderMap;

/// The id that the client chose, if it is a GUID; a new one otherwise.
pub(crate) fn id(headers: &HeaderMap) -> u128 {
    headers
        .get("x-ms-activity-id")
        .and_then(|value| value.to_str().ok())
        .and_then(parse)
        .unwrap_or_else(random)
}

/// The text form: five groups of hex digits.
pub(crate) fn text(id: u128) -> String {
    let hex = format!("{id:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

fn parse(text: &str) -> Option<u128> {
    let groups: Vec<&str> = text.trim().split('-').collect();
    let digits = groups.concat();
    // `from_str_radix` would take a sign.
    let is_guid = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_guid.then(|| u128::from_str_radix(&digits, 16).ok()).flatten()
}

/// A random GUID (version 4). Without a source of randomness, which no supported system lacks,
/// it is the nil GUID: a request is worth more than its name.
fn random() -> u128 {
    const VERSION_4: u128 = 4 << 76;
    const VARIANT_1: u128 = 2 << 62;
    let mut bytes = [0; 16];
    if getrandom::fill(&mut bytes).is_err() {
        return 0;
    }
    let random = u128::from_be_bytes(bytes);
    random & !(0xF << 76) & !(3 << 62) | VERSION_4 | VARIANT_1
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
