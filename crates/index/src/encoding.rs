//! The encoding of values in terms: like the key bytes of [`value::key`], but shorter. Long strings
//! are truncated, and arrays and objects are reduced to their type. Order is preserved: a value never
//! has greater bytes than one that sorts after it. No encoding is the beginning of another.
//!
//! | value | bytes |
//! |---|---|
//! | undefined, null, false, true, array, object | the type byte of `value::key` |
//! | number | type byte, the 64 bits that sort like the double in groups of seven; see [`encode_bits`] |
//! | string | type byte, UTF-8 as in `value::key`, but `00`, `01` and `02` after a `02`; `00` |
//! | string of more than 128 encoded bytes | type byte, the first 128, `01` |
//! | more elements than may have entries | `08` (only in composite indexes) |

use value::Value;
use value::key::{self, KeyError};
use value::order::{ranked, unranked};

/// The most bytes of a string in a term, with `00`, `01` and `02` counted as their two encoded
/// bytes. Long enough for usual searches and sorts; longer strings are compared on the document.
pub const STRING_BYTES_MAX: usize = 128;

/// Stands for the elements of an array that is too long to have an entry for each.
pub(crate) const MANY: u8 = 0x08;

pub(crate) const NUMBER: u8 = 0x50;
pub(crate) const STRING: u8 = 0x60;
pub(crate) const ARRAY: u8 = 0x70;
/// The first type byte of arrays and objects, which sort after all other values.
pub const CONTAINERS: u8 = ARRAY;
pub(crate) const OBJECT: u8 = 0x80;

/// Groups of seven bits in 64.
const GROUPS_MAX: usize = 10;

/// Ends a whole string.
pub(crate) const END: u8 = 0x00;
/// Ends a truncated string, which sorts directly after the whole string that is its prefix.
pub(crate) const CUT: u8 = 0x01;
/// Stands before a byte of the text that is not greater than itself.
pub(crate) const ESCAPE: u8 = 0x02;

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
    encode(value, STRING_BYTES_MAX, out);
}

/// Appends the encoding of `value` in a term, but with strings whole however long they are.
pub fn encode_whole(value: &Value, out: &mut Vec<u8>) {
    encode(value, usize::MAX, out);
}

fn encode(value: &Value, string_bytes_max: usize, out: &mut Vec<u8>) {
    match value {
        Value::Array(_) => out.push(ARRAY),
        Value::Object(_) => out.push(OBJECT),
        Value::Number(number) => {
            out.push(NUMBER);
            encode_bits(key::sortable(number.as_f64()), out);
        }
        Value::String(text) => encode_string(text.as_bytes(), string_bytes_max, out),
        Value::Undefined | Value::Null | Value::Bool(_) => key::encode(value, out),
    }
}

/// Appends bits in groups of seven, most significant first, each in the upper bits of a byte whose
/// lowest bit says whether another one follows. Trailing zero groups are left out, so small integers
/// are short. The tenth group has one bit and six spare ones, which are zero: room for a tail of
/// numbers that a double cannot distinguish.
pub(crate) fn encode_bits(mut bits: u64, out: &mut Vec<u8>) {
    loop {
        let [group, ..] = bits.to_be_bytes();
        bits <<= 7;
        out.push(group & 0xfe | u8::from(bits != 0));
        if bits == 0 {
            return;
        }
    }
}

/// Decodes a number after its type byte.
fn decode_number(bytes: &[u8]) -> Result<(f64, &[u8]), KeyError> {
    let length = number_length(bytes, 0).ok_or(KeyError::Truncated)?;
    let (groups, rest) = bytes.split_at(length);
    let mut bits = 0;
    for (at, byte) in groups.iter().take(GROUPS_MAX).enumerate() {
        bits |= u64::from(byte & 0xfe) << 56 >> (7 * at);
    }
    // Neither longer than necessary nor with anything in the spare bits.
    let mut expected = Vec::with_capacity(GROUPS_MAX);
    encode_bits(bits, &mut expected);
    if expected != groups {
        return Err(KeyError::InvalidNumber);
    }
    Ok((key::from_sortable(bits)?, rest))
}

/// The length of a number after its type byte; `None` if it does not end.
fn number_length(content: &[u8], mask: u8) -> Option<usize> {
    content.iter().position(|byte| (byte ^ mask) & 1 == 0).map(|last| last + 1)
}

/// Appends a string, given as UTF-8 or the beginning of it, of which at most `bytes_max` encoded
/// bytes are kept.
pub(crate) fn encode_string(text: &[u8], bytes_max: usize, out: &mut Vec<u8>) {
    out.reserve(text.len().min(bytes_max) + 2);
    out.push(STRING);
    // No byte of the text takes less than one.
    let kept = &text[..text.len().min(bytes_max)];
    // Without an early end, so that it looks at many bytes at a time.
    if kept.iter().copied().fold(u8::MAX, u8::min) > ESCAPE {
        out.extend(kept.iter().map(|byte| ranked(*byte)));
        out.push(if kept.len() == text.len() { END } else { CUT });
        return;
    }
    let mut room = bytes_max;
    for byte in text {
        let is_escaped = *byte <= ESCAPE;
        match room.checked_sub(1 + usize::from(is_escaped)) {
            Some(rest) => room = rest,
            None => return out.push(CUT),
        }
        if is_escaped {
            out.push(ESCAPE);
        }
        out.push(ranked(*byte));
    }
    out.push(END);
}

/// Decodes the value at the start of `bytes` and returns the rest. Accepts the output of
/// [`encode_value`], and the byte for [`Decoded::Many`].
pub fn decode_value(bytes: &[u8]) -> Result<(Decoded, &[u8]), KeyError> {
    match bytes {
        [MANY, rest @ ..] => Ok((Decoded::Many, rest)),
        [ARRAY, rest @ ..] => Ok((Decoded::Array, rest)),
        [OBJECT, rest @ ..] => Ok((Decoded::Object, rest)),
        [NUMBER, rest @ ..] => {
            decode_number(rest).map(|(double, rest)| (Decoded::Value(double.into()), rest))
        }
        [STRING, rest @ ..] => decode_string(rest),
        _ => key::decode(bytes).map(|(value, rest)| (Decoded::Value(value), rest)),
    }
}

/// Decodes a string after its type byte.
fn decode_string(bytes: &[u8]) -> Result<(Decoded, &[u8]), KeyError> {
    let mut text = Vec::new();
    let mut at = 0;
    loop {
        match bytes.get(at..).unwrap_or_default() {
            [end @ (END | CUT), rest @ ..] => {
                let is_cut = *end == CUT;
                // A cut string is full, but for a byte that would have taken two.
                let length_min = if is_cut { STRING_BYTES_MAX - 1 } else { 0 };
                if !(length_min..=STRING_BYTES_MAX).contains(&at) {
                    return Err(KeyError::InvalidString);
                }
                return decoded_text(text, is_cut).map(|decoded| (decoded, rest));
            }
            [ESCAPE, byte @ ..=ESCAPE, ..] => {
                text.push(*byte);
                at += 2;
            }
            [ESCAPE] | [] => return Err(KeyError::Truncated),
            [ESCAPE, ..] => return Err(KeyError::InvalidString),
            [byte, ..] => {
                text.push(unranked(*byte).ok_or(KeyError::InvalidString)?);
                at += 1;
            }
        }
    }
}

fn decoded_text(text: Vec<u8>, is_cut: bool) -> Result<Decoded, KeyError> {
    if is_cut {
        return Ok(Decoded::CutString(text));
    }
    let text = String::from_utf8(text).map_err(|_| KeyError::InvalidString)?;
    Ok(Decoded::Value(text.into()))
}

/// Whether any of several consecutive values is an array or object. `descends` tells which of them
/// are inverted. Accepts the output of [`encode_whole`], too.
pub fn has_container(mut bytes: &[u8], descends: &[bool]) -> bool {
    for descends in descends {
        let mask = if *descends { u8::MAX } else { 0 };
        let Some((kind, rest)) = bytes.split_first() else { return false };
        let length = match kind ^ mask {
            ARRAY | OBJECT => return true,
            STRING => string_length(rest, mask),
            NUMBER => number_length(rest, mask),
            _ => Some(0),
        };
        bytes = length.and_then(|length| rest.get(length..)).unwrap_or_default();
    }
    false
}

/// The length of a string after its type byte, including its end; `None` if it does not end.
fn string_length(content: &[u8], mask: u8) -> Option<usize> {
    let mut at = 0;
    loop {
        match content.get(at)? ^ mask {
            END | CUT => return Some(at + 1),
            ESCAPE => at += 2,
            _ => at += 1,
        }
    }
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
    let window = bytes.len().min(STRING_BYTES_MAX + 2);
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
