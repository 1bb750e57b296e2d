//! Where something is: `$indexOfBytes`, `$indexOfCP` and `$indexOfArray`.

use super::strings::count;
use crate::error::{Error, Result};
use crate::expression::operator::{Call, Form, Operator};
use crate::expression::{Computed, Scope};
use crate::order;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$indexOfBytes", Form::Between(2, 4), in_bytes),
    Operator::new("$indexOfCP", Form::Between(2, 4), in_characters),
    Operator::new("$indexOfArray", Form::Between(2, 4), in_array).collated(),
];

/// What is found nowhere.
const NOWHERE: i32 = -1;

/// The start and the end that were given; no end is the greatest.
fn range<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<(usize, usize)> {
    let index = |at: usize, which: &str| -> Result<usize> {
        let (name, value) = (call.name(), call.value(at, scope)?);
        let whole = value.as_number().and_then(crate::number::Number::exact_i64);
        let Some(whole) = whole.and_then(|whole| i32::try_from(whole).ok()) else {
            let (found, shown) = (value.type_name(), value.shown());
            return Err(Error::location(
                40_096,
                format!(
                    "{name} requires an integral {which} index, found a value of type: {found}, \
                     with value: \"{shown}\""
                ),
            ));
        };
        usize::try_from(whole).map_err(|_| {
            let text = format!("{name} requires a nonnegative {which} index, found: {whole}");
            Error::location(40_097, text)
        })
    };
    let start = if call.is_given(2) { index(2, "starting")? } else { 0 };
    let end = if call.is_given(3) { index(3, "ending")? } else { usize::MAX };
    Ok((start, end))
}

/// Both texts; `None` if the first is null.
fn texts<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    codes: (i32, i32),
) -> Result<Option<(Computed<'a>, Computed<'a>)>> {
    let text = call.value(0, scope)?;
    if text.is_nullish() {
        return Ok(None);
    }
    let wrong = |code: i32, which: &str, value: &Computed<'_>| {
        let (name, found) = (call.name(), value.type_name());
        let text = format!("{name} requires a string as the {which} argument, found: {found}");
        Err(Error::location(code, text))
    };
    if text.as_text().is_none() {
        return wrong(codes.0, "first", &text);
    }
    let sought = call.value(1, scope)?;
    if sought.as_text().is_none() {
        return wrong(codes.1, "second", &sought);
    }
    Ok(Some((text, sought)))
}

fn in_bytes<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let Some((text, sought)) = texts(call, scope, (40_091, 40_092))? else {
        return Ok(Computed::NULL);
    };
    let text = text.as_text().unwrap_or_default();
    let (start, end) = range(call, scope)?;
    let found = find(text, sought.as_text().unwrap_or_default(), start, end.min(text.len()));
    Ok(found.map_or_else(|| NOWHERE.into(), count))
}

/// The position of a text within the bytes from `start` to `end`, which may lie within characters.
fn find(text: &str, sought: &str, start: usize, end: usize) -> Option<usize> {
    text.as_bytes().get(start..end)?;
    if sought.is_empty() {
        return Some(start);
    }
    // A character cannot begin within another one, so only whole characters can match.
    let first = (start..end).find(|at| text.is_char_boundary(*at))?;
    let last = (first..=end).rev().find(|at| text.is_char_boundary(*at))?;
    text[first..last].find(sought).map(|at| first + at)
}

fn in_characters<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let Some((text, sought)) = texts(call, scope, (40_093, 40_094))? else {
        return Ok(Computed::NULL);
    };
    let text = text.as_text().unwrap_or_default();
    let (start, end) = range(call, scope)?;
    let byte = |index: usize| text.char_indices().nth(index).map_or(text.len(), |(at, _)| at);
    if start > end || start > text.chars().count() {
        return Ok(NOWHERE.into());
    }
    let found = find(text, sought.as_text().unwrap_or_default(), byte(start), byte(end));
    Ok(match found {
        Some(at) => count(text[..at].chars().count()),
        None => NOWHERE.into(),
    })
}

fn in_array<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    if value.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = value.as_array() else {
        let found = value.type_name();
        return Err(Error::location(
            40_090,
            format!("$indexOfArray requires an array as a first argument, found: {found}"),
        ));
    };
    let sought = call.value(1, scope)?;
    let (start, end) = range(call, scope)?;
    let collation = scope.context.collation;
    let Some(sought) = sought.as_ref() else { return Ok(NOWHERE.into()) };
    let elements = array.into_iter().flatten().enumerate().take(end).skip(start);
    let found =
        { elements }.find(|(_, element)| order::compare(*element, sought, collation).is_eq());
    Ok(found.map_or_else(|| NOWHERE.into(), |(at, _)| count(at)))
}
