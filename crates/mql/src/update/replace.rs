//! Whole documents that take the place of others.

use bson::{RawBsonRef, RawDocument, RawDocumentBuf, Timestamp};

use crate::error::Result;
use crate::writer::{Element, Elements, Writer};

/// The document with `_id` first: `id` if there is one, otherwise its own.
pub(super) fn with_id(
    document: &RawDocument,
    id: Option<RawBsonRef<'_>>,
) -> Result<RawDocumentBuf> {
    let mut writer = Writer::with_capacity(document.as_bytes().len() + 32);
    let own = document.get("_id")?;
    if let Some(id) = id.or(own) {
        writer.field("_id", id);
    }
    for element in Elements::of(document) {
        let element = element?;
        if element.name != "_id" {
            writer.copy(&element);
        }
    }
    writer.finish()
}

/// Whether a field at the top of a document stands for the time.
pub(super) fn is_empty_timestamp(element: &Element<'_>) -> Result<bool> {
    if element.name == "_id" || !element.is_timestamp() {
        return Ok(false);
    }
    let empty = Timestamp { time: 0, increment: 0 };
    Ok(matches!(element.value()?, RawBsonRef::Timestamp(timestamp) if timestamp == empty))
}

/// The document with the time in place of empty timestamps.
pub(super) fn with_timestamps(document: &RawDocument, time: Timestamp) -> Result<RawDocumentBuf> {
    let mut writer = Writer::with_capacity(document.as_bytes().len());
    for element in Elements::of(document) {
        let element = element?;
        if is_empty_timestamp(&element)? {
            writer.field(element.name, RawBsonRef::Timestamp(time));
        } else {
            writer.copy(&element);
        }
    }
    writer.finish()
}
