//! `$round` and `$trunc`, to a place before or behind the point. Halves go to the even neighbour.

use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive as _};

use super::arithmetic::not_numeric_for;
use super::text::number_text;
use crate::decimal::Decimal;
use crate::error::{Error, Result};
use crate::expression::operator::{Call, Form, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$round", Form::Between(1, 2), |call, scope| {
        rounded(call, scope, RoundingMode::HalfEven)
    }),
    Operator::new("$trunc", Form::Between(1, 2), |call, scope| {
        rounded(call, scope, RoundingMode::Down)
    }),
];

/// The places that are allowed.
const PLACES: std::ops::RangeInclusive<i64> = -20..=100;

fn rounded<'a>(call: &'a Call, scope: &Scope<'a>, mode: RoundingMode) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    let place = if call.is_given(1) { call.value(1, scope)? } else { Computed::from(0) };
    if value.is_nullish() || place.is_nullish() {
        return Ok(Computed::NULL);
    }
    let name = call.name();
    let number = value.as_number().ok_or_else(|| not_numeric_for(51_081, name, &value))?;
    let place_number = place.as_number().ok_or_else(|| not_numeric_for(51_081, name, &place))?;
    let place = place_number.exact_i64().ok_or_else(|| {
        Error::location(51_082, format!("precision argument to  {name} must be a integral value"))
    })?;
    if !PLACES.contains(&place) {
        return Err(Error::location(
            51_083,
            format!("cannot apply {name} with precision value {place} value must be in [-20, 100]"),
        ));
    }
    round(number, place, mode).map(Computed::from).ok_or_else(|| {
        let number = number_text(number);
        Error::location(
            51_080,
            format!(
                "invalid conversion from Decimal128 result in {name} resulting from arguments: \
                 [{number}, {place}]"
            ),
        )
    })
}

/// The rounded number; `None` if integers overflow.
fn round(number: Number, place: i64, mode: RoundingMode) -> Option<Number> {
    match number {
        Number::Double(double) if place == 0 => Some(Number::Double(match mode {
            RoundingMode::Down => double.trunc(),
            _ => double.round_ties_even(),
        })),
        Number::Double(double) => Some(match BigDecimal::try_from(double) {
            Ok(big) => {
                let rounded = Decimal::from_big(&big.with_scale_round(place, mode)).to_f64();
                Number::Double(rounded.copysign(double))
            }
            Err(_) => number,
        }),
        Number::Decimal(decimal) => Some(match decimal.to_big() {
            Some(big) => {
                let rounded = big.with_scale_round(place, mode);
                let fits = rounded.digits() <= 34;
                Number::Decimal(if fits { Decimal::from_big(&rounded) } else { decimal })
            }
            None => number,
        }),
        _ if place >= 0 => Some(number),
        Number::Int32(integer) => {
            let rounded = round_integer(integer.into(), place, mode)?;
            Some(i32::try_from(rounded).map_or(Number::Int64(rounded), Number::Int32))
        }
        Number::Int64(integer) => round_integer(integer, place, mode).map(Number::Int64),
    }
}

fn round_integer(integer: i64, place: i64, mode: RoundingMode) -> Option<i64> {
    BigDecimal::from(integer).with_scale_round(place, mode).to_i64()
}
