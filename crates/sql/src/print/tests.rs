use crate::ast::{Expr, ExprKind};
use crate::parse;

/// Queries and their canonical text.
const TEXTS: &[(&str, &str)] = &[
    ("select * from c", "SELECT *\nFROM c"),
    ("SELECT DISTINCT TOP 5 VALUE c.name x FROM c", "SELECT DISTINCT TOP 5 VALUE c.name\nFROM c"),
    ("SELECT c.a, 1 AS \"$1\", 'x' y, 2 'z'", "SELECT c.a, 1 AS \"$1\", \"x\" AS y, 2 AS z"),
    (
        "SELECT * FROM Root r JOIN k in r.kids JOIN r.a['b c'][0] AS x",
        "SELECT *\nFROM Root AS r\nJOIN k IN r.kids\nJOIN r.a[\"b c\"][0] AS x",
    ),
    (
        "SELECT 1 FROM (SELECT VALUE s FROM s IN c.s WHERE EXISTS(SELECT 1)) s",
        "SELECT 1\nFROM (\n    SELECT VALUE s\n    FROM s IN c.s\n    WHERE EXISTS(\n        \
         SELECT 1\n    )\n) AS s",
    ),
    (
        "SELECT 1 FROM c WHERE a AND b AND c GROUP BY a, b ORDER BY a, b ASC, c DESC \
         OFFSET @o LIMIT 10",
        "SELECT 1\nFROM c\nWHERE ((a AND b) AND c)\nGROUP BY a, b\nORDER BY a, b ASC, c DESC\n\
         OFFSET @o LIMIT 10",
    ),
    ("SELECT 1 ORDER BY RANK RRF(f(c.t), g(1))", "SELECT 1\nORDER BY RANK RRF(f(c.t), g(1))"),
    ("SELECT c['a'], c.a, c[@p], c[1+1]", "SELECT c[\"a\"], c.a, c[@p], c[(1 + 1)]"),
    (
        "SELECT {a: 1, 'b': [1,2], \"c d\": {}}, []",
        "SELECT {\"a\": 1, \"b\": [1, 2], \"c d\": {}}, []",
    ),
    ("SELECT NOT a = b", "SELECT ((NOT a) = b)"),
    ("SELECT -5, - 5, -(5), - -5, +5, ~5, -c.x", "SELECT -5, -5, -5, 5, (+(5)), (~(5)), (-c.x)"),
    ("SELECT (-5).x, (5)[0]", "SELECT (-5).x, (5)[0]"),
    (
        "SELECT -0, 0.1, 1e3, 1e20, 1.5e-7, 1e-4",
        concat!("SELECT -0, 0.10000000000000001, 1000, 1e+20, 1.4999999999999999e-07, ", "0.0001",),
    ),
    (
        "SELECT 9223372036854775807, -9223372036854775808, 6844744073700000000, 000012",
        "SELECT 9223372036854775807, -9223372036854775808, 6844744073700000000, 12",
    ),
    ("SELECT a NOT IN (1), b BETWEEN 1 AND 2", "SELECT (a NOT IN (1)), (b BETWEEN 1 AND 2)"),
    (
        "SELECT a LIKE 'b' ESCAPE '!', a NOT LIKE b",
        "SELECT (a LIKE \"b\" ESCAPE \"!\"), (a NOT LIKE b)",
    ),
    ("SELECT a <> b ? 1 : c ?? d ?? e", "SELECT ((a != b) ? 1 : (c ?? (d ?? e)))"),
    ("SELECT udf.f(x), Abs (1), LEFT(a, 1)", "SELECT udf.f(x), Abs(1), LEFT(a, 1)"),
    ("SELECT (LET x = 1 IN x + 1)", "SELECT (LET x = 1 IN (x + 1))"),
    (
        "SELECT ARRAY(SELECT 1), ALL(SELECT 1)",
        "SELECT ARRAY(\n    SELECT 1\n), ALL(\n    SELECT 1\n)",
    ),
    ("SELECT \"a\\\"\\n'é\", 'q\"'", "SELECT \"a\\\"\\n'é\", \"q\\\"\""),
    ("SELECT TRUE, null, Undefined", "SELECT true, null, undefined"),
];

#[test]
fn queries_print_canonically() {
    for (text, expected) in TEXTS {
        let printed = parse(text).unwrap_or_else(|error| panic!("{text}: {error}")).to_string();
        assert_eq!(&printed, expected, "{text}");
        assert_eq!(parse(&printed).unwrap().to_string(), printed, "{text}");
    }
}

#[test]
fn placeholders_print_as_they_are() {
    let filter = Expr::from(ExprKind::Verbatim("({filter})".to_owned()));
    let mut query = parse("SELECT * FROM c").unwrap();
    query.filter = Some(filter);
    assert_eq!(query.to_string(), "SELECT *\nFROM c\nWHERE ({filter})");
}
