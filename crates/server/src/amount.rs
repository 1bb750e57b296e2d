//! A number and its unit, as people write sizes and times in settings.

use std::str::FromStr;

/// The whole number that a text begins with, and what follows it.
pub(crate) fn parts(text: &str) -> Option<(u64, &str)> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    Some((number.parse().ok()?, unit.trim()))
}

/// Reads what a file of settings has: a text, or a number without a unit.
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
