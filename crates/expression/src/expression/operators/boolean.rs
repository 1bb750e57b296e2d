//! `$and`, `$or`, `$not`, and the two that ask the elements of an array.

use crate::error::{Error, Result};
use crate::expression::computed::is_truthy;
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::any("$and", |call, scope| {
        for node in &call.arguments {
            if !node.evaluate(scope)?.is_truthy() {
                return Ok(false.into());
            }
        }
        Ok(true.into())
    }),
    Operator::any("$or", |call, scope| {
        for node in &call.arguments {
            if node.evaluate(scope)?.is_truthy() {
                return Ok(true.into());
            }
        }
        Ok(false.into())
    }),
    Operator::exactly("$not", 1, |call, scope| Ok((!call.value(0, scope)?.is_truthy()).into())),
    Operator::exactly("$anyElementTrue", 1, |call, scope| elements(call, scope, 17_041, true)),
    Operator::exactly("$allElementsTrue", 1, |call, scope| elements(call, scope, 17_040, false)),
];

/// Whether an element is true (`sought`), or none is false (not `sought`).
fn elements<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    code: i32,
    sought: bool,
) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    let Some(array) = value.as_array() else {
        let (name, found) = (call.name(), value.type_name());
        return Err(Error::location(
            code,
            format!("{name}'s argument must be an array, but is {found}"),
        ));
    };
    let is_found = array.into_iter().flatten().any(|element| is_truthy(element) == sought);
    Ok((is_found == sought).into())
}
