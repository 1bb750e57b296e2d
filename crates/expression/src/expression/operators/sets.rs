//! Arrays as sets: `$setUnion`, `$setIntersection`, `$setDifference`, `$setEquals`, `$setIsSubset`.
//! Neither order nor repetition counts; results are sorted, but for differences.

use bson::{RawArray, RawBsonRef};

use super::arrays::elements;
use crate::collation::Collation;
use crate::error::{Error, Result};
use crate::expression::build::List;
use crate::expression::node::Node;
use crate::expression::operator::{Call, Form, Operator};
use crate::expression::parser::Parser;
use crate::expression::{Computed, Scope};
use crate::order;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::any("$setUnion", union).collated(),
    Operator::any("$setIntersection", intersection).collated(),
    Operator::exactly("$setDifference", 2, difference).collated(),
    Operator::new("$setEquals", Form::Custom(parse_equals), equals).collated(),
    Operator::exactly("$setIsSubset", 2, is_subset).collated(),
];

/// Sorted values without repetitions.
struct Set<'v> {
    values: Vec<RawBsonRef<'v>>,
    collation: Option<&'v Collation>,
}

impl<'v> Set<'v> {
    fn of(mut values: Vec<RawBsonRef<'v>>, collation: Option<&'v Collation>) -> Self {
        values.sort_by(|a, b| order::compare(*a, *b, collation));
        values.dedup_by(|a, b| order::compare(*a, *b, collation).is_eq());
        Self { values, collation }
    }

    fn contains(&self, value: RawBsonRef<'_>) -> bool {
        self.values.binary_search_by(|own| order::compare(*own, value, self.collation)).is_ok()
    }

    fn is_subset(&self, other: &Set<'_>) -> bool {
        self.values.iter().all(|value| other.contains(*value))
    }

    fn into_array<'a>(self) -> Result<Computed<'a>> {
        let mut list = List::default();
        for value in self.values {
            list.push(Some(value))?;
        }
        Ok(list.finish().into())
    }
}

/// All operands as arrays; `None` if one of them is null.
fn operands<'a>(call: &'a Call, scope: &Scope<'a>, code: i32) -> Result<Option<Vec<Computed<'a>>>> {
    let mut values = Vec::with_capacity(call.arguments.len());
    for node in &call.arguments {
        let value = node.evaluate(scope)?;
        if value.is_nullish() {
            return Ok(None);
        }
        if value.as_array().is_none() {
            let (name, found) = (call.name(), value.type_name());
            return Err(Error::location(
                code,
                format!("All operands of {name} must be arrays. One argument is of type: {found}"),
            ));
        }
        values.push(value);
    }
    Ok(Some(values))
}

fn arrays<'v>(values: &'v [Computed<'_>]) -> impl Iterator<Item = &'v RawArray> {
    values.iter().filter_map(Computed::as_array)
}

fn union<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let Some(values) = operands(call, scope, 17_043)? else { return Ok(Computed::NULL) };
    let all = arrays(&values).flat_map(elements).collect();
    Set::of(all, scope.context.collation).into_array()
}

fn intersection<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let Some(values) = operands(call, scope, 17_047)? else { return Ok(Computed::NULL) };
    let collation = scope.context.collation;
    let mut sets = arrays(&values).map(|array| Set::of(elements(array), collation));
    let mut common = sets.next().unwrap_or_else(|| Set::of(Vec::new(), collation));
    for set in sets {
        common.values.retain(|value| set.contains(*value));
    }
    common.into_array()
}

/// Both operands of an operator that names the one that is no array.
fn both<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    codes: (i32, i32),
) -> Result<(Computed<'a>, Computed<'a>)> {
    let (left, right) = (call.value(0, scope)?, call.value(1, scope)?);
    for (value, which, code) in [(&left, "First", codes.0), (&right, "Second", codes.1)] {
        if value.as_array().is_none() {
            let (name, found) = (call.name(), value.type_name());
            return Err(Error::location(
                code,
                format!(
                    "both operands of {name} must be arrays. {which} argument is of type: {found}"
                ),
            ));
        }
    }
    Ok((left, right))
}

fn difference<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    if call.value(0, scope)?.is_nullish() || call.value(1, scope)?.is_nullish() {
        return Ok(Computed::NULL);
    }
    let (left, right) = both(call, scope, (17_048, 17_049))?;
    let (Some(left), Some(right)) = (left.as_array(), right.as_array()) else {
        return Ok(Computed::NULL);
    };
    let collation = scope.context.collation;
    let left = elements(left);
    let right = Set::of(elements(right), collation);
    // The first of equal values is kept, at its place.
    let mut order: Vec<usize> = (0..left.len()).collect();
    order.sort_by(|a, b| order::compare(left[*a], left[*b], collation));
    order.dedup_by(|a, b| order::compare(left[*a], left[*b], collation).is_eq());
    order.sort_unstable();
    let mut list = List::default();
    for at in order {
        if !right.contains(left[at]) {
            list.push(Some(left[at]))?;
        }
    }
    Ok(list.finish().into())
}

fn is_subset<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (left, right) = both(call, scope, (17_046, 17_042))?;
    let collation = scope.context.collation;
    let set = |value: &Computed<'_>| -> Option<bool> {
        let right = Set::of(elements(right.as_array()?), collation);
        Some(Set::of(elements(value.as_array()?), collation).is_subset(&right))
    };
    Ok(set(&left).unwrap_or(false).into())
}

fn parse_equals(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let arguments = parser.arguments(value)?;
    if arguments.len() < 2 {
        let found = arguments.len();
        return Err(Error::location(
            17_045,
            format!("$setEquals needs at least two arguments had: {found}"),
        ));
    }
    operator.call(arguments)
}

fn equals<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let mut values = Vec::with_capacity(call.arguments.len());
    for (at, node) in call.arguments.iter().enumerate() {
        let value = node.evaluate(scope)?;
        if value.as_array().is_none() {
            let (found, at) = (value.type_name(), at + 1);
            return Err(Error::location(
                17_044,
                format!(
                    "All operands of $setEquals must be arrays. {at}-th argument is of type: {found}"
                ),
            ));
        }
        values.push(value);
    }
    let collation = scope.context.collation;
    let sets: Vec<Set<'_>> =
        arrays(&values).map(|array| Set::of(elements(array), collation)).collect();
    let are_equal = sets
        .windows(2)
        .all(|pair| pair[0].values.len() == pair[1].values.len() && pair[0].is_subset(&pair[1]));
    Ok(are_equal.into())
}
