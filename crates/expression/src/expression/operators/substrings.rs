//! `$substr`, `$substrBytes` and `$substrCP`.

use super::text::{coerced, number_text};
use crate::error::{Error, Result};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::exactly("$substr", 3, of_bytes),
    Operator::exactly("$substrBytes", 3, of_bytes),
    Operator::exactly("$substrCP", 3, of_characters),
];

fn of_bytes<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let text = coerced(&call.value(0, scope)?)?;
    let number = |at: usize, code: i32, what: &str| -> Result<Number> {
        let value = call.value(at, scope)?;
        value.as_number().ok_or_else(|| {
            let (name, found) = (call.name(), value.type_name());
            let text = format!("{name}: {what} must be a numeric type (is BSON type {found})");
            Error::location(code, text)
        })
    };
    let start = number(1, 16_034, "starting index")?.truncated_i64().unwrap_or(i64::MAX);
    let length = number(2, 16_035, "length")?.truncated_i64().unwrap_or(i64::MAX);
    let name = call.name();
    let Ok(start) = usize::try_from(start) else {
        return Err(Error::location(
            50_752,
            format!("{name}: starting index must be non-negative (got: {start})"),
        ));
    };
    if start >= text.len() {
        return Ok(String::new().into());
    }
    if !text.is_char_boundary(start) {
        return Err(Error::location(
            28_656,
            format!("{name}:  Invalid range, starting index is a UTF-8 continuation byte."),
        ));
    }
    // A negative length means the rest.
    let length = usize::try_from(length).unwrap_or(usize::MAX);
    let end = start.saturating_add(length).min(text.len());
    if !text.is_char_boundary(end) {
        return Err(Error::location(
            28_657,
            format!("{name}:  Invalid range, ending index is in the middle of a UTF-8 character."),
        ));
    }
    Ok(text[start..end].into())
}

fn of_characters<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let text = coerced(&call.value(0, scope)?)?;
    let start = whole(call, scope, 1, (34_450, 34_451), "starting index")?;
    let length = whole(call, scope, 2, (34_452, 34_453), "length")?;
    let length = usize::try_from(length)
        .map_err(|_| Error::location(34_454, "$substrCP: length must be a nonnegative integer."))?;
    let start = usize::try_from(start).map_err(|_| {
        Error::location(34_455, "$substrCP: the starting index must be nonnegative integer.")
    })?;
    Ok(text.chars().skip(start).take(length).collect::<String>().into())
}

/// An integer of 32 bits; the codes are for what is no number, and for what does not fit.
fn whole<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    at: usize,
    codes: (i32, i32),
    what: &str,
) -> Result<i32> {
    let value = call.value(at, scope)?;
    let Some(number) = value.as_number() else {
        let found = value.type_name();
        return Err(Error::location(
            codes.0,
            format!("$substrCP: {what} must be a numeric type (is BSON type {found})"),
        ));
    };
    number.exact_i64().and_then(|whole| i32::try_from(whole).ok()).ok_or_else(|| {
        let shown = number_text(number);
        Error::location(
            codes.1,
            format!("$substrCP: {what} cannot be represented as a 32-bit integral value: {shown}"),
        )
    })
}
