//! `$zip`.

use bson::{RawArray, RawBsonRef};

use super::arrays::elements;
use crate::class::type_name;
use crate::error::{Error, Result};
use crate::expression::build::List;
use crate::expression::node::Node;
use crate::expression::operator::{Call, Form, Operator};
use crate::expression::parser::Parser;
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] =
    &[Operator::new("$zip", Form::Custom(parse), zip)];

/// What was given to `$zip`.
#[derive(Default)]
struct Given {
    inputs: Vec<Node>,
    defaults: Vec<Node>,
    use_longest: bool,
}

/// The arguments become whether to use the longest, then the inputs, then the defaults, one for each
/// input or none.
fn parse(parser: &mut Parser, operator: &'static Operator, value: RawBsonRef<'_>) -> Result<Node> {
    let Some(document) = value.as_document() else {
        let found = type_name(value);
        return Err(Error::location(
            34_460,
            format!("$zip only supports an object as an argument, found {found}"),
        ));
    };
    let mut given = Given::default();
    for field in document {
        let (name, value) = field?;
        match name.as_str() {
            "inputs" => given.inputs = expressions(parser, "inputs", 34_461, value)?,
            "defaults" => given.defaults = expressions(parser, "defaults", 34_462, value)?,
            "useLongestLength" => {
                given.use_longest = value.as_bool().ok_or_else(|| {
                    let found = type_name(value);
                    let text = format!("useLongestLength must be a bool, found {found}");
                    Error::location(34_463, text)
                })?;
            }
            unknown => {
                let text = format!("$zip found an unknown argument: {unknown}");
                return Err(Error::location(34_464, text));
            }
        }
    }
    if given.inputs.is_empty() {
        return Err(Error::location(34_465, "$zip requires at least one input array"));
    }
    if !given.defaults.is_empty() && !given.use_longest {
        return Err(Error::location(
            34_466,
            "cannot specify defaults unless useLongestLength is true",
        ));
    }
    if !given.defaults.is_empty() && given.defaults.len() != given.inputs.len() {
        return Err(Error::location(34_467, "defaults and inputs must have the same length"));
    }
    let mut arguments = vec![Node::Constant(given.use_longest.into())];
    let count = given.inputs.len();
    arguments.extend(given.inputs);
    arguments.extend(given.defaults);
    arguments.resize(1 + 2 * count, Node::Absent);
    operator.call(arguments)
}

fn expressions(
    parser: &mut Parser,
    what: &str,
    code: i32,
    value: RawBsonRef<'_>,
) -> Result<Vec<Node>> {
    match value {
        RawBsonRef::Array(_) => parser.arguments(value),
        other => {
            let found = type_name(other);
            let text = format!("{what} must be an array of expressions, found {found}");
            Err(Error::location(code, text))
        }
    }
}

fn zip<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let count = call.arguments.len() / 2;
    let use_longest = call.value(0, scope)?.is_truthy();
    let inputs: Vec<Computed<'a>> =
        (1..=count).map(|at| call.value(at, scope)).collect::<Result<_>>()?;
    if inputs.iter().any(Computed::is_nullish) {
        return Ok(Computed::NULL);
    }
    let columns: Vec<Vec<RawBsonRef<'_>>> = inputs
        .iter()
        .map(|input| input.as_array().map(|array: &RawArray| elements(array)).ok_or(input))
        .collect::<Result<_, _>>()
        .map_err(|input| {
            let shown = input.shown();
            Error::location(34_468, format!("$zip found a non-array expression in input: {shown}"))
        })?;
    let defaults: Vec<Computed<'a>> =
        (count + 1..=2 * count).map(|at| call.value(at, scope)).collect::<Result<_>>()?;
    let lengths = columns.iter().map(Vec::len);
    let length = if use_longest { lengths.max() } else { lengths.min() }.unwrap_or(0);
    let mut rows = List::default();
    for at in 0..length {
        scope.check()?;
        let mut row = List::default();
        for (column, default) in columns.iter().zip(&defaults) {
            row.push(column.get(at).copied().or_else(|| default.as_ref()))?;
        }
        rows.push(Some(row.finish().as_raw_bson_ref()))?;
    }
    Ok(rows.finish().into())
}
