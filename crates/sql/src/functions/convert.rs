//! Strings to values and back.

use value::{Number, Value, json};

use super::{Function, text};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("STRINGTOARRAY", 1..=1, |args, _| {
        read(args, |value| matches!(value, Value::Array(_)))
    }),
    Function::new("STRINGTOBOOLEAN", 1..=1, |args, _| {
        read(args, |value| matches!(value, Value::Bool(_)))
    }),
    Function::new("STRINGTONULL", 1..=1, |args, _| {
        read(args, |value| matches!(value, Value::Null))
    }),
    Function::new("STRINGTONUMBER", 1..=1, |args, _| {
        match read(args, |value| matches!(value, Value::Number(_))) {
            Value::Number(number) => Value::from(plain(&number)),
            _ => Value::Undefined,
        }
    }),
    Function::new("STRINGTOOBJECT", 1..=1, |args, _| {
        read(args, |value| matches!(value, Value::Object(_)))
    }),
    Function::new("TOSTRING", 1..=1, |args, _| {
        args.first().and_then(print).map(Value::from).unwrap_or_default()
    }),
];

/// Reads JSON, with white space around it, and requires a type.
fn read(args: &[Value], is_wanted: fn(&Value) -> bool) -> Value {
    let read = text(args, 0).and_then(|text| json::parse(text.as_bytes()).ok());
    read.filter(is_wanted).unwrap_or_default()
}

fn print(value: &Value) -> Option<String> {
    match value {
        Value::Undefined => None,
        Value::String(text) => Some(text.clone()),
        Value::Number(number) => Some(print_number(number)),
        _ => Some(json::print(value)),
    }
}

fn print_number(number: &Number) -> String {
    let double = number.as_f64();
    if double.is_nan() {
        "NaN".to_owned()
    } else if double.is_infinite() {
        if double > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
    } else {
        plain(number).text().into_owned()
    }
}

/// A number as the service prints a computed one: without the text it was read from, unless
/// that is an integer beyond the precision of doubles.
fn plain(number: &Number) -> Number {
    number.as_i64().map_or_else(|| Number::from_f64(number.as_f64()), Number::from_i64)
}

#[cfg(test)]
mod tests {
    use value::Value;

    use crate::functions::testing::check;
    use crate::functions::{Context, lookup};

    #[test]
    fn strings_become_values() {
        check(&[
            ("StringToNumber", r#"[" 60 "]"#, "60"),
            ("StringToNumber", r#"["1.000"]"#, "1"),
            ("StringToNumber", r#"["12.5"]"#, "12.5"),
            ("StringToNumber", r#"["x"]"#, ""),
            ("StringToNumber", "[1]", ""),
            ("StringToBoolean", r#"["true"]"#, "true"),
            ("StringToBoolean", r#"["yes"]"#, ""),
            ("StringToNull", r#"["null"]"#, "null"),
            ("StringToNull", r#"["NULL"]"#, ""),
            ("StringToArray", r#"["[1, 2]"]"#, "[1,2]"),
            ("StringToArray", r#"["{}"]"#, ""),
            ("StringToObject", r#"["{\"a\": [1]}"]"#, r#"{"a":[1]}"#),
            ("StringToObject", r#"["{'a': 1}"]"#, ""),
        ]);
    }

    #[test]
    fn values_become_strings() {
        check(&[
            ("ToString", "[12.0]", r#""12""#),
            ("ToString", "[0.5]", r#""0.5""#),
            ("ToString", "[9223372036854775807]", r#""9223372036854775807""#),
            ("ToString", "[true]", r#""true""#),
            ("ToString", "[null]", r#""null""#),
            ("ToString", r#"["a"]"#, r#""a""#),
            ("ToString", r#"[[1,"a"]]"#, r#""[1,\"a\"]""#),
            ("ToString", r#"["~"]"#, ""),
        ]);
        let call = lookup("ToString").unwrap().call;
        let context = Context::new(0);
        assert_eq!(call(&[Value::from(f64::NAN)], &context), Value::from("NaN"));
        assert_eq!(call(&[Value::from(f64::INFINITY)], &context), Value::from("Infinity"));
    }
}
