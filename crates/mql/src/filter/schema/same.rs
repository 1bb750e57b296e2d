//! Equality for schemas: documents are equal in any order of fields.

use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf};

use crate::key;

/// Bytes that equal values have, and no others, when the order of fields does not matter. Strings
/// are compared by their bytes.
pub(super) fn identity(value: RawBsonRef<'_>) -> Vec<u8> {
    match value {
        RawBsonRef::Document(_) | RawBsonRef::Array(_) => {
            key::of(Some(sorted(value).as_raw_bson_ref()), None)
        }
        other => key::of(Some(other), None),
    }
}

/// The value with the fields of its documents sorted.
fn sorted(value: RawBsonRef<'_>) -> RawBson {
    match value {
        RawBsonRef::Document(document) => {
            let mut fields: Vec<_> = document.iter().flatten().collect();
            fields.sort_by_key(|(name, _)| name.as_str());
            let mut out = RawDocumentBuf::new();
            for (name, value) in fields {
                out.append(name, sorted(value));
            }
            RawBson::Document(out)
        }
        RawBsonRef::Array(array) => {
            let mut out = RawArrayBuf::new();
            for element in array.into_iter().flatten() {
                out.push(sorted(element));
            }
            RawBson::Array(out)
        }
        other => other.into(),
    }
}
