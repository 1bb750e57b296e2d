//! Maps components to the hash space: the bytes that are hashed, the three ways to hash them, and
//! the order-preserving encoding that version 1 appends to its hash.

use super::{Component, Epk};
use crate::hash::{murmur3_32, murmur3_128};

/// How a container hashes its partition keys.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// Kind `Hash`, version 1 or none: a 32-bit hash, followed by the key itself.
    V1,
    /// Kind `Hash`, version 2: one 128-bit hash of all components.
    V2,
    /// Kind `MultiHash`: one 128-bit hash for each component.
    MultiHash,
}

const UNDEFINED: u8 = 0x00;
const NULL: u8 = 0x01;
const FALSE: u8 = 0x02;
const TRUE: u8 = 0x03;
const NUMBER: u8 = 0x05;
const STRING: u8 = 0x08;

/// Version 1 uses only this many characters of a string, counted in UTF-16 units like .NET.
const V1_STRING_UNITS_MAX: usize = 100;
/// In a version 1 key, a string with more UTF-8 bytes than this is truncated, one byte later.
const V1_STRING_BYTES_MAX: usize = 100;

/// See [`PartitionKey::effective`](super::PartitionKey::effective).
pub(super) fn effective(components: &[Component], hashing: Hashing) -> Epk {
    if components.is_empty() {
        return Epk::min();
    }
    match hashing {
        Hashing::V1 => {
            let mut out = Vec::new();
            write_number(f64::from(hash_v1(components)), &mut out);
            for component in components {
                write_component(component, &mut out);
            }
            Epk::from_bytes(out)
        }
        Hashing::V2 => Epk::from_bytes(hash_v2(components)),
        Hashing::MultiHash => {
            let parts = components.iter().flat_map(|one| hash_v2(std::slice::from_ref(one)));
            Epk::from_bytes(parts.collect::<Vec<_>>())
        }
    }
}

/// The 32-bit hash of version 1.
pub(super) fn hash_v1(components: &[Component]) -> u32 {
    let mut bytes = Vec::new();
    for component in components {
        match component {
            Component::String(text) => {
                bytes.push(STRING);
                bytes.extend_from_slice(cut_v1(text).as_bytes());
                bytes.push(0x00);
            }
            scalar => write_hashed(scalar, &mut bytes),
        }
    }
    murmur3_32(&bytes, 0)
}

/// The 128-bit hash of version 2, in hash space order: most significant byte first, with the two
/// top bits cleared.
pub(super) fn hash_v2(components: &[Component]) -> [u8; 16] {
    let mut bytes = Vec::new();
    for component in components {
        write_hashed(component, &mut bytes);
    }
    let (low, high) = murmur3_128(&bytes, (0, 0));
    let mut hash = (u128::from(high) << 64 | u128::from(low)).to_be_bytes();
    // COMPAT: clients clear these bits to keep the space below `FF`.
    hash[0] &= 0x3f;
    hash
}

/// Appends a component's bytes for hashing, with strings in the form of version 2.
fn write_hashed(component: &Component, out: &mut Vec<u8>) {
    match component {
        Component::Undefined => out.push(UNDEFINED),
        Component::Null => out.push(NULL),
        Component::Bool(false) => out.push(FALSE),
        Component::Bool(true) => out.push(TRUE),
        Component::Number(double) => {
            out.push(NUMBER);
            out.extend_from_slice(&double.to_le_bytes());
        }
        Component::String(text) => {
            out.push(STRING);
            out.extend_from_slice(text.as_bytes());
            out.push(0xff);
        }
    }
}

/// Appends the order-preserving encoding of a component, which follows the hash in a version 1 key.
fn write_component(component: &Component, out: &mut Vec<u8>) {
    match component {
        Component::Number(double) => write_number(*double, out),
        Component::String(text) => write_string(&cut_v1(text), out),
        scalar => write_hashed(scalar, out),
    }
}

/// Appends a number: the top eight bits of its sortable form, then seven bits per byte. A byte's
/// low bit tells whether more follow; trailing zero bits are omitted.
pub(super) fn write_number(double: f64, out: &mut Vec<u8>) {
    let bits = double.to_bits();
    let mut rest = if bits >> 63 == 0 { bits ^ 1 << 63 } else { bits.wrapping_neg() };
    out.push(NUMBER);
    out.push(top_byte(rest));
    rest <<= 8;
    loop {
        let byte = top_byte(rest) & 0xfe;
        rest <<= 7;
        if rest == 0 {
            return out.push(byte);
        }
        out.push(byte | 1);
    }
}

fn top_byte(bits: u64) -> u8 {
    bits.to_be_bytes()[0]
}

/// Appends a string: every byte plus one, so that zero can end it unless it is long.
fn write_string(text: &str, out: &mut Vec<u8>) {
    let is_short = text.len() <= V1_STRING_BYTES_MAX;
    out.push(STRING);
    // UTF-8 has no byte 0xff, so the sum cannot overflow.
    out.extend(text.bytes().take(V1_STRING_BYTES_MAX + 1).map(|byte| byte.saturating_add(1)));
    if is_short {
        out.push(0x00);
    }
}

/// The part of a string that version 1 uses. Cutting a surrogate pair leaves half a character,
/// which .NET writes to UTF-8 as the replacement character.
fn cut_v1(text: &str) -> std::borrow::Cow<'_, str> {
    // No character has more UTF-16 units than UTF-8 bytes.
    if text.len() <= V1_STRING_UNITS_MAX {
        return text.into();
    }
    let mut units = 0;
    for (offset, char) in text.char_indices() {
        units += char.len_utf16();
        match units.cmp(&V1_STRING_UNITS_MAX) {
            std::cmp::Ordering::Less => {}
            std::cmp::Ordering::Equal => return text[..offset + char.len_utf8()].into(),
            std::cmp::Ordering::Greater => {
                return format!("{}{}", &text[..offset], char::REPLACEMENT_CHARACTER).into();
            }
        }
    }
    text.into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn strings_are_cut_by_utf_16_units() {
        assert_eq!(cut_v1(&"é".repeat(101)), "é".repeat(100));
        assert_eq!(cut_v1(&"😀".repeat(51)), "😀".repeat(50));
        let odd = "x".to_owned() + &"😀".repeat(51);
        assert_eq!(cut_v1(&odd), "x".to_owned() + &"😀".repeat(49) + "\u{fffd}");
    }

    #[test]
    fn long_strings_have_no_end_in_the_key() {
        let mut out = Vec::new();
        write_string(&"é".repeat(60), &mut out);
        assert_eq!(out.len(), 102);
        assert_eq!(out.last(), Some(&0xc4));
    }

    proptest! {
        #[test]
        fn numbers_keep_their_order_and_none_begins_another(a: f64, b: f64) {
            let encoded = |double: f64| {
                let mut out = Vec::new();
                write_number(double, &mut out);
                out
            };
            let order = a.partial_cmp(&b);
            prop_assume!(order.is_some_and(std::cmp::Ordering::is_ne));
            prop_assert_eq!(Some(encoded(a).cmp(&encoded(b))), order);
            prop_assert!(!encoded(a).starts_with(&encoded(b)));
        }
    }
}
