//! The six operations of a patch, on a value in memory. Errors use the service's texts where it
//! documents one.

use protocol::patch::{PatchOperation, Pointer};
use value::{Number, Value};

use crate::documents::patch::place::{Index, index};

/// Carries out an operation, or says why it cannot.
pub(super) fn apply(operation: &PatchOperation, document: &mut Value) -> Result<(), String> {
    match operation {
        PatchOperation::Add { path, value } => {
            place(document, path, "Add")?.insert(value.clone(), Element::Inserted)
        }
        PatchOperation::Set { path, value } => {
            place(document, path, "Given")?.insert(value.clone(), Element::Overwritten)
        }
        PatchOperation::Replace { path, value } => {
            place(document, path, "Given")?.replace(value.clone())
        }
        PatchOperation::Remove { path } => remove(document, path).map(drop),
        PatchOperation::Increment { path, value } => {
            place(document, path, "Given")?.increment(value)
        }
        PatchOperation::Move { from, path } => {
            let value = remove(document, from)?;
            place(document, path, "Given")?.insert(value, Element::Inserted)
        }
    }
}

/// What happens to an array element at the place of a new value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Element {
    /// It moves up one place.
    Inserted,
    Overwritten,
}

/// A place in a document: its parent, and its name there.
struct Place<'a> {
    parent: &'a mut Value,
    name: &'a str,
    /// The whole path to it, as the client wrote it.
    path: &'a str,
    /// The service's word for the operation.
    word: &'static str,
}

/// Resolves a pointer. The parent must exist.
fn place<'a>(
    document: &'a mut Value,
    pointer: &'a Pointer,
    word: &'static str,
) -> Result<Place<'a>, String> {
    let (parents, name) = pointer.split_last();
    let mut value = document;
    for segment in parents {
        value = child(value, segment).ok_or_else(|| recursive(word, segment))?;
    }
    Ok(Place { parent: value, name, path: pointer.text(), word })
}

/// The child that a segment names, in an object or an array.
fn child<'a>(value: &'a mut Value, segment: &str) -> Option<&'a mut Value> {
    match value {
        Value::Object(object) => object.get_mut(segment),
        Value::Array(elements) => match index(segment)? {
            Index::At(at) => elements.get_mut(at),
            Index::End => None,
        },
        _ => None,
    }
}

fn remove(document: &mut Value, pointer: &Pointer) -> Result<Value, String> {
    let absent = || {
        format!(
            "Node({}) to be removed is absent. Note: it may also have been removed earlier in the \
             transaction.",
            pointer.text()
        )
    };
    let Place { parent, name, .. } = place(document, pointer, "Given").map_err(|_| absent())?;
    match parent {
        Value::Object(object) => object.remove(name).ok_or_else(absent),
        Value::Array(elements) => match index(name) {
            Some(Index::At(at)) if at < elements.len() => Ok(elements.remove(at)),
            Some(Index::At(_)) => Err(out_of_bounds(name)),
            _ => Err(absent()),
        },
        _ => Err(absent()),
    }
}

impl Place<'_> {
    /// Puts a value here, whether or not there is one already.
    fn insert(self, value: Value, element: Element) -> Result<(), String> {
        match self.parent {
            Value::Object(object) => {
                object.insert(self.name, value);
            }
            Value::Array(elements) => match index(self.name) {
                Some(Index::At(at)) if at < elements.len() && element == Element::Overwritten => {
                    elements[at] = value;
                }
                Some(Index::At(at)) if at <= elements.len() => elements.insert(at, value),
                Some(Index::End) => elements.push(value),
                Some(Index::At(_)) | None => return Err(out_of_bounds(self.name)),
            },
            _ => return Err(recursive(self.word, self.name)),
        }
        Ok(())
    }

    /// Replaces the value that is here.
    fn replace(self, value: Value) -> Result<(), String> {
        match self.parent {
            Value::Array(elements) => match index(self.name) {
                Some(Index::At(at)) if at < elements.len() => elements[at] = value,
                _ => return Err(out_of_bounds(self.name)),
            },
            parent => match child(parent, self.name) {
                Some(old) => *old = value,
                None => return Err(format!("Node({}) to be replaced is absent.", self.path)),
            },
        }
        Ok(())
    }

    /// Adds to the number here.
    fn increment(self, by: &Number) -> Result<(), String> {
        match child(self.parent, self.name) {
            Some(Value::Number(number)) => {
                *number = sum(number, by)
                    .ok_or_else(|| format!("Node({}) would be out of range.", self.path))?;
                Ok(())
            }
            Some(_) => Err(format!("Node({}) is not a number.", self.path)),
            None => self.insert(by.clone().into(), Element::Overwritten),
        }
    }
}

/// The sum of two numbers. Integers are added exactly and never lose precision; everything else is
/// added as doubles. `None` if the sum fits neither.
fn sum(left: &Number, right: &Number) -> Option<Number> {
    if let (Some(left), Some(right)) = (left.as_i64(), right.as_i64()) {
        return left.checked_add(right).map(Number::from_i64);
    }
    let sum = left.as_f64() + right.as_f64();
    sum.is_finite().then(|| Number::from_f64(sum))
}

fn out_of_bounds(index: &str) -> String {
    format!("Index({index}) to operate on is out of array bounds")
}

fn recursive(word: &str, segment: &str) -> String {
    format!(
        "{word} Operation can only create a child object of an existing node(array or object) and \
         cannot create path recursively, no path found beyond: '{segment}'."
    )
}
