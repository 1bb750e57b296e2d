//! Type checks. They never return undefined: an undefined argument has none of the types.

use value::Value;

use super::{Function, calendar};

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("IS_ARRAY", 1..=1, |args, _| is(args, |v| matches!(v, Value::Array(_)))),
    Function::new("IS_BOOL", 1..=1, |args, _| is(args, |v| matches!(v, Value::Bool(_)))),
    Function::new("IS_DATETIME", 1..=1, |args, _| {
        is(args, |v| v.as_str().is_some_and(|text| calendar::parse(text).is_some()))
    }),
    Function::new("IS_DEFINED", 1..=1, |args, _| is(args, |v| !v.is_undefined())),
    Function::new("IS_FINITE_NUMBER", 1..=1, |args, _| {
        is(args, |v| v.as_f64().is_some_and(f64::is_finite))
    }),
    Function::new("IS_INTEGER", 1..=1, |args, _| is(args, |v| v.as_i64().is_some())),
    Function::new("IS_NULL", 1..=1, |args, _| is(args, |v| matches!(v, Value::Null))),
    Function::new("IS_NUMBER", 1..=1, |args, _| is(args, |v| matches!(v, Value::Number(_)))),
    Function::new("IS_OBJECT", 1..=1, |args, _| is(args, |v| matches!(v, Value::Object(_)))),
    Function::new("IS_PRIMITIVE", 1..=1, |args, _| is(args, is_primitive)),
    Function::new("IS_STRING", 1..=1, |args, _| is(args, |v| matches!(v, Value::String(_)))),
];

fn is(args: &[Value], check: fn(&Value) -> bool) -> Value {
    Value::from(args.first().is_some_and(check))
}

fn is_primitive(value: &Value) -> bool {
    !matches!(value, Value::Undefined | Value::Array(_) | Value::Object(_))
}

#[cfg(test)]
mod tests {
    use value::Value;

    use crate::functions::testing::check;
    use crate::functions::{Context, lookup};

    #[test]
    fn each_type_passes_its_checks() {
        let names = [
            "IS_DEFINED",
            "IS_NULL",
            "IS_BOOL",
            "IS_NUMBER",
            "IS_STRING",
            "IS_ARRAY",
            "IS_OBJECT",
            "IS_PRIMITIVE",
            "IS_INTEGER",
            "IS_FINITE_NUMBER",
            "IS_DATETIME",
        ];
        let cases = [
            (r#"["~"]"#, "           "),
            ("[null]", "dn     p   "),
            ("[false]", "d b    p   "),
            ("[1.5]", "d  n   p f "),
            ("[2]", "d  n   pif "),
            (r#"["x"]"#, "d   s  p   "),
            (r#"["2024-12-12"]"#, "d   s  p  t"),
            ("[[]]", "d    a     "),
            ("[{}]", "d     o    "),
        ];
        for (args, marks) in cases {
            for (name, mark) in names.iter().zip(marks.chars()) {
                check(&[(name, args, if mark == ' ' { "false" } else { "true" })]);
            }
        }
    }

    #[test]
    fn numbers_at_the_edges() {
        check(&[
            ("IS_INTEGER", "[9223372036854775807]", "true"),
            ("IS_INTEGER", "[18446744073709551615]", "false"),
            ("IS_INTEGER", "[2.0]", "true"),
        ]);
        let call = lookup("IS_FINITE_NUMBER").unwrap().call;
        let context = Context::new(0);
        assert_eq!(call(&[Value::from(f64::INFINITY)], &context), Value::from(false));
    }
}
