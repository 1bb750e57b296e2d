//! Helpers shared by the tests of several modules.

use proptest::prelude::*;
use value::{Object, Value, json};

use crate::{Definition, Mode, Policy, Rule, Spatial, parse_composite_path};

/// Parses JSON.
pub(crate) fn value_of(text: &str) -> Value {
    json::parse(text.as_bytes()).unwrap()
}

/// A definition with these paths and nothing else.
pub(crate) fn definition(included: &[&str], excluded: &[&str]) -> Definition {
    let parse = |texts: &[&str], flag| -> Vec<(Rule, bool)> {
        texts.iter().map(|text| (Rule::parse(text).unwrap(), flag)).collect()
    };
    Definition {
        mode: Mode::Consistent,
        automatic: true,
        rules: [parse(included, true), parse(excluded, false)].concat(),
        composites: Vec::new(),
        spatial: Vec::new(),
    }
}

/// Compiles the definition, for a collection with the partition key `/pk`.
pub(crate) fn policy(definition: &Definition) -> Policy {
    Policy::new(definition, &[value::path::Path::parse("/pk").unwrap()])
}

/// A composite index; members that begin with `-` descend.
pub(crate) fn composite(members: &[&str]) -> Vec<(crate::Path, bool)> {
    members
        .iter()
        .map(|member| match member.strip_prefix('-') {
            Some(path) => (parse_composite_path(path).unwrap(), true),
            None => (parse_composite_path(member).unwrap(), false),
        })
        .collect()
}

/// A spatial index on the Earth.
pub(crate) fn spatial(path: &str) -> Spatial {
    Spatial { rule: Rule::parse(path).unwrap(), bounds: None }
}

/// Any scalar, with strings around the length at which they are cut and with zero bytes.
pub(crate) fn scalar() -> impl Strategy<Value = Value> {
    let long = ("[a\\x00\\x02é]{0,2}", 120..134_usize, "[ab\\x00\\x01\\x02\u{ff}]{0,12}")
        .prop_map(|(start, length, end)| Value::from(start + &"x".repeat(length) + &end));
    let zeros = (58..70_usize, "[ab\\x00]{0,4}")
        .prop_map(|(length, end)| Value::from("\0".repeat(length) + &end));
    prop_oneof![
        1 => Just(Value::Null),
        2 => any::<bool>().prop_map(Value::from),
        2 => any::<f64>().prop_filter("finite", |double| double.is_finite()).prop_map(Value::from),
        4 => (-3..3_i64).prop_map(Value::from),
        2 => any::<i64>().prop_map(Value::from),
        2 => any::<i32>().prop_map(|number| Value::from(f64::from(number) / 64.0)),
        2 => ".*".prop_map(Value::from),
        4 => "[ab\\x00\\x01\\x02\\x03\u{ff}]{0,3}".prop_map(Value::from),
        4 => long,
        1 => zeros,
    ]
}

/// Any value, also undefined, with few names so that rules meet them.
pub(crate) fn any_value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![1 => Just(Value::Undefined), 9 => scalar()];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            members(inner).prop_map(Value::Object),
        ]
    })
}

fn members(value: impl Strategy<Value = Value>) -> impl Strategy<Value = Object> {
    let names = prop::sample::select(vec!["a", "b", "c d", "_ts", "_etag"]);
    proptest::collection::vec((names, value), 0..4)
        .prop_map(|members| members.into_iter().map(|(name, value)| (name.into(), value)).collect())
}

/// A document whose members are any values.
pub(crate) fn document() -> impl Strategy<Value = Value> {
    let names = ["id", "pk", "_ts", "_etag", "_self", "a", "b", "c d"];
    let names = prop::sample::select(names.to_vec());
    proptest::collection::vec((names, any_value()), 0..7).prop_map(|members| {
        Value::Object(members.into_iter().map(|(name, value)| (name.into(), value)).collect())
    })
}
