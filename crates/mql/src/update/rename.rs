//! The old and the new place of `$rename`. Neither may be in an array.

use std::borrow::Cow;

use bson::{RawBsonRef, RawDocument};

use super::path::{Part, UpdatePath};
use crate::error::{Code, Error, Result};
use crate::path::{element, position};
use crate::show;

/// The value at the old name; `None` if it is missing.
pub(super) fn source<'a>(
    document: &'a RawDocument,
    from: &UpdatePath,
) -> Result<Option<RawBsonRef<'a>>> {
    let names = from.parts.iter().map(|part| match part {
        Part::Name(name) => name.0.as_str(),
        _ => "",
    });
    let (mut value, mut outer, mut array) = (RawBsonRef::Document(document), "", None);
    for name in names {
        let next = match value {
            RawBsonRef::Document(document) => document.get(name)?,
            RawBsonRef::Array(list) if position(name).is_some() => {
                array = array.or(Some(outer));
                position(name).and_then(|index| element(list, index))
            }
            blocker => {
                return Err(Error::new(
                    Code::PATH_NOT_VIABLE,
                    format!(
                        "cannot use the part ({name} of {}) to traverse the element ({{{outer}: \
                         {}}})",
                        from.text,
                        show::value(blocker)
                    ),
                ));
            }
        };
        let Some(next) = next else { return Ok(None) };
        (value, outer) = (next, name);
    }
    match array {
        None => Ok(Some(value)),
        Some(array) => Err(in_array("source", &from.text, array, document)),
    }
}

/// Refuses a new name in an array.
pub(super) fn check_destination(document: &RawDocument, path: &[Cow<'_, str>]) -> Result<()> {
    let root = document;
    let mut value = RawBsonRef::Document(root);
    for (at, name) in path.iter().enumerate() {
        let RawBsonRef::Document(document) = value else { break };
        let Some(next) = document.get(name)? else { break };
        if matches!(next, RawBsonRef::Array(_)) && at + 1 < path.len() {
            return Err(in_array("destination", &path.join("."), name, root));
        }
        value = next;
    }
    Ok(())
}

fn in_array(which: &str, path: &str, array: &str, document: &RawDocument) -> Error {
    Error::bad_value(format!(
        "The {which} field cannot be an array element, '{path}' in doc with {} has an array field \
         called '{array}'",
        shown_id(document)
    ))
}

/// The id of a document as messages show it.
pub(super) fn shown_id(document: &RawDocument) -> String {
    match document.get("_id") {
        Ok(Some(id)) => format!("_id: {}", show::value(id)),
        _ => "no id".to_owned(),
    }
}
