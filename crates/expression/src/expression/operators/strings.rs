//! `$concat`, `$toLower`, `$toUpper`, `$strcasecmp`, `$strLenBytes`, `$strLenCP` and `$split`.

use std::cmp::Ordering;

use bson::RawBsonRef;

use super::text::coerced;
use crate::error::{Error, Result};
use crate::expression::build::{List, append_text, check_size};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::any("$concat", concat),
    // Only ASCII has its case changed, as in MongoDB.
    Operator::exactly("$toLower", 1, |call, scope| {
        Ok(coerced(&call.value(0, scope)?)?.to_ascii_lowercase().into())
    }),
    Operator::exactly("$toUpper", 1, |call, scope| {
        Ok(coerced(&call.value(0, scope)?)?.to_ascii_uppercase().into())
    }),
    Operator::exactly("$strcasecmp", 2, |call, scope| {
        let left = coerced(&call.value(0, scope)?)?.to_ascii_uppercase();
        let right = coerced(&call.value(1, scope)?)?.to_ascii_uppercase();
        Ok(match left.cmp(&right) {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
        .into())
    }),
    Operator::exactly("$strLenBytes", 1, |call, scope| length(call, scope, 34_473, str::len)),
    Operator::exactly("$strLenCP", 1, |call, scope| {
        length(call, scope, 34_471, |text| text.chars().count())
    }),
    Operator::exactly("$split", 2, split),
];

/// A count as the value of an expression.
pub(super) fn count<'a>(count: usize) -> Computed<'a> {
    i32::try_from(count).unwrap_or(i32::MAX).into()
}

fn concat<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let mut text = String::new();
    for node in &call.arguments {
        let value = node.evaluate(scope)?;
        match value.as_text() {
            Some(part) => append_text(&mut text, part)?,
            None if value.is_nullish() => return Ok(Computed::NULL),
            None => {
                let found = value.type_name();
                return Err(Error::location(
                    16_702,
                    format!("$concat only supports strings, not {found}"),
                ));
            }
        }
    }
    Ok(text.into())
}

fn length<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    code: i32,
    measure: impl Fn(&str) -> usize,
) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    if let Some(text) = value.as_text() {
        Ok(count(measure(text)))
    } else {
        let (name, found) = (call.name(), value.type_name());
        Err(Error::location(code, format!("{name} requires a string argument, found: {found}")))
    }
}

fn split<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (text, separator) = (call.value(0, scope)?, call.value(1, scope)?);
    if text.is_nullish() || separator.is_nullish() {
        return Ok(Computed::NULL);
    }
    let wrong = |code: i32, which: &str, value: &Computed<'_>| {
        let found = value.type_name();
        Error::location(
            code,
            format!(
                "$split requires an expression that evaluates to a string as a {which} argument, \
                 found: {found}"
            ),
        )
    };
    let text = text.as_text().ok_or_else(|| wrong(40_085, "first", &text))?;
    let separator = separator.as_text().ok_or_else(|| wrong(40_086, "second", &separator))?;
    if separator.is_empty() {
        return Err(Error::location(40_087, "$split requires a non-empty separator"));
    }
    check_size(text.len())?;
    let mut parts = List::default();
    for part in text.split(separator) {
        parts.push(Some(RawBsonRef::String(part)))?;
    }
    Ok(parts.finish().into())
}
