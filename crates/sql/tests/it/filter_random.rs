//! Filters against the evaluator: whatever gives a row must pass, and where a filter says that it
//! is exact, nothing else may.

use proptest::prelude::*;
use sql::{
    filter,
    program::{Program, Run, Settings},
};
use value::{Value, json};

use crate::clause_files::restricted;

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("JSON")
}

/// A scalar as SQL and JSON write it alike.
fn scalar() -> impl Strategy<Value = String> {
    prop_oneof![
        Just("null".to_owned()),
        any::<bool>().prop_map(|bool| bool.to_string()),
        (-2..4_i64).prop_map(|n| n.to_string()),
        prop_oneof![Just("0.5"), Just("-0.0"), Just("1e300"), Just("9007199254740993")]
            .prop_map(str::to_owned),
        "[abA%_]{0,3}".prop_map(|text| format!("\"{text}\"")),
        Just(r#""a\u0000b""#.to_owned()),
    ]
}

fn any_json() -> impl Strategy<Value = String> {
    let member = |name: &'static str| move |value: String| format!("{{\"{name}\":{value}}}");
    scalar().prop_recursive(3, 12, 3, move |inner| {
        prop_oneof![
            proptest::collection::vec(inner.clone(), 0..3)
                .prop_map(|items| format!("[{}]", items.join(","))),
            inner.clone().prop_map(member("a")),
            inner.clone().prop_map(member("b")),
            (inner.clone(), inner).prop_map(|(a, b)| format!("{{\"a\":{a},\"b\":{b}}}")),
        ]
    })
}

fn item() -> impl Strategy<Value = String> {
    let members = ["a", "b", "t"].map(|name| {
        proptest::option::weighted(0.8, any_json())
            .prop_map(move |value| value.map(|value| format!("\"{name}\":{value}")))
    });
    members.prop_map(|members| {
        format!("{{{}}}", members.into_iter().flatten().collect::<Vec<_>>().join(","))
    })
}

/// A path; `#` stands for an element of `c.t`.
fn path() -> impl Strategy<Value = String> {
    prop_oneof![
        8 => Just("c.a"),
        4 => Just("c.b"),
        2 => Just("c.a.b"),
        1 => Just("c.b['a']"),
        1 => Just("c.t[0]"),
        1 => Just("c.t[1].a"),
        1 => Just("#"),
        1 => Just("#.a"),
    ]
    .prop_map(str::to_owned)
}

fn constant() -> impl Strategy<Value = String> {
    prop_oneof![8 => scalar(), 1 => any_json(), 1 => Just("undefined".to_owned()), 1 => Just("NaN".to_owned())]
}

const COMPARISONS: &[&str] = &["=", "!=", "<", "<=", ">", ">="];
const CHECKS: &[&str] = &[
    "IS_DEFINED",
    "IS_NULL",
    "IS_BOOL",
    "IS_NUMBER",
    "IS_STRING",
    "IS_ARRAY",
    "IS_OBJECT",
    "IS_PRIMITIVE",
    "IS_INTEGER",
];
const TEXTS: &[&str] = &["STARTSWITH", "ENDSWITH", "CONTAINS", "StringEquals"];
const FLAGS: &[&str] = &["", ", true", ", false", ", 1"];
const CHANGED: &[&str] = &[
    "LOWER(@) = \"ab\"",
    "LENGTH(@) > 1",
    "@ % 2 = 0",
    "1 / @ > 0",
    "1 / @ < 0",
    "-@ >= 1",
    "@ + 1 = 2",
    "@ | 1 = 1",
    "ABS(@) = 1",
    "TOSTRING(@) = \"1\"",
    "@ ?? false",
    "NOT (@ ?? true)",
    "@ ? false : true",
    "LEFT(@, 1) = \"a\"",
    "SUBSTRING(@, 0, 2) != \"ab\"",
    "UPPER(@) || \"x\" = \"Ax\"",
    "ARRAY_LENGTH(@) = 1",
    "IS_DEFINED(@ + 1)",
    "CHOOSE(@, 1, 2) = 2",
    "INTADD(@, 1) = 9007199254740994",
    "IIF(@, 1, 2) = 2",
    "@ = @",
    "@ < @",
    "@ IN (@, 1)",
    "CONCAT(@, \"a\") = \"ba\"",
    "(@ = 1) = false",
    "IS_STRING(@) != true",
    "\"ab\" LIKE @",
    "CONTAINS(\"abA\", @)",
    "StringEquals(\"a\", @)",
    "@.b = 1",
    "1 BETWEEN @ AND 3",
    "ARRAY_CONTAINS_ALL(@, 1, \"a\")",
    "ARRAY_CONTAINS_ANY(@, 1, undefined)",
];

/// A predicate over at least one path.
fn leaf() -> impl Strategy<Value = String> {
    prop_oneof![
        4 => (path(), proptest::sample::select(COMPARISONS), constant())
            .prop_map(|(path, op, constant)| format!("{path} {op} {constant}")),
        1 => (path(), proptest::sample::select(COMPARISONS), constant())
            .prop_map(|(path, op, constant)| format!("{constant} {op} {path}")),
        2 => (path(), any::<bool>(), proptest::collection::vec(constant(), 1..4)).prop_map(
            |(path, not, items)| {
                format!("{path} {}IN ({})", if not { "NOT " } else { "" }, items.join(", "))
            }
        ),
        1 => (constant(), path(), path())
            .prop_map(|(needle, a, b)| format!("{needle} IN ({a}, {b})")),
        2 => (path(), any::<bool>(), constant(), constant()).prop_map(|(path, not, low, high)| {
            format!("{path} {}BETWEEN {low} AND {high}", if not { "NOT " } else { "" })
        }),
        1 => (constant(), path(), path())
            .prop_map(|(value, low, high)| format!("{value} BETWEEN {low} AND {high}")),
        2 => (path(), any::<bool>(), "[abA%_]{0,4}").prop_map(|(path, not, pattern)| {
            format!("{path} {}LIKE \"{pattern}\"", if not { "NOT " } else { "" })
        }),
        3 => (proptest::sample::select(CHECKS), path())
            .prop_map(|(name, path)| format!("{name}({path})")),
        2 => (
            proptest::sample::select(TEXTS),
            path(),
            constant(),
            proptest::sample::select(FLAGS)
        )
            .prop_map(|(name, path, text, flag)| format!("{name}({path}, {text}{flag})")),
        2 => path(),
        1 => (path(), path()).prop_map(|(a, b)| format!("{a} = {b}")),
        2 => (path(), constant(), proptest::sample::select(FLAGS))
            .prop_map(|(path, value, flag)| format!("ARRAY_CONTAINS({path}, {value}{flag})")),
        1 => (
            path(),
            proptest::collection::vec(constant(), 0..3),
            proptest::sample::select(FLAGS)
        )
            .prop_map(|(path, items, flag)| {
                format!("ARRAY_CONTAINS([{}], {path}{flag})", items.join(", "))
            }),
        4 => (proptest::sample::select(CHANGED), path())
            .prop_map(|(text, path)| text.replace('@', &path)),
        1 => constant(),
    ]
}

fn condition() -> impl Strategy<Value = String> {
    leaf().prop_recursive(3, 10, 3, |inner| {
        let join =
            |word: &'static str| move |(a, b): (String, String)| format!("(({a}) {word} ({b}))");
        let pair = (inner.clone(), inner.clone());
        prop_oneof![
            4 => pair.clone().prop_map(join("AND")),
            3 => pair.clone().prop_map(join("OR")),
            2 => inner.clone().prop_map(|a| format!("NOT ({a})")),
            1 => pair.prop_map(|(a, b)| format!("(c.b ? ({a}) : ({b}))")),
            1 => inner.prop_map(|a| {
                let a = a.replace('#', "y");
                format!("EXISTS(SELECT VALUE 1 FROM y IN c.t WHERE {a})")
            }),
        ]
    })
}

/// What stands before WHERE.
fn source() -> impl Strategy<Value = &'static str> {
    prop_oneof![
        4 => Just("SELECT VALUE 1 FROM c"),
        2 => Just("SELECT VALUE 1 FROM c JOIN x IN c.t"),
        1 => Just("SELECT VALUE 1 FROM c JOIN (SELECT VALUE y FROM y IN c.t WHERE y != 1) AS x"),
        1 => Just("SELECT VALUE 1 FROM (SELECT VALUE d FROM d WHERE d.a != 1) AS c"),
        1 => Just("SELECT VALUE 1 FROM r.a AS c"),
    ]
}

/// Points and areas, near each other often enough, and near the antimeridian and the poles.
fn geometry() -> impl Strategy<Value = String> {
    let center = prop_oneof![Just((10, 50)), Just((179, 0)), Just((-179, -10)), Just((30, 89))];
    (center, 0..3_i32, 0..3_i32, 0..4_i32).prop_map(|((x, y), right, up, size)| {
        let wrapped = |x: i32| if x > 180 { x - 360 } else { x };
        let (x, y) = (x + right, (y + up).min(90));
        if size == 0 {
            return format!(r#"{{"type":"Point","coordinates":[{},{y}]}}"#, wrapped(x));
        }
        let (east, north) = (wrapped(x + size), (y + size).min(90));
        let x = wrapped(x);
        let ring = format!("[[{x},{y}],[{east},{y}],[{east},{north}],[{x},{north}],[{x},{y}]]");
        format!(r#"{{"type":"Polygon","coordinates":[{ring}]}}"#)
    })
}

fn spatial_condition() -> impl Strategy<Value = String> {
    let metres = prop_oneof![Just("0"), Just("1"), Just("150000"), Just("400000"), Just("2e7")];
    let functions = prop_oneof![Just("ST_WITHIN"), Just("ST_INTERSECTS")];
    prop_oneof![
        (geometry(), metres.clone()).prop_map(|(g, m)| format!("ST_DISTANCE(c.p, {g}) <= {m}")),
        (geometry(), metres).prop_map(|(g, m)| format!("{m} > ST_DISTANCE({g}, c.p)")),
        (functions.clone(), geometry()).prop_map(|(name, g)| format!("{name}(c.p, {g})")),
        (functions, geometry()).prop_map(|(name, g)| format!("{name}({g}, c.p)")),
    ]
}

/// How many items to try each query on.
const ITEMS: usize = 12;

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn nothing_is_lost_and_exact_is_exact(
        source in source(),
        condition in condition(),
        items in proptest::collection::vec(item(), ITEMS),
    ) {
        // Without a source called x, the array stands for its elements.
        let has_elements = source.contains("x IN") || source.contains("AS x");
        let condition = condition.replace('#', if has_elements { "x" } else { "c.t" });
        let text = format!("{source} WHERE {condition}");
        let query = sql::parse(&text).expect(&text);
        let filter = filter::of(&query, &[]);
        for item in &items {
            let item = parse(item);
            let rows = sql::eval::run(&query, &[], std::slice::from_ref(&item), 0).expect(&text);
            let program = Program::compile(&query, &Settings::default()).expect(&text);
            let needed = restricted(&program, &item);
            let rows_of_needed = sql::eval::values(&program, &[needed], &mut Run::new(0, 0));
            prop_assert_eq!(rows_of_needed.as_ref(), Ok(&rows), "{}\n{:?}", text, program.needs());
            let passes = filter.matches(&item);
            prop_assert!(passes || rows.is_empty(), "{text}\n{filter:?}\nlost {item:?}");
            if filter.is_exact() {
                prop_assert_eq!(rows.len(), usize::from(passes), "{}\n{:?}\n{:?}", text, filter, item);
            }
        }
    }

}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn no_geometry_is_lost(
        condition in spatial_condition(),
        items in proptest::collection::vec(geometry(), ITEMS),
    ) {
        let text = format!("SELECT VALUE 1 FROM c WHERE {condition}");
        let query = sql::parse(&text).expect(&text);
        let filter = filter::of(&query, &[]);
        prop_assert!(!filter.is_exact());
        for item in &items {
            let item = parse(&format!(r#"{{"p":{item}}}"#));
            let rows = sql::eval::run(&query, &[], std::slice::from_ref(&item), 0).expect(&text);
            prop_assert!(rows.is_empty() || filter.matches(&item), "{text}\n{filter:?}\n{item:?}");
        }
    }
}
