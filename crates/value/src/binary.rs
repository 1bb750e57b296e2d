//! Cosmos binary JSON, in which some clients send item bodies. It is translated to text on arrival,
//! so that the rest of the database knows only one form. Clients that read nothing else get
//! responses in it (`write`).
//!
//! A body is the byte `80` and one value. A value is a marker byte and what the marker calls for;
//! all integers are little-endian.
//!
//! | marker | value |
//! |---|---|
//! | `00`–`1F` | that integer |
//! | `20`–`C6` | a string, see `strings` |
//! | `C7`–`CF`, `D7`–`DC` | a number, see `numbers` |
//! | `D0`, `D1`, `D2` | null, false, true |
//! | `D3` | a GUID, written as a string |
//! | `DD`–`DF` | a blob after a length of 1, 2 or 4 bytes, written as a base64 string |
//! | `E0`–`E7` | an array: none, one element, a byte length of 1, 2, 4; the same and a count |
//! | `E8`–`EF` | an object, likewise |
//! | `F0`–`F3` | an array of numbers of one type, or an array of such arrays, see `numbers` |
//!
//! The format is that of the official clients:
//! <https://github.com/Azure/azure-cosmos-dotnet-v3/blob/master/Microsoft.Azure.Cosmos/src/Json/JsonBinaryEncoding.TypeMarker.cs>

mod cursor;
mod numbers;
mod strings;
mod write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use crate::json;
use cursor::{Cursor, Width};
pub use write::from_text;

/// The first byte of a binary body, which no text can begin with.
const PREAMBLE: u8 = 0x80;

/// The longest text a body may expand to. References let a small body stand for a long text; items
/// are limited to 2 MB, so twice that is more than any acceptable one needs.
pub const TEXT_BYTES_MAX: usize = 4 << 20;

/// Why a body is not acceptable binary JSON, and where.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at offset {offset} of a binary body")]
pub struct Error {
    /// The offset in bytes.
    pub offset: usize,
    /// The kind of error.
    pub kind: ErrorKind,
}

/// The kind of error in a body.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The body does not begin with the byte of binary JSON.
    #[error("missing preamble")]
    NotBinary,
    /// The body, or the array or object around, ends within a value.
    #[error("unexpected end")]
    Truncated,
    /// There are bytes after the value.
    #[error("trailing bytes")]
    Trailing,
    /// A marker that is unknown or not allowed here.
    #[error("unexpected marker {0:#04x}")]
    UnexpectedMarker(u8),
    /// A string from the sender's own dictionary, which is not sent along.
    #[error("user string without a dictionary")]
    UserString,
    /// A string that is not UTF-8, or with padding that its form does not allow.
    #[error("invalid string")]
    InvalidString,
    /// A reference to something that is not a string of the body.
    #[error("invalid string reference")]
    InvalidReference,
    /// A number that JSON cannot express: NaN or an infinity.
    #[error("number out of range")]
    NumberOutOfRange,
    /// An array or object has a different number of elements than announced.
    #[error("wrong element count")]
    WrongCount,
    /// More than [`json::DEPTH_MAX`] nested arrays and objects.
    #[error("nested deeper than {} levels", json::DEPTH_MAX)]
    TooDeep,
    /// The text would be longer than [`TEXT_BYTES_MAX`].
    #[error("text longer than {TEXT_BYTES_MAX} bytes")]
    TooLong,
}

impl ErrorKind {
    fn at(self, offset: usize) -> Error {
        Error { offset, kind: self }
    }
}

/// Whether a body is binary JSON rather than text.
pub fn is_binary(body: &[u8]) -> bool {
    body.first() == Some(&PREAMBLE)
}

/// Translates a binary body to JSON text without white space. Duplicate keys pass through: the
/// text is parsed afterwards like any other.
pub fn to_text(body: &[u8]) -> Result<Vec<u8>, Error> {
    if !is_binary(body) {
        return Err(ErrorKind::NotBinary.at(0));
    }
    let mut reader = Cursor::new(body, 1);
    let mut out = Vec::with_capacity(body.len() * 2);
    write_value(&mut reader, 1, &mut out)?;
    if reader.is_at_end() { Ok(out) } else { Err(ErrorKind::Trailing.at(reader.at())) }
}

/// Translates one value; `depth` counts it and the arrays and objects around it.
fn write_value(reader: &mut Cursor<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    let at = reader.at();
    let marker = reader.byte()?;
    match marker {
        0x00..=0x1f => numbers::write_integer(marker, out),
        0x20..=0xc6 => json::quote(&strings::read(marker, at, reader)?, out),
        0xc7..=0xcf | 0xd7..=0xdc => numbers::write(marker, at, reader, out)?,
        0xd0 => out.extend_from_slice(b"null"),
        0xd1 => out.extend_from_slice(b"false"),
        0xd2 => out.extend_from_slice(b"true"),
        0xd3 => json::quote(&strings::read_guid_value(reader)?, out),
        0xdd..=0xdf => {
            let length = reader.integer(Width::from_index(marker - 0xdd))?;
            json::quote(&STANDARD.encode(reader.bytes(length)?), out);
        }
        0xe0..=0xe7 => {
            out.push(b'[');
            let depth = deeper(depth, at)?;
            write_elements(marker & 7, reader, out, |reader, out| write_value(reader, depth, out))?;
            out.push(b']');
        }
        0xe8..=0xef => {
            out.push(b'{');
            let depth = deeper(depth, at)?;
            write_elements(marker & 7, reader, out, |reader, out| {
                write_member(reader, depth, out)
            })?;
            out.push(b'}');
        }
        0xf0..=0xf3 => numbers::write_array(marker, reader, out)?,
        _ => return Err(ErrorKind::UnexpectedMarker(marker).at(at)),
    }
    // Checked after each value, because a single one is not much longer than the body.
    if out.len() > TEXT_BYTES_MAX { Err(ErrorKind::TooLong.at(at)) } else { Ok(()) }
}

fn deeper(depth: usize, at: usize) -> Result<usize, Error> {
    if depth > json::DEPTH_MAX { Err(ErrorKind::TooDeep.at(at)) } else { Ok(depth + 1) }
}

/// Translates a key, which must be a string, and its value.
fn write_member(reader: &mut Cursor<'_>, depth: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    let at = reader.at();
    let marker = reader.byte()?;
    if !(0x20..=0xc6).contains(&marker) {
        return Err(ErrorKind::UnexpectedMarker(marker).at(at));
    }
    json::quote(&strings::read(marker, at, reader)?, out);
    out.push(b':');
    write_value(reader, depth, out)
}

/// Translates the elements of an array or object, with commas between them. `form` is the low
/// three bits of the marker.
fn write_elements(
    form: u8,
    reader: &mut Cursor<'_>,
    out: &mut Vec<u8>,
    mut write: impl FnMut(&mut Cursor<'_>, &mut Vec<u8>) -> Result<(), Error>,
) -> Result<(), Error> {
    let at = reader.at();
    match form {
        0 => return Ok(()),
        1 => return write(reader, out),
        _ => {}
    }
    let width = Width::from_index((form - 2) % 3);
    let length = reader.integer(width)?;
    let count = if form >= 5 { Some(reader.integer(width)?) } else { None };
    let mut elements = reader.split(length)?;
    let mut seen = 0;
    while !elements.is_at_end() {
        if seen > 0 {
            out.push(b',');
        }
        write(&mut elements, out)?;
        seen += 1;
    }
    if count.is_some_and(|count| count != seen) {
        return Err(ErrorKind::WrongCount.at(at));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
