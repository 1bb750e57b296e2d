//! `$jsonSchema`: draft 4 of JSON Schema without references, and with BSON's types.
//!
//! A keyword that is about some type lets values of other types pass. `parse` reads a schema,
//! with `values` for the keywords that hold none, `matching` applies it, and `same` tells whether two
//! values are equal whatever the order of fields.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use bson::{RawBson, RawDocument};

use super::pattern::Pattern;
use super::types::Types;
use crate::error::Result;

mod matching;
mod parse;
mod same;
#[cfg(test)]
mod tests;
mod values;

/// A compiled schema. What a keyword does not restrict is `None` or empty.
#[derive(Debug, Default)]
pub struct Schema {
    types: Option<Types>,
    /// The identities of the allowed values: see `same`.
    enumeration: Option<BTreeSet<Vec<u8>>>,
    numbers: NumberRules,
    texts: TextRules,
    arrays: ArrayRules,
    objects: ObjectRules,
    all_of: Vec<Schema>,
    any_of: Option<Vec<Schema>>,
    one_of: Option<Vec<Schema>>,
    not: Option<Box<Schema>>,
}

#[derive(Debug, Default)]
struct NumberRules {
    minimum: Option<RawBson>,
    maximum: Option<RawBson>,
    excludes_minimum: bool,
    excludes_maximum: bool,
    multiple_of: Option<RawBson>,
}

/// The least and the greatest number of something.
#[derive(Clone, Copy, Debug, Default)]
struct Count {
    min: Option<u64>,
    max: Option<u64>,
}

#[derive(Debug, Default)]
struct TextRules {
    length: Count,
    pattern: Option<Arc<Pattern>>,
}

#[derive(Debug, Default)]
struct ArrayRules {
    length: Count,
    items: Items,
    additional: Additional,
    are_unique: bool,
}

/// What the elements of an array have to be.
#[derive(Debug, Default)]
enum Items {
    #[default]
    Any,
    /// All of them.
    Each(Box<Schema>),
    /// By their positions. More elements than these are additional.
    Listed(Vec<Schema>),
}

/// What is not described otherwise.
#[derive(Debug, Default)]
enum Additional {
    #[default]
    Allowed,
    Refused,
    Restricted(Box<Schema>),
}

#[derive(Debug, Default)]
struct ObjectRules {
    length: Count,
    required: Vec<String>,
    properties: BTreeMap<String, Schema>,
    patterns: Vec<(Arc<Pattern>, Schema)>,
    additional: Additional,
    dependencies: Vec<(String, Dependency)>,
}

/// What a field requires if it exists.
#[derive(Debug)]
enum Dependency {
    Fields(Vec<String>),
    Schema(Box<Schema>),
}

impl Schema {
    /// Compiles a schema.
    pub fn parse(document: &RawDocument) -> Result<Self> {
        parse::Parser::default().schema(document)
    }
}
