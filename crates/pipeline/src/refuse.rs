//! Errors that several stages give, and what they read alike.

use bson::raw::CString;
use bson::{RawBsonRef, RawDocument};
use expression::number::Number;
use expression::path::Path;
use expression::{Code, Error, Result, class, show};

/// An error inside the specification of a stage.
pub(crate) fn within(stage: &str, error: Error) -> Error {
    Error { message: format!("Invalid {stage} :: caused by :: {}", error.message), ..error }
}

/// The document that a specification has to be.
pub(crate) fn document(
    value: RawBsonRef<'_>,
    location: i32,
    message: impl FnOnce(&str) -> String,
) -> Result<&RawDocument> {
    value.as_document().ok_or_else(|| Error::location(location, message(class::type_name(value))))
}

/// The whole number, zero or more, that `$limit` and `$skip` take.
pub(crate) fn natural(stage: &str, value: RawBsonRef<'_>, location: i32) -> Result<u64> {
    let shown = show::value(value);
    let refuse = |reason: String| {
        Error::location(location, format!("invalid argument to {stage} stage: {reason}"))
    };
    let Some(number) = Number::of(value) else {
        return Err(refuse(format!("Expected a number in: {stage}: {shown}")));
    };
    let Some(whole) = number.exact_i64() else {
        return Err(refuse(format!("Expected an integer: {stage}: {shown}")));
    };
    u64::try_from(whole)
        .map_err(|_| refuse(format!("Expected a non-negative number in: {stage}: {shown}")))
}

/// Checks a dotted path whose parts become names of fields.
pub(crate) fn field_path(text: &str) -> Result<Path> {
    if text.is_empty() {
        return Err(Error::location(40_352, "FieldPath cannot be constructed with empty string"));
    }
    if text.ends_with('.') {
        return Err(Error::location(40_353, "FieldPath must not end with a '.'."));
    }
    let path = Path::new(text);
    if path.parts().len() > expression::path::PARTS_MAX {
        return Err(Error::new(Code::OVERFLOW, "FieldPath is too long"));
    }
    for part in path.parts() {
        if part.name.is_empty() {
            return Err(Error::location(15_998, "FieldPath field names may not be empty strings."));
        }
        if part.name.starts_with('$') {
            return Err(Error::location(
                16_410,
                "FieldPath field names may not start with '$'. Consider using $getField or \
                 $setField.",
            ));
        }
    }
    Ok(path)
}

/// A name as documents hold it.
pub(crate) fn name(text: &str) -> Result<CString> {
    Ok(CString::try_from(text)?)
}
