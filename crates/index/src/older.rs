//! Index keys of data formats 2 and 3, which an upgrade translates:
//!
//! | key | index |
//! |---|---|
//! | `I` hash of the path (8), value, document (8) | every path of its own |
//! | `C` hash of the members (8), values, document (8) | several paths together |
//! | `G` hash of the path (8), cell (8), document (8) | spatial |
//!
//! Values were key bytes of [`value::key`], but for strings of more than 256 encoded bytes (the first
//! 256, then `00 01`), arrays and objects (the type byte, `00`), and many elements (`08`).

use value::key::{self, KeyError};
use value::order::unranked;

use crate::Kind;
use crate::encoding::{
    ARRAY, CUT, MANY, NUMBER, OBJECT, STRING, STRING_BYTES_MAX, encode_string, encode_value, invert,
};
use crate::key::NUMBER_BYTES;

/// The first bytes of the keys.
pub const PREFIXES: [u8; 3] = [b'C', b'G', b'I'];

const ESCAPED: u8 = 0xff;

/// An index key of an earlier build.
pub struct OlderKey<'a> {
    /// The index.
    pub kind: Kind,
    /// The hash of the path, which was its id, or of the members of a composite index.
    pub hash: u64,
    values: &'a [u8],
    number: &'a [u8; NUMBER_BYTES],
}

impl<'a> OlderKey<'a> {
    /// Takes a key apart; `None` if it is none.
    pub fn read(key: &'a [u8]) -> Option<Self> {
        let kind = match key.first()? {
            b'I' => Kind::Path,
            b'C' => Kind::Composite,
            b'G' => Kind::Spatial,
            _ => return None,
        };
        let (values, number) = key.get(9..)?.split_last_chunk()?;
        Some(Self { kind, hash: key::u64_at(key, 1)?, values, number })
    }

    /// The key in the current encoding, under this id of its path or composite index. The flag
    /// tells whether it has a truncated string: other keys of the document may have become equal.
    pub fn translated(&self, id: u64) -> Result<(Vec<u8>, bool), KeyError> {
        let mut out = Vec::with_capacity(64);
        out.extend_from_slice(&crate::key::prefix(self.kind, id));
        let mut is_cut = false;
        if self.kind == Kind::Spatial {
            out.extend_from_slice(self.values);
        } else {
            let mut values = self.values;
            while !values.is_empty() {
                values = translate(values, &mut out, &mut is_cut)?;
            }
        }
        out.extend_from_slice(self.number);
        Ok((out, is_cut))
    }
}

/// Translates the value at the start of `bytes`, and returns the rest.
fn translate<'a>(
    bytes: &'a [u8],
    out: &mut Vec<u8>,
    is_cut: &mut bool,
) -> Result<&'a [u8], KeyError> {
    let kind = *bytes.first().ok_or(KeyError::Truncated)?;
    // No type byte is the inverse of another.
    if kind == invert(OBJECT) || kind >= invert(ARRAY) {
        let inverted: Vec<u8> = bytes.iter().map(|byte| invert(*byte)).collect();
        let start = out.len();
        let rest = translate_ascending(&inverted, out, is_cut)?.len();
        out[start..].iter_mut().for_each(|byte| *byte = invert(*byte));
        return Ok(&bytes[bytes.len() - rest..]);
    }
    translate_ascending(bytes, out, is_cut)
}

fn translate_ascending<'a>(
    bytes: &'a [u8],
    out: &mut Vec<u8>,
    is_cut: &mut bool,
) -> Result<&'a [u8], KeyError> {
    match bytes {
        [kind @ (ARRAY | OBJECT), 0, rest @ ..] | [kind @ MANY, rest @ ..] => {
            out.push(*kind);
            Ok(rest)
        }
        [STRING, rest @ ..] => translate_string(rest, out, is_cut),
        [kind, ..] if *kind <= NUMBER => {
            let (value, rest) = key::decode(bytes)?;
            encode_value(&value, out);
            Ok(rest)
        }
        [kind, ..] => Err(KeyError::UnknownType(*kind)),
        [] => Err(KeyError::Truncated),
    }
}

fn translate_string<'a>(
    mut content: &'a [u8],
    out: &mut Vec<u8>,
    is_cut: &mut bool,
) -> Result<&'a [u8], KeyError> {
    let mut text = Vec::new();
    loop {
        let byte;
        (byte, content) = match content {
            [0, ESCAPED, rest @ ..] => (0, rest),
            // One that was truncated is still longer than what is kept of it now.
            [0, 0 | CUT, rest @ ..] => {
                encode_string(&text, STRING_BYTES_MAX, out);
                *is_cut |= out.last() == Some(&CUT);
                return Ok(rest);
            }
            [0, _, ..] => return Err(KeyError::InvalidString),
            [0] | [] => return Err(KeyError::Truncated),
            [byte, rest @ ..] => (unranked(*byte).ok_or(KeyError::InvalidString)?, rest),
        };
        text.push(byte);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use value::Value;

    use super::*;
    use crate::encoding::encode_descending;
    use crate::testing::any_value;

    /// What the earlier builds wrote.
    fn older(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        match value {
            Value::Array(_) => out.extend_from_slice(&[ARRAY, 0]),
            Value::Object(_) => out.extend_from_slice(&[OBJECT, 0]),
            value => key::encode(value, &mut out),
        }
        if matches!(value, Value::String(_)) && out.len() > 259 {
            // Not in the middle of an escaped zero byte.
            let zeros = out[1..257].iter().rev().take_while(|byte| **byte == 0).count();
            let kept = if zeros > 0 && out[257] == ESCAPED { 256 } else { 257 };
            out.truncate(kept);
            out.extend_from_slice(&[0, CUT]);
        }
        out
    }

    fn key_of(kind: u8, values: &[Vec<u8>]) -> Vec<u8> {
        let hash = 0x0102_0304_0506_0708_u64.to_be_bytes();
        [&[kind], &hash[..], &values.concat(), &7_u64.to_be_bytes()].concat()
    }

    #[test]
    fn keys_of_every_kind_are_translated() {
        let id = crate::key::id(0x0102_0304_0506_0708);
        let key = key_of(b'I', &[older(&Value::from("a"))]);
        let read = OlderKey::read(&key).unwrap();
        assert_eq!((read.kind, crate::key::id(read.hash)), (Kind::Path, id));
        let expected = [&b"V\x01\x02\x03\x04\x05\x60a\0"[..], &7_u64.to_be_bytes()].concat();
        assert_eq!(read.translated(id), Ok((expected, false)));
        let key = key_of(b'G', &[vec![9; 8]]);
        let expected = [&b"L\x01\x02\x03\x04\x05"[..], &[9; 8], &7_u64.to_be_bytes()].concat();
        assert_eq!(OlderKey::read(&key).unwrap().translated(id), Ok((expected, false)));
        for none in [&b"V"[..], b"I", &key_of(b'D', &[]), &key[..16]] {
            assert!(OlderKey::read(none).is_none());
        }
        for bad in [&[0x51][..], &[0x60, b'a'], &[0x60, 0, 7], &[0x70], &[0x50, 0], &[0x9f, 1]] {
            let key = key_of(b'C', &[bad.to_vec()]);
            assert!(OlderKey::read(&key).unwrap().translated(id).is_err(), "{bad:?}");
        }
    }

    proptest! {
        #[test]
        fn values_are_translated_to_what_is_encoded_now(
            values in proptest::collection::vec((any_value(), any::<bool>()), 1..4),
        ) {
            let before: Vec<Vec<u8>> = values
                .iter()
                .map(|(value, descends)| {
                    let bytes = older(value);
                    let inverted = || bytes.iter().map(|byte| invert(*byte)).collect();
                    if *descends { inverted() } else { bytes }
                })
                .collect();
            let key = key_of(b'C', &before);
            let (translated, is_cut) = OlderKey::read(&key).unwrap().translated(5).unwrap();
            let mut expected = crate::key::prefix(Kind::Composite, 5).to_vec();
            let mut has_cut = false;
            for (value, descends) in &values {
                let mut bytes = Vec::new();
                encode_value(value, &mut bytes);
                has_cut |= bytes[0] == STRING && bytes.last() == Some(&CUT);
                match descends {
                    true => encode_descending(value, &mut expected),
                    false => expected.extend_from_slice(&bytes),
                }
            }
            expected.extend_from_slice(&7_u64.to_be_bytes());
            prop_assert_eq!(translated, expected);
            prop_assert_eq!(is_cut, has_cut);
        }

        #[test]
        fn any_bytes_are_translated_or_refused(bytes: Vec<u8>) {
            if let Some(key) = OlderKey::read(&key_of(b'I', &[bytes])) {
                let _ = key.translated(1);
            }
        }
    }
}
