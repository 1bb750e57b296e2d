//! The first, last, least and greatest few elements of an array: `$firstN`, `$lastN`, `$minN`, `$maxN`.

use bson::RawBsonRef;

use super::arrays::elements;
use crate::error::{Error, Result};
use crate::expression::build::List;
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;
use crate::order;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$firstN", Form::Named(&NAMES), |call, scope| {
        few(call, scope, |elements, _| elements)
    }),
    Operator::new("$lastN", Form::Named(&NAMES), |call, scope| {
        few(call, scope, |elements, n| {
            let skipped = elements.len().saturating_sub(n);
            elements[skipped..].to_vec()
        })
    }),
    Operator::new("$minN", Form::Named(&NAMES), |call, scope| {
        let collation = scope.context.collation;
        few(call, scope, |mut elements, _| {
            elements.retain(|value| !matches!(value, RawBsonRef::Null | RawBsonRef::Undefined));
            elements.sort_by(|a, b| order::compare(*a, *b, collation));
            elements
        })
    })
    .collated(),
    Operator::new("$maxN", Form::Named(&NAMES), |call, scope| {
        let collation = scope.context.collation;
        few(call, scope, |mut elements, _| {
            elements.retain(|value| !matches!(value, RawBsonRef::Null | RawBsonRef::Undefined));
            elements.sort_by(|a, b| order::compare(*b, *a, collation));
            elements
        })
    })
    .collated(),
];

static NAMES: Names = Names {
    not_object: (5_787_900, "specification must be an object; found {}"),
    unknown: (5_787_901, "Unknown argument for 'n' operator: {}"),
    fields: &[
        ("input", Some((5_787_907, "Missing value for 'input'"))),
        ("n", Some((5_787_906, "Missing value for 'n'"))),
    ],
};

fn few<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    choose: impl for<'v> FnOnce(Vec<RawBsonRef<'v>>, usize) -> Vec<RawBsonRef<'v>>,
) -> Result<Computed<'a>> {
    let (input, n) = (call.value(0, scope)?, call.value(1, scope)?);
    let shown = n.shown();
    let Some(n) = n.as_number().and_then(Number::exact_i64) else {
        return Err(Error::location(
            5_787_902,
            format!("Value for 'n' must be of integral type, but found {shown}"),
        ));
    };
    let Some(n) = usize::try_from(n).ok().filter(|n| *n > 0) else {
        return Err(Error::location(
            5_787_908,
            format!("'n' must be greater than 0, found {shown}"),
        ));
    };
    let Some(array) = input.as_array() else {
        return Err(Error::location(5_788_200, "Input must be an array"));
    };
    let mut list = List::default();
    for element in choose(elements(array), n).into_iter().take(n) {
        list.push(Some(element))?;
    }
    Ok(list.finish().into())
}
