//! HybridRow: the binary form in which .NET sends batches and expects their results.
//!
//! A stream consists of a segment header and records. A record is a header, with length and
//! checksum, and a row. A row follows a schema that both sides know. This module implements only
//! what batches need of the format: rows of plain values in four schemas. It reads without copying,
//! and refuses anything that is not exactly such a stream.
//!
//! - `cursor`: reads bytes in sequence,
//! - `layout`: schemas, and the order and kinds of their columns,
//! - `row`: one row in its layout,
//! - `checksum`: CRC-32,
//! - `stream`: segments and records,
//! - `batch`: the rows for operations and for results.
//!
//! Format: `microsoft/HybridRow`, `Docs/Grammar.md` and `Docs/RecordIO.md`; schemas of the batch:
//! `Azure/azure-cosmos-dotnet-v3`, `HybridRowBatchSchemas.json`.

mod batch;
mod checksum;
mod cursor;
mod layout;
mod row;
mod stream;
#[cfg(test)]
mod tests;

use thiserror::Error;

pub use batch::{OperationRow, ResultRow};
pub use stream::{StreamWriter, records};

/// The first byte of every row, and so of every stream. No JSON text begins with it.
const VERSION: u8 = 0x81;

/// Whether a body is a stream of rows rather than text.
pub fn is_stream(body: &[u8]) -> bool {
    body.first() == Some(&VERSION)
}

/// The reason why bytes are not a valid stream or row.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// The bytes end before the data that they announce.
    #[error("the bytes end too early")]
    Ended,
    /// The row has another version of the format.
    #[error("a row begins with the byte {0:#04x} instead of {VERSION:#04x}")]
    Version(u8),
    /// The row has another schema.
    #[error("a row has the schema {found} instead of {expected}")]
    Schema {
        /// The schema that the row names.
        found: i32,
        /// The schema that belongs there.
        expected: i32,
    },
    /// The header of a segment or record has an invalid length.
    #[error("the length of a segment or record is wrong")]
    Length,
    /// The row of a record does not match its checksum.
    #[error("the checksum of a record is wrong")]
    Checksum,
    /// A length takes more bytes than a length can have.
    #[error("a length has too many bytes")]
    Number,
    /// The presence bits name columns that the schema does not have.
    #[error("a row has columns that its schema does not have")]
    Presence,
    /// The row has a column that the schema does not have.
    #[error("a row has an unknown column")]
    Unknown,
    /// A column does not match the schema.
    #[error("the column {0} is not at the place or of the type that its schema says")]
    Kind(&'static str),
    /// A column occurs twice.
    #[error("the column {0} occurs twice")]
    Twice(&'static str),
    /// Text is not valid UTF-8.
    #[error("the column {0} is not valid UTF-8")]
    Utf8(&'static str),
}
