//! Patches: a few changes to one document, all or none of them.
//!
//! A patch does not know where its document is stored: its condition is evaluated on a value, its
//! operations change the value, and the result is the new text. Requests and batch operations use
//! it in the same way:
//!
//! 1. [`check`] and [`condition()`]: errors that the collection alone can show,
//! 2. [`Condition::check`] of the stored document,
//! 3. [`apply`] to its value, and [`text`] for the text of the result.
//!
//! In reading order: `place`, where in a value an operation works; `operation`, what it does there;
//! `condition`, the filter that comes first.

mod condition;
mod operation;
mod place;

#[cfg(test)]
mod tests;

use partition::{errors, rows::Damaged, text::SYSTEM_PROPERTIES};
use protocol::{
    Error,
    limits::PATCH_OPERATIONS_MAX,
    patch::{Patch, PatchOperation, Pointer},
};
use query::served::Served;
use value::{Object, Value, json, path::Path};

pub(crate) use condition::Condition;

/// Refuses a patch that could change the id, the partition key or a system property.
pub(crate) fn check(patch: &Patch, keys: &[Path]) -> Result<(), Error> {
    // Each protocol reports this in its own words; this check is for one that forgets.
    if patch.operations.len() > PATCH_OPERATIONS_MAX {
        let message = format!("A patch may have at most {PATCH_OPERATIONS_MAX} operations.");
        return Err(Error::bad_request(message));
    }
    for pointer in pointers(patch) {
        let first = pointer.first();
        if first == "id" || SYSTEM_PROPERTIES.contains(&first) {
            return Err(Error::bad_request(format!(
                "Invalid patch request: Cannot patch system property {first}."
            )));
        }
    }
    for pointer in pointers(patch) {
        if keys.iter().any(|key| pointer.meets(key.segments())) {
            return Err(Error::bad_request(format!(
                "Invalid patch request: Cannot patch the partition key path {}.",
                pointer.text()
            )));
        }
    }
    Ok(())
}

/// Compiles the condition of a patch for a collection.
pub(crate) fn condition(patch: &Patch, collection: &Served) -> Result<Option<Condition>, Error> {
    let Some(text) = &patch.condition else { return Ok(None) };
    let definition = &collection.definition;
    Condition::compile(text, &definition.computed, definition.is_geometry).map(Some)
}

/// Applies the operations one after the other. After an error the document must be discarded.
pub(crate) fn apply(patch: &Patch, document: &mut Value, keys: &[Path]) -> Result<(), Error> {
    check(patch, keys)?;
    let numbered = patch.operations.iter().enumerate();
    for (index, change) in numbered {
        operation::apply(change, document).map_err(|reason| {
            Error::bad_request(format!("For Operation({}): {reason}", index + 1))
        })?;
    }
    Ok(())
}

/// The text of a patched document, without system properties. Anything no operation has touched
/// stays byte for byte as stored.
pub(crate) fn text(patch: &Patch, stored: &[u8], patched: &Value) -> Result<Vec<u8>, Error> {
    let members = json::members(stored).map_err(|_| errors::from_damaged(Damaged("D")))?;
    let mut members = members.into_iter();
    let mut out = Vec::with_capacity(stored.len());
    out.push(b'{');
    let object = patched.as_object().into_iter().flat_map(Object::iter);
    for (key, value) in object.filter(|(key, _)| !SYSTEM_PROPERTIES.contains(key)) {
        if out.len() > 1 {
            out.push(b',');
        }
        // Remaining members keep their order, so each search starts after the last match.
        let same = (!touches(patch, key)).then(|| members.find(|member| member.key == key));
        if let Some(member) = same.flatten() {
            out.extend_from_slice(&stored[member.span]);
        } else {
            json::quote(key, &mut out);
            out.push(b':');
            json::write(value, &mut out);
        }
    }
    out.push(b'}');
    Ok(out)
}

/// Whether an operation may have changed this member of the document.
fn touches(patch: &Patch, key: &str) -> bool {
    pointers(patch).any(|pointer| pointer.first() == key)
}

fn pointers(patch: &Patch) -> impl Iterator<Item = &Pointer> {
    patch.operations.iter().flat_map(PatchOperation::pointers)
}
