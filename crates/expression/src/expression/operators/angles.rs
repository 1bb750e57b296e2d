//! The functions of angles for decimals, for arguments of a size where they mean something.

use bigdecimal::BigDecimal;
use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{One as _, Signed as _, ToPrimitive as _, Zero as _};

use super::decimals::Fixed;

/// Beyond this a decimal has no digits left within one turn.
const ARGUMENT_MAX: f64 = 1e34;

/// The sine.
pub(super) fn sin(big: &BigDecimal) -> Option<BigDecimal> {
    Some(sin_cos(big)?.0)
}

/// The cosine.
pub(super) fn cos(big: &BigDecimal) -> Option<BigDecimal> {
    Some(sin_cos(big)?.1)
}

/// The tangent.
pub(super) fn tan(big: &BigDecimal) -> Option<BigDecimal> {
    let (sin, cos) = sin_cos(big)?;
    (!cos.is_zero()).then(|| sin / cos)
}

fn sin_cos(big: &BigDecimal) -> Option<(BigDecimal, BigDecimal)> {
    if big.abs().to_f64()? > ARGUMENT_MAX {
        return None;
    }
    let turn = pi().0 * 2;
    let angle = Fixed::of(big).0 % turn;
    let (sin, cos) = (Fixed(series(&angle, true)).to_big(), Fixed(series(&angle, false)).to_big());
    // The sine of a tiny angle is the angle, of which fixed point would lose digits.
    let is_tiny = big.abs() < BigDecimal::new(1.into(), 25);
    Some((if is_tiny { big.clone() } else { sin }, cos))
}

/// The series of the sine (odd powers) or the cosine (even powers).
fn series(angle: &BigInt, is_odd: bool) -> BigInt {
    let unit = Fixed::unit();
    let square = angle * angle / &unit;
    let mut term = if is_odd { angle.clone() } else { unit.clone() };
    let mut sum = term.clone();
    let mut n = u64::from(is_odd);
    while !term.is_zero() {
        term = -(term * &square / &unit) / ((n + 1) * (n + 2));
        sum += &term;
        n += 2;
    }
    sum
}

/// The angle of a tangent.
pub(super) fn atan(big: &BigDecimal) -> Option<BigDecimal> {
    if big.abs() < BigDecimal::new(1.into(), 25) {
        return Some(big.clone());
    }
    if big.abs() > 1 {
        // atan x = pi/2 - atan 1/x
        let rest = atan(&(BigDecimal::from(1) / big))?;
        let quarter = Fixed(pi().0 / 2).to_big();
        return Some(if big.is_negative() { -quarter - rest } else { quarter - rest });
    }
    // Halve the angle until the series is short: tan a/2 = t / (1 + sqrt(1 + t^2)).
    let mut tangent = big.clone();
    for _ in 0..5 {
        let root = (BigDecimal::from(1) + &tangent * &tangent).sqrt()?;
        tangent = (tangent / (BigDecimal::from(1) + root)).with_prec(110);
    }
    let unit = Fixed::unit();
    let x = Fixed::of(&tangent).0;
    let square = &x * &x / &unit;
    let (mut power, mut sum, mut n) = (x.clone(), x, 1_u64);
    while !power.is_zero() {
        power = -(power * &square / &unit);
        n += 2;
        sum += &power / n;
    }
    Some(Fixed(sum * 32).to_big())
}

/// The angle of a sine.
pub(super) fn asin(big: &BigDecimal) -> Option<BigDecimal> {
    let one = BigDecimal::from(1);
    let rest = (&one - big) * (&one + big);
    if rest.is_zero() {
        let quarter = Fixed(pi().0 / 2).to_big();
        return Some(if big.is_negative() { -quarter } else { quarter });
    }
    atan(&(big / rest.sqrt()?))
}

/// The angle of a cosine.
pub(super) fn acos(big: &BigDecimal) -> Option<BigDecimal> {
    if big.is_one() {
        return Some(BigDecimal::from(0));
    }
    // Twice the angle whose tangent is sqrt((1 - x) / (1 + x)), which keeps digits near one.
    let one = BigDecimal::from(1);
    let below = &one + big;
    if below.is_zero() {
        return Some(pi().to_big());
    }
    Some(atan(&((one - big) / below).sqrt()?)? * BigDecimal::from(2))
}

/// The number pi.
pub(super) fn pi_big() -> BigDecimal {
    pi().to_big()
}

/// By Machin's formula: pi = 16 atan 1/5 - 4 atan 1/239.
fn pi() -> Fixed {
    Fixed(inverse_atan(5) * 16 - inverse_atan(239) * 4)
}

/// The angle whose tangent is one over an integer.
fn inverse_atan(n: u32) -> BigInt {
    let square = BigInt::from(n) * n;
    let mut power = Fixed::unit() / n;
    let (mut sum, mut k) = (power.clone(), 1_u32);
    while !power.is_zero() {
        power = -power / &square;
        k += 2;
        sum += &power / k;
    }
    sum
}
