//! A number and its unit, in settings for sizes and times.

use std::str::FromStr;

/// The whole number at the beginning of a text, and the rest.
pub(crate) fn parts(text: &str) -> Option<(u64, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim()))
}

/// Deserializes a setting in TOML: a string, or a number without a unit.
pub(crate) fn of_toml<T: FromStr<Err = String>>(
    value: &toml::Value,
    invalid: impl FnOnce(&str) -> String,
) -> Result<T, String> {
    match value {
        toml::Value::Integer(number) => number.to_string().parse(),
        toml::Value::String(text) => text.parse(),
        other => Err(invalid(other.type_str())),
    }
}
