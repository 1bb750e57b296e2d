//! Percent-encoding, decoded.

use std::borrow::Cow;

/// Decodes a text; `None` if it is not UTF-8 afterwards. A `%` that no two hex digits follow stays.
///
/// Most texts contain none, and of the rest most are signatures: so this is a plain loop, several
/// times as fast as collecting an iterator of bytes.
pub(crate) fn decode(text: &str) -> Option<Cow<'_, str>> {
    let bytes = text.as_bytes();
    let Some(first) = bytes.iter().position(|byte| *byte == b'%') else {
        return Some(Cow::Borrowed(text));
    };
    let mut decoded = Vec::with_capacity(bytes.len());
    let (mut rest, mut percent) = (bytes, Some(first));
    while let Some(at) = percent {
        decoded.extend_from_slice(&rest[..at]);
        let code = match rest[at..] {
            [_, high, low, ..] => digit(high).zip(digit(low)),
            _ => None,
        };
        let (byte, length) = code.map_or((b'%', 1), |(high, low)| (high << 4 | low, 3));
        decoded.push(byte);
        rest = &rest[at + length..];
        percent = rest.iter().position(|byte| *byte == b'%');
    }
    decoded.extend_from_slice(rest);
    String::from_utf8(decoded).ok().map(Cow::Owned)
}

/// Decodes a text to the beginning of `room`, and returns what was written; `None` if it does not fit,
/// or if a `%` is not followed by two hex digits.
pub(crate) fn decode_to<'a>(text: &str, room: &'a mut [u8]) -> Option<&'a [u8]> {
    let (mut rest, mut length) = (text.as_bytes(), 0);
    while let [first, after @ ..] = rest {
        let byte;
        (byte, rest) = match (first, after) {
            (b'%', [high, low, after @ ..]) => (digit(*high)? << 4 | digit(*low)?, after),
            (b'%', _) => return None,
            _ => (*first, after),
        };
        *room.get_mut(length)? = byte;
        length += 1;
    }
    Some(&room[..length])
}

fn digit(letter: u8) -> Option<u8> {
    match letter {
        b'0'..=b'9' => Some(letter - b'0'),
        b'a'..=b'f' => Some(letter - b'a' + 10),
        b'A'..=b'F' => Some(letter - b'A' + 10),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use percent_encoding::percent_decode_str;

    use super::*;

    #[test]
    fn it_decodes_like_the_library() {
        for text in [
            "",
            "a",
            "%",
            "%2",
            "%zz",
            "a%2Fb",
            "a%2fb%",
            "%e4",
            "%c3%a4",
            "%25%32%35",
            "%%20",
            "%2%20",
            "type%3Dmaster%26ver%3D1.0%26sig%3Dab%2Bc%2F%3D",
            "ä%20ö",
            "%+1",
            "% 41",
        ] {
            let expected = percent_decode_str(text).decode_utf8().ok();
            assert_eq!(decode(text), expected, "{text}");
        }
    }

    #[test]
    fn it_decodes_into_a_room() {
        let mut room = [0; 4];
        assert_eq!(decode_to("", &mut room), Some(&b""[..]));
        assert_eq!(decode_to("a%2Bb%3d", &mut room), Some(&b"a+b="[..]));
        for text in ["a%2Bb%3dc", "abcde", "%", "a%2", "%zz"] {
            assert_eq!(decode_to(text, &mut room), None, "{text}");
        }
    }
}
