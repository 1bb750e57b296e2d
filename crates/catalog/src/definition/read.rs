//! Reads what a client sent: each function returns the wanted type, or a 400 that names the
//! property. `null` counts as absent, because some SDKs write out unset properties.

use std::ops::RangeInclusive;

use protocol::Error;
use value::path::{Path, PathError};
use value::{Object, Value};

/// How many characters of a client's text an error message repeats.
const SHOWN_CHARS_MAX: usize = 200;

/// The value, unless it is undefined or null.
pub(super) fn given(value: &Value) -> Option<&Value> {
    (!matches!(value, Value::Undefined | Value::Null)).then_some(value)
}

/// The member called `name`, ignoring case: old documentation mixes `IncludedPaths` and
/// `includedPaths`. An exact match wins.
pub(super) fn member<'a>(value: &'a Value, name: &str) -> Option<&'a Value> {
    let object = value.as_object()?;
    let same = || object.iter().find(|(key, _)| key.eq_ignore_ascii_case(name));
    object.get(name).or_else(|| same().map(|(_, value)| value)).and_then(given)
}

/// Reads an object.
pub(super) fn object<'a>(value: &'a Value, what: &str) -> Result<&'a Object, Error> {
    value.as_object().ok_or_else(|| wrong(what, "an object"))
}

/// Reads an array.
pub(super) fn array<'a>(value: &'a Value, what: &str) -> Result<&'a [Value], Error> {
    value.as_array().ok_or_else(|| wrong(what, "an array"))
}

/// Reads an array with at most `max` elements.
pub(super) fn bounded_array<'a>(
    value: &'a Value,
    what: &str,
    max: usize,
) -> Result<&'a [Value], Error> {
    let elements = array(value, what)?;
    if elements.len() > max {
        let count = elements.len();
        return Err(Error::bad_request(format!("`{what}` has {count} entries, more than {max}")));
    }
    Ok(elements)
}

/// Reads a string.
pub(super) fn text<'a>(value: &'a Value, what: &str) -> Result<&'a str, Error> {
    value.as_str().ok_or_else(|| wrong(what, "a string"))
}

/// Reads a boolean.
pub(super) fn flag(value: &Value, what: &str) -> Result<bool, Error> {
    value.as_bool().ok_or_else(|| wrong(what, "a boolean"))
}

/// Reads an integer within `range`.
pub(super) fn integer(value: &Value, what: &str, range: RangeInclusive<i64>) -> Result<i64, Error> {
    match value.as_i64() {
        Some(integer) if range.contains(&integer) => Ok(integer),
        _ => {
            let (min, max) = range.into_inner();
            Err(wrong(what, &format!("an integer from {min} to {max}")))
        }
    }
}

/// Reads one of `names`, ignoring case; returns the service's spelling.
pub(super) fn choice(
    value: &Value,
    what: &str,
    names: &[&'static str],
) -> Result<&'static str, Error> {
    let text = text(value, what)?;
    let found = names.iter().find(|name| name.eq_ignore_ascii_case(text));
    found.copied().ok_or_else(|| wrong(what, &format!("one of {}", names.join(", "))))
}

/// Reads a path to one property, without wildcards.
pub(super) fn path(value: &Value, what: &str) -> Result<Path, Error> {
    Path::parse(text(value, what)?).map_err(|PathError { text, offset, reason }| {
        let text = shown(&text);
        Error::bad_request(format!("`{what}`: invalid path `{text}`: {reason} at offset {offset}"))
    })
}

/// The error for a property of the wrong type or value.
pub(super) fn wrong(what: &str, wanted: &str) -> Error {
    Error::bad_request(format!(
        "One of the specified inputs is invalid: the property `{what}` must be {wanted}."
    ))
}

/// The beginning of a client's text, short enough for an error message.
pub fn shown(text: &str) -> &str {
    text.char_indices().nth(SHOWN_CHARS_MAX).map_or(text, |(end, _)| &text[..end])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::definition::tests::value_of;

    #[test]
    fn null_counts_as_absent_and_the_exact_spelling_wins() {
        let value = value_of(r#"{"Automatic":false,"automatic":true,"PATH":"/","x":null}"#);
        assert_eq!(member(&value, "automatic"), Some(&true.into()));
        assert_eq!(member(&value, "path"), Some(&"/".into()));
        assert_eq!(member(&value, "x"), None);
        assert_eq!(member(&Value::Null, "x"), None);
    }

    #[test]
    fn long_texts_are_cut_between_characters() {
        assert_eq!(shown("é"), "é");
        assert_eq!(shown(&"é".repeat(1000)).chars().count(), SHOWN_CHARS_MAX);
    }
}
