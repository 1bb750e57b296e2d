//! `$mod`: the remainder of a division.

use bson::RawBsonRef;

use crate::error::{Error, Result};
use crate::number::Number;

/// A divisor and the remainder that a number has to leave.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modulus {
    /// Not zero.
    pub divisor: i64,
    /// Has the sign of the number that is divided.
    pub remainder: i64,
}

impl Modulus {
    pub(super) fn parse(operand: RawBsonRef<'_>) -> Result<Self> {
        let malformed = |what: &str| Error::bad_value(format!("malformed mod, {what}"));
        let RawBsonRef::Array(array) = operand else {
            return Err(malformed("needs to be an array"));
        };
        let mut elements = array.into_iter();
        let mut part = |name: &str| -> Result<i64> {
            let value = elements.next().ok_or_else(|| malformed("not enough elements"))??;
            let number = Number::of(value);
            let number = number.ok_or_else(|| malformed(&format!("{name} not a number")))?;
            number.truncated_i64().ok_or_else(|| {
                let why = if number.to_f64().is_finite() {
                    "Out of bounds coercing to integral value"
                } else {
                    "Unable to coerce NaN/Inf to integral type"
                };
                malformed(&format!("{name} value is invalid :: caused by :: {why}"))
            })
        };
        let divisor = part("divisor")?;
        let remainder = part("remainder")?;
        if elements.next().is_some() {
            return Err(malformed("too many elements"));
        }
        if divisor == 0 {
            return Err(Error::bad_value("divisor cannot be 0"));
        }
        Ok(Self { divisor, remainder })
    }

    /// Whether a number, without its fraction, leaves the remainder.
    pub(super) fn matches(self, value: RawBsonRef<'_>) -> bool {
        let number = Number::of(value).and_then(Number::truncated_i64);
        number.is_some_and(|number| number.wrapping_rem(self.divisor) == self.remainder)
    }
}
