//! Expressions that are evaluated with variables of their own: `$map`, `$filter`, `$reduce` and `$let`.

use bson::RawBsonRef;

use crate::class::type_name;
use crate::error::{Error, Result};
use crate::expression::build::{List, check_depth};
use crate::expression::node::Node;
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::parser::Parser;
use crate::expression::variables::check_definable;
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$map", Form::Custom(|p, o, v| parse_loop(&MAP, p, o, v)), map),
    Operator::new("$filter", Form::Custom(|p, o, v| parse_loop(&FILTER, p, o, v)), filter),
    Operator::new("$reduce", Form::Custom(parse_reduce), reduce),
    Operator::new("$let", Form::Custom(parse_let), evaluate_let),
];

static MAP: Names = Names {
    not_object: (16_878, "$map only supports an object as its argument"),
    unknown: (16_879, "Unrecognized parameter to $map: {}"),
    fields: &[
        ("input", Some((16_880, "Missing 'input' parameter to $map"))),
        ("as", None),
        ("in", Some((16_882, "Missing 'in' parameter to $map"))),
    ],
};

static FILTER: Names = Names {
    not_object: (28_646, "$filter only supports an object as its argument"),
    unknown: (28_647, "Unrecognized parameter to $filter: {}"),
    fields: &[
        ("input", Some((28_648, "Missing 'input' parameter to $filter"))),
        ("as", None),
        ("cond", Some((28_650, "Missing 'cond' parameter to $filter"))),
        ("limit", None),
    ],
};

static REDUCE: Names = Names {
    not_object: (40_075, "$reduce requires an object as an argument, found: {}"),
    unknown: (40_076, "$reduce found an unknown argument: {}"),
    fields: &[
        ("input", Some((40_077, "$reduce requires 'input' to be specified"))),
        ("initialValue", Some((40_078, "$reduce requires 'initialValue' to be specified"))),
        ("in", Some((40_079, "$reduce requires 'in' to be specified"))),
    ],
};

static LET: Names = Names {
    not_object: (16_874, "$let only supports an object as its argument"),
    unknown: (16_875, "Unrecognized parameter to $let: {}"),
    fields: &[
        ("vars", Some((16_876, "Missing 'vars' parameter to $let"))),
        ("in", Some((16_877, "Missing 'in' parameter to $let"))),
    ],
};

/// The values of the named arguments, not yet compiled.
fn named<'v>(names: &Names, value: RawBsonRef<'v>) -> Result<Vec<Option<RawBsonRef<'v>>>> {
    let mut given = vec![None; names.fields.len()];
    for field in names.document(value)? {
        let (name, value) = field?;
        given[names.position(name.as_str())?] = Some(value);
    }
    names.check_required(|at| given[at].is_some())?;
    Ok(given)
}

/// `$map` and `$filter`: the arguments become `[input, body]`, and the limit.
fn parse_loop(
    names: &Names,
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let given = named(names, value)?;
    let variable = match given[1] {
        Some(RawBsonRef::String(name)) => {
            check_definable(name)?;
            name
        }
        Some(other) => {
            let (name, found) = (operator.name, type_name(other));
            let text = format!("{name} requires 'as' to be a string, found: {found}");
            return Err(Error::failed_to_parse(text));
        }
        None => "this",
    };
    let mut arguments = Vec::with_capacity(3);
    arguments.push(parser.operand(given[0].unwrap_or(RawBsonRef::Null))?);
    let body = given[2].unwrap_or(RawBsonRef::Null);
    arguments.push(parser.operand_with(vec![variable.to_owned()], body)?);
    if let Some(Some(limit)) = given.get(3) {
        arguments.push(parser.operand(*limit)?);
    }
    operator.call(arguments)
}

fn map<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let input = call.value(0, scope)?;
    if input.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = input.as_array() else {
        let found = input.type_name();
        return Err(Error::location(16_883, format!("input to $map must be an array not {found}")));
    };
    let mut list = List::default();
    for element in array.into_iter().flatten() {
        scope.check()?;
        let values = [Computed::Borrowed(element)];
        let frame = scope.frame(&values);
        list.push(call.value(1, &scope.within(&frame))?.as_ref())?;
    }
    Ok(list.finish().into())
}

fn filter<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let input = call.value(0, scope)?;
    if input.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = input.as_array() else {
        let found = input.type_name();
        return Err(Error::location(
            28_651,
            format!("input to $filter must be an array not {found}"),
        ));
    };
    let (mut list, mut rest) = (List::default(), limit(&call.value(2, scope)?)?);
    for element in array.into_iter().flatten() {
        scope.check()?;
        let values = [Computed::Borrowed(element)];
        let frame = scope.frame(&values);
        if call.value(1, &scope.within(&frame))?.is_truthy() {
            list.push(Some(element))?;
            rest -= 1;
            if rest == 0 {
                break;
            }
        }
    }
    Ok(list.finish().into())
}

/// The most elements that `$filter` keeps; all if there is no limit.
fn limit(value: &Computed<'_>) -> Result<i32> {
    if value.is_nullish() {
        return Ok(i32::MAX);
    }
    let shown = value.shown();
    match value.as_number().and_then(super::arrays::short) {
        Some(limit) if limit > 0 => Ok(limit),
        Some(_) => {
            Err(Error::location(327_392, format!("$filter: limit must be greater than 0: {shown}")))
        }
        None => Err(Error::location(
            327_391,
            format!("$filter: limit must be represented as a 32-bit integral value: {shown}"),
        )),
    }
}

fn parse_reduce(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let given = named(&REDUCE, value)?;
    let argument = |at: usize| given[at].unwrap_or(RawBsonRef::Null);
    let input = parser.operand(argument(0))?;
    let initial = parser.operand(argument(1))?;
    let names = vec!["this".to_owned(), "value".to_owned()];
    let body = parser.operand_with(names, argument(2))?;
    operator.call(vec![input, initial, body])
}

fn reduce<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let input = call.value(0, scope)?;
    if input.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = input.as_array() else {
        let shown = input.shown();
        return Err(Error::location(
            40_080,
            format!("$reduce requires that 'input' be an array, found: {shown}"),
        ));
    };
    let mut value = call.value(1, scope)?;
    for element in array.into_iter().flatten() {
        scope.check()?;
        let values = [Computed::Borrowed(element), value];
        let frame = scope.frame(&values);
        let next = call.value(2, &scope.within(&frame))?.detach();
        // Each step may nest the value once more.
        check_depth(next.or_null())?;
        value = next;
    }
    Ok(value)
}

/// The arguments become the values of the variables, and the body.
fn parse_let(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let given = named(&LET, value)?;
    let variables = given[0].unwrap_or(RawBsonRef::Null);
    let Some(variables) = variables.as_document() else {
        let found = type_name(variables);
        return Err(Error::location(
            10_065,
            format!("invalid parameter: expected an object (vars), found {found}"),
        ));
    };
    let (mut names, mut arguments) = (Vec::new(), Vec::new());
    for field in variables {
        let (name, value) = field?;
        check_definable(name.as_str())?;
        names.push(name.as_str().to_owned());
        arguments.push(parser.operand(value)?);
    }
    arguments.push(parser.operand_with(names, given[1].unwrap_or(RawBsonRef::Null))?);
    operator.call(arguments)
}

fn evaluate_let<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let Some((body, variables)) = call.arguments.split_last() else {
        return Ok(Computed::Missing);
    };
    let values: Vec<Computed<'a>> =
        variables.iter().map(|node| node.evaluate(scope)).collect::<Result<_>>()?;
    let frame = scope.frame(&values);
    Ok(body.evaluate(&scope.within(&frame))?.detach())
}
