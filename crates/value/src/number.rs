//! Numbers: IEEE doubles that remember how they were written. The database compares and computes
//! only with the double; the text is kept so that a document is returned as it was sent (`1.0`,
//! `1E3`, `12345678901234567890`).

use std::borrow::Cow;
use std::cmp::Ordering;
use std::io::Write;

/// The longest text `write_f64` produces is `-1.2345678901234567e-308`, well below this.
const DOUBLE_TEXT_MAX: usize = 32;

/// 2^53: below it, every integer has its own double.
const EXACT_END: f64 = 9_007_199_254_740_992.0;

/// 2^63, the first double above the `i64` range.
const I64_END: f64 = 9_223_372_036_854_775_808.0;

/// A JSON number. Equality and order are those of the double, with `-0` equal to `0` and, for
/// computed values, NaN above everything.
#[derive(Clone, Debug)]
pub struct Number {
    double: f64,
    /// The source text, kept only if the double prints differently.
    text: Option<Box<str>>,
}

impl Number {
    /// Creates a computed number. NaN and infinities are allowed but print as `null`, as in
    /// JavaScript; callers that must not produce them check first.
    pub fn from_f64(double: f64) -> Self {
        Number { double, text: None }
    }

    /// Creates an integer. Beyond 2^53 the double is rounded, but the text stays exact.
    pub fn from_i64(integer: i64) -> Self {
        let double = integer as f64;
        // 2^53 itself is exact, and so is every integer below it.
        let text = (integer.unsigned_abs() > 1 << 53).then(|| integer.to_string());
        Self::with_text(double, text.as_deref())
    }

    /// Creates a parsed number: keeps `text` if `double` prints differently.
    pub(crate) fn with_text(double: f64, text: Option<&str>) -> Self {
        let text = text.filter(|text| *text != format_f64(double));
        Number { double, text: text.map(Box::from) }
    }

    /// The value.
    pub fn as_f64(&self) -> f64 {
        self.double
    }

    /// The integer, if the number is whole and fits. An integer written out in full is returned
    /// exactly, even where the double is rounded.
    pub fn as_i64(&self) -> Option<i64> {
        if let Some(integer) = self.text.as_deref().and_then(|text| text.parse().ok()) {
            return Some(integer);
        }
        let double = self.double;
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        (double.fract() == 0.0 && (-I64_END..I64_END).contains(&double)).then_some(double as i64)
    }

    /// The number as JSON text: as written, or as JavaScript prints the double.
    pub fn text(&self) -> Cow<'_, str> {
        match &self.text {
            Some(text) => Cow::Borrowed(text),
            None => Cow::Owned(format_f64(self.double)),
        }
    }

    /// Appends [`text`](Self::text) without allocating.
    pub(crate) fn write(&self, out: &mut Vec<u8>) {
        match &self.text {
            Some(text) => out.extend_from_slice(text.as_bytes()),
            None => write_f64(self.double, out),
        }
    }
}

impl PartialEq for Number {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Number {}

impl PartialOrd for Number {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for Number {
    fn cmp(&self, other: &Self) -> Ordering {
        canonical(self.double).total_cmp(&canonical(other.double))
    }
}

/// The double used for comparisons: `-0` is `0`, and there is a single NaN, above everything.
pub(crate) fn canonical(double: f64) -> f64 {
    if double == 0.0 {
        0.0
    } else if double.is_nan() {
        f64::from_bits(0x7ff8_0000_0000_0000)
    } else {
        double
    }
}

/// Formats the double like `JSON.stringify`, except that negative zero is `-0.0` rather than `0`:
/// it is a different partition key than zero and must survive a round trip.
pub fn format_f64(double: f64) -> String {
    let mut out = Vec::with_capacity(DOUBLE_TEXT_MAX);
    write_f64(double, &mut out);
    String::from_utf8(out).expect("write_f64 writes ASCII")
}

/// Appends [`format_f64`] to `out`: the fewest digits that read back as the same double, plain
/// between 1e-6 and 1e21 and with an exponent elsewhere.
pub fn write_f64(double: f64, out: &mut Vec<u8>) {
    if !double.is_finite() {
        return out.extend_from_slice(b"null");
    }
    if double == 0.0 {
        let text: &[u8] = if double.is_sign_negative() { b"-0.0" } else { b"0" };
        return out.extend_from_slice(text);
    }
    let size = double.abs();
    let written = if double.fract() == 0.0 && size < EXACT_END {
        #[expect(clippy::cast_possible_truncation, reason = "checked to be whole and in range")]
        let integer = double as i64;
        write!(out, "{integer}")
    } else if (1e-6..1e21).contains(&size) {
        // In this range Rust's plain form equals JavaScript's.
        write!(out, "{double}")
    } else if size < 1.0 {
        write!(out, "{double:e}")
    } else {
        // JavaScript writes the sign of a positive exponent, Rust does not.
        let text = format!("{double:e}");
        let (digits, exponent) = text.split_once('e').expect("`{:e}` writes an exponent");
        write!(out, "{digits}e+{exponent}")
    };
    written.expect("writing to a vector cannot fail");
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn doubles_print_like_javascript() {
        let cases: &[(f64, &str)] = &[
            (5.0, "5"),
            (-5.0, "-5"),
            (0.0, "0"),
            (-0.0, "-0.0"),
            (0.1, "0.1"),
            (1.5, "1.5"),
            (123.456, "123.456"),
            (100.0, "100"),
            (1e20, "100000000000000000000"),
            (1e21, "1e+21"),
            (1.25e21, "1.25e+21"),
            (123_456_789_012_345_680_000.0, "123456789012345680000"),
            (0.000_001, "0.000001"),
            (0.000_001_5, "0.0000015"),
            (0.000_000_1, "1e-7"),
            (1.5e-7, "1.5e-7"),
            (5e-324, "5e-324"),
            (f64::MAX, "1.7976931348623157e+308"),
            (9_007_199_254_740_993.0, "9007199254740992"),
            (f64::NAN, "null"),
            (f64::INFINITY, "null"),
        ];
        for (double, text) in cases {
            assert_eq!(format_f64(*double), *text);
        }
    }

    #[test]
    fn text_is_kept_only_when_it_differs() {
        assert!(Number::with_text(5.0, Some("5")).text.is_none());
        assert_eq!(Number::with_text(5.0, Some("5.0")).text(), "5.0");
        assert!(Number::from_i64(1 << 53).text.is_none());
        assert_eq!(Number::from_i64((1 << 53) + 1).text(), "9007199254740993");
        assert_eq!(Number::from_i64(i64::MIN).text(), "-9223372036854775808");
    }

    #[test]
    fn integers_are_exact_or_absent() {
        assert_eq!(Number::from_i64(i64::MAX).as_i64(), Some(i64::MAX));
        assert_eq!(Number::from_f64(1e3).as_i64(), Some(1000));
        assert_eq!(Number::from_f64(-0.0).as_i64(), Some(0));
        assert_eq!(Number::from_f64(0.5).as_i64(), None);
        assert_eq!(Number::from_f64(1e19).as_i64(), None);
        assert_eq!(Number::from_f64(f64::NAN).as_i64(), None);
    }

    #[test]
    fn order_is_by_the_double() {
        assert_eq!(Number::with_text(1.0, Some("1.0")), Number::from_i64(1));
        assert_eq!(Number::from_f64(-0.0), Number::from_i64(0));
        assert!(Number::from_f64(f64::NAN) > Number::from_f64(f64::INFINITY));
        assert_eq!(Number::from_f64(f64::NAN), Number::from_f64(-f64::NAN));
    }

    proptest! {
        #[test]
        fn printed_doubles_read_back(bits: u64) {
            let double = f64::from_bits(bits);
            prop_assume!(double.is_finite());
            let back: f64 = format_f64(double).parse().unwrap();
            prop_assert_eq!(back.to_bits(), double.to_bits());
        }
    }
}
