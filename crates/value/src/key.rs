//! Key bytes: an encoding whose plain byte order is the order of the values, so that a sorted store
//! is an index. Self-delimiting: concatenated encodings still sort correctly and can be decoded.
//!
//! | value | bytes |
//! |---|---|
//! | undefined, null, false, true | the type byte |
//! | number | type byte, 8 bytes that sort like the double, a tail byte (0) |
//! | string | type byte, UTF-8 with `00` written as `00 FF`, `EE` as `F6`, `EF` as `F7`; `00 00` |
//! | array | type byte, the elements, `00` |
//! | object | type byte, the members by key (a string, then the value), `00` |
//!
//! The type bytes leave gaps for the types of BSON. The tail byte leaves room for integers that a
//! double cannot distinguish; partition keys use it to distinguish `-0` from `0`.

use crate::json::DEPTH_MAX;
use crate::number::canonical;
use crate::order::{compare_text, ranked, sorted_members, unranked};
use crate::{Object, Value};

/// Ends strings (twice), arrays and objects. Sorts before every type byte, so that shorter values
/// come first.
const END: u8 = 0x00;
/// Follows a `00` inside a string. Sorts after [`END`], so that `"a"` comes before `"a\0"`.
const ESCAPED: u8 = 0xff;

pub(crate) const UNDEFINED: u8 = 0x10;
pub(crate) const NULL: u8 = 0x20;
pub(crate) const FALSE: u8 = 0x30;
pub(crate) const TRUE: u8 = 0x40;
pub(crate) const NUMBER: u8 = 0x50;
pub(crate) const STRING: u8 = 0x60;
const ARRAY: u8 = 0x70;
const OBJECT: u8 = 0x80;

/// Why bytes are not key bytes. Keys come from the store, so this means corruption or a newer
/// format, never a client's mistake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum KeyError {
    /// The bytes end within a value.
    #[error("key bytes end within a value")]
    Truncated,
    /// A byte that does not begin a value.
    #[error("unknown type byte {0:#04x} in a key")]
    UnknownType(u8),
    /// A number with an unknown tail, or a non-canonical zero or NaN.
    #[error("invalid number in a key")]
    InvalidNumber,
    /// A string with a stray zero byte, or one that is not UTF-8.
    #[error("invalid string in a key")]
    InvalidString,
    /// The members of an object are not sorted, or a key is not a string.
    #[error("invalid object in a key")]
    InvalidObject,
    /// Deeper than any value can be.
    #[error("key nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
}

/// Appends the key bytes of `value`. Comparing the bytes of two values is the same as
/// [`order::compare`](crate::order::compare): equal values have equal bytes.
pub fn encode(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Undefined => out.push(UNDEFINED),
        Value::Null => out.push(NULL),
        Value::Bool(false) => out.push(FALSE),
        Value::Bool(true) => out.push(TRUE),
        Value::Number(number) => encode_f64(number.as_f64(), 0, out),
        Value::String(text) => encode_str(text, out),
        Value::Array(elements) => {
            out.push(ARRAY);
            for element in elements {
                encode(element, out);
            }
            out.push(END);
        }
        Value::Object(object) => {
            out.push(OBJECT);
            for (key, value) in sorted_members(object) {
                encode_str(key, out);
                encode(value, out);
            }
            out.push(END);
        }
    }
}

/// Appends the key bytes of a string: its order is that of [`compare_text`].
pub fn encode_str(text: &str, out: &mut Vec<u8>) {
    let start = out.len();
    encode_name(text, out);
    for byte in &mut out[start..] {
        *byte = ranked(*byte);
    }
}

/// Appends a string that is only looked up, never ordered by, as plain UTF-8. Ids and partition
/// keys are stored this way.
pub fn encode_name(text: &str, out: &mut Vec<u8>) {
    out.reserve(text.len() + 3);
    out.push(STRING);
    let mut rest = text.as_bytes();
    while let Some(zero) = rest.iter().position(|byte| *byte == 0) {
        out.extend_from_slice(&rest[..zero]);
        out.extend_from_slice(&[0, ESCAPED]);
        rest = &rest[zero + 1..];
    }
    out.extend_from_slice(rest);
    out.extend_from_slice(&[END, END]);
}

/// Appends the key bytes of a double, with a tail byte that breaks ties among equal doubles.
pub(crate) fn encode_f64(double: f64, tail: u8, out: &mut Vec<u8>) {
    out.push(NUMBER);
    out.extend_from_slice(&sortable(double).to_be_bytes());
    out.push(tail);
}

/// Bits that sort like the double, as unsigned integers. Equal doubles have equal bits.
pub fn sortable(double: f64) -> u64 {
    let bits = canonical(double).to_bits();
    // Positive doubles sort like their bits; negative ones in reverse, below them.
    if bits >> 63 == 0 { bits | 1 << 63 } else { !bits }
}

/// The double of [`sortable`] bits; an error if no double has them.
pub fn from_sortable(sortable: u64) -> Result<f64, KeyError> {
    let bits = if sortable >> 63 == 1 { sortable & !(1 << 63) } else { !sortable };
    let double = f64::from_bits(bits);
    if bits == canonical(double).to_bits() { Ok(double) } else { Err(KeyError::InvalidNumber) }
}

/// Decodes the value at the start of `bytes` and returns the rest. Accepts exactly the output of
/// [`encode`]; anything else is an error.
pub fn decode(bytes: &[u8]) -> Result<(Value, &[u8]), KeyError> {
    decode_at(bytes, 0)
}

fn decode_at(bytes: &[u8], depth: usize) -> Result<(Value, &[u8]), KeyError> {
    if depth > DEPTH_MAX {
        return Err(KeyError::TooDeep);
    }
    let (kind, rest) = bytes.split_first().ok_or(KeyError::Truncated)?;
    match *kind {
        UNDEFINED => Ok((Value::Undefined, rest)),
        NULL => Ok((Value::Null, rest)),
        FALSE => Ok((Value::Bool(false), rest)),
        TRUE => Ok((Value::Bool(true), rest)),
        NUMBER => match decode_f64(rest)? {
            (double, 0, rest) => Ok((double.into(), rest)),
            _ => Err(KeyError::InvalidNumber),
        },
        STRING => decode_str(rest).map(|(text, rest)| (text.into(), rest)),
        ARRAY => decode_array(rest, depth),
        OBJECT => decode_object(rest, depth),
        other => Err(KeyError::UnknownType(other)),
    }
}

/// Decodes a number after its type byte: the double, its tail, and the rest.
pub(crate) fn decode_f64(bytes: &[u8]) -> Result<(f64, u8, &[u8]), KeyError> {
    let (number, rest) = bytes.split_first_chunk::<8>().ok_or(KeyError::Truncated)?;
    let (tail, rest) = rest.split_first().ok_or(KeyError::Truncated)?;
    Ok((from_sortable(u64::from_be_bytes(*number))?, *tail, rest))
}

/// Decodes a string after its type byte.
fn decode_str(bytes: &[u8]) -> Result<(String, &[u8]), KeyError> {
    let (mut text, rest) = decode_text(bytes)?;
    for byte in &mut text {
        *byte = unranked(*byte).ok_or(KeyError::InvalidString)?;
    }
    Ok((String::from_utf8(text).map_err(|_| KeyError::InvalidString)?, rest))
}

/// Decodes the output of [`encode_name`], and returns the rest.
pub fn decode_name(bytes: &[u8]) -> Result<(String, &[u8]), KeyError> {
    match bytes.split_first().ok_or(KeyError::Truncated)? {
        (&STRING, rest) => {
            let (text, rest) = decode_text(rest)?;
            Ok((String::from_utf8(text).map_err(|_| KeyError::InvalidString)?, rest))
        }
        (other, _) => Err(KeyError::UnknownType(*other)),
    }
}

/// Decodes the bytes of a string after its type byte.
fn decode_text(mut bytes: &[u8]) -> Result<(Vec<u8>, &[u8]), KeyError> {
    let mut text = Vec::new();
    loop {
        let zero = bytes.iter().position(|byte| *byte == 0).ok_or(KeyError::Truncated)?;
        text.extend_from_slice(&bytes[..zero]);
        let next = bytes.get(zero + 1).ok_or(KeyError::Truncated)?;
        bytes = &bytes[zero + 2..];
        match *next {
            ESCAPED => text.push(0),
            END => break,
            _ => return Err(KeyError::InvalidString),
        }
    }
    Ok((text, bytes))
}

fn decode_array(mut bytes: &[u8], depth: usize) -> Result<(Value, &[u8]), KeyError> {
    let mut elements = Vec::new();
    loop {
        if let Some((&END, rest)) = bytes.split_first() {
            return Ok((elements.into(), rest));
        }
        let (element, rest) = decode_at(bytes, depth + 1)?;
        elements.push(element);
        bytes = rest;
    }
}

fn decode_object(mut bytes: &[u8], depth: usize) -> Result<(Value, &[u8]), KeyError> {
    let mut object = Object::new();
    let mut last: Option<String> = None;
    loop {
        match bytes.split_first().ok_or(KeyError::Truncated)? {
            (&END, rest) => return Ok((object.into(), rest)),
            (&STRING, rest) => bytes = rest,
            _ => return Err(KeyError::InvalidObject),
        }
        let (key, rest) = decode_str(bytes)?;
        let (value, rest) = decode_at(rest, depth + 1)?;
        let is_sorted = last.as_ref().is_none_or(|last| compare_text(last, &key).is_lt());
        if !is_sorted || value.is_undefined() {
            return Err(KeyError::InvalidObject);
        }
        object.push_unique(key.clone(), value);
        last = Some(key);
        bytes = rest;
    }
}

/// The big-endian number at `offset` in a key or row.
pub fn u64_at(bytes: &[u8], offset: usize) -> Option<u64> {
    let bytes = bytes.get(offset..offset + 8)?;
    Some(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;
    use crate::order::compare;
    use crate::testing::any_value;
    use proptest::prelude::*;

    fn encoded(value: &Value) -> Vec<u8> {
        let mut out = Vec::new();
        encode(value, &mut out);
        out
    }

    fn of_json(text: &str) -> Vec<u8> {
        encoded(&json::parse(text.as_bytes()).unwrap())
    }

    #[test]
    fn the_bytes_are_a_stored_format() {
        assert_eq!(encoded(&Value::Undefined), [0x10]);
        assert_eq!(of_json("null"), [0x20]);
        assert_eq!(of_json("[false,true]"), [0x70, 0x30, 0x40, 0]);
        assert_eq!(of_json("1"), [0x50, 0xbf, 0xf0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(of_json("-1"), [0x50, 0x40, 0x0f, 255, 255, 255, 255, 255, 255, 0]);
        assert_eq!(of_json("-0"), of_json("0"));
        assert_eq!(of_json(r#""a\u0000b""#), [0x60, b'a', 0, 255, b'b', 0, 0]);
        assert_eq!(
            of_json(r#"{"b":null,"a":""}"#),
            [0x80, 0x60, b'a', 0, 0, 0x60, 0, 0, 0x60, b'b', 0, 0, 0x20, 0]
        );
    }

    #[test]
    fn broken_bytes_are_refused() {
        let error = |bytes: &[u8]| decode(bytes).unwrap_err();
        assert_eq!(error(&[]), KeyError::Truncated);
        assert_eq!(error(&[0]), KeyError::UnknownType(0));
        assert_eq!(error(&[0x50, 1, 2]), KeyError::Truncated);
        assert_eq!(error(&[0x50, 0x80, 0, 0, 0, 0, 0, 0, 0, 1]), KeyError::InvalidNumber);
        assert_eq!(error(&[0x50, 127, 255, 255, 255, 255, 255, 255, 255, 0]), {
            KeyError::InvalidNumber
        });
        assert_eq!(error(&[0x60, b'a', 0]), KeyError::Truncated);
        assert_eq!(error(&[0x60, 0, 7]), KeyError::InvalidString);
        assert_eq!(error(&[0x60, 0xff, 0, 0]), KeyError::InvalidString);
        assert_eq!(error(&[0x80, 0x20]), KeyError::InvalidObject);
        assert_eq!(error(&[0x80, 0x60, 0, 0, 0x10, 0]), KeyError::InvalidObject);
        assert_eq!(error(&vec![0x70; 1_000_000]), KeyError::TooDeep);
    }

    #[test]
    fn whatever_the_parser_accepts_can_be_decoded() {
        let deep = "[".repeat(DEPTH_MAX) + &"]".repeat(DEPTH_MAX);
        assert!(decode(&of_json(&deep)).is_ok());
    }

    proptest! {
        #[test]
        fn bytes_sort_like_values(a in any_value(), b in any_value()) {
            let (a_bytes, b_bytes) = (encoded(&a), encoded(&b));
            prop_assert_eq!(a_bytes.cmp(&b_bytes), compare(&a, &b));
        }

        #[test]
        fn no_encoding_is_the_beginning_of_another(a in any_value(), b in any_value()) {
            let (a_bytes, b_bytes) = (encoded(&a), encoded(&b));
            prop_assert_eq!(b_bytes.starts_with(&a_bytes), a == b);
        }

        #[test]
        fn decoding_gives_the_value_and_the_rest(value in any_value(), rest: Vec<u8>) {
            let mut bytes = encoded(&value);
            bytes.extend_from_slice(&rest);
            let (decoded, remaining) = decode(&bytes).unwrap();
            prop_assert_eq!(decoded, value);
            prop_assert_eq!(remaining, rest);
        }

        #[test]
        fn what_can_be_decoded_is_what_encode_writes(bytes: Vec<u8>) {
            if let Ok((value, rest)) = decode(&bytes) {
                prop_assert_eq!(encoded(&value), &bytes[..bytes.len() - rest.len()]);
            }
        }
    }
}
