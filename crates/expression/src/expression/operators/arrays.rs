//! `$arrayElemAt`, `$first`, `$last`, `$size`, `$slice`, `$range`, `$concatArrays`, `$reverseArray`,
//! `$in` and `$isArray`.

use bson::{RawArray, RawBsonRef};

use super::strings::count;
use super::text::number_text;
use crate::error::{Error, Result};
use crate::expression::build::List;
use crate::expression::operator::{Call, Form, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;
use crate::{order, path};

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::exactly("$arrayElemAt", 2, |call, scope| {
        let (array, index) = (call.value(0, scope)?, call.value(1, scope)?);
        element_at(call, array, &index)
    }),
    Operator::exactly("$first", 1, |call, scope| {
        element_at(call, call.value(0, scope)?, &Computed::from(0))
    }),
    Operator::exactly("$last", 1, |call, scope| {
        element_at(call, call.value(0, scope)?, &Computed::from(-1))
    }),
    Operator::exactly("$size", 1, |call, scope| {
        let value = call.value(0, scope)?;
        if let Some(array) = value.as_array() {
            Ok(count(array.into_iter().count()))
        } else {
            let found = value.type_name();
            Err(Error::location(
                17_124,
                format!("The argument to $size must be an array, but was of type: {found}"),
            ))
        }
    }),
    Operator::new("$slice", Form::Between(2, 3), slice),
    // Not folded: a short expression would cost much time before anything is asked of it.
    Operator::new("$range", Form::Between(2, 3), range).unfolded(),
    Operator::any("$concatArrays", concat),
    Operator::exactly("$reverseArray", 1, reverse),
    Operator::exactly("$in", 2, contains).collated(),
    Operator::exactly("$isArray", 1, |call, scope| {
        Ok(call.value(0, scope)?.as_array().is_some().into())
    }),
];

/// The elements of an array.
pub(super) fn elements(array: &RawArray) -> Vec<RawBsonRef<'_>> {
    array.into_iter().flatten().collect()
}

fn element_at<'a>(call: &Call, array: Computed<'a>, index: &Computed<'_>) -> Result<Computed<'a>> {
    if array.is_nullish() || index.is_nullish() {
        return Ok(Computed::NULL);
    }
    let name = call.name();
    if array.as_array().is_none() {
        let which = if call.arguments.len() == 1 { "argument" } else { "first argument" };
        let found = array.type_name();
        return Err(Error::location(
            28_689,
            format!("{name}'s {which} must be an array, but is {found}"),
        ));
    }
    let Some(number) = index.as_number() else {
        let found = index.type_name();
        return Err(Error::location(
            28_690,
            format!("{name}'s second argument must be a numeric value, but is {found}"),
        ));
    };
    let Some(index) = short(number) else {
        let shown = number_text(Number::Double(number.to_f64()));
        return Err(Error::location(
            28_691,
            format!("{name}'s second argument must be representable as a 32-bit integer: {shown}"),
        ));
    };
    Ok(array.part(|value| {
        let array = value.as_array()?;
        let index = if let Ok(index) = usize::try_from(index) {
            index
        } else {
            let back = usize::try_from(index.unsigned_abs()).ok()?;
            array.into_iter().count().checked_sub(back)?
        };
        path::element(array, index)
    }))
}

/// The number as an integer of 32 bits, if it is one.
pub(super) fn short(number: Number) -> Option<i32> {
    number.exact_i64().and_then(|whole| i32::try_from(whole).ok())
}

fn slice<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (value, second) = (call.value(0, scope)?, call.value(1, scope)?);
    if value.is_nullish() || second.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = value.as_array() else {
        let found = value.type_name();
        return Err(Error::location(
            28_724,
            format!("First argument to $slice must be an array, but is of type: {found}"),
        ));
    };
    let second = slice_number(&second, "Second", "a numeric value", (28_725, 28_726))?;
    let length = array.into_iter().count();
    let from_end = |back: i32| {
        length.saturating_sub(usize::try_from(back.unsigned_abs()).unwrap_or(usize::MAX))
    };
    let (start, limit) = if call.is_given(2) {
        let third = call.value(2, scope)?;
        if third.is_nullish() {
            return Ok(Computed::NULL);
        }
        let third = slice_number(&third, "Third", "numeric", (28_727, 28_728))?;
        let Some(limit) = usize::try_from(third).ok().filter(|limit| *limit > 0) else {
            return Err(Error::location(
                28_729,
                format!("Third argument to $slice must be positive: {third}"),
            ));
        };
        (usize::try_from(second).unwrap_or_else(|_| from_end(second)), limit)
    } else {
        usize::try_from(second).map_or_else(|_| (from_end(second), usize::MAX), |limit| (0, limit))
    };
    let mut part = List::default();
    for element in array.into_iter().flatten().skip(start).take(limit) {
        part.push(Some(element))?;
    }
    Ok(part.finish().into())
}

fn slice_number(value: &Computed<'_>, which: &str, kind: &str, codes: (i32, i32)) -> Result<i32> {
    let Some(number) = value.as_number() else {
        let found = value.type_name();
        return Err(Error::location(
            codes.0,
            format!("{which} argument to $slice must be {kind}, but is of type: {found}"),
        ));
    };
    short(number).ok_or_else(|| {
        let shown = number_text(number);
        Error::location(
            codes.1,
            format!("{which} argument to $slice can't be represented as a 32-bit integer: {shown}"),
        )
    })
}

fn range<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let number = |at: usize, a: &str, which: &str, codes: (i32, i32)| -> Result<i32> {
        let value = call.value(at, scope)?;
        let Some(number) = value.as_number() else {
            let found = value.type_name();
            return Err(Error::location(
                codes.0,
                format!("$range requires a numeric {which} value, found value of type: {found}"),
            ));
        };
        short(number).ok_or_else(|| {
            let shown = value.shown();
            Error::location(
                codes.1,
                format!(
                    "$range requires {a} {which} value that can be represented as a 32-bit \
                     integer, found value: {shown}"
                ),
            )
        })
    };
    let start = number(0, "a", "starting", (34_443, 34_444))?;
    let end = number(1, "an", "ending", (34_445, 34_446))?;
    let step = if call.is_given(2) { number(2, "a", "step", (34_447, 34_448))? } else { 1 };
    if step == 0 {
        return Err(Error::location(34_449, "$range requires a non-zero step value"));
    }
    let mut list = List::default();
    let mut next = Some(start);
    while let Some(current) = next.filter(|next| if step > 0 { *next < end } else { *next > end }) {
        list.push(Some(RawBsonRef::Int32(current)))?;
        if current.trailing_zeros() >= 12 {
            scope.check()?;
        }
        next = current.checked_add(step);
    }
    Ok(list.finish().into())
}

fn concat<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let mut list = List::default();
    for node in &call.arguments {
        let value = node.evaluate(scope)?;
        if value.is_nullish() {
            return Ok(Computed::NULL);
        }
        let Some(array) = value.as_array() else {
            let found = value.type_name();
            return Err(Error::location(
                28_664,
                format!("$concatArrays only supports arrays, not {found}"),
            ));
        };
        for element in array.into_iter().flatten() {
            list.push(Some(element))?;
        }
    }
    Ok(list.finish().into())
}

fn reverse<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    if value.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = value.as_array() else {
        let found = value.type_name();
        return Err(Error::location(
            34_435,
            format!("The argument to $reverseArray must be an array, but was of type: {found}"),
        ));
    };
    let mut list = List::default();
    for element in elements(array).into_iter().rev() {
        list.push(Some(element))?;
    }
    Ok(list.finish().into())
}

fn contains<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (sought, value) = (call.value(0, scope)?, call.value(1, scope)?);
    let Some(array) = value.as_array() else {
        let found = value.type_name();
        return Err(Error::location(
            40_081,
            format!("$in requires an array as a second argument, found: {found}"),
        ));
    };
    let sought = sought.as_ref().unwrap_or(RawBsonRef::Undefined);
    let collation = scope.context.collation;
    let is_found = array
        .into_iter()
        .flatten()
        .any(|element| order::compare(element, sought, collation).is_eq());
    Ok(is_found.into())
}
