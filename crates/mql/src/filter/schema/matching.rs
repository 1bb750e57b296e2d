//! Whether a value is as a schema wants it.

use std::cmp::Ordering;
use std::collections::BTreeSet;

use bigdecimal::Zero as _;
use bson::{RawArray, RawBson, RawBsonRef, RawDocument};

use super::same::identity;
use super::{
    Additional, ArrayRules, Count, Dependency, Items, NumberRules, ObjectRules, Schema, TextRules,
};
use crate::error::Result;
use crate::number::Number;

impl Schema {
    /// Whether a value is as the schema wants it.
    pub fn matches(&self, value: RawBsonRef<'_>) -> Result<bool> {
        if self.types.is_some_and(|types| !types.contain(value)) {
            return Ok(false);
        }
        if let Some(allowed) = &self.enumeration
            && !allowed.contains(&identity(value))
        {
            return Ok(false);
        }
        let is_valid = match value {
            RawBsonRef::String(text) => self.texts.accept(text)?,
            RawBsonRef::Array(array) => self.arrays.accept(array)?,
            RawBsonRef::Document(document) => self.objects.accept(document)?,
            other => Number::of(other).is_none_or(|number| self.numbers.accept(number)),
        };
        Ok(is_valid && self.combinations_accept(value)?)
    }

    fn combinations_accept(&self, value: RawBsonRef<'_>) -> Result<bool> {
        if count(&self.all_of, value, usize::MAX)? < self.all_of.len() {
            return Ok(false);
        }
        if let Some(schemas) = &self.any_of
            && count(schemas, value, 1)? == 0
        {
            return Ok(false);
        }
        if let Some(schemas) = &self.one_of
            && count(schemas, value, 2)? != 1
        {
            return Ok(false);
        }
        match &self.not {
            Some(schema) => Ok(!schema.matches(value)?),
            None => Ok(true),
        }
    }
}

/// How many of the schemas a value is valid for, at most `enough`.
fn count(schemas: &[Schema], value: RawBsonRef<'_>, enough: usize) -> Result<usize> {
    let mut valid = 0;
    for schema in schemas {
        if valid < enough && schema.matches(value)? {
            valid += 1;
        }
    }
    Ok(valid)
}

impl Count {
    fn accepts(self, count: usize) -> bool {
        let count = count as u64;
        self.min.is_none_or(|min| count >= min) && self.max.is_none_or(|max| count <= max)
    }

    fn is_any(self) -> bool {
        self.min.is_none() && self.max.is_none()
    }
}

impl NumberRules {
    fn accept(&self, number: Number) -> bool {
        let against = |limit: &Option<RawBson>, wanted: Ordering, excludes: bool| {
            let limit = limit.as_ref().and_then(|limit| Number::of(limit.as_raw_bson_ref()));
            limit.is_none_or(|limit| {
                let order = number.compare(limit);
                let is_same_kind = number.is_nan() == limit.is_nan();
                is_same_kind && (order == wanted || order.is_eq() && !excludes)
            })
        };
        let divisor = self.multiple_of.as_ref();
        let divisor = divisor.and_then(|divisor| Number::of(divisor.as_raw_bson_ref()));
        against(&self.minimum, Ordering::Greater, self.excludes_minimum)
            && against(&self.maximum, Ordering::Less, self.excludes_maximum)
            && divisor.is_none_or(|divisor| is_multiple(number, divisor))
    }
}

/// Whether a number is a multiple of another, which is not zero.
fn is_multiple(number: Number, divisor: Number) -> bool {
    match (number, divisor) {
        (Number::Int32(_) | Number::Int64(_), Number::Int32(_) | Number::Int64(_)) => {
            let (a, b) = (number.exact_i64(), divisor.exact_i64());
            a.zip(b).is_some_and(|(a, b)| b != 0 && a.wrapping_rem(b) == 0)
        }
        _ => match (number.to_decimal().to_big(), divisor.to_decimal().to_big()) {
            (Some(a), Some(b)) if !b.is_zero() => (a % b).is_zero(),
            _ => false,
        },
    }
}

impl TextRules {
    fn accept(&self, text: &str) -> Result<bool> {
        if !self.length.is_any() && !self.length.accepts(text.chars().count()) {
            return Ok(false);
        }
        self.pattern.as_ref().map_or(Ok(true), |pattern| pattern.is_found_in(text))
    }
}

impl ArrayRules {
    fn accept(&self, array: &RawArray) -> Result<bool> {
        let elements: Vec<RawBsonRef<'_>> = array.into_iter().flatten().collect();
        if !self.length.accepts(elements.len()) || self.are_unique && has_doubles(&elements) {
            return Ok(false);
        }
        for (at, element) in elements.into_iter().enumerate() {
            let is_valid = match &self.items {
                Items::Any => true,
                Items::Each(schema) => schema.matches(element)?,
                Items::Listed(schemas) => match schemas.get(at) {
                    Some(schema) => schema.matches(element)?,
                    None => self.additional.accepts(element)?,
                },
            };
            if !is_valid {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Whether two elements are equal.
fn has_doubles(elements: &[RawBsonRef<'_>]) -> bool {
    let mut seen = BTreeSet::new();
    !elements.iter().all(|element| seen.insert(identity(*element)))
}

impl Additional {
    fn accepts(&self, value: RawBsonRef<'_>) -> Result<bool> {
        match self {
            Self::Allowed => Ok(true),
            Self::Refused => Ok(false),
            Self::Restricted(schema) => schema.matches(value),
        }
    }
}

impl ObjectRules {
    fn accept(&self, document: &RawDocument) -> Result<bool> {
        let has = |name: &str| matches!(document.get(name), Ok(Some(_)));
        if !self.length.is_any() && !self.length.accepts(document.iter().count())
            || !self.required.iter().all(|name| has(name))
        {
            return Ok(false);
        }
        for (name, dependency) in &self.dependencies {
            let is_met = match dependency {
                _ if !has(name) => true,
                Dependency::Fields(names) => names.iter().all(|name| has(name)),
                Dependency::Schema(schema) => schema.matches(RawBsonRef::Document(document))?,
            };
            if !is_met {
                return Ok(false);
            }
        }
        self.fields_accept(document)
    }

    fn fields_accept(&self, document: &RawDocument) -> Result<bool> {
        for (name, value) in document.iter().flatten() {
            let mut is_described = false;
            if let Some(schema) = self.properties.get(name.as_str()) {
                is_described = true;
                if !schema.matches(value)? {
                    return Ok(false);
                }
            }
            for (pattern, schema) in &self.patterns {
                if pattern.is_found_in(name.as_str())? {
                    is_described = true;
                    if !schema.matches(value)? {
                        return Ok(false);
                    }
                }
            }
            if !is_described && !self.additional.accepts(value)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
