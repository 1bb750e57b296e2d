//! `$trim`, `$ltrim` and `$rtrim`.

use crate::error::{Error, Result};
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::{Computed, Scope};

/// The names of arguments, with errors that name the operator.
macro_rules! names {
    ($operator:literal) => {
        Names {
            not_object: (
                50_696,
                concat!($operator, " only supports an object as an argument, found {}"),
            ),
            unknown: (50_694, concat!($operator, " found an unknown argument: {}")),
            fields: &[
                ("input", Some((50_695, concat!($operator, " requires an 'input' field")))),
                ("chars", None),
            ],
        }
    };
}

static BOTH: Names = names!("$trim");
static LEFT: Names = names!("$ltrim");
static RIGHT: Names = names!("$rtrim");

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$trim", Form::Named(&BOTH), |call, scope| trim(call, scope, true, true)),
    Operator::new("$ltrim", Form::Named(&LEFT), |call, scope| trim(call, scope, true, false)),
    Operator::new("$rtrim", Form::Named(&RIGHT), |call, scope| trim(call, scope, false, true)),
];

/// What is trimmed unless the user names other characters.
const WHITESPACE: &str = "\0 \t\n\u{b}\u{c}\r\u{a0}\u{1680}\u{2000}\u{2001}\u{2002}\u{2003}\u{2004}\
                          \u{2005}\u{2006}\u{2007}\u{2008}\u{2009}\u{200a}";

fn trim<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    at_start: bool,
    at_end: bool,
) -> Result<Computed<'a>> {
    let input = call.value(0, scope)?;
    if input.is_nullish() {
        return Ok(Computed::NULL);
    }
    let name = call.name();
    let wrong = |code: i32, what: &str, value: &Computed<'_>| {
        let (shown, found) = (value.shown(), value.type_name());
        let text = format!(
            "{name} requires {what} to be a string, got {shown} (of type {found}) instead."
        );
        Error::location(code, text)
    };
    let mut text = input.as_text().ok_or_else(|| wrong(50_699, "its input", &input))?;
    let chars = call.value(1, scope)?;
    let characters = match chars.as_text() {
        Some(characters) => characters,
        None if !call.is_given(1) => WHITESPACE,
        None if chars.is_nullish() => return Ok(Computed::NULL),
        None => {
            let text = format!(" {name} requires 'chars' to be a string, got ");
            let (shown, found) = (chars.shown(), chars.type_name());
            return Err(Error::location(
                50_700,
                format!("{text}{shown} (of type {found}) instead."),
            ));
        }
    };
    let is_trimmed = |character: char| characters.contains(character);
    if at_start {
        text = text.trim_start_matches(is_trimmed);
    }
    if at_end {
        text = text.trim_end_matches(is_trimmed);
    }
    Ok(text.into())
}
