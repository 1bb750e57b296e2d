//! One row: head, presence bits and columns.

use super::{
    Error, VERSION,
    cursor::{Cursor, write_length},
    layout::{Column, Kind, Layout, Storage},
};

/// A value of a column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Cell<'a> {
    Bool(bool),
    Int32(i32),
    UInt32(u32),
    Float64(f64),
    Utf8(&'a str),
    Binary(&'a [u8]),
}

/// The columns of a row, in the schema's order.
pub(super) type Cells<'a, const N: usize> = [Option<Cell<'a>>; N];

/// The codes for the kinds of sparse values.
mod code {
    pub(super) const NULL: u8 = 1;
    pub(super) const FALSE: u8 = 2;
    pub(super) const TRUE: u8 = 3;
    pub(super) const INT32: u8 = 7;
    pub(super) const UINT32: u8 = 11;
    pub(super) const FLOAT64: u8 = 16;
    pub(super) const UTF8: u8 = 20;
    pub(super) const BINARY: u8 = 21;
}

impl<'a> Cell<'a> {
    pub(super) fn boolean(self) -> Option<bool> {
        if let Self::Bool(value) = self { Some(value) } else { None }
    }

    pub(super) fn int32(self) -> Option<i32> {
        if let Self::Int32(value) = self { Some(value) } else { None }
    }

    pub(super) fn uint32(self) -> Option<u32> {
        if let Self::UInt32(value) = self { Some(value) } else { None }
    }

    pub(super) fn float64(self) -> Option<f64> {
        if let Self::Float64(value) = self { Some(value) } else { None }
    }

    pub(super) fn utf8(self) -> Option<&'a str> {
        if let Self::Utf8(value) = self { Some(value) } else { None }
    }

    pub(super) fn binary(self) -> Option<&'a [u8]> {
        if let Self::Binary(value) = self { Some(value) } else { None }
    }

    fn code(self) -> u8 {
        match self {
            Self::Bool(false) => code::FALSE,
            Self::Bool(true) => code::TRUE,
            Self::Int32(_) => code::INT32,
            Self::UInt32(_) => code::UINT32,
            Self::Float64(_) => code::FLOAT64,
            Self::Utf8(_) => code::UTF8,
            Self::Binary(_) => code::BINARY,
        }
    }

    fn kind(self) -> Kind {
        match self {
            Self::Bool(_) => Kind::Bool,
            Self::Int32(_) => Kind::Int32,
            Self::UInt32(_) => Kind::UInt32,
            Self::Float64(_) => Kind::Float64,
            Self::Utf8(_) => Kind::Utf8,
            Self::Binary(_) => Kind::Binary,
        }
    }

    fn read(column: &Column, cursor: &mut Cursor<'a>) -> Result<Self, Error> {
        Ok(match column.kind {
            // All boolean columns here are sparse, and a sparse boolean has its value in its code.
            Kind::Bool => return Err(Error::Kind(column.name)),
            Kind::Int32 => Self::Int32(cursor.i32()?),
            Kind::UInt32 => Self::UInt32(cursor.u32()?),
            Kind::Float64 => Self::Float64(f64::from_le_bytes(cursor.array()?)),
            Kind::Utf8 => {
                let text = str::from_utf8(cursor.counted()?);
                Self::Utf8(text.map_err(|_| Error::Utf8(column.name))?)
            }
            Kind::Binary => Self::Binary(cursor.counted()?),
        })
    }

    fn write(self, out: &mut Vec<u8>) {
        match self {
            Self::Bool(_) => {}
            Self::Int32(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::UInt32(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::Float64(value) => out.extend_from_slice(&value.to_le_bytes()),
            Self::Utf8(text) => {
                write_length(text.len(), out);
                out.extend_from_slice(text.as_bytes());
            }
            Self::Binary(bytes) => {
                write_length(bytes.len(), out);
                out.extend_from_slice(bytes);
            }
        }
    }
}

/// Reads a row that takes up all the bytes.
pub(super) fn read<'a, const N: usize>(
    layout: &'static Layout<N>,
    bytes: &'a [u8],
) -> Result<Cells<'a, N>, Error> {
    let mut cursor = Cursor::new(bytes);
    let mut cells = read_schematized(layout, &mut cursor)?;
    while !cursor.is_at_end() {
        let (at, cell) = read_sparse(layout, &mut cursor)?;
        let Some(cell) = cell else { continue };
        if cells[at].replace(cell).is_some() {
            return Err(Error::Twice(layout.columns[at].name));
        }
    }
    Ok(cells)
}

/// Reads a row up to its sparse columns.
pub(super) fn read_schematized<'a, const N: usize>(
    layout: &'static Layout<N>,
    cursor: &mut Cursor<'a>,
) -> Result<Cells<'a, N>, Error> {
    let version = cursor.byte()?;
    if version != VERSION {
        return Err(Error::Version(version));
    }
    let found = cursor.i32()?;
    if found != layout.schema {
        return Err(Error::Schema { found, expected: layout.schema });
    }
    let bits = layout.bits();
    let mut present = if bits == 0 { 0 } else { cursor.byte()? };
    if u32::from(present) >> bits != 0 {
        return Err(Error::Presence);
    }
    let mut cells = [None; N];
    for (place, column) in cells.iter_mut().zip(&layout.columns) {
        let is_present = !column.storage.has_bit() || present & 1 == 1;
        if column.storage.has_bit() {
            present >>= 1;
        }
        match column.storage {
            Storage::Required | Storage::Fixed => {
                let cell = Cell::read(column, cursor)?;
                *place = is_present.then_some(cell);
            }
            Storage::Variable if is_present => *place = Some(Cell::read(column, cursor)?),
            Storage::Variable | Storage::Sparse => {}
        }
    }
    Ok(cells)
}

/// Reads a sparse column (code, path, value) and returns its position with the value. Null counts
/// as absent.
fn read_sparse<'a, const N: usize>(
    layout: &'static Layout<N>,
    cursor: &mut Cursor<'a>,
) -> Result<(usize, Option<Cell<'a>>), Error> {
    let code = cursor.byte()?;
    // Zero is the empty path, and numbers after the last column begin a path that is spelled out.
    // .NET uses neither: it writes only columns of the schema.
    let at = cursor.length()?.checked_sub(1).ok_or(Error::Unknown)?;
    let column = layout.columns.get(at).ok_or(Error::Unknown)?;
    if column.storage != Storage::Sparse {
        return Err(Error::Kind(column.name));
    }
    let cell = match (code, column.kind) {
        (code::NULL, _) => None,
        (code::FALSE, Kind::Bool) => Some(Cell::Bool(false)),
        (code::TRUE, Kind::Bool) => Some(Cell::Bool(true)),
        (code::INT32, Kind::Int32)
        | (code::UINT32, Kind::UInt32)
        | (code::FLOAT64, Kind::Float64)
        | (code::UTF8, Kind::Utf8)
        | (code::BINARY, Kind::Binary) => Some(Cell::read(column, cursor)?),
        _ => return Err(Error::Kind(column.name)),
    };
    Ok((at, cell))
}

/// Writes a row. Leaves out a cell whose kind is not its column's.
pub(super) fn write<const N: usize>(
    layout: &'static Layout<N>,
    cells: &Cells<'_, N>,
    out: &mut Vec<u8>,
) {
    out.extend_from_slice(&layout.head());
    let columns = || {
        layout.columns.iter().zip(cells).enumerate().map(|(at, (column, cell))| {
            let cell = cell.filter(|cell| cell.kind() == column.kind);
            debug_assert!(cell.is_some() == cells[at].is_some(), "{}", column.name);
            (at, column, cell)
        })
    };
    let with_bits = columns().filter(|(_, column, _)| column.storage.has_bit());
    let bits =
        with_bits.enumerate().fold(
            0_u8,
            |bits, (bit, (_, _, cell))| {
                if cell.is_some() { bits | 1 << bit } else { bits }
            },
        );
    if layout.bits() > 0 {
        out.push(bits);
    }
    for (at, column, cell) in columns() {
        match (column.storage, cell) {
            (Storage::Required | Storage::Fixed, None) => out.extend_from_slice(&[0; 4]),
            (Storage::Variable | Storage::Sparse, None) => {}
            (Storage::Sparse, Some(cell)) => {
                out.push(cell.code());
                write_length(at + 1, out);
                cell.write(out);
            }
            (_, Some(cell)) => cell.write(out),
        }
    }
}
