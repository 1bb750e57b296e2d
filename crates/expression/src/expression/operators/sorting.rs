//! `$sortArray`.

use std::cmp::Ordering;

use bson::RawBsonRef;

use super::arrays::elements;
use crate::collation::Collation;
use crate::error::{Error, Result};
use crate::expression::build::List;
use crate::expression::node::Node;
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::parser::Parser;
use crate::expression::{Computed, Scope};
use crate::number::Number;
use crate::order;

pub(in crate::expression) static OPERATORS: &[Operator] =
    &[Operator::new("$sortArray", Form::Custom(parse), sort).collated()];

static NAMES: Names = Names {
    not_object: (2_942_500, "$sortArray requires an object as an argument, found: {}"),
    unknown: (2_942_501, "$sortArray found an unknown argument: {}"),
    fields: &[
        ("input", Some((2_942_502, "$sortArray requires 'input' to be specified"))),
        ("sortBy", Some((2_942_503, "$sortArray requires 'sortBy' to be specified"))),
    ],
};

/// The arguments become `[input, sortBy]`, of which the latter is a constant.
fn parse(parser: &mut Parser, operator: &'static Operator, value: RawBsonRef<'_>) -> Result<Node> {
    let (mut input, mut sort_by) = (Node::Absent, Node::Absent);
    for field in NAMES.document(value)? {
        let (name, value) = field?;
        if NAMES.position(name.as_str())? == 0 {
            input = parser.operand(value)?;
        } else {
            check_sort(value)?;
            sort_by = Node::Constant(value.into());
        }
    }
    let is_absent = [matches!(input, Node::Absent), matches!(sort_by, Node::Absent)];
    NAMES.check_required(|at| !is_absent[at])?;
    operator.call(vec![input, sort_by])
}

fn check_sort(sort_by: RawBsonRef<'_>) -> Result<()> {
    let Some(document) = sort_by.as_document() else {
        if Number::of(sort_by).is_none() {
            return Err(Error::location(
                2_942_507,
                "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to sort \
                 embedded fields",
            ));
        }
        return direction(sort_by).map(|_| ()).ok_or_else(|| {
            Error::location(2_942_506, "The $sort element value must be either 1 or -1")
        });
    };
    if document.is_empty() {
        return Err(Error::location(
            2_942_505,
            "The $sort pattern is empty when it should be a set of fields.",
        ));
    }
    for field in document {
        let (name, value) = field?;
        if direction(value).is_none() {
            return Err(Error::location(
                2_942_505,
                "The $sort element value must be either 1 or -1",
            ));
        }
        if name.as_str().split('.').any(str::is_empty) {
            let name = name.as_str();
            return Err(Error::location(
                2_942_505,
                format!("The $sort field is a dotted field but has an empty part: {name}"),
            ));
        }
    }
    Ok(())
}

/// Whether it ascends; `None` for what is neither 1 nor -1.
fn direction(value: RawBsonRef<'_>) -> Option<bool> {
    match Number::of(value)?.exact_i64()? {
        1 => Some(true),
        -1 => Some(false),
        _ => None,
    }
}

fn sort<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let input = call.value(0, scope)?;
    if input.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = input.as_array() else {
        let found = input.type_name();
        return Err(Error::location(
            2_942_504,
            format!("The input argument to $sortArray must be an array, but was of type: {found}"),
        ));
    };
    let (sort_by, collation) = (call.value(1, scope)?, scope.context.collation);
    let mut sorted = elements(array);
    sorted.sort_by(|a, b| compare(*a, *b, sort_by.or_null(), collation));
    let mut list = List::default();
    for element in sorted {
        list.push(Some(element))?;
    }
    Ok(list.finish().into())
}

/// Compares two elements as a whole, or by the fields of a pattern.
fn compare(
    a: RawBsonRef<'_>,
    b: RawBsonRef<'_>,
    sort_by: RawBsonRef<'_>,
    collation: Option<&Collation>,
) -> Ordering {
    let directed = |ordering: Ordering, value: RawBsonRef<'_>| {
        if direction(value) == Some(false) { ordering.reverse() } else { ordering }
    };
    let Some(fields) = sort_by.as_document() else {
        return directed(order::compare(a, b, collation), sort_by);
    };
    for (name, value) in fields.iter().flatten() {
        let (a, b) = (at(a, name.as_str()), at(b, name.as_str()));
        let ordering = directed(order::compare_optional(a, b, collation), value);
        if ordering.is_ne() {
            return ordering;
        }
    }
    Ordering::Equal
}

/// The value of a dotted path, which takes a number as the position in an array.
fn at<'a>(value: RawBsonRef<'a>, path: &str) -> Option<RawBsonRef<'a>> {
    path.split('.').try_fold(value, |value, part| match value {
        RawBsonRef::Document(document) => document.get(part).ok().flatten(),
        RawBsonRef::Array(array) => crate::path::element(array, crate::path::position(part)?),
        _ => None,
    })
}
