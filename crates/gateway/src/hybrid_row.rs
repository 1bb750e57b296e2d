//! HybridRow: the binary form in which .NET sends batches and expects their results.
//!
//! A stream is a segment header and records; a record is a header, with length and checksum, and a
//! row; a row is laid out by a schema that both sides know. Of all that the format can do this is
//! what a batch needs: rows of plain values by four schemas. It is read without copying, and
//! everything that is not exactly such a stream is refused.
//!
//! - `cursor`: bytes one after the other,
//! - `layout`: schemas, and the order and kinds of their columns,
//! - `row`: one row by its layout,
//! - `checksum`: CRC-32,
//! - `stream`: segments and records,
//! - `batch`: the rows of an operation and of a result.
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

/// Why bytes are not the stream or row that they should be.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Error {
    /// Something is announced that does not follow.
    #[error("the bytes end too early")]
    Ended,
    /// A row of another version of the format.
    #[error("a row begins with the byte {0:#04x} instead of {VERSION:#04x}")]
    Version(u8),
    /// A row of another schema.
    #[error("a row has the schema {found} instead of {expected}")]
    Schema {
        /// The schema that it names.
        found: i32,
        /// The one that belongs there.
        expected: i32,
    },
    /// The header of a segment or record that says nothing sensible.
    #[error("the length of a segment or record is wrong")]
    Length,
    /// The row of a record is not the one that was written.
    #[error("the checksum of a record is wrong")]
    Checksum,
    /// A number of more bytes than there are in one.
    #[error("a length has too many bytes")]
    Number,
    /// Presence is said of columns that the schema does not have.
    #[error("a row has columns that its schema does not have")]
    Presence,
    /// A column that the schema does not have.
    #[error("a row has an unknown column")]
    Unknown,
    /// A column that is not what the schema says.
    #[error("the column {0} is not at the place or of the type that its schema says")]
    Kind(&'static str),
    /// A column that is there twice.
    #[error("the column {0} occurs twice")]
    Twice(&'static str),
    /// Text that is none.
    #[error("the column {0} is not valid UTF-8")]
    Utf8(&'static str),
}
