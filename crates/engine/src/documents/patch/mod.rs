//! Patches: a few changes to one document, all or none of them.
//!
//! A patch knows nothing of where the document lies: it is read from a body, asked whether its
//! condition holds, applied to a value, and gives the new text. A request and an operation of a
//! batch use it the same way:
//!
//! 1. [`Patch::parse`] or [`Patch::from_value`]: what is wrong with the patch itself,
//! 2. [`Patch::check_keys`] and [`Patch::condition`]: what is wrong with it in a collection,
//! 3. [`Condition::check`] of the stored document,
//! 4. [`Patch::apply`] to its value, and [`Patch::text`] for the text of the outcome.
//!
//! In reading order: `pointer`, where an operation points; `operation`, what it does there;
//! `condition`, the filter that comes first.

mod condition;
mod operation;
mod pointer;

#[cfg(test)]
mod tests;

use protocol::{
    Error,
    limits::{DOCUMENT_BYTES_MAX, PATCH_OPERATIONS_MAX},
};
use value::{Object, Value, json, path::Path};

use crate::{bodies, errors, rows::Damaged, served::Served, text::SYSTEM_PROPERTIES};

pub(crate) use condition::Condition;
use operation::Operation;

/// The service's words for what is no patch.
const SYNTAX: &str = "Invalid patch request: check syntax of patch specification.";

/// Changes to one document.
#[derive(Debug)]
pub(crate) struct Patch {
    operations: Vec<Operation>,
    condition: Option<String>,
}

impl Patch {
    /// Reads the body of a request: an object with operations and perhaps a condition, or the
    /// operations alone.
    pub(crate) fn parse(body: &[u8]) -> Result<Self, Error> {
        bodies::check_size(body, DOCUMENT_BYTES_MAX)?;
        let value = bodies::parse(body)?;
        Self::from_value(&value)
    }

    /// The same, of a body that has been parsed.
    pub(crate) fn from_value(body: &Value) -> Result<Self, Error> {
        let operations = if body.as_object().is_some() { body.get("operations") } else { body };
        let Some(operations) = operations.as_array().filter(|operations| !operations.is_empty())
        else {
            return Err(invalid("the operations are not an array with at least one element"));
        };
        if operations.len() > PATCH_OPERATIONS_MAX {
            return Err(Error::bad_request(format!(
                "The number of patch operations cannot exceed {PATCH_OPERATIONS_MAX}"
            )));
        }
        let condition = match body.get("condition") {
            Value::Undefined | Value::Null => None,
            Value::String(condition) => Some(condition.clone()),
            _ => return Err(invalid("the condition is not a string")),
        };
        let numbered = operations.iter().enumerate();
        let operations = numbered
            .map(|(index, operation)| Operation::parse(operation, index + 1))
            .collect::<Result<_, Error>>()?;
        Ok(Self { operations, condition })
    }

    /// Refuses a patch that could change the partition key.
    pub(crate) fn check_keys(&self, keys: &[Path]) -> Result<(), Error> {
        for pointer in self.operations.iter().flat_map(Operation::pointers) {
            if keys.iter().any(|key| pointer.meets(key.segments())) {
                return Err(Error::bad_request(format!(
                    "Invalid patch request: Cannot patch the partition key path {}.",
                    pointer.text()
                )));
            }
        }
        Ok(())
    }

    /// The condition, compiled for a collection.
    pub(crate) fn condition(&self, collection: &Served) -> Result<Option<Condition>, Error> {
        let Some(text) = &self.condition else { return Ok(None) };
        let definition = &collection.definition;
        Condition::compile(text, &definition.computed, definition.is_geometry).map(Some)
    }

    /// Carries out the operations, one after the other. After an error the document is of no use.
    pub(crate) fn apply(&self, document: &mut Value, keys: &[Path]) -> Result<(), Error> {
        self.check_keys(keys)?;
        let numbered = self.operations.iter().enumerate();
        for (index, operation) in numbered {
            operation.apply(document).map_err(|reason| {
                Error::bad_request(format!("For Operation({}): {reason}", index + 1))
            })?;
        }
        Ok(())
    }

    /// The text of a document that this patch was applied to, without system properties. What no
    /// operation has touched is as it was stored, byte for byte.
    pub(crate) fn text(&self, stored: &[u8], patched: &Value) -> Result<Vec<u8>, Error> {
        let members = json::members(stored).map_err(|_| errors::from_damaged(Damaged("D")))?;
        let mut members = members.into_iter();
        let mut out = Vec::with_capacity(stored.len());
        out.push(b'{');
        let object = patched.as_object().into_iter().flat_map(Object::iter);
        for (key, value) in object.filter(|(key, _)| !SYSTEM_PROPERTIES.contains(key)) {
            if out.len() > 1 {
                out.push(b',');
            }
            // Members that stay keep their order: each is found behind the last.
            let same = (!self.touches(key)).then(|| members.find(|member| member.key == key));
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
    fn touches(&self, key: &str) -> bool {
        self.operations.iter().flat_map(Operation::pointers).any(|pointer| pointer.first() == key)
    }
}

/// The service's words for what is no patch, and ours for why.
fn invalid(reason: &str) -> Error {
    Error::bad_request(format!("{SYNTAX} Reason: {reason}."))
}
