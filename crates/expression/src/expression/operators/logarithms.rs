//! `$pow`, `$sqrt`, `$exp`, `$ln`, `$log` and `$log10`. Decimals keep their 34 digits; everything else
//! is computed in doubles, except powers of integers that fit.

use super::arithmetic::{is_zero, unary};
use super::decimals;
use super::text::number_text;
use crate::decimal::Decimal;
use crate::error::{Error, Result};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::exactly("$pow", 2, pow),
    Operator::exactly("$log", 2, log),
    Operator::exactly("$exp", 1, |call, scope| {
        unary(call, scope, |number| {
            Ok(apply(number, f64::exp, |decimal| decimals::apply(decimal, f64::exp, decimals::exp)))
        })
    }),
    Operator::exactly("$sqrt", 1, |call, scope| {
        unary(call, scope, |number| {
            if number.compare(Number::Int32(0)).is_lt() && !number.is_nan() {
                let text = "$sqrt's argument must be greater than or equal to 0";
                return Err(Error::location(28_714, text));
            }
            Ok(apply(number, f64::sqrt, |decimal| {
                decimals::apply(decimal, f64::sqrt, decimals::sqrt)
            }))
        })
    }),
    Operator::exactly("$ln", 1, |call, scope| {
        unary(call, scope, |number| {
            check_positive(28_766, "$ln", number)?;
            Ok(apply(number, f64::ln, |decimal| decimals::apply(decimal, f64::ln, decimals::ln)))
        })
    }),
    Operator::exactly("$log10", 1, |call, scope| {
        unary(call, scope, |number| {
            check_positive(28_761, "$log10", number)?;
            Ok(apply(number, f64::log10, |decimal| {
                decimals::apply(decimal, f64::log10, decimals::log10)
            }))
        })
    }),
];

/// A function in the kind of the number: decimals stay decimals, the rest become doubles.
pub(super) fn apply(
    number: Number,
    double: impl Fn(f64) -> f64,
    decimal: impl Fn(Decimal) -> Decimal,
) -> Number {
    match number {
        Number::Decimal(value) => Number::Decimal(decimal(value)),
        other => Number::Double(double(other.to_f64())),
    }
}

fn check_positive(code: i32, name: &str, number: Number) -> Result<()> {
    if number.is_nan() || number.compare(Number::Int32(0)).is_gt() {
        return Ok(());
    }
    let shown = number_text(number);
    Err(Error::location(
        code,
        format!("{name}'s argument must be a positive number, but is {shown}"),
    ))
}

fn log<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (value, base) = (call.value(0, scope)?, call.value(1, scope)?);
    if value.is_nullish() || base.is_nullish() {
        return Ok(Computed::NULL);
    }
    let wrong = |code: i32, what: &str, value: &Computed<'_>| {
        let found = value.type_name();
        Error::location(code, format!("$log's {what} must be numeric, not {found}"))
    };
    let number = value.as_number().ok_or_else(|| wrong(28_756, "argument", &value))?;
    let base = base.as_number().ok_or_else(|| wrong(28_757, "base", &base))?;
    check_positive(28_758, "$log", number)?;
    let is_base = base.is_nan()
        || base.compare(Number::Int32(0)).is_gt() && base.compare(Number::Int32(1)).is_ne();
    if !is_base {
        let shown = number_text(base);
        return Err(Error::location(
            28_759,
            format!("$log's base must be a positive number not equal to 1, but is {shown}"),
        ));
    }
    Ok(Computed::from(match (number, base) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            let (number, base) = (number.to_decimal(), base.to_decimal());
            let logarithms = number
                .to_big()
                .zip(base.to_big())
                .and_then(|(number, base)| Some((decimals::ln(&number)?, decimals::ln(&base)?)));
            Number::Decimal(match logarithms {
                Some((number, base)) => whole_if_near(Decimal::from_big(&(number / base))),
                None => Decimal::from_f64(number.to_f64().ln() / base.to_f64().ln()),
            })
        }
        _ => Number::Double(number.to_f64().ln() / base.to_f64().ln()),
    }))
}

/// The decimal without zeros behind the point, if there is nothing else.
fn whole_if_near(decimal: Decimal) -> Decimal {
    match decimal.to_big() {
        Some(big) if big.is_integer() => Decimal::from_big(&big.with_scale(0)),
        _ => decimal,
    }
}

fn pow<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (base, exponent) = (call.value(0, scope)?, call.value(1, scope)?);
    if base.is_nullish() || exponent.is_nullish() {
        return Ok(Computed::NULL);
    }
    let wrong = |code: i32, what: &str, value: &Computed<'_>| {
        let found = value.type_name();
        Error::location(code, format!("$pow's {what} must be numeric, not {found}"))
    };
    let base = base.as_number().ok_or_else(|| wrong(28_762, "base", &base))?;
    let exponent = exponent.as_number().ok_or_else(|| wrong(28_763, "exponent", &exponent))?;
    if is_zero(base) && exponent.compare(Number::Int32(0)).is_lt() && !exponent.is_nan() {
        return Err(Error::location(
            28_764,
            "$pow cannot take a base of 0 and a negative exponent",
        ));
    }
    Ok(Computed::from(match (base, exponent) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(pow_decimals(base.to_decimal(), exponent.to_decimal()))
        }
        (Number::Double(_), _) | (_, Number::Double(_)) => {
            Number::Double(base.to_f64().powf(exponent.to_f64()))
        }
        _ => pow_integers(base, exponent),
    }))
}

/// A power of integers: an integer if it fits, in the short kind if both are, else a double.
fn pow_integers(base: Number, exponent: Number) -> Number {
    let are_short = matches!((base, exponent), (Number::Int32(_), Number::Int32(_)));
    let (base, exponent) = (base.exact_i64().unwrap_or(0), exponent.exact_i64().unwrap_or(0));
    let power = match (base, u32::try_from(exponent)) {
        (1, _) => Some(1),
        (-1, _) => Some(if exponent % 2 == 0 { 1 } else { -1 }),
        (0, _) => Some(i64::from(exponent == 0)),
        (_, Ok(exponent)) => base.checked_pow(exponent),
        (_, Err(_)) => None,
    };
    match power {
        Some(power) => match i32::try_from(power) {
            Ok(short) if are_short => Number::Int32(short),
            _ => Number::Int64(power),
        },
        None => Number::Double((base as f64).powf(exponent as f64)),
    }
}

fn pow_decimals(base: Decimal, exponent: Decimal) -> Decimal {
    let special = || Decimal::from_f64(base.to_f64().powf(exponent.to_f64()));
    let (Some(x), Some(y)) = (base.to_big(), exponent.to_big()) else { return special() };
    if exponent.is_zero() {
        return Decimal::from(1);
    }
    if base.is_zero() {
        return Decimal::ZERO;
    }
    if let Some(n) = exponent.to_i64().filter(|n| exponent.is_integral() && n.abs() <= 1000) {
        let power = (0..n.unsigned_abs()).try_fold(Decimal::from(1), |power, _| {
            Some(Decimal::from_big(&(power.to_big()? * &x)))
        });
        return match power {
            Some(power) if n < 0 => decimals::divide(Decimal::from(1), power),
            Some(power) => power,
            None => special(),
        };
    }
    if base.is_negative() {
        if !exponent.is_integral() {
            return Decimal::NaN;
        }
        let power =
            decimals::pow(&x.abs(), &y).map_or_else(special, |power| Decimal::from_big(&power));
        let is_odd =
            Number::Decimal(exponent).exact_i64().is_some_and(|exponent| exponent % 2 != 0);
        return if is_odd && !power.is_negative() { power.negated() } else { power };
    }
    decimals::pow(&x, &y).map_or_else(special, |power| Decimal::from_big(&power))
}
