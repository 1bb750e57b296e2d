//! `$replaceOne` and `$replaceAll`.

use crate::error::{Error, Result};
use crate::expression::build::append_text;
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::{Computed, Scope};

/// The names of arguments, with errors that name the operator.
macro_rules! names {
    ($operator:literal) => {
        Names {
            not_object: (
                51_751,
                concat!($operator, " requires an object as an argument, found: {}"),
            ),
            unknown: (51_750, concat!($operator, " found an unknown argument: {}")),
            fields: &[
                ("input", Some((51_749, concat!($operator, " requires 'input' to be specified")))),
                ("find", Some((51_748, concat!($operator, " requires 'find' to be specified")))),
                (
                    "replacement",
                    Some((51_747, concat!($operator, " requires 'replacement' to be specified"))),
                ),
            ],
        }
    };
}

static ONE: Names = names!("$replaceOne");
static ALL: Names = names!("$replaceAll");

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$replaceOne", Form::Named(&ONE), |call, scope| replace(call, scope, 1)),
    Operator::new("$replaceAll", Form::Named(&ALL), |call, scope| replace(call, scope, usize::MAX)),
];

fn replace<'a>(call: &'a Call, scope: &Scope<'a>, most: usize) -> Result<Computed<'a>> {
    let argument = |at: usize, code: i32, what: &str| -> Result<Computed<'a>> {
        let value = call.value(at, scope)?;
        if value.as_text().is_none() && !value.is_nullish() {
            let (name, shown) = (call.name(), value.shown());
            let text = format!("{name} requires that '{what}' be a string, found: {shown}");
            return Err(Error::location(code, text));
        }
        Ok(value)
    };
    let input = argument(0, 51_746, "input")?;
    let find = argument(1, 51_745, "find")?;
    let replacement = argument(2, 51_744, "replacement")?;
    let (Some(text), Some(find), Some(replacement)) =
        (input.as_text(), find.as_text(), replacement.as_text())
    else {
        return Ok(Computed::NULL);
    };
    let (mut replaced, mut rest) = (String::new(), 0);
    for (at, found) in text.match_indices(find).take(most) {
        append_text(&mut replaced, &text[rest..at])?;
        append_text(&mut replaced, replacement)?;
        rest = at + found.len();
    }
    append_text(&mut replaced, &text[rest..])?;
    Ok(replaced.into())
}
