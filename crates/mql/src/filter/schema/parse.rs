//! From a document to a schema.

use std::collections::BTreeSet;
use std::sync::Arc;

use bson::{RawArray, RawBson, RawBsonRef, RawDocument};

use super::same::identity;
use super::{Additional, Count, Dependency, Items, Schema};
use crate::class::type_name;
use crate::error::{Code, Error, Result};
use crate::filter::pattern::Pattern;
use crate::filter::types::Types;
use crate::filter::{DEPTH_MAX, operand};
use crate::number::Number;

/// Keywords of JSON Schema that MongoDB knows and refuses.
const REFUSED: [&str; 6] = ["$ref", "$schema", "default", "definitions", "format", "id"];

#[derive(Default)]
pub(super) struct Parser {
    depth: usize,
}

impl Parser {
    pub(super) fn schema(&mut self, document: &RawDocument) -> Result<Schema> {
        if self.depth >= DEPTH_MAX {
            return Err(Error::new(Code::OVERFLOW, "nesting too deep"));
        }
        self.depth += 1;
        let mut schema = Schema::default();
        for field in document {
            let (name, value) = field?;
            self.keyword(name.as_str(), value, &mut schema)?;
        }
        self.depth -= 1;
        let has = |name: &str| matches!(document.get(name), Ok(Some(_)));
        if has("type") && has("bsonType") {
            let text = "Cannot specify both $jsonSchema keywords 'type' and 'bsonType'";
            return Err(Error::failed_to_parse(text));
        }
        for (exclusive, limit) in [("exclusiveMaximum", "maximum"), ("exclusiveMinimum", "minimum")]
        {
            if has(exclusive) && !has(limit) {
                return Err(Error::failed_to_parse(format!(
                    "$jsonSchema keyword '{limit}' must be a present if {exclusive} is present"
                )));
            }
        }
        Ok(schema)
    }

    fn keyword(&mut self, name: &str, value: RawBsonRef<'_>, schema: &mut Schema) -> Result<()> {
        match name {
            "title" | "description" => string(name, value).map(drop),
            "type" | "bsonType" => {
                schema.types = Some(types(name, value)?);
                Ok(())
            }
            "enum" => {
                schema.enumeration = Some(enumeration(value)?);
                Ok(())
            }
            "minimum" | "maximum" | "exclusiveMinimum" | "exclusiveMaximum" | "multipleOf" => {
                number_keyword(name, value, schema)
            }
            "minLength" | "maxLength" => length(name, value, &mut schema.texts.length),
            "minItems" | "maxItems" => length(name, value, &mut schema.arrays.length),
            "minProperties" | "maxProperties" => length(name, value, &mut schema.objects.length),
            "pattern" => {
                schema.texts.pattern = Some(Arc::new(Pattern::new(string(name, value)?, "")?));
                Ok(())
            }
            "uniqueItems" => {
                schema.arrays.are_unique = boolean(name, value)?;
                Ok(())
            }
            "items" | "additionalItems" => self.array_keyword(name, value, schema),
            "required"
            | "properties"
            | "patternProperties"
            | "additionalProperties"
            | "dependencies" => self.object_keyword(name, value, schema),
            "allOf" | "anyOf" | "oneOf" | "not" => self.combination(name, value, schema),
            _ if REFUSED.contains(&name) => Err(Error::failed_to_parse(format!(
                "$jsonSchema keyword '{name}' is not currently supported"
            ))),
            _ => Err(Error::failed_to_parse(format!("Unknown $jsonSchema keyword: {name}"))),
        }
    }

    fn array_keyword(
        &mut self,
        name: &str,
        value: RawBsonRef<'_>,
        schema: &mut Schema,
    ) -> Result<()> {
        match (name, value) {
            ("additionalItems", value) => {
                schema.arrays.additional = self.additional(name, value)?;
            }
            (_, RawBsonRef::Document(document)) => {
                schema.arrays.items = Items::Each(Box::new(self.schema(document)?));
            }
            (_, RawBsonRef::Array(array)) => {
                schema.arrays.items = Items::Listed(self.schemas(name, array)?);
            }
            (_, other) => {
                return Err(must_be(
                    name,
                    &format!("an array or an object, not {}", type_name(other)),
                ));
            }
        }
        Ok(())
    }

    fn object_keyword(
        &mut self,
        name: &str,
        value: RawBsonRef<'_>,
        schema: &mut Schema,
    ) -> Result<()> {
        let rules = &mut schema.objects;
        match name {
            "required" => rules.required = names(name, value)?,
            "additionalProperties" => rules.additional = self.additional(name, value)?,
            "properties" => {
                for field in object(name, value)? {
                    let (property, nested) = field?;
                    let property = property.as_str();
                    rules.properties.insert(property.to_owned(), self.nested(property, nested)?);
                }
            }
            "patternProperties" => {
                for field in object(name, value)? {
                    let (pattern, nested) = field?;
                    let pattern = pattern.as_str();
                    let schema = self.nested(pattern, nested)?;
                    rules.patterns.push((Arc::new(Pattern::new(pattern, "")?), schema));
                }
            }
            _ => {
                for field in object(name, value)? {
                    let (property, nested) = field?;
                    let property = property.as_str();
                    let dependency = match nested {
                        RawBsonRef::Document(document) => {
                            Dependency::Schema(Box::new(self.schema(document)?))
                        }
                        other => Dependency::Fields(dependent_fields(property, other)?),
                    };
                    rules.dependencies.push((property.to_owned(), dependency));
                }
            }
        }
        Ok(())
    }

    fn nested(&mut self, property: &str, value: RawBsonRef<'_>) -> Result<Schema> {
        let RawBsonRef::Document(document) = value else {
            return Err(Error::type_mismatch(format!(
                "Nested schema for $jsonSchema property '{property}' must be an object"
            )));
        };
        self.schema(document)
    }

    fn combination(
        &mut self,
        name: &str,
        value: RawBsonRef<'_>,
        schema: &mut Schema,
    ) -> Result<()> {
        if name == "not" {
            let RawBsonRef::Document(document) = value else {
                return Err(must_be(
                    name,
                    &format!("an object, but found an element of type {}", type_name(value)),
                ));
            };
            schema.not = Some(Box::new(self.schema(document)?));
            return Ok(());
        }
        let RawBsonRef::Array(array) = value else { return Err(must_be(name, "an array")) };
        if array.is_empty() {
            let text = format!("$jsonSchema keyword '{name}' must be a non-empty array");
            return Err(Error::bad_value(text));
        }
        let schemas = self.schemas(name, array)?;
        match name {
            "allOf" => schema.all_of = schemas,
            "anyOf" => schema.any_of = Some(schemas),
            _ => schema.one_of = Some(schemas),
        }
        Ok(())
    }

    fn schemas(&mut self, name: &str, array: &RawArray) -> Result<Vec<Schema>> {
        let mut schemas = Vec::new();
        for element in array {
            let element = element?;
            let RawBsonRef::Document(document) = element else {
                let type_name = type_name(element);
                return Err(Error::type_mismatch(match name {
                    "items" => format!(
                        "$jsonSchema keyword 'items' requires that each element of the array is an \
                         object, but found a {type_name}"
                    ),
                    _ => format!(
                        "$jsonSchema keyword '{name}' must be an array of objects, but found an \
                         element of type {type_name}"
                    ),
                }));
            };
            schemas.push(self.schema(document)?);
        }
        Ok(schemas)
    }

    fn additional(&mut self, name: &str, value: RawBsonRef<'_>) -> Result<Additional> {
        match value {
            RawBsonRef::Boolean(true) => Ok(Additional::Allowed),
            RawBsonRef::Boolean(false) => Ok(Additional::Refused),
            RawBsonRef::Document(document) => {
                Ok(Additional::Restricted(Box::new(self.schema(document)?)))
            }
            other => Err(must_be(
                name,
                &format!("either an object or a boolean, but got a {}", type_name(other)),
            )),
        }
    }
}

fn must_be(name: &str, what: &str) -> Error {
    Error::type_mismatch(format!("$jsonSchema keyword '{name}' must be {what}"))
}

fn string<'a>(name: &str, value: RawBsonRef<'a>) -> Result<&'a str> {
    value.as_str().ok_or_else(|| must_be(name, "of type string"))
}

fn boolean(name: &str, value: RawBsonRef<'_>) -> Result<bool> {
    value.as_bool().ok_or_else(|| must_be(name, "a boolean"))
}

fn object<'a>(name: &str, value: RawBsonRef<'a>) -> Result<&'a RawDocument> {
    value.as_document().ok_or_else(|| must_be(name, "an object"))
}

fn length(name: &str, value: RawBsonRef<'_>, count: &mut Count) -> Result<()> {
    let natural = operand::natural(name, value).map_err(Error::failed_to_parse)?;
    let natural = u64::try_from(natural).ok();
    if name.starts_with("min") {
        count.min = natural;
    } else {
        count.max = natural;
    }
    Ok(())
}

fn number_keyword(name: &str, value: RawBsonRef<'_>, schema: &mut Schema) -> Result<()> {
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

fn types(name: &str, value: RawBsonRef<'_>) -> Result<Types> {
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

fn enumeration(value: RawBsonRef<'_>) -> Result<BTreeSet<Vec<u8>>> {
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
fn names(name: &str, value: RawBsonRef<'_>) -> Result<Vec<String>> {
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

fn dependent_fields(property: &str, value: RawBsonRef<'_>) -> Result<Vec<String>> {
    if !matches!(value, RawBsonRef::Array(_)) {
        return Err(Error::type_mismatch(format!(
            "Dependency for property '{property}' in $jsonSchema keyword 'dependencies' must be \
             either an object or an array"
        )));
    }
    names("dependencies", value)
}
