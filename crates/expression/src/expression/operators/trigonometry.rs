//! Angles and hyperbolas: `$sin`, `$cos`, `$tan`, their inverses, the hyperbolic ones, `$atan2`,
//! `$degreesToRadians` and `$radiansToDegrees`.

use bigdecimal::BigDecimal;

use super::arithmetic::unary;
use super::logarithms::apply;
use super::text::number_text;
use super::{angles, decimals};
use crate::decimal::Decimal;
use crate::error::{Error, Result};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::exactly("$sin", 1, |c, s| bounded(c, s, FINITE, f64::sin, angles::sin)),
    Operator::exactly("$cos", 1, |c, s| bounded(c, s, FINITE, f64::cos, angles::cos)),
    Operator::exactly("$tan", 1, |c, s| bounded(c, s, FINITE, f64::tan, angles::tan)),
    Operator::exactly("$asin", 1, |c, s| bounded(c, s, UNIT, f64::asin, angles::asin)),
    Operator::exactly("$acos", 1, |c, s| bounded(c, s, UNIT, f64::acos, angles::acos)),
    Operator::exactly("$atan", 1, |c, s| bounded(c, s, ALL, f64::atan, angles::atan)),
    Operator::exactly("$sinh", 1, |c, s| bounded(c, s, ALL, f64::sinh, sinh)),
    Operator::exactly("$cosh", 1, |c, s| bounded(c, s, ALL, f64::cosh, cosh)),
    Operator::exactly("$tanh", 1, |c, s| bounded(c, s, ALL, f64::tanh, tanh)),
    Operator::exactly("$asinh", 1, |c, s| bounded(c, s, ALL, f64::asinh, asinh)),
    Operator::exactly("$acosh", 1, |c, s| bounded(c, s, FROM_ONE, f64::acosh, acosh)),
    Operator::exactly("$atanh", 1, |c, s| bounded(c, s, UNIT, f64::atanh, atanh)),
    Operator::exactly("$atan2", 2, atan2),
    Operator::exactly("$degreesToRadians", 1, |c, s| {
        bounded(c, s, ALL, f64::to_radians, |big| Some(big * angles::pi_big() / HALF_TURN))
    }),
    Operator::exactly("$radiansToDegrees", 1, |c, s| {
        bounded(c, s, ALL, f64::to_degrees, |big| Some(big * HALF_TURN / angles::pi_big()))
    }),
];

/// A half turn in degrees.
const HALF_TURN: u32 = 180;

/// Where a function is defined, and how messages show that.
#[derive(Clone, Copy)]
struct Bounds {
    least: f64,
    most: f64,
    is_open: bool,
    text: &'static str,
}

const ALL: Bounds =
    Bounds { least: f64::NEG_INFINITY, most: f64::INFINITY, is_open: false, text: "[-inf,inf]" };
const FINITE: Bounds = Bounds { is_open: true, text: "(-inf,inf)", ..ALL };
const UNIT: Bounds = Bounds { least: -1.0, most: 1.0, is_open: false, text: "[-1,1]" };
const FROM_ONE: Bounds = Bounds { least: 1.0, text: "[1,inf]", ..ALL };

impl Bounds {
    fn contain(self, number: Number) -> bool {
        let least = number.compare(Number::Double(self.least));
        let most = number.compare(Number::Double(self.most));
        number.is_nan()
            || if self.is_open {
                least.is_gt() && most.is_lt()
            } else {
                least.is_ge() && most.is_le()
            }
    }
}

fn bounded<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    bounds: Bounds,
    double: fn(f64) -> f64,
    decimal: fn(&BigDecimal) -> Option<BigDecimal>,
) -> Result<Computed<'a>> {
    unary(call, scope, |number| {
        if !bounds.contain(number) {
            let (name, shown, bounds) = (call.name(), number_text(number), bounds.text);
            return Err(Error::location(
                50_989,
                format!("cannot apply {name} to {shown}, value must be in {bounds}"),
            ));
        }
        Ok(apply(number, double, |value| decimals::apply(value, double, decimal)))
    })
}

/// Both exponentials of a number, of which the hyperbolic functions are made.
fn exponentials(big: &BigDecimal) -> Option<(BigDecimal, BigDecimal)> {
    Some((decimals::exp(big)?, decimals::exp(&-big)?))
}

/// Whether functions that cross the origin at a slope of one are the number itself, to 34 digits.
fn is_tiny(big: &BigDecimal) -> bool {
    big.abs() < BigDecimal::new(1.into(), 25)
}

fn sinh(big: &BigDecimal) -> Option<BigDecimal> {
    if is_tiny(big) {
        return Some(big.clone());
    }
    exponentials(big).map(|(grown, shrunk)| (grown - shrunk) / 2)
}

fn cosh(big: &BigDecimal) -> Option<BigDecimal> {
    exponentials(big).map(|(grown, shrunk)| (grown + shrunk) / 2)
}

fn tanh(big: &BigDecimal) -> Option<BigDecimal> {
    if is_tiny(big) {
        return Some(big.clone());
    }
    exponentials(big).map(|(grown, shrunk)| (&grown - &shrunk) / (grown + shrunk))
}

fn asinh(big: &BigDecimal) -> Option<BigDecimal> {
    if is_tiny(big) {
        return Some(big.clone());
    }
    let size = big.abs();
    let angle = decimals::ln(&(&size + (BigDecimal::from(1) + &size * &size).sqrt()?))?;
    Some(if size == *big { angle } else { -angle })
}

fn acosh(big: &BigDecimal) -> Option<BigDecimal> {
    let square: BigDecimal = big * big;
    let root = (square - BigDecimal::from(1)).sqrt()?;
    decimals::ln(&(big + root))
}

fn atanh(big: &BigDecimal) -> Option<BigDecimal> {
    if is_tiny(big) {
        return Some(big.clone());
    }
    let one = BigDecimal::from(1);
    // At one it is infinite, which is left to doubles.
    let quotient = if big.abs() == one { return None } else { (&one + big) / (&one - big) };
    decimals::ln(&quotient).map(|double| double / 2)
}

fn atan2<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (y, x) = (call.value(0, scope)?, call.value(1, scope)?);
    if y.is_nullish() || x.is_nullish() {
        return Ok(Computed::NULL);
    }
    let (Some(y), Some(x)) = (y.as_number(), x.as_number()) else {
        let (y, x) = (y.type_name(), x.type_name());
        return Err(Error::location(
            51_044,
            format!("$atan2 only supports numeric types, not {y} and {x}"),
        ));
    };
    Ok(Computed::from(match (y, x) {
        (Number::Decimal(_), _) | (_, Number::Decimal(_)) => {
            Number::Decimal(atan2_decimals(y.to_decimal(), x.to_decimal()))
        }
        _ => Number::Double(y.to_f64().atan2(x.to_f64())),
    }))
}

fn atan2_decimals(y: Decimal, x: Decimal) -> Decimal {
    let angle = y.to_big().zip(x.to_big()).and_then(|(big_y, big_x)| {
        if x.is_zero() || y.is_zero() {
            return None;
        }
        let angle = angles::atan(&(big_y / big_x))?;
        Some(match (x.is_negative(), y.is_negative()) {
            (false, _) => angle,
            (true, false) => angle + angles::pi_big(),
            (true, true) => angle - angles::pi_big(),
        })
    });
    match angle {
        Some(angle) => Decimal::from_big(&angle),
        None => on_axis(y.to_f64().atan2(x.to_f64())),
    }
}

/// The angle of a point on an axis, or at infinity: a multiple of an eighth turn.
fn on_axis(angle: f64) -> Decimal {
    let eighths = angle / std::f64::consts::FRAC_PI_4;
    match Number::Double(eighths.round()).exact_i64() {
        Some(0) | None => Decimal::from_f64(angle),
        Some(eighths) => Decimal::from_big(&(angles::pi_big() * BigDecimal::from(eighths) / 4)),
    }
}
