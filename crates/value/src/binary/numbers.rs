//! The numbers of binary JSON. The same types come with two sets of markers: the plain JSON
//! numbers, and the typed ones, of which only the latter can form arrays of numbers.
//!
//! | type | JSON | typed |
//! |---|---|---|
//! | `u8`, `i8` | `C8`, – | `D7`, `D8` |
//! | `i16`, `i32`, `i64` | `C9`, `CA`, `CB` | `D9`, `DA`, `DB` |
//! | `u32`, `u64` | –, `C7` | `DC`, – |
//! | `f32`, `f64` | –, `CC` | `CD`, `CE` |
//!
//! `CF` is a half-precision float, which the service does not take as JSON; neither do we.

use super::cursor::{Cursor, Width};
use super::{Error, ErrorKind, TEXT_BYTES_MAX};
use crate::number::write_f64;

/// Appends an integer exactly, however large.
pub(super) fn write_integer(integer: impl std::fmt::Display, out: &mut Vec<u8>) {
    out.extend_from_slice(integer.to_string().as_bytes());
}

/// Translates the number after `marker`, which is at `at`.
pub(super) fn write(
    marker: u8,
    at: usize,
    reader: &mut Cursor<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    match marker {
        0xc8 | 0xd7 => write_integer(reader.byte()?, out),
        0xd8 => write_integer(i8::from_le_bytes(reader.array()?), out),
        0xc9 | 0xd9 => write_integer(i16::from_le_bytes(reader.array()?), out),
        0xca | 0xda => write_integer(i32::from_le_bytes(reader.array()?), out),
        0xcb | 0xdb => write_integer(i64::from_le_bytes(reader.array()?), out),
        0xdc => write_integer(u32::from_le_bytes(reader.array()?), out),
        0xc7 => write_integer(u64::from_le_bytes(reader.array()?), out),
        0xcd => write_double(f32::from_le_bytes(reader.array()?).into(), at, out)?,
        0xcc | 0xce => write_double(f64::from_le_bytes(reader.array()?), at, out)?,
        _ => return Err(ErrorKind::UnexpectedMarker(marker).at(at)),
    }
    Ok(())
}

fn write_double(double: f64, at: usize, out: &mut Vec<u8>) -> Result<(), Error> {
    if !double.is_finite() {
        return Err(ErrorKind::NumberOutOfRange.at(at));
    }
    write_f64(double, out);
    Ok(())
}

/// Translates an array of numbers of one type, or an array of such arrays:
///
/// - `F0`, `F1`: the type, the count; counts have one byte in `F0` and two in `F1`,
/// - `F2`, `F3`: the marker of the inner arrays (`F0`, `F1`), the type, their count of numbers, the
///   count of inner arrays,
///
/// and then the bare numbers.
pub(super) fn write_array(
    marker: u8,
    reader: &mut Cursor<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    let width = Width::from_index(marker & 1);
    let is_nested = marker >= 0xf2;
    if is_nested {
        let (at, inner) = (reader.at(), reader.byte()?);
        if inner != marker - 2 {
            return Err(ErrorKind::UnexpectedMarker(inner).at(at));
        }
    }
    let (at, kind) = (reader.at(), reader.byte()?);
    if !matches!(kind, 0xcd | 0xce | 0xd7..=0xdc) {
        return Err(ErrorKind::UnexpectedMarker(kind).at(at));
    }
    let count = reader.integer(width)?;
    if !is_nested {
        return write_bare(kind, count, reader, out);
    }
    let outer_count = reader.integer(width)?;
    out.push(b'[');
    for index in 0..outer_count {
        if index > 0 {
            out.push(b',');
        }
        write_bare(kind, count, reader, out)?;
        // Empty inner arrays take no bytes of the body, so only this bounds them.
        if out.len() > TEXT_BYTES_MAX {
            return Err(ErrorKind::TooLong.at(at));
        }
    }
    out.push(b']');
    Ok(())
}

/// Translates `count` numbers of type `kind` without their markers.
fn write_bare(
    kind: u8,
    count: usize,
    reader: &mut Cursor<'_>,
    out: &mut Vec<u8>,
) -> Result<(), Error> {
    out.push(b'[');
    for index in 0..count {
        if index > 0 {
            out.push(b',');
        }
        write(kind, reader.at(), reader, out)?;
    }
    out.push(b']');
    Ok(())
}
