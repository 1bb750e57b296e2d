//! The values of keywords that hold no schemas.

use std::collections::BTreeSet;

use bson::{RawBson, RawBsonRef, RawDocument};

use super::same::identity;
use super::{Count, Schema};
use crate::class::type_name;
use crate::error::{Error, Result};
use crate::filter::operand;
use crate::filter::types::Types;
use crate::number::Number;

pub(super) fn must_be(name: &str, what: &str) -> Error {
    Error::type_mismatch(format!("$jsonSchema keyword '{name}' must be {what}"))
}

pub(super) fn string<'a>(name: &str, value: RawBsonRef<'a>) -> Result<&'a str> {
    let what = if name == "pattern" { "a string" } else { "of type string" };
    value.as_str().ok_or_else(|| must_be(name, what))
}

pub(super) fn boolean(name: &str, value: RawBsonRef<'_>) -> Result<bool> {
    value.as_bool().ok_or_else(|| must_be(name, "a boolean"))
}

pub(super) fn object<'a>(name: &str, value: RawBsonRef<'a>) -> Result<&'a RawDocument> {
    value.as_document().ok_or_else(|| must_be(name, "an object"))
}

pub(super) fn length(name: &str, value: RawBsonRef<'_>, count: &mut Count) -> Result<()> {
    let natural = operand::natural(name, value).map_err(Error::failed_to_parse)?;
    let natural = u64::try_from(natural).ok();
    if name.starts_with("min") {
        count.min = natural;
    } else {
        count.max = natural;
    }
    Ok(())
}

pub(super) fn number_keyword(name: &str, value: RawBsonRef<'_>, schema: &mut Schema) -> Result<()> {
    let rules = &mut schema.numbers;
    match name {
        "exclusiveMinimum" => rules.excludes_minimum = boolean(name, value)?,
        "exclusiveMaximum" => rules.excludes_maximum = boolean(name, value)?,
        _ => {
            let number = Number::of(value).ok_or_else(|| must_be(name, "a number"))?;
            let limit = Some(RawBson::from(value));
            match name {
                "minimum" => rules.minimum = limit,
                "maximum" => rules.maximum = limit,
                _ if number.is_nan() || number.compare(Number::Int32(0)).is_le() => {
                    return Err(Error::failed_to_parse(format!(
                        "$jsonSchema keyword '{name}' must have a positive value"
                    )));
                }
                _ => rules.multiple_of = limit,
            }
        }
    }
    Ok(())
}

pub(super) fn types(name: &str, value: RawBsonRef<'_>) -> Result<Types> {
    let mut types = Types::default();
    match value {
        RawBsonRef::String(alias) => types = one_type(name, alias)?,
        RawBsonRef::Array(array) => {
            for element in array {
                let Some(alias) = element?.as_str() else {
                    return Err(Error::type_mismatch(format!(
                        "$jsonSchema keyword '{name}' array elements must be strings"
                    )));
                };
                let one = one_type(name, alias)?;
                if types.meets(one) {
                    return Err(Error::failed_to_parse(format!(
                        "$jsonSchema keyword '{name}' has duplicate value: {alias}"
                    )));
                }
                types = types.and(one);
            }
        }
        _ => return Err(must_be(name, "either a string or an array of strings")),
    }
    if types.is_empty() {
        return Err(Error::failed_to_parse(format!(
            "$jsonSchema keyword '{name}' must name at least one type"
        )));
    }
    Ok(types)
}

fn one_type(name: &str, alias: &str) -> Result<Types> {
    if alias == "integer" {
        let text = "$jsonSchema type 'integer' is not currently supported.";
        return Err(Error::failed_to_parse(text));
    }
    if name == "bsonType" {
        return Types::named(alias);
    }
    match alias {
        "array" | "number" | "null" | "object" | "string" => Types::named(alias),
        "boolean" => Types::named("bool"),
        _ => Err(Error::bad_value(format!("Unknown type name alias: {alias}"))),
    }
}

pub(super) fn enumeration(value: RawBsonRef<'_>) -> Result<BTreeSet<Vec<u8>>> {
    let RawBsonRef::Array(array) = value else {
        return Err(must_be(
            "enum",
            &format!("an array, but found an element of type {}", type_name(value)),
        ));
    };
    let mut allowed = BTreeSet::new();
    for element in array {
        if !allowed.insert(identity(element?)) {
            return Err(Error::failed_to_parse(
                "$jsonSchema keyword 'enum' array cannot contain duplicate values.",
            ));
        }
    }
    if allowed.is_empty() {
        return Err(Error::failed_to_parse("$jsonSchema keyword 'enum' cannot be an empty array"));
    }
    Ok(allowed)
}

/// The names of fields, of which there has to be one, and none twice.
pub(super) fn names(name: &str, value: RawBsonRef<'_>) -> Result<Vec<String>> {
    let RawBsonRef::Array(array) = value else {
        return Err(must_be(
            name,
            &format!("an array, but found an element of type {}", type_name(value)),
        ));
    };
    let (mut names, mut seen) = (Vec::new(), BTreeSet::new());
    for element in array {
        let element = element?;
        let Some(field) = element.as_str() else {
            return Err(must_be(
                name,
                &format!(
                    "an array of strings, but found an element of type {}",
                    type_name(element)
                ),
            ));
        };
        if !seen.insert(field) {
            return Err(Error::failed_to_parse(format!(
                "$jsonSchema keyword '{name}' array cannot contain duplicate values"
            )));
        }
        names.push(field.to_owned());
    }
    if names.is_empty() {
        return Err(Error::failed_to_parse(format!(
            "$jsonSchema keyword '{name}' cannot be an empty array"
        )));
    }
    Ok(names)
}

pub(super) fn dependent_fields(property: &str, value: RawBsonRef<'_>) -> Result<Vec<String>> {
    if !matches!(value, RawBsonRef::Array(_)) {
        return Err(Error::type_mismatch(format!(
            "Dependency for property '{property}' in $jsonSchema keyword 'dependencies' must be \
             either an object or an array"
        )));
    }
    names("dependencies", value)
}
