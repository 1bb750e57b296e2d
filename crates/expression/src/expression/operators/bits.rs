//! `$bitAnd`, `$bitOr`, `$bitXor` and `$bitNot`, for integers.

use super::arithmetic::unary;
use crate::error::{Error, Result};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::any("$bitAnd", |call, scope| combined(call, scope, -1, |a, b| a & b)),
    Operator::any("$bitOr", |call, scope| combined(call, scope, 0, |a, b| a | b)),
    Operator::any("$bitXor", |call, scope| combined(call, scope, 0, |a, b| a ^ b)),
    Operator::exactly("$bitNot", 1, |call, scope| {
        unary(call, scope, |number| match number {
            Number::Int32(integer) => Ok(Number::Int32(!integer)),
            Number::Int64(integer) => Ok(Number::Int64(!integer)),
            other => {
                let found = Computed::from(other).type_name();
                let text = format!("$bitNot only supports int and long, not: {found}.");
                Err(Error::location(28_765, text))
            }
        })
    }),
];

fn combined<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    start: i64,
    combine: impl Fn(i64, i64) -> i64,
) -> Result<Computed<'a>> {
    let (mut bits, mut is_short) = (start, true);
    for node in &call.arguments {
        let value = node.evaluate(scope)?;
        if value.is_nullish() {
            return Ok(Computed::NULL);
        }
        let operand = match value.as_number() {
            Some(Number::Int32(integer)) => i64::from(integer),
            Some(Number::Int64(integer)) => {
                is_short = false;
                integer
            }
            _ => {
                let name = call.name();
                let text = format!("{name} only supports int and long operands.");
                return Err(Error::type_mismatch(text));
            }
        };
        bits = combine(bits, operand);
    }
    Ok(match i32::try_from(bits) {
        Ok(short) if is_short => short.into(),
        _ => bits.into(),
    })
}
