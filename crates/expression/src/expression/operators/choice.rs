//! `$cond`, `$ifNull` and `$switch`.

use bson::{RawBsonRef, RawDocument};

use crate::class::type_name;
use crate::error::{Error, Result};
use crate::expression::Computed;
use crate::expression::node::Node;
use crate::expression::operator::{Form, Names, Operator};
use crate::expression::parser::Parser;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$cond", Form::Custom(parse_cond), |call, scope| {
        let branch = if call.value(0, scope)?.is_truthy() { 1 } else { 2 };
        call.value(branch, scope)
    }),
    Operator::new("$ifNull", Form::Custom(parse_if_null), |call, scope| {
        let mut value = Computed::Missing;
        for node in &call.arguments {
            value = node.evaluate(scope)?;
            if !value.is_nullish() {
                break;
            }
        }
        Ok(value)
    }),
    Operator::new("$switch", Form::Custom(parse_switch), |call, scope| {
        let Some((default, branches)) = call.arguments.split_last() else {
            return Ok(Computed::Missing);
        };
        for branch in branches.chunks_exact(2) {
            if branch[0].evaluate(scope)?.is_truthy() {
                return branch[1].evaluate(scope);
            }
        }
        if let Node::Absent = default {
            return Err(Error::location(40_066, NO_BRANCH));
        }
        default.evaluate(scope)
    }),
];

const NO_BRANCH: &str =
    "$switch could not find a matching branch for an input, and no default was specified.";

static COND: Names = Names {
    not_object: (17_080, "Missing 'if' parameter to $cond"),
    unknown: (17_083, "Unrecognized parameter to $cond: {}"),
    fields: &[
        ("if", Some((17_080, "Missing 'if' parameter to $cond"))),
        ("then", Some((17_081, "Missing 'then' parameter to $cond"))),
        ("else", Some((17_082, "Missing 'else' parameter to $cond"))),
    ],
};

/// `[if, then, else]`, or an object with these names.
fn parse_cond(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let arguments = if let RawBsonRef::Document(_) = value {
        COND.arguments(parser, value)?
    } else {
        operator.counted(3, parser, value)?
    };
    match arguments[0].constant() {
        Some(condition) => {
            let branch = if condition.is_truthy() { 1 } else { 2 };
            Ok(arguments[branch].clone())
        }
        None => operator.call(arguments),
    }
}

fn parse_if_null(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let arguments = parser.arguments(value)?;
    if arguments.len() < 2 {
        let found = arguments.len();
        return Err(Error::location(
            1_257_300,
            format!("$ifNull needs at least two arguments, had: {found}"),
        ));
    }
    operator.call(arguments)
}

/// The arguments become `[case, then, case, then, .., default]`.
fn parse_switch(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let Some(document) = value.as_document() else {
        let found = type_name(value);
        return Err(Error::location(
            40_060,
            format!("$switch requires an object as an argument, found: {found}"),
        ));
    };
    let (mut arguments, mut default) = (Vec::new(), Node::Absent);
    for field in document {
        let (name, value) = field?;
        match name.as_str() {
            "branches" => arguments = parse_branches(parser, value)?,
            "default" => default = parser.operand(value)?,
            unknown => {
                return Err(Error::location(
                    40_067,
                    format!("$switch found an unknown argument: {unknown}"),
                ));
            }
        }
    }
    if arguments.is_empty() {
        return Err(Error::location(40_068, "$switch requires at least one branch."));
    }
    let is_never = |case: &Node| case.constant().is_some_and(|value| !value.is_truthy());
    let cases = arguments.chunks_exact(2);
    if matches!(default, Node::Absent) && cases.clone().all(|branch| is_never(&branch[0])) {
        return Err(Error::location(
            40_069,
            "One cannot execute a switch statement where all the cases evaluate to false without \
             a default.",
        ));
    }
    arguments.push(default);
    operator.call(arguments)
}

fn parse_branches(parser: &mut Parser, value: RawBsonRef<'_>) -> Result<Vec<Node>> {
    let Some(branches) = value.as_array() else {
        let found = type_name(value);
        return Err(Error::location(
            40_061,
            format!("$switch expected an array for 'branches', found: {found}"),
        ));
    };
    let mut arguments = Vec::new();
    for branch in branches {
        let branch = branch?;
        let Some(branch) = branch.as_document() else {
            let found = type_name(branch);
            return Err(Error::location(
                40_062,
                format!("$switch expected each branch to be an object, found: {found}"),
            ));
        };
        arguments.extend(parse_branch(parser, branch)?);
    }
    Ok(arguments)
}

/// `{case: .., then: ..}`
fn parse_branch(parser: &mut Parser, branch: &RawDocument) -> Result<[Node; 2]> {
    let (mut case, mut then) = (None, None);
    for field in branch {
        let (name, value) = field?;
        match name.as_str() {
            "case" => case = Some(parser.operand(value)?),
            "then" => then = Some(parser.operand(value)?),
            unknown => {
                return Err(Error::location(
                    40_063,
                    format!("$switch found an unknown argument to a branch: {unknown}"),
                ));
            }
        }
    }
    let case = case.ok_or_else(|| {
        Error::location(40_064, "$switch requires each branch have a 'case' expression")
    })?;
    let then = then.ok_or_else(|| {
        Error::location(40_065, "$switch requires each branch have a 'then' expression.")
    })?;
    Ok([case, then])
}
