//! JSON text: parsing, printing, and the spans of a document's members.
//!
//! The parser follows RFC 8259 but is stricter where a database must be: it rejects duplicate keys,
//! lone surrogates, doubles out of range and deep nesting. In one point it is laxer, like the
//! service: a string may contain raw control characters. It is written by hand because it must do
//! all that, and keep the text of numbers and the spans of members, in a single pass;
//! `docs/adr/0002-json-parser.md` has the measurements.

mod compact;
mod members;
mod parse;
mod partly;
mod print;
mod string;

pub use compact::compact;
pub use members::{Member, elements, members};
pub use parse::{Document, check, parse, parse_document};
pub use partly::{Wanted, parse_wanted};
pub use print::{print, quote, write};
pub(crate) use string::read_escape;

/// How deep arrays and objects may nest. The service rejects deeper items at the same limit, which
/// also bounds the recursion of all code that walks a value.
pub const DEPTH_MAX: usize = 128;

/// Why a text is not acceptable JSON, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{kind} at offset {offset}")]
pub struct Error {
    /// The offset in bytes.
    pub offset: usize,
    /// The kind of error.
    pub kind: ErrorKind,
}

/// The kind of error in a text.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The text ends within a value, or is empty.
    #[error("unexpected end of the text")]
    UnexpectedEnd,
    /// A character that is not allowed here, or a byte order mark.
    #[error("unexpected character `{}`", .0.escape_debug())]
    Unexpected(char),
    /// There are characters after the value.
    #[error("trailing characters after the value")]
    Trailing,
    /// The bytes are not UTF-8.
    #[error("invalid UTF-8")]
    InvalidUtf8,
    /// An escape that is not valid in JSON.
    #[error("invalid escape in a string")]
    InvalidEscape,
    /// An escaped half of a surrogate pair without the other half.
    #[error("lone surrogate in a string")]
    LoneSurrogate,
    /// A number that JSON's grammar does not allow, such as `01` or `1.`.
    #[error("invalid number")]
    InvalidNumber,
    /// A number too large for a double.
    #[error("number out of range")]
    NumberOutOfRange,
    /// A key that occurs twice in one object, compared after unescaping.
    #[error("duplicate key `{0}`")]
    DuplicateKey(String),
    /// More than [`DEPTH_MAX`] nested arrays and objects.
    #[error("nested deeper than {DEPTH_MAX} levels")]
    TooDeep,
    /// The document is a value other than an object.
    #[error("the document is not an object")]
    NotAnObject,
}

impl ErrorKind {
    fn at(self, offset: usize) -> Error {
        Error { offset, kind: self }
    }
}

/// The error for the character at `offset`.
fn unexpected(bytes: &[u8], offset: usize) -> Error {
    let rest = bytes.get(offset..).unwrap_or_default();
    // Only the first character is needed, and none is longer than four bytes.
    let head = &rest[..rest.len().min(4)];
    match String::from_utf8_lossy(head).chars().next() {
        Some(char) => ErrorKind::Unexpected(char).at(offset),
        None => ErrorKind::UnexpectedEnd.at(offset),
    }
}

/// The first offset from `at` on that is not white space.
fn skip_white_space(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\t' | b'\n' | b'\r') = bytes.get(at) {
        at += 1;
    }
    at
}
