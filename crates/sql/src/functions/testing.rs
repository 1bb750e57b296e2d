//! Tables of calls for the tests of the families.

use value::{Value, json};

use super::{Context, lookup};

/// 2021-06-28T17:24:29.299Z, the time of every call.
pub(super) const NOW_MILLIS: i64 = 1_624_901_069_299;

/// Calls functions with arguments written as a JSON array, in which the string `~` means undefined,
/// and compares the printed results; an empty expectation is undefined.
pub(super) fn check(cases: &[(&str, &str, &str)]) {
    for (name, args, expected) in cases {
        let function = lookup(name).unwrap_or_else(|| panic!("no function {name}"));
        let Value::Array(mut args_read) = json::parse(args.as_bytes()).unwrap() else {
            panic!("{args}");
        };
        for arg in &mut args_read {
            if arg.as_str() == Some("~") {
                *arg = Value::Undefined;
            }
        }
        assert!(function.arity.contains(&args_read.len()), "{name}{args}: arity");
        let got = (function.call)(&args_read, &Context::new(NOW_MILLIS));
        let got = if got.is_undefined() { String::new() } else { json::print(&got) };
        let expected = match *expected {
            "" => String::new(),
            text => json::print(&json::parse(text.as_bytes()).unwrap()),
        };
        assert_eq!(got, expected, "{name}{args}");
    }
}
