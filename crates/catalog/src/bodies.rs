//! The JSON bodies of requests.

use crate::definition::missing;
use protocol::{Code, Error, limits::DEFINITION_BYTES_MAX};
use value::{Object, Value, json};

/// Parses a body.
pub fn parse(text: &[u8]) -> Result<Value, Error> {
    json::parse(text).map_err(|error| invalid(&error))
}

/// Parses the definition of a database or collection, or an offer.
pub fn definition(text: &[u8]) -> Result<Value, Error> {
    check_size(text, DEFINITION_BYTES_MAX)?;
    parse(text)
}

/// The error for a body that is not JSON.
pub fn invalid(error: &json::Error) -> Error {
    Error::bad_request(format!("The input content is invalid JSON: {error}"))
}

/// Fails if the body is larger than `bytes_max`.
pub fn check_size(text: &[u8], bytes_max: usize) -> Result<(), Error> {
    if text.len() > bytes_max {
        return Err(too_large());
    }
    Ok(())
}

/// The service's wording.
pub fn too_large() -> Error {
    Error::new(Code::TooLarge, "Request size is too large")
}

/// Reads a required string.
pub fn string<'a>(body: &'a Value, name: &str) -> Result<&'a str, Error> {
    match body.get(name) {
        Value::Undefined | Value::Null => Err(missing(name)),
        Value::String(text) => Ok(text),
        _ => Err(Error::bad_request(format!("The property '{name}' must be a string."))),
    }
}

/// All properties that the client sent, except the names that the server sets.
pub fn properties(body: Value, system: &[&str]) -> Result<Object, Error> {
    let Value::Object(mut properties) = body else {
        return Err(Error::bad_request("The input content is invalid: it is not an object."));
    };
    for name in system {
        properties.remove(name);
    }
    Ok(properties)
}
