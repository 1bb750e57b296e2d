//! `$eq`, `$ne`, `$gt`, `$gte`, `$lt`, `$lte` and `$cmp`. Unlike in filters, values of any classes are
//! ordered, and arrays are compared as a whole.

use std::cmp::Ordering;

use bson::RawBsonRef;

use crate::collation::Collation;
use crate::error::Result;
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::order;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::exactly("$eq", 2, |call, scope| test(call, scope, Ordering::is_eq)).collated(),
    Operator::exactly("$ne", 2, |call, scope| test(call, scope, Ordering::is_ne)).collated(),
    Operator::exactly("$gt", 2, |call, scope| test(call, scope, Ordering::is_gt)).collated(),
    Operator::exactly("$gte", 2, |call, scope| test(call, scope, Ordering::is_ge)).collated(),
    Operator::exactly("$lt", 2, |call, scope| test(call, scope, Ordering::is_lt)).collated(),
    Operator::exactly("$lte", 2, |call, scope| test(call, scope, Ordering::is_le)).collated(),
    Operator::exactly("$cmp", 2, |call, scope| {
        Ok(match compared(call, scope)? {
            Ordering::Less => -1,
            Ordering::Equal => 0,
            Ordering::Greater => 1,
        }
        .into())
    })
    .collated(),
];

fn test<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    holds: impl Fn(Ordering) -> bool,
) -> Result<Computed<'a>> {
    Ok(holds(compared(call, scope)?).into())
}

fn compared<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Ordering> {
    let (left, right) = (call.value(0, scope)?, call.value(1, scope)?);
    Ok(compare(&left, &right, scope.context.collation))
}

/// Orders two values. What is missing equals undefined and is less than null.
pub(super) fn compare(
    left: &Computed<'_>,
    right: &Computed<'_>,
    collation: Option<&Collation>,
) -> Ordering {
    let left = left.as_ref().unwrap_or(RawBsonRef::Undefined);
    let right = right.as_ref().unwrap_or(RawBsonRef::Undefined);
    order::compare(left, right, collation)
}
