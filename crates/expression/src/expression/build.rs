//! Arrays, documents and texts that are put together, none larger than a document may be.

use bson::raw::CStr;
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf};

use super::DEPTH_MAX;
use crate::error::{Code, Error, Result};

/// The most bytes of a computed value: those of a document, and what commands add.
pub(super) const BYTES_MAX: usize = 16 * 1024 * 1024 + 16 * 1024;

/// Refuses a value of too many bytes.
pub(super) fn check_size(bytes: usize) -> Result<()> {
    if bytes <= BYTES_MAX {
        return Ok(());
    }
    Err(Error::new(
        Code::DOCUMENT_TOO_LARGE,
        format!(
            "BSONObj size: {bytes} (0x{bytes:X}) is invalid. \
             Size must be between 0 and {BYTES_MAX}(16MB)"
        ),
    ))
}

/// Refuses a value that is nested deeper than documents may be. Whoever compares or prints values
/// relies on that.
pub fn check_depth(value: RawBsonRef<'_>) -> Result<()> {
    if is_within(value, DEPTH_MAX) {
        return Ok(());
    }
    Err(Error::new(
        Code::OVERFLOW,
        format!(
            "cannot convert document to BSON because it exceeds the limit of {DEPTH_MAX} levels of \
             nesting"
        ),
    ))
}

fn is_within(value: RawBsonRef<'_>, depth: usize) -> bool {
    match value {
        RawBsonRef::Document(document) => {
            depth > 0 && document.iter().flatten().all(|(_, field)| is_within(field, depth - 1))
        }
        RawBsonRef::Array(array) => {
            depth > 0 && array.into_iter().flatten().all(|element| is_within(element, depth - 1))
        }
        _ => true,
    }
}

/// An array that grows.
#[derive(Default)]
pub(super) struct List(RawArrayBuf);

impl List {
    /// Appends a value, null for one that is missing.
    pub(super) fn push(&mut self, value: Option<RawBsonRef<'_>>) -> Result<()> {
        self.0.push(value.unwrap_or(RawBsonRef::Null));
        check_size(self.0.as_bytes().len())
    }

    pub(super) fn finish(self) -> RawBson {
        RawBson::Array(self.0)
    }
}

/// A document that grows.
#[derive(Default)]
pub(super) struct Fields(RawDocumentBuf);

impl Fields {
    pub(super) fn append(&mut self, name: impl AsRef<CStr>, value: RawBsonRef<'_>) -> Result<()> {
        self.0.append(name, value);
        check_size(self.0.as_bytes().len())
    }

    /// Appends under a name that may hold anything but a zero byte.
    pub(super) fn append_text(&mut self, name: &str, value: RawBsonRef<'_>) -> Result<()> {
        self.append(<&CStr>::try_from(name)?, value)
    }

    pub(super) fn finish(self) -> RawBson {
        RawBson::Document(self.0)
    }
}

/// Appends to a text.
pub(super) fn append_text(text: &mut String, more: &str) -> Result<()> {
    check_size(text.len() + more.len())?;
    text.push_str(more);
    Ok(())
}
