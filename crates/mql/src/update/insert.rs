//! Documents that are inserted: what they must not contain, and what is filled in.

use std::borrow::Cow;

use bson::oid::ObjectId;
use bson::{RawBsonRef, RawDocument, Timestamp};

use super::node::check_elements;
use super::replace::{is_empty_timestamp, with_id, with_timestamps};
use crate::class::type_name;
use crate::error::{Code, Error, Result};
use crate::writer::Elements;

/// Checks a document and completes it: `_id` comes first, and is `id` if the document has none;
/// empty timestamps at its top become the time. A document that needs nothing is not copied.
pub fn prepare(
    document: &RawDocument,
    id: ObjectId,
    time: Timestamp,
    document_max: usize,
) -> Result<Cow<'_, RawDocument>> {
    check_elements(document.iter_elements(), 0)?;
    let (mut ids, mut is_first, mut has_empty_timestamp) = (0, false, false);
    for (at, element) in Elements::of(document).enumerate() {
        let element = element?;
        if element.name == "_id" {
            ids += 1;
            is_first |= at == 0;
            check_id(element.value()?)?;
        }
        has_empty_timestamp |= is_empty_timestamp(&element)?;
    }
    if ids > 1 {
        return Err(Error::bad_value("can't have multiple _id fields in one document"));
    }
    let mut prepared = Cow::Borrowed(document);
    if has_empty_timestamp {
        prepared = Cow::Owned(with_timestamps(&prepared, time)?);
    }
    if !is_first {
        let generated = (ids == 0).then_some(RawBsonRef::ObjectId(id));
        prepared = Cow::Owned(with_id(&prepared, generated)?);
    }
    let size = prepared.as_bytes().len();
    if size > document_max {
        return Err(Error::new(
            Code::DOCUMENT_TOO_LARGE,
            format!("object to insert too large. size in bytes: {size}, max size: {document_max}"),
        ));
    }
    Ok(prepared)
}

/// Refuses values that cannot be an id.
pub(super) fn check_id(id: RawBsonRef<'_>) -> Result<()> {
    match id {
        RawBsonRef::Array(_) | RawBsonRef::RegularExpression(_) | RawBsonRef::Undefined => {
            Err(Error::new(
                Code::INVALID_ID_FIELD,
                format!("The '_id' value cannot be of type {}", type_name(id)),
            ))
        }
        RawBsonRef::Document(document) => {
            for field in document {
                let (name, _) = field?;
                if name.as_str().starts_with('$') {
                    return Err(Error::new(
                        Code::DOLLAR_PREFIXED_FIELD_NAME,
                        format!(
                            "_id fields may not contain '$'-prefixed fields: {} is not valid for \
                             storage.",
                            name.as_str()
                        ),
                    ));
                }
            }
            Ok(())
        }
        _ => Ok(()),
    }
}
