//! The total order of values, shared by `ORDER BY` and the index: undefined < null < false < true <
//! numbers < strings < arrays < objects.

use std::cmp::Ordering;

use crate::{Object, Value};

/// Compares two values. Numbers compare as doubles, strings by [`compare_text`], arrays element by
/// element and then by length, objects as the list of their members sorted by key. An undefined
/// member counts as absent.
pub fn compare(a: &Value, b: &Value) -> Ordering {
    match (a, b) {
        (Value::Number(a), Value::Number(b)) => a.cmp(b),
        (Value::String(a), Value::String(b)) => compare_text(a, b),
        (Value::Array(a), Value::Array(b)) => compare_arrays(a, b),
        (Value::Object(a), Value::Object(b)) => compare_objects(a, b),
        _ => rank(a).cmp(&rank(b)),
    }
}

/// Compares two texts by their UTF-16 code units, like the service and its clients: characters
/// above U+FFFF, which are surrogates in UTF-16, come before those from U+E000 to U+FFFF.
pub fn compare_text(a: &str, b: &str) -> Ordering {
    let differing = a.bytes().zip(b.bytes()).find(|(a, b)| a != b);
    differing.map_or_else(|| a.len().cmp(&b.len()), |(a, b)| ranked(a).cmp(&ranked(b)))
}

/// Maps a UTF-8 byte so that texts compare by UTF-16 units: the two bytes that begin U+E000 to
/// U+FFFF sort after those that begin higher characters. Neither mapped byte occurs in UTF-8.
pub fn ranked(byte: u8) -> u8 {
    match byte {
        0xEE => 0xF6,
        0xEF => 0xF7,
        other => other,
    }
}

/// Reverses [`ranked`]; `None` if it maps no byte to this one.
pub fn unranked(byte: u8) -> Option<u8> {
    match byte {
        0xF6 => Some(0xEE),
        0xF7 => Some(0xEF),
        0xEE | 0xEF => None,
        other => Some(other),
    }
}

/// The rank of a value's type; `false` and `true` count as separate types.
fn rank(value: &Value) -> u8 {
    match value {
        Value::Undefined => 0,
        Value::Null => 1,
        Value::Bool(false) => 2,
        Value::Bool(true) => 3,
        Value::Number(_) => 4,
        Value::String(_) => 5,
        Value::Array(_) => 6,
        Value::Object(_) => 7,
    }
}

fn compare_arrays(a: &[Value], b: &[Value]) -> Ordering {
    let differing = a.iter().zip(b).map(|(a, b)| compare(a, b)).find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

fn compare_objects(a: &Object, b: &Object) -> Ordering {
    let (a, b) = (sorted_members(a), sorted_members(b));
    let differing = a
        .iter()
        .zip(&b)
        .map(|((a_key, a), (b_key, b))| compare_text(a_key, b_key).then_with(|| compare(a, b)))
        .find(|order| order.is_ne());
    differing.unwrap_or_else(|| a.len().cmp(&b.len()))
}

/// The defined members by key, as used in comparisons and key bytes.
pub(crate) fn sorted_members(object: &Object) -> Vec<(&str, &Value)> {
    let mut members: Vec<_> = object.iter().filter(|(_, value)| !value.is_undefined()).collect();
    members.sort_unstable_by(|(a, _), (b, _)| compare_text(a, b));
    members
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json;

    #[test]
    fn the_order_of_types_and_within_them() {
        let texts = [
            "null",
            "false",
            "true",
            "-1e300",
            "-1",
            "0",
            "0.5",
            "1",
            "1e300",
            r#""""#,
            r#""A""#,
            r#""a""#,
            r#""aa""#,
            r#""b""#,
            r#""é""#,
            r#""😀""#,
            r#""\uff5e""#,
            "[]",
            "[null]",
            "[1]",
            "[1,0]",
            "[2]",
            "[[]]",
            "{}",
            r#"{"a":1}"#,
            r#"{"a":1,"b":1}"#,
            r#"{"a":2}"#,
            r#"{"b":0}"#,
        ];
        let mut values = vec![Value::Undefined];
        values.extend(texts.iter().map(|text| json::parse(text.as_bytes()).unwrap()));
        for (i, a) in values.iter().enumerate() {
            for (j, b) in values.iter().enumerate() {
                assert_eq!(compare(a, b), i.cmp(&j), "{a:?} against {b:?}");
            }
        }
    }

    #[test]
    fn equality_ignores_spelling_and_member_order() {
        let equal = |a: &str, b: &str| {
            assert_eq!(json::parse(a.as_bytes()).unwrap(), json::parse(b.as_bytes()).unwrap());
        };
        equal("1", "1.0");
        equal("0", "-0");
        equal(r#"{"a":1,"b":[2]}"#, r#"{"b":[2e0],"a":1}"#);
        let mut object = Object::new();
        object.insert("a", Value::Undefined);
        assert_eq!(Value::from(object), Value::from(Object::new()));
    }
}
