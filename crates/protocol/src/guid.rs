//! The text form of 16 bytes: five groups of hex digits, as etags and activity ids have it.

/// Returns the text of `id`, with small letters.
pub fn text(id: u128) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    const PLACES: [usize; 16] = [0, 2, 4, 6, 9, 11, 14, 16, 19, 21, 24, 26, 28, 30, 32, 34];
    let mut text = [b'-'; 36];
    for (at, byte) in PLACES.into_iter().zip(id.to_be_bytes()) {
        text[at] = DIGITS[usize::from(byte >> 4)];
        text[at + 1] = DIGITS[usize::from(byte & 15)];
    }
    String::from_utf8(text.into()).expect("digits and dashes are ASCII")
}

/// Reads the text of an id, in either case of letters; `None` for any other text.
pub fn parse(text: &str) -> Option<u128> {
    let groups: Vec<&str> = text.split('-').collect();
    let digits = groups.concat();
    // `from_str_radix` would accept a sign.
    let is_guid = groups.iter().map(|group| group.len()).eq([8, 4, 4, 4, 12])
        && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    is_guid.then(|| u128::from_str_radix(&digits, 16).ok()).flatten()
}
