//! Operands that have to be whole numbers.

use bson::RawBsonRef;

use crate::number::Number;
use crate::show;

/// An integer of 64 bits, or what is wrong with the value. `name` is what holds it.
pub(super) fn integer(name: &str, value: RawBsonRef<'_>) -> Result<i64, String> {
    let wrong = |what: &str| Err(format!("{what}: {name}: {}", show::value(value)));
    let Some(number) = Number::of(value) else { return wrong("Expected a number in") };
    if number.is_nan() {
        return wrong("Expected an integer, but found NaN in");
    }
    if number.truncated_i64().is_none() {
        return wrong("Cannot represent as a 64-bit integer");
    }
    match number.exact_i64() {
        Some(integer) => Ok(integer),
        None => wrong("Expected an integer"),
    }
}

/// As [`integer`], but not below zero.
pub(super) fn natural(name: &str, value: RawBsonRef<'_>) -> Result<i64, String> {
    match integer(name, value)? {
        natural @ 0.. => Ok(natural),
        _ => Err(format!("Expected a non-negative number in: {name}: {}", show::value(value))),
    }
}
