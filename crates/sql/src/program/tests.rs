//! Programs as an engine runs them.

mod answers;
mod bounds;
mod checks;
mod shapes;
mod streaming;

use super::*;
use value::json;

fn values(text: &str) -> Vec<Value> {
    json::parse(text.as_bytes()).unwrap().as_array().unwrap().to_vec()
}

#[track_caller]
fn compile(text: &str) -> Program {
    compile_with(text, &Settings::default())
}

#[track_caller]
fn compile_with(text: &str, settings: &Settings<'_>) -> Program {
    let query = crate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Program::compile(&query, settings).unwrap_or_else(|errors| panic!("{text}: {errors:?}"))
}

/// The values of a query over items, through the reference executor.
#[track_caller]
fn run_program(program: &Program, items: &str, run: &mut Run<'_>) -> Result<Vec<Value>, Halt> {
    crate::eval::values(program, &values(items), run)
}

#[track_caller]
fn assert_rows(items: &str, query: &str, expected: &str) {
    let rows = run_program(&compile(query), items, &mut Run::new(0, 0)).unwrap();
    assert_eq!(json::print(&Value::from(rows)), expected, "{query}");
}

#[test]
fn programs_are_shared_between_threads() {
    fn is_shared<T: Send + Sync>() {}
    is_shared::<Program>();
    is_shared::<Expression>();
}

#[test]
fn rows_come_until_they_are_not_wanted() {
    let program = compile("SELECT VALUE x FROM c JOIN x IN c.l WHERE x > 1");
    let mut run = Run::new(0, 0);
    let document = json::parse(br#"{"l":[1,2,3,4]}"#).unwrap();
    let mut seen = Vec::new();
    let result = program.rows(&document, &mut run, &mut |row, run| {
        seen.push(program.project(row, run)?);
        if seen.len() == 2 { Err(Halt::Stopped) } else { Ok(()) }
    });
    assert_eq!(result, Err(Halt::Stopped));
    assert_eq!(seen, values("[2,3]"));
}

#[test]
fn constants_are_computed_once() {
    for text in [
        "SELECT VALUE 1 + 2 * 3",
        "SELECT VALUE UPPER('a' || 'b')",
        "SELECT VALUE {'a': [1, 2], 'b': 1 IN (1, 2)}.a[1]",
        "SELECT VALUE ('abc' LIKE 'a%') AND 1 BETWEEN 0 AND 2",
    ] {
        let program = compile(text);
        let node = &program.select.projection;
        assert!(matches!(node, node::Projection::Value(Node::Constant(_))), "{text}");
    }
    for text in ["SELECT VALUE GetCurrentTimestamp()", "SELECT VALUE NOW()"] {
        let program = compile(text);
        assert!(matches!(program.select.projection, node::Projection::Value(Node::Call { .. })));
        assert!(!program.shape().is_deterministic);
    }
}

#[test]
fn functions_are_told_the_time_of_the_run() {
    let program = compile("SELECT VALUE GetCurrentTimestamp()");
    for now in [5, 6] {
        let rows = run_program(&program, "[]", &mut Run::new(now, 0)).unwrap();
        assert_eq!(rows, [Value::from(now)]);
    }
}

#[test]
fn inner_queries_over_the_whole_container() {
    let items = r#"[{"k":1,"l":[1,2]},{"k":2,"l":[2]},{"k":1,"l":[]}]"#;
    assert_rows(items, "SELECT VALUE d FROM (SELECT DISTINCT VALUE c.k FROM c) AS d", "[1,2]");
    assert_rows(items, "SELECT VALUE n + 1 FROM (SELECT VALUE COUNT(1) FROM c) AS n", "[4]");
    let query = "SELECT VALUE g.n FROM (SELECT c.k, COUNT(1) AS n FROM c GROUP BY c.k) AS g \
                 WHERE g.k = 1";
    assert_rows(items, query, "[2]");
    let query = "SELECT VALUE x FROM x IN (SELECT VALUE MAKELIST(c.k) FROM c)";
    assert_rows(items, query, "[1,2,1]");
    let query = "SELECT VALUE COUNT(1) FROM (SELECT VALUE y.d FROM \
                 (SELECT DISTINCT c.k AS d FROM c) AS y) AS z";
    assert_rows(items, query, "[2]");
    let query = "SELECT VALUE [g, x] FROM (SELECT VALUE MAX(c.k) FROM c) AS g \
                 JOIN x IN (SELECT VALUE [g, g * 2])";
    assert_rows(items, query, "[[2,2],[2,4]]");
    // NaN is known to the query around, and is no JSON only at the very end.
    let query = "SELECT VALUE IS_NUMBER(n) FROM (SELECT VALUE SUM(0) / 0 FROM c) AS n";
    assert_rows(items, query, "[true]");
    // Nothing gathers here: each item is passed on as it comes.
    let query = "SELECT VALUE r.k FROM (SELECT VALUE c FROM c WHERE c.k = 2) AS r";
    assert_rows(items, query, "[2]");
    assert!(compile(query).shape().inner.is_none());
    assert_rows("[]", "SELECT VALUE x FROM (SELECT VALUE 7) AS x", "[7]");
}

#[test]
fn groups_are_known_by_their_keys_in_subqueries() {
    let items = r#"[{"k":[1,2],"n":1},{"k":[1,2],"n":2},{"k":[3],"n":5}]"#;
    let query = "SELECT VALUE {s: SUM(c.n), d: ARRAY(SELECT VALUE x * 2 FROM x IN c.k)} FROM c \
                 GROUP BY c.k";
    assert_rows(items, query, r#"[{"s":3,"d":[2,4]},{"s":5,"d":[6]}]"#);
    let query = "SELECT VALUE (SELECT VALUE c.k[0]) FROM c GROUP BY c.k";
    assert_rows(items, query, "[1,3]");
    // The name of the subquery hides the group's.
    let query = "SELECT VALUE ARRAY(SELECT VALUE c FROM c IN c.k) FROM c GROUP BY c.k";
    assert_rows(items, query, "[[1,2],[3]]");
    let query = "SELECT VALUE (LET c = {k: 9} IN c.k) FROM c GROUP BY c.k";
    assert_rows(items, query, "[9,9]");
    let query = "SELECT VALUE UPPER(c.s) || 'x' FROM c GROUP BY UPPER(c.s)";
    assert_rows(r#"[{"s":"a"},{"s":"A"}]"#, query, r#"["Ax"]"#);
    let query = crate::parse("SELECT VALUE (SELECT VALUE c.n) FROM c GROUP BY c.k").unwrap();
    let errors = Program::compile(&query, &Settings::default()).unwrap_err();
    assert_eq!(errors[0].code, crate::Code::NotGrouped);
    assert!(errors[0].message.starts_with("Property reference 'c.n' is invalid"));
}

#[test]
fn groups_are_ordered_by_their_keys() {
    let items = r#"[{"l":[3,1]},{"l":[2,3]}]"#;
    let query = "SELECT x, COUNT(1) AS n FROM c JOIN x IN c.l GROUP BY x ORDER BY x DESC";
    assert_rows(items, query, r#"[{"x":3,"n":2},{"x":2,"n":1},{"x":1,"n":1}]"#);
}

#[test]
fn arrays_and_objects_sort_by_their_hashes() {
    let items = r#"[{"i":1,"k":[2]},{"i":2,"k":{"z":1}},{"i":3,"k":[1]},{"i":4,"k":{"a":1}},
                    {"i":5,"k":"s"}]"#;
    assert_rows(items, "SELECT VALUE c.i FROM c ORDER BY c.k", "[5,3,1,2,4]");
    assert_rows(items, "SELECT VALUE c.i FROM c ORDER BY c.k DESC", "[4,2,1,3,5]");
}

#[test]
fn computed_properties_stand_for_their_expressions() {
    let definitions = [
        ("lower", "SELECT VALUE LOWER(c.name) FROM c"),
        ("total", "SELECT VALUE x.a + x.b FROM x"),
        ("pair", "SELECT VALUE {v: [c.a, c.b]} FROM c"),
    ];
    let computed = check_computed_all(&definitions).unwrap();
    let settings = Settings { computed: &computed, ..Settings::default() };
    let items = r#"[{"name":"B","a":1,"b":2,"total":"stored"},{"name":"a","a":5,"b":5}]"#;
    for (query, expected) in [
        ("SELECT VALUE c.total FROM c", "[3,10]"),
        ("SELECT VALUE c[\"total\"] FROM c", "[3,10]"),
        ("SELECT VALUE r.lower FROM c AS r WHERE r.lower = 'a'", r#"["a"]"#),
        ("SELECT VALUE c.pair.v[1] FROM c", "[2,5]"),
        ("SELECT VALUE x FROM c JOIN x IN c.pair.v", "[1,2,5,5]"),
        ("SELECT c.lower FROM c ORDER BY c.lower", r#"[{"lower":"a"},{"lower":"b"}]"#),
        ("SELECT VALUE c.total FROM c GROUP BY c.total", "[3,10]"),
        ("SELECT VALUE SUM(c.total) FROM c", "[13]"),
        ("SELECT VALUE (SELECT VALUE d.total FROM c AS d) FROM c", "[3,10]"),
        ("SELECT VALUE r.total FROM (SELECT VALUE c FROM c) AS r", r#"["stored"]"#),
        ("SELECT * FROM c WHERE c.total = 3", r#"[{"name":"B","a":1,"b":2,"total":"stored"}]"#),
    ] {
        let program = compile_with(query, &settings);
        let rows = run_program(&program, items, &mut Run::new(0, 0)).unwrap();
        assert_eq!(json::print(&Value::from(rows)), expected, "{query}");
    }
    let program = compile_with("SELECT * FROM c ORDER BY c.lower DESC, c.a", &settings);
    let [lower, stored] = &program.shape().order[..] else { panic!("two keys") };
    assert_eq!((lower.computed.as_deref(), &lower.path), (Some("lower"), &None));
    assert_eq!((&stored.computed, stored.path.as_deref()), (&None, Some(&[key("a")][..])));
}

fn key(name: &str) -> PathStep {
    PathStep::Key(name.to_owned())
}
