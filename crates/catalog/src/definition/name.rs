//! The names of databases and collections, and the ids of documents.

use protocol::Error;
use protocol::limits::{DOCUMENT_ID_BYTES_MAX, NAME_CHARS_MAX};
use value::Value;

use super::read::shown;

/// Checks the `id` of a database or collection. Names are segments of URLs, so characters that end
/// a segment are rejected.
pub fn validate_name(id: &Value) -> Result<String, Error> {
    let name = present(id)?;
    if name.is_empty() || name.chars().count() > NAME_CHARS_MAX {
        return Err(invalid(name, NAME_CHARS_MAX));
    }
    if name.ends_with(' ') || name.contains(is_refused_in_names) {
        return Err(illegal(
            name,
            "'/', '\\', '?', '#', control characters and a space at the end",
        ));
    }
    Ok(name.to_owned())
}

/// Checks the `id` of a document. Unlike names, ids may contain characters that end a URL segment:
/// clients escape them.
pub fn validate_document_id(id: &Value) -> Result<&str, Error> {
    let text = present(id)?;
    if text.is_empty() || text.len() > DOCUMENT_ID_BYTES_MAX {
        return Err(invalid(text, DOCUMENT_ID_BYTES_MAX));
    }
    if text.contains('\0') {
        return Err(illegal(text, "NUL"));
    }
    Ok(text)
}

fn is_refused_in_names(char: char) -> bool {
    matches!(char, '/' | '\\' | '?' | '#') || char.is_control()
}

fn present(id: &Value) -> Result<&str, Error> {
    if id.is_undefined() {
        return Err(missing("id"));
    }
    id.as_str().ok_or_else(|| super::read::wrong("id", "a string"))
}

/// The service's error for a missing property.
pub fn missing(property: &str) -> Error {
    Error::bad_request(missing_message(property))
}

/// The message of [`missing`], for errors with another code.
pub(super) fn missing_message(property: &str) -> String {
    format!(
        "The input content is invalid because the required properties - '{property}; ' - are missing"
    )
}

fn invalid(name: &str, max: usize) -> Error {
    let name = shown(name);
    // For names the service says "less than" but means "at most".
    let limit = if max == DOCUMENT_ID_BYTES_MAX { max + 1 } else { max };
    Error::bad_request(format!(
        "The input name '{name}' is invalid. Ensure to provide a unique non-empty string less than \
         '{limit}' characters."
    ))
}

fn illegal(name: &str, refused: &str) -> Error {
    let name = shown(name).escape_debug();
    Error::bad_request(format!(
        "The input name '{name}' is invalid: it contains illegal characters. Refused are {refused}."
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names() {
        let longest = "é".repeat(255);
        for good in ["a", " a", "a b", "a%b", "名", longest.as_str()] {
            assert_eq!(validate_name(&good.into()).unwrap(), good);
        }
        let too_long = "a".repeat(256);
        for bad in ["", "a ", "a/b", "a\\b", "a?", "#", "a\nb", "a\u{7f}", "\0", &too_long] {
            assert!(validate_name(&bad.into()).is_err(), "{bad:?}");
        }
        for bad in [Value::Null, 1.into(), true.into(), Value::Array(vec![])] {
            assert!(validate_name(&bad).is_err(), "{bad:?}");
        }
        assert_eq!(
            validate_name(&Value::Undefined).unwrap_err().message,
            "The input content is invalid because the required properties - 'id; ' - are missing"
        );
    }

    #[test]
    fn document_ids() {
        let longest = "é".repeat(511) + "a";
        for good in ["a", "a ", "a?b#c", "a/b\\c", "/", "a\nb", longest.as_str()] {
            assert_eq!(validate_document_id(&good.into()).unwrap(), good);
        }
        let too_long = "é".repeat(512);
        for bad in ["", "a\0", &too_long] {
            assert!(validate_document_id(&bad.into()).is_err(), "{bad:?}");
        }
        for bad in [Value::Undefined, Value::Null, 1.into()] {
            assert!(validate_document_id(&bad).is_err(), "{bad:?}");
        }
    }
}
