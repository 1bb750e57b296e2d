//! No row may be lost: whatever a filter keeps has a partition key in the ranges of the plan.

use std::cmp::Ordering;

use proptest::prelude::*;
use sql::plan::ranges::{Edge, Span};
use sql::plan::{Container, KeyRange, Kind, PartitionKeyPaths, key_ranges};
use value::{Object, Value, order};

const CONSTANTS: [&str; 14] = [
    "undefined",
    "null",
    "true",
    "false",
    "0",
    "1",
    "-1",
    "2.5",
    "'x'",
    "'a%'",
    "''",
    "[1]",
    "{}",
    "1 + 1",
];

fn constant() -> impl Strategy<Value = String> {
    prop::sample::select(&CONSTANTS[..]).prop_map(str::to_owned)
}

fn path() -> impl Strategy<Value = String> {
    prop::sample::select(&["c.a", "c[\"a\"]", "c.b", "c.n", "x.b", "y.a"][..])
        .prop_map(str::to_owned)
}

fn operator() -> impl Strategy<Value = &'static str> {
    prop::sample::select(&["=", "=", "!=", "<", "<=", ">", ">="][..])
}

fn predicate() -> impl Strategy<Value = String> {
    let list = || prop::collection::vec(constant(), 1..4).prop_map(|list| list.join(", "));
    prop_oneof![
        4 => (path(), operator(), constant()).prop_map(|(p, op, c)| format!("{p} {op} {c}")),
        2 => (constant(), operator(), path()).prop_map(|(c, op, p)| format!("{c} {op} {p}")),
        2 => (path(), list()).prop_map(|(p, list)| format!("{p} IN ({list})")),
        1 => (path(), list()).prop_map(|(p, list)| format!("{p} NOT IN ({list})")),
        1 => (path(), list()).prop_map(|(p, list)| format!("ARRAY_CONTAINS([{list}], {p})")),
        1 => (path(), constant(), constant()).prop_map(|(p, a, b)| format!("{p} BETWEEN {a} AND {b}")),
        1 => (path(), path()).prop_map(|(a, b)| format!("{a} = {b}")),
        1 => path(),
        1 => constant(),
        1 => path().prop_map(|p| format!("IS_BOOL({p})")),
        1 => path().prop_map(|p| format!("IS_NULL({p})")),
        1 => path().prop_map(|p| format!("ABS({p}) = 1")),
        1 => path().prop_map(|p| format!("{p} LIKE 'a!%' ESCAPE '!'")),
        1 => path().prop_map(|p| format!("{p} NOT LIKE 'x'")),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    predicate().prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            3 => prop::collection::vec(inner.clone(), 2..4).prop_map(|all| format!("({})", all.join(" AND "))),
            3 => prop::collection::vec(inner.clone(), 2..4).prop_map(|all| format!("({})", all.join(" OR "))),
            2 => inner.clone().prop_map(|one| format!("NOT ({one})")),
            1 => inner.clone().prop_map(|one| format!("EXISTS(SELECT VALUE 1 FROM e IN c.es WHERE {one})")),
            1 => inner.clone().prop_map(|one| format!("EXISTS(SELECT VALUE 1 FROM c IN c.es WHERE {one})")),
            1 => inner.clone().prop_map(|one| format!("1 = (SELECT VALUE 1 FROM c WHERE {one})")),
            1 => inner.prop_map(|one| format!("0 = (SELECT VALUE COUNT(1) FROM c WHERE {one})")),
        ]
    })
}

fn documents() -> Vec<Value> {
    let text = r#"[null, true, false, 0, 1, -1, 2, 2.5, "x", "a%", "", [1], [], {}, {"a": 1}]"#;
    let values = value::json::parse(text.as_bytes()).expect("JSON");
    let mut values = values.as_array().expect("a list").to_vec();
    values.push(Value::Undefined);
    let elements = value::json::parse(br#"[{"a": 1, "b": "x"}, 1, true]"#).expect("JSON");
    let mut documents = Vec::new();
    for (place, a) in values.iter().enumerate() {
        for b in
            [a, &values[(place * 7 + 3) % values.len()], &values[(place * 5 + 1) % values.len()]]
        {
            let mut document = Object::new();
            for (name, value) in [("a", a), ("b", b), ("n", &values[place / 2]), ("es", &elements)]
            {
                if !value.is_undefined() {
                    document.insert(name, value.clone());
                }
            }
            documents.push(Value::from(document));
        }
    }
    documents
}

/// The key of a document: what is no scalar is the marker.
fn key_of(document: &Value, paths: &[Vec<String>]) -> Vec<Value> {
    let part = |path: &Vec<String>| match document.get(&path[0]) {
        Value::Array(_) | Value::Object(_) => Value::Object(Object::new()),
        scalar => scalar.clone(),
    };
    paths.iter().map(part).collect()
}

fn contains(range: &KeyRange, key: &[Value]) -> bool {
    match range {
        KeyRange::All => true,
        KeyRange::Nothing => false,
        KeyRange::Point(values) => values == key,
        KeyRange::Prefix(values) => key.starts_with(values),
        KeyRange::Span(Span { min, max, is_min_inclusive, is_max_inclusive }) => {
            let low = compare(min, key);
            let high = compare(max, key);
            (low == Ordering::Less || low == Ordering::Equal && *is_min_inclusive)
                && (high == Ordering::Greater || high == Ordering::Equal && *is_max_inclusive)
        }
    }
}

/// Compares as many parts as the edge has.
fn compare(edges: &[Edge], key: &[Value]) -> Ordering {
    let rank = |value: &Value| match value {
        Value::Undefined | Value::Null | Value::Bool(_) => 0,
        Value::Number(_) => 2,
        Value::String(_) => 4,
        Value::Array(_) | Value::Object(_) => 6,
    };
    let part = |(edge, value): (&Edge, &Value)| match edge {
        Edge::Value(edge) => order::compare(edge, value),
        Edge::MinNumber => 1.cmp(&rank(value)),
        Edge::MaxNumber => 3.cmp(&rank(value)),
        Edge::MaxString => 5.cmp(&rank(value)),
    };
    edges.iter().zip(key).map(part).fold(Ordering::Equal, Ordering::then)
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 400, ..ProptestConfig::default() })]

    #[test]
    fn ranges_lose_no_row(condition in condition()) {
        let text = format!(
            "SELECT VALUE c.place FROM c JOIN (SELECT VALUE c) x JOIN y IN c.es WHERE {condition}"
        );
        let query = sql::parse(&text).expect("a query");
        let kinds = [
            (Kind::Hash, &["a"][..]),
            (Kind::Hash, &["a", "b"]),
            (Kind::MultiHash, &["a", "b"]),
            (Kind::Range, &["b"]),
            (Kind::Range, &["a", "b"]),
        ];
        for document in documents() {
            let mut placed = document.as_object().expect("an object").clone();
            placed.insert("place", 1.0);
            let rows = sql::eval::run(&query, &[], &[Value::from(placed)], 0).expect("rows");
            if rows.is_empty() {
                continue;
            }
            for (kind, paths) in kinds {
                let paths: Vec<_> = paths.iter().map(|path| vec![(*path).to_owned()]).collect();
                let ranges = key_ranges(&query, &[], &Container::new(PartitionKeyPaths { paths: &paths, kind }));
                let key = key_of(&document, &paths);
                prop_assert!(
                    ranges.iter().any(|range| contains(range, &key)),
                    "{} loses {:?}: {:?}", text, key, ranges
                );
            }
        }
    }
}
