//! `$rand` and `$sampleRate`, and `$meta`, of which there is nothing here.

use bson::RawBsonRef;

use crate::error::{Error, Result};
use crate::expression::Computed;
use crate::expression::node::Node;
use crate::expression::operator::{Form, Operator};
use crate::expression::parser::Parser;
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$rand", Form::Custom(parse_rand), |_, scope| {
        Ok(scope.context.random.next().into())
    })
    .unfolded(),
    Operator::new("$sampleRate", Form::Custom(parse_sample_rate), |call, scope| {
        let rate = call.value(0, scope)?.as_number().map_or(0.0, Number::to_f64);
        Ok((scope.context.random.next() < rate).into())
    })
    .unfolded(),
    Operator::new("$meta", Form::Custom(parse_meta), |_, _| Ok(Computed::Missing)),
];

fn parse_rand(_: &mut Parser, operator: &'static Operator, value: RawBsonRef<'_>) -> Result<Node> {
    let is_empty = match value {
        RawBsonRef::Document(document) => document.is_empty(),
        RawBsonRef::Array(array) => array.is_empty(),
        _ => false,
    };
    if !is_empty {
        return Err(Error::location(3_040_501, "$rand does not currently accept arguments"));
    }
    operator.call(Vec::new())
}

fn parse_sample_rate(
    _: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let Some(rate) = Number::of(value) else {
        return Err(Error::bad_value("argument to $sampleRate must be a numeric type"));
    };
    if !(0.0..=1.0).contains(&rate.to_f64()) {
        return Err(Error::bad_value("numeric argument to $sampleRate must be in [0, 1]"));
    }
    operator.call(vec![Node::Constant(value.into())])
}

/// What is known about a document besides its content. None of it exists where expressions are
/// evaluated, so all of it is missing.
const META: [&str; 11] = [
    "textScore",
    "randVal",
    "searchScore",
    "searchHighlights",
    "geoNearDistance",
    "geoNearPoint",
    "recordId",
    "indexKey",
    "sortKey",
    "searchScoreDetails",
    "vectorSearchScore",
];

fn parse_meta(_: &mut Parser, _: &'static Operator, value: RawBsonRef<'_>) -> Result<Node> {
    let Some(name) = value.as_str() else {
        return Err(Error::location(17_307, "$meta only supports string arguments"));
    };
    if !META.contains(&name) {
        return Err(Error::location(17_308, format!("Unsupported argument to $meta: {name}")));
    }
    Ok(Node::Nothing)
}
