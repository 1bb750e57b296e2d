//! A length of time in a setting: `500ms`, `10s`, `2m`, `1h`, `7d`, or a plain number of seconds.

use std::{str::FromStr, time::Duration};

use crate::amount;

/// A duration in a setting. Never zero: every timeout limits something.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Deserialize)]
#[serde(try_from = "toml::Value")]
pub(crate) struct Span(pub(crate) Duration);

/// The longest duration that a setting allows, so that `now + duration` cannot overflow.
const SECONDS_MAX: u64 = 365 * 24 * 3600;

impl FromStr for Span {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let text = text.trim();
        let (number, unit) = amount::parts(text).ok_or_else(|| invalid(text))?;
        let duration = match unit {
            "ms" => Duration::from_millis(number),
            "" | "s" => Duration::from_secs(number),
            "m" => Duration::from_secs(number.saturating_mul(60)),
            "h" => Duration::from_secs(number.saturating_mul(3600)),
            "d" => Duration::from_secs(number.saturating_mul(24 * 3600)),
            _ => return Err(invalid(text)),
        };
        if duration.is_zero() || duration > Duration::from_secs(SECONDS_MAX) {
            return Err(format!("`{text}` is out of range: use 1ms to 365d"));
        }
        Ok(Self(duration))
    }
}

impl TryFrom<toml::Value> for Span {
    type Error = String;

    fn try_from(value: toml::Value) -> Result<Self, String> {
        amount::of_toml(&value, invalid)
    }
}

fn invalid(text: &str) -> String {
    format!("`{text}` is not a duration: write 500ms, 10s, 2m, 1h, 7d or a number of seconds")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn units_are_understood() {
        let parse = |text: &str| text.parse::<Span>().map(|span| span.0.as_millis());
        assert_eq!(parse("250ms"), Ok(250));
        assert_eq!(parse("10"), Ok(10_000));
        assert_eq!(parse("10s"), Ok(10_000));
        assert_eq!(parse("2m"), Ok(120_000));
        assert_eq!(parse("365d"), parse("8760h"));
        for bad in ["", "s", "-1", "1.5s", "10 parsecs", "0", "99999999999999999999", "366d"] {
            assert!(parse(bad).is_err(), "{bad}");
        }
    }
}
