//! From a document to a schema.

use std::sync::Arc;

use bson::{RawArray, RawBsonRef, RawDocument};

use super::values::{
    boolean, dependent_fields, enumeration, length, must_be, names, number_keyword, object, string,
    types,
};
use super::{Additional, Dependency, Items, Schema};
use crate::class::type_name;
use crate::error::{Code, Error, Result};
use crate::filter::DEPTH_MAX;
use crate::filter::pattern::Pattern;

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
