//! `$add`, `$subtract`, `$multiply`, `$divide`, `$mod`, `$abs`, `$ceil` and `$floor`. The result has the
//! widest kind among the operands; integers that overflow become doubles.

use bigdecimal::RoundingMode;
use bson::{DateTime, RawBsonRef};

use super::decimals;
use crate::decimal::Decimal;
use crate::error::{Code, Error, Result};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::any("$add", add),
    Operator::exactly("$subtract", 2, subtract),
    Operator::any("$multiply", multiply),
    Operator::exactly("$divide", 2, divide),
    Operator::exactly("$mod", 2, modulo),
    Operator::exactly("$abs", 1, |call, scope| unary(call, scope, absolute)),
    Operator::exactly("$ceil", 1, |call, scope| {
        unary(call, scope, |number| Ok(to_whole(number, f64::ceil, RoundingMode::Ceiling)))
    }),
    Operator::exactly("$floor", 1, |call, scope| {
        unary(call, scope, |number| Ok(to_whole(number, f64::floor, RoundingMode::Floor)))
    }),
];

/// A function of one number; null of null.
pub(super) fn unary<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    function: impl Fn(Number) -> Result<Number>,
) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    if value.is_nullish() {
        return Ok(Computed::NULL);
    }
    match value.as_number() {
        Some(number) => Ok(Computed::from(function(number)?)),
        None => Err(not_numeric(call, &value)),
    }
}

/// The error of functions of one number.
pub(super) fn not_numeric(call: &Call, value: &Computed<'_>) -> Error {
    not_numeric_for(28_765, call.name(), value)
}

pub(super) fn not_numeric_for(code: i32, name: &str, value: &Computed<'_>) -> Error {
    let found = value.type_name();
    Error::location(code, format!("{name} only supports numeric types, not {found}"))
}

/// A sum in the widest kind of what was added so far.
pub(super) struct Sum {
    total: Number,
    is_short: bool,
}

impl Sum {
    pub(super) fn new() -> Self {
        Self { total: Number::Int64(0), is_short: true }
    }

    /// Adds a number. Integers that overflow go on as a double.
    pub(super) fn add(&mut self, number: Number) {
        self.is_short &= matches!(number, Number::Int32(_));
        self.total = self
            .total
            .checked_add(number)
            .unwrap_or_else(|| Number::Double(self.total.to_f64() + number.to_f64()));
    }

    /// The sum; as a short integer if all that was added is short, and so is the sum.
    pub(super) fn total(&self) -> Number {
        match self.total {
            Number::Int64(total) if self.is_short => {
                i32::try_from(total).map_or(Number::Int64(total), Number::Int32)
            }
            total => total,
        }
    }
}

fn add<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (mut sum, mut is_date) = (Sum::new(), false);
    for node in &call.arguments {
        let value = node.evaluate(scope)?;
        match value.as_ref() {
            None | Some(RawBsonRef::Null | RawBsonRef::Undefined) => return Ok(Computed::NULL),
            Some(RawBsonRef::DateTime(date)) => {
                if is_date {
                    return Err(Error::location(
                        16_612,
                        "only one date allowed in an $add expression",
                    ));
                }
                is_date = true;
                sum.add(Number::Int64(date.timestamp_millis()));
            }
            Some(other) => {
                if let Some(number) = Number::of(other) {
                    sum.add(number);
                } else {
                    let found = value.type_name();
                    return Err(Error::type_mismatch(format!(
                        "$add only supports numeric or date types, not {found}"
                    )));
                }
            }
        }
    }
    if !is_date {
        return Ok(Computed::from(sum.total()));
    }
    date_of(sum.total())
        .map(Computed::from)
        .ok_or_else(|| Error::new(Code::OVERFLOW, "date overflow in $add"))
}

/// The date of so many milliseconds, fractions rounded.
fn date_of(millis: Number) -> Option<DateTime> {
    let whole = match millis {
        Number::Double(double) => Number::Double(double.round()),
        other => other,
    };
    whole.truncated_i64().map(DateTime::from_millis)
}

fn subtract<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (left, right) = (call.value(0, scope)?, call.value(1, scope)?);
    if left.is_nullish() || right.is_nullish() {
        return Ok(Computed::NULL);
    }
    let overflow = || Error::new(Code::OVERFLOW, "date overflow in $subtract");
    match (left.or_null(), right.or_null()) {
        (RawBsonRef::DateTime(left), RawBsonRef::DateTime(right)) => {
            let millis = left.timestamp_millis().checked_sub(right.timestamp_millis());
            return Ok(millis.ok_or_else(overflow)?.into());
        }
        (RawBsonRef::DateTime(left), other) => {
            if let Some(number) = Number::of(other) {
                let left = Number::Int64(left.timestamp_millis());
                let date = left.checked_sub(number).and_then(date_of).ok_or_else(overflow)?;
                return Ok(date.into());
            }
        }
        (left, right) => {
            if let (Some(left), Some(right)) = (Number::of(left), Number::of(right)) {
                let difference = left
                    .checked_sub(right)
                    .unwrap_or_else(|| Number::Double(left.to_f64() - right.to_f64()));
                return Ok(Computed::from(difference));
            }
        }
    }
    let (left, right) = (left.type_name(), right.type_name());
    Err(Error::type_mismatch(format!("can't $subtract {right} from {left}")))
}

fn multiply<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (mut product, mut is_short) = (Number::Int64(1), true);
    for node in &call.arguments {
        let value = node.evaluate(scope)?;
        if value.is_nullish() {
            return Ok(Computed::NULL);
        }
        let Some(number) = value.as_number() else {
            let found = value.type_name();
            return Err(Error::type_mismatch(format!(
                "$multiply only supports numeric types, not {found}"
            )));
        };
        is_short &= matches!(number, Number::Int32(_));
        product = product
            .checked_mul(number)
            .unwrap_or_else(|| Number::Double(product.to_f64() * number.to_f64()));
    }
    Ok(Computed::from(Sum { total: product, is_short }.total()))
}

fn divide<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (left, right) = (call.value(0, scope)?, call.value(1, scope)?);
    if let (Some(left), Some(right)) = (left.as_number(), right.as_number()) {
        return divided(left, right)
            .map(Computed::from)
            .ok_or_else(|| Error::bad_value("can't $divide by zero"));
    }
    if left.is_nullish() || right.is_nullish() {
        return Ok(Computed::NULL);
    }
    let (left, right) = (left.type_name(), right.type_name());
    Err(Error::type_mismatch(format!(
        "$divide only supports numeric types, not {left} and {right}"
    )))
}

/// The quotient: a decimal if one of them is, else a double; `None` for a division by zero.
pub(super) fn divided(left: Number, right: Number) -> Option<Number> {
    if is_zero(right) {
        return None;
    }
    Some(match (left, right) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(decimals::divide(left.to_decimal(), right.to_decimal()))
        }
        _ => Number::Double(left.to_f64() / right.to_f64()),
    })
}

/// Whether a number is zero, of whatever kind and sign.
pub(super) fn is_zero(number: Number) -> bool {
    number.compare(Number::Int32(0)).is_eq()
}

fn modulo<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (left, right) = (call.value(0, scope)?, call.value(1, scope)?);
    if let (Some(left), Some(right)) = (left.as_number(), right.as_number()) {
        if is_zero(right) {
            return Err(Error::location(16_610, "can't $mod by zero"));
        }
        return Ok(Computed::from(remainder(left, right)));
    }
    if left.is_nullish() || right.is_nullish() {
        return Ok(Computed::NULL);
    }
    let (left, right) = (left.type_name(), right.type_name());
    Err(Error::location(
        16_611,
        format!("$mod only supports numeric types, not {left} and {right}"),
    ))
}

/// The remainder, which has the sign of the dividend.
fn remainder(left: Number, right: Number) -> Number {
    match (left, right) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(decimals::remainder(left.to_decimal(), right.to_decimal()))
        }
        (Number::Double(_), _) | (_, Number::Double(_)) => {
            Number::Double(left.to_f64() % right.to_f64())
        }
        (Number::Int32(left), Number::Int32(right)) => Number::Int32(left.wrapping_rem(right)),
        (left, right) => {
            let (left, right) = (left.exact_i64().unwrap_or(0), right.exact_i64().unwrap_or(1));
            Number::Int64(left.wrapping_rem(right))
        }
    }
}

fn absolute(number: Number) -> Result<Number> {
    Ok(match number {
        Number::Int32(integer) => match integer.checked_abs() {
            Some(absolute) => Number::Int32(absolute),
            None => Number::Int64(i64::from(integer).abs()),
        },
        Number::Int64(integer) => Number::Int64(
            integer
                .checked_abs()
                .ok_or_else(|| Error::location(28_680, "can't take $abs of long long min"))?,
        ),
        Number::Double(double) => Number::Double(double.abs()),
        Number::Decimal(decimal) if decimal.is_negative() => Number::Decimal(decimal.negated()),
        decimal @ Number::Decimal(_) => decimal,
    })
}

fn to_whole(number: Number, double: impl Fn(f64) -> f64, mode: RoundingMode) -> Number {
    match number {
        Number::Double(value) => Number::Double(double(value)),
        Number::Decimal(decimal) => Number::Decimal(match decimal.to_big() {
            Some(big) if !big.is_integer() => Decimal::from_big(&big.with_scale_round(0, mode)),
            _ => decimal,
        }),
        integer => integer,
    }
}
