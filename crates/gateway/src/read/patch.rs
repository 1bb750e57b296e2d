//! Parses a patch from its body. The texts of refusals are the service's where it documents them.

use protocol::{
    Error,
    limits::{DOCUMENT_BYTES_MAX, PATCH_OPERATIONS_MAX},
    patch::{Patch, PatchOperation, Pointer},
};
use value::Value;

use super::{parse, too_large};

/// The service's wording for an invalid patch.
const SYNTAX: &str = "Invalid patch request: check syntax of patch specification.";

/// Parses a patch: an object with operations and an optional condition, or just the array of
/// operations.
pub fn patch(body: &[u8]) -> Result<Patch, Error> {
    if body.len() > DOCUMENT_BYTES_MAX {
        return Err(too_large());
    }
    let value = parse(body)?;
    let operations = if value.as_object().is_some() { value.get("operations") } else { &value };
    let Some(operations) = operations.as_array().filter(|operations| !operations.is_empty()) else {
        return Err(invalid("the operations are not an array with at least one element"));
    };
    if operations.len() > PATCH_OPERATIONS_MAX {
        return Err(Error::bad_request(format!(
            "The number of patch operations cannot exceed {PATCH_OPERATIONS_MAX}"
        )));
    }
    let condition = match value.get("condition") {
        Value::Undefined | Value::Null => None,
        Value::String(condition) => Some(condition.clone()),
        _ => return Err(invalid("the condition is not a string")),
    };
    let numbered = operations.iter().enumerate();
    let operations =
        numbered.map(|(index, read)| operation(read, index + 1)).collect::<Result<_, Error>>()?;
    Ok(Patch { operations, condition, bytes: body.len() })
}

/// Parses an operation. The first of a patch has the number 1.
fn operation(operation: &Value, number: usize) -> Result<PatchOperation, Error> {
    let refuse = |reason: String| invalid(&format!("operation {number} {reason}"));
    let Some(name) = operation.get("op").as_str() else {
        return Err(refuse("has no 'op'".to_owned()));
    };
    let pointer = |member: &str| {
        let Some(text) = operation.get(member).as_str() else {
            return Err(refuse(format!("has no '{member}'")));
        };
        Pointer::parse(text)
            .ok_or_else(|| refuse(format!("has a '{member}' that is not a path: '{text}'")))
    };
    let value = || match operation.get("value") {
        Value::Undefined => Err(refuse("has no 'value'".to_owned())),
        value => Ok(value.clone()),
    };
    let path = pointer("path")?;
    match name {
        "add" => Ok(PatchOperation::Add { path, value: value()? }),
        "set" => Ok(PatchOperation::Set { path, value: value()? }),
        "replace" => Ok(PatchOperation::Replace { path, value: value()? }),
        "remove" => Ok(PatchOperation::Remove { path }),
        "incr" => match value()? {
            Value::Number(value) => Ok(PatchOperation::Increment { path, value }),
            _ => Err(refuse("has a 'value' that is not a number".to_owned())),
        },
        "move" => {
            let from = pointer("from")?;
            if path.is_inside(&from) {
                return Err(refuse("would move a value into itself".to_owned()));
            }
            Ok(PatchOperation::Move { from, path })
        }
        _ => Err(refuse(format!("has an unknown 'op': '{name}'"))),
    }
}

/// An error with the service's wording for an invalid patch, and our own for the reason.
fn invalid(reason: &str) -> Error {
    Error::bad_request(format!("{SYNTAX} Reason: {reason}."))
}

#[cfg(test)]
mod tests {
    use protocol::Code;

    use super::*;

    #[test]
    fn what_is_no_patch() {
        let fails = |body: &str, message: &str| {
            let error = patch(body.as_bytes()).expect_err(body);
            assert_eq!(error.code, Code::BadRequest);
            assert!(error.message.contains(message), "{body}: {}", error.message);
        };
        fails("", "The input content is invalid JSON");
        fails("[", "The input content is invalid JSON");
        for body in
            ["null", "1", "\"x\"", "{}", "[]", r#"{"operations":[]}"#, r#"{"operations":{}}"#]
        {
            fails(body, SYNTAX);
        }
        fails("[1]", "operation 1 has no 'op'");
        fails(r#"[{"op":1,"path":"/a","value":1}]"#, "operation 1 has no 'op'");
        fails(r#"[{"op":"add","value":1}]"#, "operation 1 has no 'path'");
        fails(r#"[{"op":"add","path":"/a"}]"#, "operation 1 has no 'value'");
        fails(
            r#"[{"op":"add","path":"/a","value":1},{"op":"copy","path":"/a"}]"#,
            "operation 2 has an unknown 'op': 'copy'",
        );
        for path in ["", "a", "a/b", "/a~2"] {
            fails(&format!(r#"[{{"op":"add","path":"{path}","value":1}}]"#), "that is not a path");
        }
        fails(
            r#"{"condition":1,"operations":[{"op":"remove","path":"/a"}]}"#,
            "the condition is not",
        );
        let many = |count| format!("[{}]", vec![r#"{"op":"remove","path":"/a"}"#; count].join(","));
        fails(&many(11), "The number of patch operations cannot exceed 10");
        assert!(patch(many(10).as_bytes()).is_ok());
        let null = r#"{"condition":null,"operations":[{"op":"remove","path":"/a"}]}"#;
        assert!(patch(null.as_bytes()).is_ok_and(|patch| patch.condition.is_none()));
    }
}
