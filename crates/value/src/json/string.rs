//! The strings of a JSON text: a fast search for their end, and their escapes.

use std::borrow::Cow;

use super::{Error, ErrorKind, unexpected};

/// A string of a text.
pub(super) struct Quoted<'a> {
    /// Unescaped. Borrowed unless there is an escape.
    pub(super) text: Cow<'a, str>,
    /// The offset after its closing quote.
    pub(super) end: usize,
    /// How many bytes escaping its raw control characters adds.
    pub(super) escape_bytes: usize,
}

/// Reads the string whose opening quote is at `start`.
pub(super) fn read(text: &str, start: usize) -> Result<Quoted<'_>, Error> {
    let bytes = text.as_bytes();
    if bytes.get(start) != Some(&b'"') {
        return Err(unexpected(bytes, start));
    }
    let mut unescaped: Option<String> = None;
    let mut escape_bytes = 0;
    // The bytes from `from` to `at` are not copied yet.
    let (mut from, mut at) = (start + 1, start + 1);
    loop {
        at = plain_end(bytes, at);
        match bytes.get(at) {
            Some(b'"') => {
                let rest = &text[from..at];
                let text = match unescaped {
                    None => Cow::Borrowed(rest),
                    Some(mut text) => {
                        text.push_str(rest);
                        Cow::Owned(text)
                    }
                };
                return Ok(Quoted { text, end: at + 1, escape_bytes });
            }
            Some(b'\\') => {
                let unescaped = unescaped.get_or_insert_default();
                unescaped.push_str(&text[from..at]);
                let (char, end) = read_escape(bytes, at)?;
                unescaped.push(char);
                (from, at) = (end, end);
            }
            Some(control) => {
                escape_bytes += escape_growth(*control);
                at += 1;
            }
            None => return Err(ErrorKind::UnexpectedEnd.at(at)),
        }
    }
}

/// How much longer a control character's escape is than the character.
fn escape_growth(control: u8) -> usize {
    match control {
        0x08 | 0x0c | b'\n' | b'\r' | b'\t' => 1,
        _ => 5,
    }
}

/// The character of the escape whose backslash is at `at`, and the offset after it.
pub(crate) fn read_escape(bytes: &[u8], at: usize) -> Result<(char, usize), Error> {
    let char = match bytes.get(at + 1) {
        Some(b'"') => '"',
        Some(b'\\') => '\\',
        Some(b'/') => '/',
        Some(b'b') => '\u{8}',
        Some(b'f') => '\u{c}',
        Some(b'n') => '\n',
        Some(b'r') => '\r',
        Some(b't') => '\t',
        Some(b'u') => return read_unicode(bytes, at),
        Some(_) => return Err(ErrorKind::InvalidEscape.at(at)),
        None => return Err(ErrorKind::UnexpectedEnd.at(at + 1)),
    };
    Ok((char, at + 2))
}

/// `\uXXXX`, or two of them that form a surrogate pair.
fn read_unicode(bytes: &[u8], at: usize) -> Result<(char, usize), Error> {
    let first = read_hex(bytes, at + 2)?;
    if let Some(char) = char::from_u32(first) {
        return Ok((char, at + 6));
    }
    // A surrogate: only a high half followed by a low half is a character.
    let lone = || ErrorKind::LoneSurrogate.at(at);
    if first >= 0xdc00 || bytes.get(at + 6..at + 8) != Some(b"\\u") {
        return Err(lone());
    }
    let second = read_hex(bytes, at + 8)?;
    if !(0xdc00..0xe000).contains(&second) {
        return Err(lone());
    }
    let char = char::from_u32(0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00));
    Ok((char.ok_or_else(lone)?, at + 12))
}

fn read_hex(bytes: &[u8], at: usize) -> Result<u32, Error> {
    let digits = bytes.get(at..at + 4).ok_or_else(|| ErrorKind::UnexpectedEnd.at(bytes.len()))?;
    let digits = digits.iter().map(|digit| char::from(*digit).to_digit(16));
    digits
        .rev()
        .zip([0, 4, 8, 12])
        .try_fold(0, |sum, (digit, shift)| Some(sum | (digit? << shift)))
        .ok_or_else(|| ErrorKind::InvalidEscape.at(at - 2))
}

/// The first offset from `at` on with a quote, a backslash or a control character, or the end.
/// Works on eight bytes at a time, because most of a document is inside strings.
pub(super) fn plain_end(bytes: &[u8], mut at: usize) -> usize {
    while let Some((chunk, _)) = bytes.get(at..).and_then(<[u8]>::split_first_chunk::<8>) {
        let special = special_bytes(u64::from_le_bytes(*chunk));
        if special != 0 {
            return at + special.trailing_zeros() as usize / 8;
        }
        at += 8;
    }
    let rest = bytes.get(at..).unwrap_or_default();
    let plain = |byte: &u8| *byte >= b' ' && *byte != b'"' && *byte != b'\\';
    at + rest.iter().take_while(|byte| plain(byte)).count()
}

/// The top bit of the lowest byte of `word` that is special. Higher bits may be false alarms: the
/// subtraction borrows, but only upwards from a byte that really is special.
fn special_bytes(word: u64) -> u64 {
    const ONES: u64 = u64::from_le_bytes([1; 8]);
    const TOPS: u64 = u64::from_le_bytes([0x80; 8]);
    let quote = word ^ const { u64::from_le_bytes([b'"'; 8]) };
    let backslash = word ^ const { u64::from_le_bytes([b'\\'; 8]) };
    let is_quote = quote.wrapping_sub(ONES) & !quote;
    let is_backslash = backslash.wrapping_sub(ONES) & !backslash;
    let is_control = word.wrapping_sub(const { u64::from_le_bytes([b' '; 8]) }) & !word;
    (is_quote | is_backslash | is_control) & TOPS
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn the_fast_search_finds_what_a_slow_one_finds(bytes: Vec<u8>, at in 0..64_usize) {
            let at = at.min(bytes.len());
            let slow = bytes[at..].iter().position(|byte| matches!(byte, 0..=31 | b'"' | b'\\'));
            prop_assert_eq!(plain_end(&bytes, at), slow.map_or(bytes.len(), |found| at + found));
        }
    }

    #[test]
    fn every_byte_at_every_place_of_a_word() {
        for byte in 0..=255_u8 {
            for place in 0..16 {
                let mut bytes = [b'x'; 16];
                bytes[place] = byte;
                let special = byte < b' ' || byte == b'"' || byte == b'\\';
                assert_eq!(plain_end(&bytes, 0), if special { place } else { 16 });
            }
        }
    }
}
