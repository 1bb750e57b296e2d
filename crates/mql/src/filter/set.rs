//! The operand of `$in`: values, and regular expressions.

use std::sync::Arc;

use bson::{RawArray, RawBson, RawBsonRef};

use super::pattern::Pattern;
use crate::class::Class;
use crate::collation::Collation;
use crate::error::{Error, Result};
use crate::order::compare;

/// Values and regular expressions, one of which a value has to be equal to or to match.
#[derive(Clone, Debug)]
pub struct Set {
    values: Vec<RawBson>,
    patterns: Vec<Arc<Pattern>>,
    has_null: bool,
}

impl Set {
    pub(super) fn parse(array: &RawArray, collation: Option<&Collation>) -> Result<Self> {
        let (mut values, mut patterns) = (Vec::new(), Vec::new());
        for element in array {
            match element? {
                RawBsonRef::Document(document) if starts_with_dollar(document) => {
                    return Err(Error::bad_value("cannot nest $ under $in"));
                }
                RawBsonRef::Undefined => {
                    let text = "InMatchExpression equality cannot be undefined";
                    return Err(Error::bad_value(text));
                }
                regex @ RawBsonRef::RegularExpression(_) => {
                    patterns.push(Arc::new(Pattern::literal(regex)?));
                }
                value => values.push(RawBson::from(value)),
            }
        }
        let order =
            |a: &RawBson, b: &RawBson| compare(a.as_raw_bson_ref(), b.as_raw_bson_ref(), collation);
        values.sort_by(order);
        values.dedup_by(|a, b| order(a, b).is_eq());
        let has_null = values.contains(&RawBson::Null);
        Ok(Self { values, patterns, has_null })
    }

    /// The values, sorted, none twice.
    pub fn values(&self) -> &[RawBson] {
        &self.values
    }

    /// The regular expressions.
    pub fn patterns(&self) -> &[Arc<Pattern>] {
        &self.patterns
    }

    /// Whether a value is in the set. What is missing counts as null.
    pub(super) fn contains(
        &self,
        value: Option<RawBsonRef<'_>>,
        collation: Option<&Collation>,
    ) -> Result<bool> {
        let Some(value) = value else { return Ok(self.has_null) };
        if self.has_null && Class::of(value) == Class::Undefined {
            return Ok(true);
        }
        let order = |known: &RawBson| compare(known.as_raw_bson_ref(), value, collation);
        if self.values.binary_search_by(order).is_ok() {
            return Ok(true);
        }
        for pattern in &self.patterns {
            if pattern.matches(value)? {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

fn starts_with_dollar(document: &bson::RawDocument) -> bool {
    document.iter().flatten().next().is_some_and(|(name, _)| name.as_str().starts_with('$'))
}
