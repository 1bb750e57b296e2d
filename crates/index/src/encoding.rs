//! The encoding of values in terms: the key bytes of [`value::key`] with two changes that keep
//! terms short. Long strings are truncated, and arrays and objects are reduced to their type. Order
//! is preserved: a value never has greater bytes than one that sorts after it.
//!
//! | value | bytes |
//! |---|---|
//! | scalar | as in `value::key` |
//! | string of more than 256 encoded bytes | type byte, the first 256, `00 01` |
//! | array, object | type byte, `00` |
//! | more elements than may have entries | `08` (only in composite indexes) |

use value::Value;
use value::key::{self, KeyError};
use value::order::ranked;

/// The most bytes of a string in a term, with `00` counted as its two encoded bytes. Long enough
/// for usual searches and sorts; longer strings are compared on the document.
pub const STRING_BYTES_MAX: usize = 256;

/// Stands for the elements of an array that is too long to have an entry for each.
pub(crate) const MANY: u8 = 0x08;

const NUMBER: u8 = 0x50;
/// Bytes of a number after its type byte: the double and its tail.
const NUMBER_BYTES: usize = 9;
pub(crate) const STRING: u8 = 0x60;
pub(crate) const ARRAY: u8 = 0x70;
/// The first type byte of arrays and objects, which sort after all other values.
pub const CONTAINERS: u8 = ARRAY;
pub(crate) const OBJECT: u8 = 0x80;

/// The byte after a `00`: the end of a whole string, the end of a truncated one, or a zero byte in
/// the text. A truncated string sorts directly after the whole string that is its prefix.
const END: u8 = 0x00;
pub(crate) const CUT: u8 = 0x01;
pub(crate) const ESCAPED: u8 = 0xff;

/// What a term tells about a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decoded {
    /// The value itself: any scalar, or undefined.
    Value(Value),
    /// A longer string that begins with these bytes.
    CutString(Vec<u8>),
    /// An array.
    Array,
    /// An object.
    Object,
    /// In a composite index: one of many elements, with any value.
    Many,
}

/// Appends the encoding of `value` in a term.
pub fn encode_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Array(_) => out.extend_from_slice(&[ARRAY, END]),
        Value::Object(_) => out.extend_from_slice(&[OBJECT, END]),
        Value::String(text) => encode_string(text, out),
        scalar => key::encode(scalar, out),
    }
}

fn encode_string(text: &str, out: &mut Vec<u8>) {
    let start = out.len() + 1;
    // Do not encode what will be truncated; a zero byte takes two.
    if text.len() <= STRING_BYTES_MAX {
        key::encode_str(text, out);
        // The two bytes of its end do not count.
        if out.len() - start <= STRING_BYTES_MAX + 2 {
            return;
        }
        out.truncate(start);
    } else {
        out.push(STRING);
    }
    for byte in text.bytes() {
        let width = if byte == 0 { 2 } else { 1 };
        if out.len() - start + width > STRING_BYTES_MAX {
            break;
        }
        out.push(ranked(byte));
        if byte == 0 {
            out.push(ESCAPED);
        }
    }
    out.extend_from_slice(&[0, CUT]);
}

/// Decodes the value at the start of `bytes` and returns the rest. Accepts the output of
/// [`encode_value`], and the byte for [`Decoded::Many`].
pub fn decode_value(bytes: &[u8]) -> Result<(Decoded, &[u8]), KeyError> {
    match bytes {
        [MANY, rest @ ..] => Ok((Decoded::Many, rest)),
        [ARRAY, END, rest @ ..] => Ok((Decoded::Array, rest)),
        [OBJECT, END, rest @ ..] => Ok((Decoded::Object, rest)),
        [ARRAY | OBJECT] => Err(KeyError::Truncated),
        [kind @ (ARRAY | OBJECT), ..] => Err(KeyError::UnknownType(*kind)),
        [STRING, rest @ ..] => decode_string(bytes, rest),
        _ => key::decode(bytes).map(|(value, rest)| (Decoded::Value(value), rest)),
    }
}

/// `bytes` with the type byte, `content` without.
fn decode_string<'a>(bytes: &'a [u8], content: &'a [u8]) -> Result<(Decoded, &'a [u8]), KeyError> {
    let (length, end) = string_end(content);
    match end {
        Some(CUT) if (STRING_BYTES_MAX - 1..=STRING_BYTES_MAX).contains(&length) => {
            let mut text = Vec::with_capacity(length);
            let mut at = 0;
            while at < length {
                text.push(content[at]);
                at += if content[at] == 0 { 2 } else { 1 };
            }
            Ok((Decoded::CutString(text), &content[length + 2..]))
        }
        Some(END) if length <= STRING_BYTES_MAX => {
            key::decode(bytes).map(|(value, rest)| (Decoded::Value(value), rest))
        }
        Some(_) => Err(KeyError::InvalidString),
        None => Err(KeyError::Truncated),
    }
}

/// Whether any of several consecutive values is an array or object. `descends` tells which of them
/// are inverted.
pub fn has_container(mut bytes: &[u8], descends: &[bool]) -> bool {
    for descends in descends {
        let mask = if *descends { u8::MAX } else { 0 };
        let Some((kind, rest)) = bytes.split_first() else { return false };
        let length = match kind ^ mask {
            ARRAY | OBJECT => return true,
            STRING => string_length(rest, mask),
            NUMBER => NUMBER_BYTES,
            _ => 0,
        };
        bytes = rest.get(length..).unwrap_or_default();
    }
    false
}

/// The length of a string after its type byte, including its end.
fn string_length(content: &[u8], mask: u8) -> usize {
    let mut at = 0;
    while let Some(zero) = content[at..].iter().position(|byte| byte ^ mask == 0) {
        at += zero + 2;
        if content.get(at - 1).is_none_or(|byte| byte ^ mask != ESCAPED) {
            return at;
        }
    }
    content.len()
}

/// The length of a string's encoded bytes, and the byte after the `00` that ends them; `None` if
/// there is no end.
pub(crate) fn string_end(content: &[u8]) -> (usize, Option<u8>) {
    let mut at = 0;
    while let Some(zero) = content[at..].iter().position(|byte| *byte == 0) {
        match content.get(at + zero + 1) {
            Some(&ESCAPED) => at += zero + 2,
            end => return (at + zero, end.copied()),
        }
    }
    (content.len(), None)
}

/// Appends the bytes of a value in a descending member: those of [`encode_value`], inverted. Since
/// no encoding is a prefix of another, this reverses their order.
pub fn encode_descending(value: &Value, out: &mut Vec<u8>) {
    let start = out.len();
    encode_value(value, out);
    for byte in &mut out[start..] {
        *byte = invert(*byte);
    }
}

/// Decodes the output of [`encode_descending`].
pub fn decode_descending(bytes: &[u8]) -> Result<(Decoded, &[u8]), KeyError> {
    // No value is longer than its type, the longest string and its end.
    let window = bytes.len().min(STRING_BYTES_MAX + 3);
    let inverted: Vec<u8> = bytes[..window].iter().map(|byte| invert(*byte)).collect();
    let (value, rest) = decode_value(&inverted)?;
    let length = inverted.len() - rest.len();
    Ok((value, &bytes[length..]))
}

pub(crate) fn invert(byte: u8) -> u8 {
    !byte
}

#[cfg(test)]
mod tests;
