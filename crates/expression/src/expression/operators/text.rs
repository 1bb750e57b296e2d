//! Values as text, as string operators and conversions make it.

use bson::RawBsonRef;

use super::date_text;
use crate::error::{Error, Result};
use crate::expression::Computed;
use crate::number::Number;

/// A double with at most sixteen digits, as C prints it with `%.16g`.
pub(super) fn double_text(double: f64) -> String {
    if double.is_nan() {
        return "nan".to_owned();
    }
    if double.is_infinite() {
        return if double < 0.0 { "-inf" } else { "inf" }.to_owned();
    }
    let scientific = format!("{double:.15e}");
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let exponent: i32 = exponent.parse().unwrap_or(0);
    let without_zeros = |text: &str| -> String {
        if text.contains('.') {
            text.trim_end_matches('0').trim_end_matches('.').to_owned()
        } else {
            text.to_owned()
        }
    };
    if (-4..16).contains(&exponent) {
        let places = usize::try_from(15 - exponent).unwrap_or(0);
        without_zeros(&format!("{double:.places$}"))
    } else {
        let sign = if exponent < 0 { '-' } else { '+' };
        format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.abs())
    }
}

/// A number as text.
pub(super) fn number_text(number: Number) -> String {
    match number {
        Number::Int32(integer) => integer.to_string(),
        Number::Int64(integer) => integer.to_string(),
        Number::Double(double) => double_text(double),
        Number::Decimal(decimal) => decimal.to_string(),
    }
}

/// A value as the text that string operators take it for: numbers and dates are written out, and
/// nothing is the empty text.
pub(super) fn coerced(value: &Computed<'_>) -> Result<String> {
    use RawBsonRef as V;
    Ok(match value.as_ref() {
        None | Some(V::Null | V::Undefined) => String::new(),
        Some(V::String(text) | V::Symbol(text) | V::JavaScriptCode(text)) => text.to_owned(),
        Some(V::DateTime(date)) => date_text::iso(date.timestamp_millis())?,
        Some(V::Timestamp(timestamp)) => {
            format!("Timestamp({}, {})", timestamp.time, timestamp.increment)
        }
        Some(other) => {
            if let Some(number) = Number::of(other) {
                number_text(number)
            } else {
                let found = value.type_name();
                return Err(Error::location(
                    16_007,
                    format!("can't convert from BSON type {found} to String"),
                ));
            }
        }
    })
}
