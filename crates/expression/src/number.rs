//! The four kinds of numbers as one: their order by exact value, and the arithmetic of updates and
//! expressions, whose result has the wider kind of the two.

use std::cmp::Ordering;

use bigdecimal::BigDecimal;
use bson::{RawBson, RawBsonRef};

use crate::decimal::Decimal;

/// A number of any kind.
#[derive(Clone, Copy, Debug)]
pub enum Number {
    /// 32 bits.
    Int32(i32),
    /// 64 bits.
    Int64(i64),
    /// A double.
    Double(f64),
    /// A decimal of 34 digits.
    Decimal(Decimal),
}

/// Both numbers in the wider kind of the two.
enum Pair {
    Integers(i64, i64, bool),
    Doubles(f64, f64),
    Decimals(Decimal, Decimal),
}

impl Number {
    /// The number that a value is; `None` if it is something else.
    pub fn of(value: RawBsonRef<'_>) -> Option<Self> {
        match value {
            RawBsonRef::Int32(integer) => Some(Self::Int32(integer)),
            RawBsonRef::Int64(integer) => Some(Self::Int64(integer)),
            RawBsonRef::Double(double) => Some(Self::Double(double)),
            RawBsonRef::Decimal128(packed) => Some(Self::Decimal(packed.into())),
            _ => None,
        }
    }

    /// The integer, if the number is of an integer's kind.
    fn integer(self) -> Option<i64> {
        match self {
            Self::Int32(integer) => Some(integer.into()),
            Self::Int64(integer) => Some(integer),
            _ => None,
        }
    }

    /// The nearest double.
    pub fn to_f64(self) -> f64 {
        match self {
            Self::Int32(integer) => integer.into(),
            Self::Int64(integer) => integer as f64,
            Self::Double(double) => double,
            Self::Decimal(decimal) => decimal.to_f64(),
        }
    }

    /// The decimal; a double is rounded to 15 digits.
    pub fn to_decimal(self) -> Decimal {
        match self {
            Self::Int32(integer) => i64::from(integer).into(),
            Self::Int64(integer) => integer.into(),
            Self::Double(double) => Decimal::from_f64(double),
            Self::Decimal(decimal) => decimal,
        }
    }

    /// The number as an integer of equal value; `None` if it has a fraction, or an `i64` cannot hold it.
    pub fn exact_i64(self) -> Option<i64> {
        match self {
            Self::Int32(integer) => Some(integer.into()),
            Self::Int64(integer) => Some(integer),
            Self::Double(double) => {
                let whole = whole_part(double);
                let is_exact = compare_integer_double(whole, double).is_eq();
                is_exact.then_some(whole)
            }
            Self::Decimal(decimal) => decimal.to_i64().filter(|_| decimal.is_integral()),
        }
    }

    /// The integer that is left without the fraction; `None` if an `i64` cannot hold it.
    pub fn truncated_i64(self) -> Option<i64> {
        match self {
            Self::Double(double) => Self::Double(double.trunc()).exact_i64(),
            Self::Decimal(decimal) => decimal.to_i64(),
            _ => self.integer(),
        }
    }

    /// Whether it is not a number.
    pub fn is_nan(self) -> bool {
        match self {
            Self::Double(double) => double.is_nan(),
            Self::Decimal(decimal) => matches!(decimal, Decimal::NaN),
            _ => false,
        }
    }

    /// Orders by exact value, whatever the kinds. NaN equals itself and is less than all numbers.
    pub fn compare(self, other: Self) -> Ordering {
        match (self, other) {
            (Self::Double(a), Self::Double(b)) => compare_doubles(a, b),
            (Self::Decimal(a), Self::Decimal(b)) => a.compare(b),
            (Self::Decimal(a), Self::Double(b)) => compare_decimal_double(a, b),
            (Self::Double(a), Self::Decimal(b)) => compare_decimal_double(b, a).reverse(),
            (Self::Decimal(a), b) => a.compare(b.to_decimal()),
            (a, Self::Decimal(b)) => a.to_decimal().compare(b),
            (Self::Double(a), b) => compare_integer_double(b.integer().unwrap_or(0), a).reverse(),
            (a, Self::Double(b)) => compare_integer_double(a.integer().unwrap_or(0), b),
            (a, b) => a.integer().cmp(&b.integer()),
        }
    }

    /// The greatest double that is not greater, and whether it is equal. Negative zero becomes zero.
    pub fn floor_f64(self) -> (f64, bool) {
        let nearest = self.to_f64();
        match Self::Double(nearest).compare(self) {
            Ordering::Equal => (nearest + 0.0, true),
            Ordering::Less => (nearest + 0.0, false),
            Ordering::Greater => (nearest.next_down(), false),
        }
    }

    fn pair(self, other: Self) -> Pair {
        match (self, other) {
            (Self::Decimal(_), _) | (_, Self::Decimal(_)) => {
                Pair::Decimals(self.to_decimal(), other.to_decimal())
            }
            (Self::Double(_), _) | (_, Self::Double(_)) => {
                Pair::Doubles(self.to_f64(), other.to_f64())
            }
            (a, b) => {
                let are_short = matches!((a, b), (Self::Int32(_), Self::Int32(_)));
                let (a, b) = (a.integer().unwrap_or(0), b.integer().unwrap_or(0));
                Pair::Integers(a, b, are_short)
            }
        }
    }

    /// An integer in the narrower kind if both operands had it and the result fits.
    fn of_integer(integer: i64, is_short: bool) -> Self {
        match i32::try_from(integer) {
            Ok(short) if is_short => Self::Int32(short),
            _ => Self::Int64(integer),
        }
    }

    /// The sum; `None` if integers overflow 64 bits.
    pub fn checked_add(self, other: Self) -> Option<Self> {
        Some(match self.pair(other) {
            Pair::Integers(a, b, are_short) => Self::of_integer(a.checked_add(b)?, are_short),
            Pair::Doubles(a, b) => Self::Double(a + b),
            Pair::Decimals(a, b) => Self::Decimal(decimals(a, b, f64_add, |a, b| a + b)),
        })
    }

    /// The difference; `None` if integers overflow 64 bits.
    pub fn checked_sub(self, other: Self) -> Option<Self> {
        Some(match self.pair(other) {
            Pair::Integers(a, b, are_short) => Self::of_integer(a.checked_sub(b)?, are_short),
            Pair::Doubles(a, b) => Self::Double(a - b),
            Pair::Decimals(a, b) => Self::Decimal(decimals(a, b, f64_sub, |a, b| a - b)),
        })
    }

    /// The product; `None` if integers overflow 64 bits.
    pub fn checked_mul(self, other: Self) -> Option<Self> {
        Some(match self.pair(other) {
            Pair::Integers(a, b, are_short) => Self::of_integer(a.checked_mul(b)?, are_short),
            Pair::Doubles(a, b) => Self::Double(a * b),
            Pair::Decimals(a, b) => Self::Decimal(decimals(a, b, f64_mul, |a, b| a * b)),
        })
    }
}

fn f64_add(a: f64, b: f64) -> f64 {
    a + b
}

fn f64_sub(a: f64, b: f64) -> f64 {
    a - b
}

fn f64_mul(a: f64, b: f64) -> f64 {
    a * b
}

/// Combines two decimals. Infinities and NaN behave as those of doubles do.
fn decimals(
    a: Decimal,
    b: Decimal,
    special: impl Fn(f64, f64) -> f64,
    exact: impl Fn(BigDecimal, BigDecimal) -> BigDecimal,
) -> Decimal {
    match (a.to_big(), b.to_big()) {
        (Some(a), Some(b)) => Decimal::from_big(&exact(a, b)),
        _ => Decimal::from_f64(special(sign_of(a), sign_of(b))),
    }
}

/// A double that behaves like the decimal beside an infinity.
fn sign_of(decimal: Decimal) -> f64 {
    match decimal {
        Decimal::Finite { coefficient: 0, .. } => 0.0,
        Decimal::Finite { is_negative, .. } => f64::from(i8::from(!is_negative) * 2 - 1),
        special => special.to_f64(),
    }
}

impl From<Number> for RawBson {
    fn from(number: Number) -> Self {
        match number {
            Number::Int32(integer) => Self::Int32(integer),
            Number::Int64(integer) => Self::Int64(integer),
            Number::Double(double) => Self::Double(double),
            Number::Decimal(decimal) => Self::Decimal128(decimal.into()),
        }
    }
}

fn compare_doubles(a: f64, b: f64) -> Ordering {
    a.partial_cmp(&b).unwrap_or_else(|| b.is_nan().cmp(&a.is_nan()))
}

/// The double without its fraction, or the nearest `i64`.
#[expect(clippy::cast_possible_truncation, reason = "that is what it is for")]
fn whole_part(double: f64) -> i64 {
    double as i64
}

/// Compares exactly: not every integer is a double.
fn compare_integer_double(integer: i64, double: f64) -> Ordering {
    const ABOVE_ALL: f64 = 9_223_372_036_854_775_808.0;
    if double.is_nan() || double < -ABOVE_ALL {
        return Ordering::Greater;
    }
    if double >= ABOVE_ALL {
        return Ordering::Less;
    }
    let whole = double.trunc();
    integer.cmp(&whole_part(whole)).then_with(|| compare_doubles(whole, double))
}

/// Compares exactly. Rounding keeps order, so only if the nearest double is this one the decimals
/// of both are needed.
fn compare_decimal_double(decimal: Decimal, double: f64) -> Ordering {
    compare_doubles(decimal.to_f64(), double).then_with(|| {
        match (decimal.to_big(), BigDecimal::try_from(double)) {
            (Some(decimal), Ok(double)) => decimal.cmp(&double),
            // A finite decimal whose nearest double is infinite.
            (Some(_), Err(_)) if double > 0.0 => Ordering::Less,
            (Some(_), Err(_)) => Ordering::Greater,
            (None, _) => Ordering::Equal,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decimal(text: &str) -> Number {
        Number::Decimal(text.parse().unwrap())
    }

    #[test]
    fn numbers_are_ordered_by_their_exact_values() {
        use Number::{Double, Int32, Int64};
        let sorted = [
            Double(f64::NAN),
            Double(f64::NEG_INFINITY),
            decimal("-1E+400"),
            Int64(i64::MIN),
            Int32(-1),
            Double(-0.5),
            decimal("-1E-400"),
            Int32(0),
            decimal("1E-400"),
            decimal("0.1"),
            Double(0.1),
            Int64(9_007_199_254_740_992),
            Int64(9_007_199_254_740_993),
            Double(9_007_199_254_740_994.0),
            decimal("9007199254740994.5"),
            Int64(i64::MAX),
            Double(9_223_372_036_854_775_808.0),
            decimal("1E+400"),
            Double(f64::INFINITY),
        ];
        for (i, a) in sorted.iter().enumerate() {
            for (j, b) in sorted.iter().enumerate() {
                assert_eq!(a.compare(*b), i.cmp(&j), "{a:?} {b:?}");
            }
        }
        for one in [Int32(1), Int64(1), Double(1.0), decimal("1.00")] {
            assert_eq!(one.compare(Int32(1)), Ordering::Equal);
            assert_eq!(one.exact_i64(), Some(1));
        }
        assert_eq!(Double(-0.0).compare(Int32(0)), Ordering::Equal);
    }

    #[test]
    fn sums_have_the_wider_kind() {
        use Number::{Double, Int32, Int64};
        let shown = |number: Option<Number>| format!("{number:?}");
        assert_eq!(shown(Int32(1).checked_add(Int32(2))), "Some(Int32(3))");
        let wide = Int32(i32::MAX).checked_add(Int32(1));
        assert_eq!(shown(wide), "Some(Int64(2147483648))");
        assert_eq!(shown(Int32(1).checked_add(Int64(2))), "Some(Int64(3))");
        assert_eq!(shown(Int64(1).checked_mul(Double(0.5))), "Some(Double(0.5))");
        assert_eq!(shown(Int64(i64::MAX).checked_add(Int32(1))), "None");
        assert_eq!(shown(Int64(i64::MIN).checked_mul(Int32(-1))), "None");
        let sum = decimal("1.10").checked_add(Double(2.2)).unwrap();
        assert_eq!(sum.to_decimal().to_string(), "3.30000000000000");
        let endless = decimal("Infinity").checked_sub(decimal("Infinity")).unwrap();
        assert!(endless.is_nan());
    }

    #[test]
    fn integers_are_exact_or_nothing() {
        assert_eq!(Number::Double(1.5).exact_i64(), None);
        assert_eq!(Number::Double(1.5).truncated_i64(), Some(1));
        assert_eq!(Number::Double(1e300).exact_i64(), None);
        assert_eq!(Number::Double(f64::NAN).exact_i64(), None);
        assert_eq!(Number::Double(9_223_372_036_854_775_808.0).exact_i64(), None);
        assert_eq!(decimal("-7.9").truncated_i64(), Some(-7));
        assert_eq!(decimal("1E+30").truncated_i64(), None);
    }
}
