//! Decimal128: 34 digits and an exponent of ten, as IEEE 754-2008 packs them in 16 bytes (binary
//! integer significand). Arithmetic goes through big decimals and is rounded to 34 digits, half to
//! even.

use std::cmp::Ordering;
use std::fmt;
use std::num::NonZeroU64;
use std::str::FromStr;

use bigdecimal::num_bigint::{BigInt, Sign};
use bigdecimal::{BigDecimal, RoundingMode, ToPrimitive as _};
use bson::Decimal128;

/// The greatest coefficient: 34 nines.
const COEFFICIENT_MAX: u128 = 9_999_999_999_999_999_999_999_999_999_999_999;
const DIGITS_MAX: NonZeroU64 = NonZeroU64::new(34).expect("not zero");
const EXPONENT_BIAS: i32 = 6176;
const EXPONENT_MIN: i32 = -EXPONENT_BIAS;
const EXPONENT_MAX: i32 = 6111;

/// An unpacked decimal. Two decimals can be equal in value and differ in exponent (`1.0`, `1.00`),
/// so comparing needs [`Decimal::compare`].
#[derive(Clone, Copy, Debug)]
pub enum Decimal {
    /// Not a number.
    NaN,
    /// Infinity.
    Infinite {
        /// Whether it is the negative one.
        is_negative: bool,
    },
    /// `coefficient * 10 ^ exponent`.
    Finite {
        /// Whether it is below zero, or the negative zero.
        is_negative: bool,
        /// At most 34 digits.
        coefficient: u128,
        /// From -6176 to 6111.
        exponent: i32,
    },
}

impl Decimal {
    /// Zero, without digits behind the point.
    pub const ZERO: Self = Self::Finite { is_negative: false, coefficient: 0, exponent: 0 };

    /// Whether it is an infinity or not a number.
    pub fn is_special(self) -> bool {
        !matches!(self, Self::Finite { .. })
    }

    /// Whether it is a zero of either sign.
    pub fn is_zero(self) -> bool {
        matches!(self, Self::Finite { coefficient: 0, .. })
    }

    /// Whether it has the sign of negative numbers.
    pub fn is_negative(self) -> bool {
        match self {
            Self::NaN => false,
            Self::Infinite { is_negative } | Self::Finite { is_negative, .. } => is_negative,
        }
    }

    /// The negative of it.
    #[must_use]
    pub fn negated(self) -> Self {
        match self {
            Self::NaN => Self::NaN,
            Self::Infinite { is_negative } => Self::Infinite { is_negative: !is_negative },
            Self::Finite { is_negative, coefficient, exponent } => {
                Self::Finite { is_negative: !is_negative, coefficient, exponent }
            }
        }
    }

    /// Orders by value. NaN equals itself and is less than all numbers.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::NaN, Self::NaN) => Ordering::Equal,
            (Self::NaN, _) => Ordering::Less,
            (_, Self::NaN) => Ordering::Greater,
            _ => self.rank().cmp(&other.rank()).then_with(|| {
                let magnitudes = self.magnitude_compare(other);
                if self.is_negative() { magnitudes.reverse() } else { magnitudes }
            }),
        }
    }

    /// Where numbers of this sign lie; both zeros are in the middle.
    fn rank(self) -> i8 {
        match (self.is_zero(), self.is_negative()) {
            (true, _) => 0,
            (false, true) => -1,
            (false, false) => 1,
        }
    }

    fn magnitude_compare(self, other: Self) -> Ordering {
        match (self, other) {
            (
                Self::Finite { coefficient: a, exponent: x, .. },
                Self::Finite { coefficient: b, exponent: y, .. },
            ) => {
                if a == 0 || b == 0 {
                    return a.cmp(&b);
                }
                let (digits_a, digits_b) = (digits(a), digits(b));
                let places = |digits: u32, exponent: i32| i64::from(digits) + i64::from(exponent);
                places(digits_a, x).cmp(&places(digits_b, y)).then_with(|| {
                    // The first digits stand at the same place: give both as many digits.
                    let widest = digits_a.max(digits_b);
                    let widened = |value: u128, digits: u32| value * 10_u128.pow(widest - digits);
                    widened(a, digits_a).cmp(&widened(b, digits_b))
                })
            }
            (Self::Finite { .. }, _) => Ordering::Less,
            (_, Self::Finite { .. }) => Ordering::Greater,
            _ => Ordering::Equal,
        }
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::NaN => f64::NAN,
            Self::Infinite { is_negative: false } => f64::INFINITY,
            Self::Infinite { is_negative: true } => f64::NEG_INFINITY,
            Self::Finite { is_negative, coefficient, exponent } => {
                let text = format!("{coefficient}e{exponent}");
                let magnitude: f64 = text.parse().unwrap_or(f64::INFINITY);
                if is_negative { -magnitude } else { magnitude }
            }
        }
    }

    /// The integer nearest to zero that is not beyond it; `None` if an `i64` cannot hold it.
    pub fn to_i64(self) -> Option<i64> {
        self.to_big()?.with_scale_round(0, RoundingMode::Down).to_i64()
    }

    /// Whether it is a whole number.
    pub fn is_integral(self) -> bool {
        self.to_big().is_some_and(|big| big.is_integer())
    }

    /// The exact value; `None` for infinities and NaN.
    pub fn to_big(self) -> Option<BigDecimal> {
        match self {
            Self::Finite { is_negative, coefficient, exponent } => {
                let sign = if is_negative { Sign::Minus } else { Sign::Plus };
                let integer = BigInt::from_biguint(sign, coefficient.into());
                Some(BigDecimal::new(integer, -i64::from(exponent)))
            }
            _ => None,
        }
    }

    /// Rounds to 34 digits. What is too large becomes infinite, what is too small zero.
    pub fn from_big(big: &BigDecimal) -> Self {
        let mut rounded = big.clone();
        if rounded.digits() > DIGITS_MAX.get() {
            rounded = rounded.with_precision_round(DIGITS_MAX, RoundingMode::HalfEven);
        }
        if rounded.fractional_digit_count() > i64::from(EXPONENT_BIAS) {
            rounded = rounded.with_scale_round(i64::from(EXPONENT_BIAS), RoundingMode::HalfEven);
        }
        let (integer, scale) = rounded.into_bigint_and_exponent();
        let is_negative = integer.sign() == Sign::Minus;
        let coefficient = integer.magnitude().to_u128().unwrap_or(0);
        Self::finite(is_negative, coefficient, -scale)
    }

    /// Moves digits between coefficient and exponent until the exponent is in its range.
    fn finite(is_negative: bool, mut coefficient: u128, mut exponent: i64) -> Self {
        while exponent > i64::from(EXPONENT_MAX) && coefficient != 0 {
            if coefficient > COEFFICIENT_MAX / 10 {
                return Self::Infinite { is_negative };
            }
            coefficient *= 10;
            exponent -= 1;
        }
        let exponent = exponent.clamp(EXPONENT_MIN.into(), EXPONENT_MAX.into());
        let exponent = i32::try_from(exponent).unwrap_or(EXPONENT_MAX);
        Self::Finite { is_negative, coefficient, exponent }
    }

    /// The double as 15 digits, as MongoDB converts doubles in arithmetic.
    pub fn from_f64(double: f64) -> Self {
        if double.is_nan() {
            return Self::NaN;
        }
        if double.is_infinite() {
            return Self::Infinite { is_negative: double < 0.0 };
        }
        format!("{double:.14e}").parse().unwrap_or(Self::NaN)
    }
}

/// How many decimal digits a number has; zero has one.
fn digits(value: u128) -> u32 {
    value.checked_ilog10().unwrap_or(0) + 1
}

impl From<i64> for Decimal {
    fn from(integer: i64) -> Self {
        let coefficient = integer.unsigned_abs().into();
        Self::Finite { is_negative: integer < 0, coefficient, exponent: 0 }
    }
}

impl From<Decimal128> for Decimal {
    fn from(packed: Decimal128) -> Self {
        let bits = u128::from_le_bytes(packed.bytes());
        let is_negative = bits >> 127 == 1;
        let bits_of = |from: u32, count: u32| (bits >> from) & ((1 << count) - 1);
        match bits_of(122, 5) {
            0b11111 => return Self::NaN,
            0b11110 => return Self::Infinite { is_negative },
            _ => {}
        }
        // With these two bits the coefficient would have more than 34 digits, which counts as zero.
        let (exponent, coefficient) = if bits_of(125, 2) == 0b11 {
            (bits_of(111, 14), 0)
        } else {
            let coefficient = bits_of(0, 113);
            (bits_of(113, 14), if coefficient > COEFFICIENT_MAX { 0 } else { coefficient })
        };
        let exponent = i32::try_from(exponent).unwrap_or(0) - EXPONENT_BIAS;
        Self::Finite { is_negative, coefficient, exponent }
    }
}

impl From<Decimal> for Decimal128 {
    fn from(decimal: Decimal) -> Self {
        let sign = u128::from(decimal.is_negative()) << 127;
        let bits = match decimal {
            Decimal::NaN => 0b11111 << 122,
            Decimal::Infinite { .. } => 0b11110 << 122,
            Decimal::Finite { coefficient, exponent, .. } => {
                let biased = u128::try_from(exponent + EXPONENT_BIAS).unwrap_or(0);
                biased << 113 | coefficient
            }
        };
        Self::from_bytes((sign | bits).to_le_bytes())
    }
}

/// A text that is no decimal number.
#[derive(Debug, PartialEq, Eq)]
pub struct NotDecimal;

impl FromStr for Decimal {
    type Err = NotDecimal;

    /// Reads a number with or without exponent, an infinity or NaN, in any case. More than 34 digits
    /// are rounded.
    fn from_str(text: &str) -> Result<Self, NotDecimal> {
        let (is_negative, rest) = match text.as_bytes().first() {
            Some(b'-') => (true, &text[1..]),
            Some(b'+') => (false, &text[1..]),
            _ => (false, text),
        };
        if ["inf", "infinity"].iter().any(|name| rest.eq_ignore_ascii_case(name)) {
            return Ok(Self::Infinite { is_negative });
        }
        if rest.eq_ignore_ascii_case("nan") {
            return Ok(Self::NaN);
        }
        let mut parts = rest.splitn(2, ['e', 'E']);
        let mantissa = parts.next().unwrap_or_default();
        let exponent: i64 = match parts.next() {
            Some(exponent) => exponent.parse().map_err(|_| NotDecimal)?,
            None => 0,
        };
        let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
        let are_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
        if whole.len() + fraction.len() == 0 || !are_digits(whole) || !are_digits(fraction) {
            return Err(NotDecimal);
        }
        let all = format!("{whole}{fraction}");
        let digits = all.trim_start_matches('0');
        let scale = i64::try_from(fraction.len()).map_err(|_| NotDecimal)?;
        let exponent = exponent.checked_sub(scale).ok_or(NotDecimal)?;
        if digits.len() as u64 > DIGITS_MAX.get() || exponent < EXPONENT_MIN.into() {
            if exponent.abs() > 100_000 {
                return Ok(if exponent > 0 {
                    Self::Infinite { is_negative }
                } else {
                    Self::Finite { is_negative, coefficient: 0, exponent: EXPONENT_MIN }
                });
            }
            let integer: BigInt = digits.parse().unwrap_or_default();
            let rounded = Self::from_big(&BigDecimal::new(integer, -exponent));
            return Ok(if is_negative { rounded.negated() } else { rounded });
        }
        Ok(Self::finite(is_negative, digits.parse().unwrap_or(0), exponent))
    }
}

impl fmt::Display for Decimal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&Decimal128::from(*self).to_string())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn decimal(text: &str) -> Decimal {
        text.parse().unwrap_or_else(|NotDecimal| panic!("`{text}` is no decimal"))
    }

    #[test]
    fn texts_and_packed_decimals_agree_with_the_driver() {
        for text in [
            "0",
            "-0",
            "1",
            "-1",
            "1.0",
            "1.00",
            "0.1",
            "1E+3",
            "12345.6789",
            "1E-6176",
            "9.999999999999999999999999999999999E+6144",
            "Infinity",
            "-Infinity",
            "NaN",
            "1234567890123456789012345678901234",
            "5E+6111",
        ] {
            let theirs: Decimal128 = text.parse().unwrap();
            assert_eq!(Decimal128::from(decimal(text)), theirs, "{text}");
            assert_eq!(Decimal::from(theirs).to_string(), theirs.to_string(), "{text}");
        }
    }

    #[test]
    fn what_does_not_fit_is_rounded() {
        assert_eq!(
            decimal("12345678901234567890123456789012345").to_string(),
            "1.234567890123456789012345678901234E+34"
        );
        assert_eq!(decimal("1E+7000").to_string(), "Infinity");
        assert_eq!(decimal("-1E+999999").to_string(), "-Infinity");
        assert_eq!(decimal("1E-7000").to_string(), "0E-6176");
        for text in ["", ".", "e5", "1e", "1.2.3", "0x10", " 1", "--1"] {
            assert!(text.parse::<Decimal>().is_err(), "{text}");
        }
    }

    #[test]
    fn values_are_ordered_whatever_their_exponents() {
        let sorted = [
            "NaN",
            "-Infinity",
            "-1E+10",
            "-2",
            "-1E-10",
            "0",
            "1E-6176",
            "0.5",
            "1",
            "1.5",
            "10",
            "1E+10",
            "9E+6144",
            "Infinity",
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(decimal(a).compare(decimal(b)), i.cmp(&j), "{a} {b}");
            }
        }
        for (a, b) in [("1", "1.000"), ("1E+3", "1000"), ("-0", "0E+5"), ("NaN", "NaN")] {
            assert_eq!(decimal(a).compare(decimal(b)), Ordering::Equal, "{a} {b}");
        }
    }

    proptest! {
        #[test]
        fn decimals_and_big_decimals_convert(coefficient in 0..=COEFFICIENT_MAX, exponent in -6176..=6111,
            is_negative: bool) {
            let decimal = Decimal::Finite { is_negative, coefficient, exponent };
            let back = Decimal::from_big(&decimal.to_big().unwrap());
            prop_assert_eq!(decimal.compare(back), Ordering::Equal);
            let packed = Decimal128::from(decimal);
            prop_assert_eq!(Decimal::from(packed).compare(decimal), Ordering::Equal);
        }

        #[test]
        fn order_is_that_of_big_decimals(a in -1000_i64..1000, x in -5..5, b in -1000_i64..1000, y in -5..5) {
            let text = |integer: i64, exponent: i32| format!("{integer}E{exponent}");
            let (one, other) = (decimal(&text(a, x)), decimal(&text(b, y)));
            prop_assert_eq!(one.compare(other), one.to_big().cmp(&other.to_big()));
        }
    }
}
