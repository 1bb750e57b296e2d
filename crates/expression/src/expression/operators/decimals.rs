//! Functions of decimals that plain arithmetic does not give: with 34 digits, in fixed-point integers
//! of many more.

use bigdecimal::num_bigint::BigInt;
use bigdecimal::num_traits::{One as _, ToPrimitive as _, Zero as _};
use bigdecimal::{BigDecimal, RoundingMode};

use crate::decimal::Decimal;

/// Digits behind the point of fixed-point numbers.
const SCALE: i64 = 90;

/// Beyond this the exponential of a decimal is infinite, or zero.
const EXPONENT_MAX: f64 = 14_300.0;

/// The quotient of a division that is not by zero. As few digits as the operands suggest, as many as
/// are needed.
pub(super) fn divide(left: Decimal, right: Decimal) -> Decimal {
    let (Some(a), Some(b)) = (left.to_big(), right.to_big()) else {
        let quotient = sign_of(left) / sign_of(right);
        return Decimal::from_f64(quotient);
    };
    let preferred = a.fractional_digit_count() - b.fractional_digit_count();
    let quotient = (a / b).normalized();
    let is_short = quotient.digits() <= 34 && quotient.fractional_digit_count() < preferred;
    let quotient =
        if is_short && preferred < 34 { quotient.with_scale(preferred) } else { quotient };
    Decimal::from_big(&quotient)
}

/// What a division leaves, with the sign of the dividend.
pub(super) fn remainder(left: Decimal, right: Decimal) -> Decimal {
    match (left.to_big(), right.to_big()) {
        (Some(a), Some(b)) => Decimal::from_big(&(a % b)),
        // Nothing is left of a finite number by an infinite one.
        (Some(_), None) if !matches!(right, Decimal::NaN) => left,
        _ => Decimal::NaN,
    }
}

/// A double that behaves like the decimal beside an infinity.
fn sign_of(decimal: Decimal) -> f64 {
    match decimal {
        Decimal::Finite { coefficient: 0, is_negative: true, .. } => -0.0,
        Decimal::Finite { coefficient: 0, .. } => 0.0,
        Decimal::Finite { is_negative: true, .. } => -1.0,
        Decimal::Finite { .. } => 1.0,
        special => special.to_f64(),
    }
}

/// Applies a function to a finite decimal; infinities and NaN are left to that of doubles.
pub(super) fn apply(
    decimal: Decimal,
    special: impl Fn(f64) -> f64,
    function: impl Fn(&BigDecimal) -> Option<BigDecimal>,
) -> Decimal {
    match decimal.to_big().and_then(|big| function(&big)) {
        Some(result) => Decimal::from_big(&result),
        None => Decimal::from_f64(special(decimal.to_f64())),
    }
}

/// The square root of a number that is not negative.
pub(super) fn sqrt(big: &BigDecimal) -> Option<BigDecimal> {
    big.sqrt().map(|root| root.normalized())
}

/// The exponential; `None` if it is out of range.
pub(super) fn exp(big: &BigDecimal) -> Option<BigDecimal> {
    if big.is_zero() {
        return Some(BigDecimal::one());
    }
    if big.abs().to_f64()? > EXPONENT_MAX {
        return None;
    }
    // e^x = 2^k * e^r with r small; 2^k is an exact factor.
    let fixed = Fixed::of(big);
    let ln2 = Fixed::ln2();
    let k = (&fixed.0 / &ln2.0).to_i64()?;
    let rest = Fixed(fixed.0 - &ln2.0 * k);
    let power = power_of_two(k);
    Some(rest.exp().to_big() * power)
}

/// The natural logarithm of a positive number.
pub(super) fn ln(big: &BigDecimal) -> Option<BigDecimal> {
    if big.is_one() {
        return Some(BigDecimal::zero());
    }
    // x = m * 10^e with m from 1 to 10.
    let digits = i64::try_from(big.digits()).ok()?;
    let exponent = digits - 1 - big.fractional_digit_count();
    let (integer, scale) = big.as_bigint_and_exponent();
    let mantissa = Fixed::of(&BigDecimal::new(integer, scale + exponent));
    let ln = mantissa.ln().0 + Fixed::ln10().0 * exponent;
    Some(Fixed(ln).to_big())
}

/// The logarithm to base ten of a positive number.
pub(super) fn log10(big: &BigDecimal) -> Option<BigDecimal> {
    let (integer, scale) = big.normalized().into_bigint_and_exponent();
    if integer.is_one() {
        return Some(BigDecimal::from(-scale));
    }
    Some(ln(big)? / ln(&BigDecimal::from(10))?)
}

/// A power of a positive number.
pub(super) fn pow(base: &BigDecimal, exponent: &BigDecimal) -> Option<BigDecimal> {
    exp(&(ln(base)? * exponent))
}

fn power_of_two(exponent: i64) -> BigDecimal {
    let magnitude = BigInt::one() << exponent.unsigned_abs();
    if exponent < 0 { BigDecimal::one() / BigDecimal::from(magnitude) } else { magnitude.into() }
}

/// A number as an integer of 10^-90ths.
pub(super) struct Fixed(pub(super) BigInt);

impl Fixed {
    pub(super) fn unit() -> BigInt {
        BigInt::from(10).pow(SCALE.unsigned_abs().try_into().unwrap_or(90))
    }

    pub(super) fn of(big: &BigDecimal) -> Self {
        Self(big.with_scale_round(SCALE, RoundingMode::HalfEven).into_bigint_and_exponent().0)
    }

    pub(super) fn to_big(&self) -> BigDecimal {
        BigDecimal::new(self.0.clone(), SCALE)
    }

    /// By the series, after halving until the argument is small.
    fn exp(&self) -> Self {
        const HALVINGS: u32 = 16;
        let unit = Self::unit();
        let x = &self.0 >> HALVINGS;
        let (mut sum, mut term) = (unit.clone(), unit.clone());
        for n in 1..200_u32 {
            term = term * &x / &unit / n;
            if term.is_zero() {
                break;
            }
            sum += &term;
        }
        for _ in 0..HALVINGS {
            sum = &sum * &sum / &unit;
        }
        Self(sum)
    }

    /// By Newton's method from the logarithm of the nearest double.
    fn ln(&self) -> Self {
        let unit = Self::unit();
        let start = self.to_big().to_f64().unwrap_or(1.0).ln();
        let start = BigDecimal::try_from(start).unwrap_or_default();
        let mut guess = Self::of(&start).0;
        // Each step doubles the digits, of which the first guess has fifteen.
        for _ in 0..4 {
            let power = Self(guess.clone()).exp().0;
            // Halley's step: 2 (x - e^y) / (x + e^y).
            guess += (&self.0 - &power) * 2 * &unit / (&self.0 + &power);
        }
        Self(guess)
    }

    fn ln2() -> Self {
        Self(Self::unit() * 2).ln()
    }

    fn ln10() -> Self {
        Self(Self::unit() * 10).ln()
    }
}
