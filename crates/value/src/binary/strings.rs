//! The strings of binary JSON. Short, frequent and regular strings have compact forms:
//!
//! | marker | string |
//! |---|---|
//! | `20`–`3F` | a string of the fixed dictionary |
//! | `40`–`67` | a string of a dictionary that the sender keeps to itself |
//! | `71`–`74` | base64 text, as the bytes it stands for; `73`, `74` in the URL alphabet |
//! | `75`, `76`, `77` | a GUID in lower case, in upper case, in lower case and quotes |
//! | `78`, `79`, `7A` | lower-case hexadecimal, upper-case, date-time characters: 4 bits each |
//! | `7B`, `7C`, `7D` | characters of 4, 5, 6 bits above a base character |
//! | `7E`, `7F` | ASCII in 7 bits |
//! | `80`–`BF` | UTF-8 of that length, less `80` |
//! | `C0`, `C1`, `C2` | UTF-8 after a length of 1, 2, 4 bytes |
//! | `C3`–`C6` | the string at an offset of 1, 2, 3, 4 bytes from the beginning of the body |

use std::borrow::Cow;

use base64::Engine;
use base64::engine::general_purpose::{STANDARD_NO_PAD, URL_SAFE_NO_PAD};

use super::cursor::{Cursor, Width};
use super::{Error, ErrorKind};

const LOWER_HEX: &[u8; 16] = b"0123456789abcdef";
const UPPER_HEX: &[u8; 16] = b"0123456789ABCDEF";
const DATE_TIME: &[u8; 16] = b" 0123456789:-.TZ";

/// The strings with a marker of their own, from `20` on. The order is the service's.
const DICTIONARY: [&str; 32] = [
    "$s",
    "$t",
    "$v",
    "_attachments",
    "_etag",
    "_rid",
    "_self",
    "_ts",
    "attachments/",
    "coordinates",
    "geometry",
    "GeometryCollection",
    "id",
    "url",
    "Value",
    "label",
    "LineString",
    "link",
    "MultiLineString",
    "MultiPoint",
    "MultiPolygon",
    "name",
    "Name",
    "Type",
    "Point",
    "Polygon",
    "properties",
    "type",
    "value",
    "Feature",
    "FeatureCollection",
    "_id",
];

/// Reads the string after `marker`, which is at `at`.
pub(super) fn read<'a>(
    marker: u8,
    at: usize,
    reader: &mut Cursor<'a>,
) -> Result<Cow<'a, str>, Error> {
    match marker {
        0xc3..=0xc6 => read_reference(usize::from(marker - 0xc2), at, reader),
        _ => read_direct(marker, at, reader),
    }
}

/// Reads a string elsewhere in the body. It must not be a reference itself, so there are no cycles.
fn read_reference<'a>(
    width: usize,
    at: usize,
    reader: &mut Cursor<'a>,
) -> Result<Cow<'a, str>, Error> {
    let mut offset = [0; 4];
    offset[..width].copy_from_slice(reader.bytes(width)?);
    let target = u32::from_le_bytes(offset) as usize;
    let mut reader = reader.jump(target);
    let invalid = ErrorKind::InvalidReference.at(at);
    match reader.byte() {
        Ok(marker @ 0x20..=0xc2) => read_direct(marker, target, &mut reader),
        _ => Err(invalid),
    }
}

fn read_direct<'a>(marker: u8, at: usize, reader: &mut Cursor<'a>) -> Result<Cow<'a, str>, Error> {
    match marker {
        0x20..=0x3f => Ok(DICTIONARY[usize::from(marker - 0x20)].into()),
        0x40..=0x67 => Err(ErrorKind::UserString.at(at)),
        0x71..=0x74 => {
            let width = Width::from_index((marker - 0x71) % 2);
            read_base64(width, marker >= 0x73, reader).map(Cow::Owned)
        }
        0x75 => read_guid(LOWER_HEX, reader).map(Cow::Owned),
        0x76 => read_guid(UPPER_HEX, reader).map(Cow::Owned),
        0x77 => Ok(format!("\"{}\"", read_guid(LOWER_HEX, reader)?).into()),
        0x78 => read_nibbles(LOWER_HEX, reader).map(Cow::Owned),
        0x79 => read_nibbles(UPPER_HEX, reader).map(Cow::Owned),
        0x7a => read_nibbles(DATE_TIME, reader).map(Cow::Owned),
        0x7b..=0x7d => {
            let length = reader.integer(Width::One)?;
            let base = reader.byte()?;
            read_packed(usize::from(marker - 0x77), base, length, reader).map(Cow::Owned)
        }
        0x7e | 0x7f => {
            let length = reader.integer(Width::from_index(marker - 0x7e))?;
            read_packed(7, 0, length, reader).map(Cow::Owned)
        }
        0x80..=0xbf => read_utf8(usize::from(marker - 0x80), at, reader),
        0xc0..=0xc2 => {
            let length = reader.integer(Width::from_index(marker - 0xc0))?;
            read_utf8(length, at, reader)
        }
        _ => Err(ErrorKind::UnexpectedMarker(marker).at(at)),
    }
}

fn read_utf8<'a>(length: usize, at: usize, reader: &mut Cursor<'a>) -> Result<Cow<'a, str>, Error> {
    let text = str::from_utf8(reader.bytes(length)?);
    text.map(Cow::Borrowed).map_err(|_| ErrorKind::InvalidString.at(at))
}

/// Reads base64 text: the number of groups of four characters, a byte for the padding, the bytes.
/// The padding byte is the number of `=`, or its complement when the text leaves them out.
fn read_base64(width: Width, is_url: bool, reader: &mut Cursor<'_>) -> Result<String, Error> {
    let at = reader.at();
    let groups = reader.integer(width)?;
    let padding = reader.byte()?;
    let is_omitted = padding > 2;
    let padding = usize::from(if is_omitted { !padding } else { padding });
    let length = (groups * 3).checked_sub(padding).filter(|_| padding <= 2);
    let bytes = reader.bytes(length.ok_or_else(|| ErrorKind::InvalidString.at(at))?)?;
    let mut text =
        if is_url { URL_SAFE_NO_PAD.encode(bytes) } else { STANDARD_NO_PAD.encode(bytes) };
    if !is_omitted {
        text.extend(std::iter::repeat_n('=', padding));
    }
    Ok(text)
}

/// Reads a GUID sent as a string: its digits in order, the lower half of each byte first.
fn read_guid(digits: &[u8; 16], reader: &mut Cursor<'_>) -> Result<String, Error> {
    let bytes: [u8; 16] = reader.array()?;
    Ok(join_guid(bytes.iter().map(|byte| nibbles(*byte, digits))))
}

/// Reads a GUID sent as a value: .NET stores its first three groups as little-endian integers.
pub(super) fn read_guid_value(reader: &mut Cursor<'_>) -> Result<String, Error> {
    let bytes: [u8; 16] = reader.array()?;
    let order = [3, 2, 1, 0, 5, 4, 7, 6, 8, 9, 10, 11, 12, 13, 14, 15];
    Ok(join_guid(order.iter().map(|index| nibbles(bytes[*index].rotate_left(4), LOWER_HEX))))
}

/// Puts the dashes of the usual 8-4-4-4-12 form between sixteen pairs of digits.
fn join_guid(pairs: impl Iterator<Item = [char; 2]>) -> String {
    let mut text = String::with_capacity(36);
    for (index, pair) in pairs.enumerate() {
        if matches!(index, 4 | 6 | 8 | 10) {
            text.push('-');
        }
        text.extend(pair);
    }
    text
}

/// The characters of the two halves of a byte, the lower one first.
fn nibbles(byte: u8, alphabet: &[u8; 16]) -> [char; 2] {
    [byte & 15, byte >> 4].map(|nibble| char::from(alphabet[usize::from(nibble)]))
}

/// Reads a string over an alphabet of sixteen: the length, then two characters per byte. An unused
/// half must be zero.
fn read_nibbles(alphabet: &[u8; 16], reader: &mut Cursor<'_>) -> Result<String, Error> {
    let at = reader.at();
    let length = reader.integer(Width::One)?;
    let bytes = reader.bytes(length.div_ceil(2))?;
    let mut text: String = bytes.iter().flat_map(|byte| nibbles(*byte, alphabet)).collect();
    if length % 2 == 1 && text.pop() != Some(char::from(alphabet[0])) {
        return Err(ErrorKind::InvalidString.at(at));
    }
    Ok(text)
}

/// Reads `length` characters of `bits` bits each, the lowest bits first, above `base`.
fn read_packed(
    bits: usize,
    base: u8,
    length: usize,
    reader: &mut Cursor<'_>,
) -> Result<String, Error> {
    let at = reader.at();
    let bytes = reader.bytes((length * bits).div_ceil(8))?;
    let character = |index: usize| {
        let (byte, shift) = (index * bits / 8, index * bits % 8);
        let next = bytes.get(byte + 1).copied().unwrap_or(0);
        let window = u16::from_le_bytes([bytes[byte], next]) >> shift;
        let low = u8::try_from(window & ((1 << bits) - 1)).ok()?;
        // All packed forms are ASCII only.
        low.checked_add(base).filter(u8::is_ascii).map(char::from)
    };
    (0..length).map(character).collect::<Option<_>>().ok_or_else(|| ErrorKind::InvalidString.at(at))
}
