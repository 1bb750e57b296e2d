//! Segments and records, the containers of rows.

use super::{
    Error,
    checksum::crc32,
    cursor::Cursor,
    layout::{RECORD, SEGMENT},
    row::{self, Cell},
};

/// Length of a segment header that contains only its length.
const SEGMENT_BYTES: usize = 10;

/// Length of a record header.
const RECORD_BYTES: usize = 13;

/// Splits a stream into rows. Verifies their checksums, but does not parse them.
pub fn records(bytes: &[u8]) -> Result<Vec<&[u8]>, Error> {
    let mut cursor = Cursor::new(bytes);
    skip_segment(&mut cursor)?;
    let mut records = Vec::new();
    while !cursor.is_at_end() {
        if cursor.rest().starts_with(&SEGMENT.head()) {
            skip_segment(&mut cursor)?;
        } else {
            records.push(record(&mut cursor)?);
        }
    }
    Ok(records)
}

/// Skips a segment header, including its comments and schemas.
fn skip_segment(cursor: &mut Cursor<'_>) -> Result<(), Error> {
    let mut head = Cursor::new(cursor.rest());
    let [length] = row::read_schematized(&SEGMENT, &mut head)?;
    let length = length.and_then(Cell::int32).ok_or(Error::Length)?;
    let length = usize::try_from(length).map_err(|_| Error::Length)?;
    if length < SEGMENT_BYTES {
        return Err(Error::Length);
    }
    cursor.take(length).map(|_| ())
}

fn record<'a>(cursor: &mut Cursor<'a>) -> Result<&'a [u8], Error> {
    let [length, checksum] = row::read_schematized(&RECORD, cursor)?;
    let length = length.and_then(Cell::int32).and_then(|length| usize::try_from(length).ok());
    let row = cursor.take(length.ok_or(Error::Length)?)?;
    if checksum.and_then(Cell::uint32) != Some(crc32(row)) {
        return Err(Error::Checksum);
    }
    Ok(row)
}

/// Writes a stream of one segment.
#[derive(Debug)]
pub struct StreamWriter {
    bytes: Vec<u8>,
}

impl StreamWriter {
    /// Starts a stream, with room for about `bytes` bytes.
    pub fn with_capacity(bytes: usize) -> Self {
        let mut writer = Self { bytes: Vec::with_capacity(bytes + SEGMENT_BYTES) };
        row::write(&SEGMENT, &[Some(length_of(SEGMENT_BYTES))], &mut writer.bytes);
        writer
    }

    /// Adds a record with the row that `write` appends. A row must have less than 2 GB; those of
    /// batches have a few megabytes.
    pub fn push(&mut self, write: impl FnOnce(&mut Vec<u8>)) {
        let start = self.bytes.len();
        // Leave room for the header, which depends on the row.
        self.bytes.resize(start + RECORD_BYTES, 0);
        write(&mut self.bytes);
        let row = &self.bytes[start + RECORD_BYTES..];
        let header = [Some(length_of(row.len())), Some(Cell::UInt32(crc32(row)))];
        let mut head = Vec::with_capacity(RECORD_BYTES);
        row::write(&RECORD, &header, &mut head);
        self.bytes[start..start + RECORD_BYTES].copy_from_slice(&head);
    }

    /// Returns the stream.
    pub fn finish(self) -> Vec<u8> {
        self.bytes
    }
}

fn length_of(bytes: usize) -> Cell<'static> {
    Cell::Int32(i32::try_from(bytes).unwrap_or(i32::MAX))
}
