//! What of a query an index can answer: one line for each shape of predicate and source. That the
//! answers are right is for `filter_random` to say.

use sql::filter::{self, Filter, IndexUse, Path, Segment, TestKind};
use value::{Value, json};

fn parse(text: &str) -> Value {
    json::parse(text.as_bytes()).expect("JSON")
}

fn of(text: &str) -> Filter {
    filter::of(&sql::parse(text).expect(text), &[])
}

/// The filter of a WHERE clause.
fn of_where(condition: &str) -> Filter {
    of(&format!("SELECT * FROM c WHERE {condition}"))
}

/// Each test as `path use exactness`, and how they are joined.
fn show(filter: &Filter) -> String {
    let list = |filters: &[Filter]| filters.iter().map(show).collect::<Vec<_>>();
    match filter {
        Filter::All => "all".to_owned(),
        Filter::Always => "always".to_owned(),
        Filter::Nothing => "nothing".to_owned(),
        Filter::And(filters) => format!("({})", list(filters).join(" & ")),
        Filter::Or(filters) => format!("({})", list(filters).join(" | ")),
        Filter::Test(test) => {
            let kind = match &test.kind {
                TestKind::Intervals(intervals) => intervals.len().to_string(),
                TestKind::Values { intervals, .. } => format!("{}?", intervals.len()),
                TestKind::Spatial { boxes } => format!("{}#", boxes.len()),
            };
            let use_ = match test.use_ {
                IndexUse::Seek => "seek",
                IndexUse::Precise => "precise",
                IndexUse::Expanded => "expanded",
                IndexUse::Full => "full",
            };
            format!("{} {kind} {use_}{}", test.path, if test.is_exact { "" } else { "~" })
        }
    }
}

/// WHERE clauses and their filters.
const CONDITIONS: &[(&str, &str)] = &[
    ("c.a = 1", "/a 1 seek"),
    ("1 + 1 = c.a.b", "/a/b 1 seek"),
    ("c['a'] != 1", "/a 2 full"),
    ("NOT (c.a = 1)", "/a 2 full"),
    ("NOT c.a = 1", "nothing"),
    ("c.a = 9007199254740993", "/a 1 seek~"),
    ("c.a = undefined", "nothing"),
    ("c.a > 1 AND c.a < 5", "/a 1 precise"),
    ("c.a > 5 AND c.a < 1", "nothing"),
    ("c.a > 1 AND c.a = 'x'", "nothing"),
    ("c.a BETWEEN 1 AND 5", "/a 1 precise"),
    ("c.a NOT BETWEEN 1 AND 5", "/a 2 precise"),
    ("5 BETWEEN c.a AND c.b", "(/a 1 precise & /b 1 precise)"),
    ("c.a IN (1, 'x', null)", "/a 3 seek"),
    ("c.a NOT IN (1, 2)", "/a 3 full"),
    ("c.a NOT IN (1, undefined)", "nothing"),
    ("5 IN (c.a, c.b)", "(/a 1 seek | /b 1 seek)"),
    ("c.a", "/a 1 seek"),
    ("NOT c.a", "/a 1 seek"),
    ("IS_DEFINED(c.a)", "/a 1 precise"),
    ("NOT IS_DEFINED(c.a)", "/a 1 full"),
    ("IS_DEFINED(c.a) OR NOT IS_DEFINED(c.a)", "always"),
    ("NOT IS_DEFINED(c.a) OR c.a = null", "/a 1 full"),
    ("is_null(c.a)", "/a 1 seek"),
    ("NOT IS_STRING(c.a)", "/a 2 full"),
    ("IS_INTEGER(c.a)", "/a 1? precise~"),
    ("STARTSWITH(c.a, 'ab')", "/a 1 precise"),
    ("NOT STARTSWITH(c.a, 'ab')", "/a 2 full"),
    ("STARTSWITH(c.a, 'ab', true)", "/a 1? expanded"),
    ("StringEquals('x', c.a)", "/a 1 seek"),
    ("StringEquals(c.a, 'x', true)", "/a 1? expanded"),
    ("c.a LIKE 'ab'", "/a 1 seek"),
    ("c.a LIKE 'ab%'", "/a 1 precise"),
    ("c.a LIKE 'ab%c'", "/a 1? expanded"),
    ("c.a LIKE '%c'", "/a 1? full"),
    ("c.a NOT LIKE 'ab%'", "/a 2 full"),
    ("CONTAINS(c.a, 'x')", "/a 1? full"),
    ("NOT CONTAINS(c.a, 'x')", "/a 1? full"),
    ("LOWER(c.a) = 'x'", "/a 1? full"),
    ("LEFT(c.a, 2) = 'xy'", "/a 1? precise"),
    ("c.a % 2 = 0", "/a 1? full"),
    ("c.a / 2 = 0", "/a 1? full~"),
    ("ARRAY_LENGTH(c.a) > 2", "/a 1 full~"),
    ("ARRAY_CONTAINS(c.a, 1)", "/a/[] 1 seek~"),
    ("ARRAY_CONTAINS(c.a, {'b': 1, 'c': 2}, true)", "(/a/[]/b 1 seek~ & /a/[]/c 1 seek~)"),
    ("NOT ARRAY_CONTAINS(c.a, 1)", "/a 1 full~"),
    ("ARRAY_CONTAINS([1, 2], c.a)", "/a 2 seek"),
    ("ARRAY_CONTAINS([1, {'b': 1}], c.a, true)", "/a 2 seek~"),
    ("ARRAY_CONTAINS_ANY(c.a, 1, 2)", "/a/[] 2 seek~"),
    ("c.a[0].b = 1", "/a/[]/b 1 seek~"),
    ("c.a[0] = 1 AND c.a[1] = 2", "(/a/[] 1 seek~ & /a/[] 1 seek~)"),
    ("c.a[0] + c.a[1] = 2", "all"),
    ("c.a[0] + c.a[0] = 2", "/a/[] 1? full~"),
    ("c.a = [1, 2]", "(/a/[] 1 seek~ & /a/[] 1 seek~)"),
    ("c.a = []", "/a 1 seek~"),
    ("c.a = {'b': {'d': 1}}", "/a/b/d 1 seek~"),
    ("c.a != []", "/a 1 full~"),
    ("c.a = c.b", "all"),
    ("c.a = 1 AND c.a = c.b", "/a 1 seek~"),
    ("c.a = 1 OR c.a = c.b", "all"),
    ("c.a = 1 OR c.b = 2 AND c.d = 3", "(/a 1 seek | (/b 1 seek & /d 1 seek))"),
    ("udf.f(c.a)", "all"),
    ("RAND() > 0.5", "all"),
    ("c.a > GetCurrentTimestampStatic()", "all"),
    ("true AND c.a = 1", "/a 1 seek"),
    ("1 = 2 OR c.a = 1", "/a 1 seek"),
    ("c.a = 1 AND 1 = 2", "nothing"),
    ("(c.a ? c.b : c.d) = 1", "all"),
    ("c.a ? c.b = 1 : c.d = 2", "((/a 1 seek~ & /b 1 seek~) | /d 1 seek~)"),
    ("c.a ?? false", "/a 1 seek"),
    ("c.a ?? true", "/a 2 full"),
    ("(c.a = 1) ?? c.b", "(/a 1 seek~ | /b 1 seek~)"),
    ("IS_DEFINED(c)", "all"),
];

#[test]
fn predicates() {
    for (condition, expected) in CONDITIONS {
        assert_eq!(show(&of_where(condition)), *expected, "{condition}");
    }
}

#[test]
fn sources() {
    for (query, expected) in [
        ("SELECT * FROM c", "always"),
        ("SELECT 1", "all"),
        ("SELECT * FROM c.a.b", "/a/b 1 precise"),
        ("SELECT * FROM c.a.b WHERE b.x = 1", "/a/b/x 1 seek"),
        ("SELECT * FROM c.a[0]", "all"),
        ("SELECT * FROM x IN c.a", "all"),
        ("SELECT * FROM x IN x.a WHERE x > 1", "/a/[] 1 precise~"),
        ("SELECT VALUE x FROM c JOIN x IN c.a WHERE x.b = 1", "/a/[]/b 1 seek~"),
        ("SELECT VALUE x FROM c JOIN x IN c.a WHERE c.b = 1", "/b 1 seek~"),
        ("SELECT VALUE x FROM c JOIN x IN c.a WHERE NOT IS_DEFINED(x.b)", "all"),
        ("SELECT VALUE y FROM c JOIN x IN c.a JOIN y IN x.b WHERE y = 1", "/a/[]/b/[] 1 seek~"),
        (
            "SELECT VALUE x FROM c JOIN (SELECT VALUE t FROM t IN c.a WHERE t.b = 1) AS x \
             WHERE x.d = 2",
            "(/a/[]/d 1 seek~ & /a/[]/b 1 seek~)",
        ),
        ("SELECT VALUE x FROM c JOIN (SELECT VALUE COUNT(1) FROM t IN c.a) AS x", "all"),
        (
            "SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.a WHERE t > 1)",
            "/a/[] 1 precise~",
        ),
        ("SELECT * FROM c WHERE EXISTS(SELECT VALUE t FROM t IN c.a)", "/a/[] 1 precise~"),
        ("SELECT * FROM c WHERE NOT EXISTS(SELECT VALUE t FROM t IN c.a)", "all"),
        ("SELECT * FROM c WHERE EXISTS(SELECT VALUE COUNT(1) FROM t IN c.a WHERE t > 1)", "all"),
        ("SELECT VALUE s FROM (SELECT VALUE c.a FROM c WHERE c.b = 1) AS s WHERE s.d = 2", {
            "(/a/d 1 seek~ & /b 1 seek~)"
        }),
        ("SELECT VALUE s FROM (SELECT COUNT(1) AS n FROM c WHERE c.b = 1) AS s WHERE s.n = 2", {
            "/b 1 seek~"
        }),
    ] {
        assert_eq!(show(&of(query)), expected, "{query}");
    }
}

#[test]
fn what_the_request_says() {
    let query = sql::parse("SELECT * FROM c WHERE c.a = @a AND c[@name] = 1").unwrap();
    let parameters = [("@a".to_owned(), Value::from("x")), ("@name".to_owned(), Value::from("b"))];
    let filter = filter::of(&query, &parameters);
    assert_eq!(show(&filter), "(/a 1 seek & /b 1 seek)");
    let Filter::And(tests) = &filter else { panic!("{filter:?}") };
    let Filter::Test(test) = &tests[0] else { panic!("{filter:?}") };
    assert_eq!(test.text, r#"(ROOT.a = "x")"#);
    assert!(matches!(filter::of(&query, &[]), Filter::All));
    let silent = filter::Settings { without_texts: true, ..Default::default() };
    let silent = filter::of_with(&query, &parameters, &silent);
    assert_eq!(show(&silent), show(&filter));
    let Filter::And(tests) = &silent else { panic!("{silent:?}") };
    assert!(tests.iter().all(|it| matches!(it, Filter::Test(test) if test.text.is_empty())));

    let settings = filter::Settings { now_millis: Some(5000), ..Default::default() };
    let query = sql::parse("SELECT * FROM c WHERE c.a > GetCurrentTimestampStatic()").unwrap();
    let filter = filter::of_with(&query, &[], &settings);
    assert!(filter.matches(&parse(r#"{"a":5001}"#)) && !filter.matches(&parse(r#"{"a":5000}"#)));

    let computed = ["a".to_owned()];
    let settings = filter::Settings { computed: &computed, ..Default::default() };
    let query = sql::parse("SELECT * FROM c WHERE c.a = 1 AND c.b.a = 2").unwrap();
    assert_eq!(show(&filter::of_with(&query, &[], &settings)), "/b/a 1 seek~");
    let query = sql::parse("SELECT * FROM c.a").unwrap();
    assert_eq!(show(&filter::of_with(&query, &[], &settings)), "all");
}

#[test]
fn spatial_predicates() {
    let point = "{'type': 'Point', 'coordinates': [10, 50]}";
    let item = |x, y| parse(&format!(r#"{{"p":{{"type":"Point","coordinates":[{x},{y}]}}}}"#));
    for (condition, expected) in [
        (format!("ST_DISTANCE(c.p, {point}) < 1000"), "/p 1# precise~"),
        (format!("1000 >= ST_DISTANCE({point}, c.p)"), "/p 1# precise~"),
        (format!("ST_DISTANCE(c.p, {point}) BETWEEN 0 AND 1000"), "/p 1# precise~"),
        (format!("NOT (ST_DISTANCE(c.p, {point}) > 1000)"), "/p 1# precise~"),
        (format!("ST_WITHIN(c.p, {point})"), "/p 1# precise~"),
        (format!("ST_INTERSECTS({point}, c.p)"), "/p 1# precise~"),
    ] {
        let filter = of_where(&condition);
        assert_eq!(show(&filter), expected, "{condition}");
        assert!(filter.matches(&item("10", "50")), "{condition}");
        assert!(!filter.matches(&item("10", "51")), "{condition}");
        assert!(!filter.matches(&parse(r#"{"p":1}"#)), "{condition}");
    }
    assert_eq!(show(&of_where(&format!("ST_DISTANCE(c.p, {point}) < -1"))), "nothing");
    let settings = filter::Settings { is_planar: true, ..Default::default() };
    let text = format!("SELECT * FROM c WHERE ST_DISTANCE(c.p, {point}) < 5");
    let planar = filter::of_with(&sql::parse(&text).unwrap(), &[], &settings);
    assert!(planar.matches(&item("14", "54")) && !planar.matches(&item("16", "50")));
}

#[test]
fn filters_go_between_threads() {
    fn check<T: Send + Sync + 'static>() {}
    check::<Filter>();
}

#[test]
fn a_check_serves_many_values() {
    let Filter::Test(test) = of_where("RegexMatch(c.a, '^a.c$') AND LENGTH(c.a) = 3") else {
        panic!("one path, one test");
    };
    let TestKind::Values { check, .. } = &test.kind else { panic!("a check of values") };
    let mut checker = check.start();
    for (text, expected) in [("abc", true), ("abcd", false), ("xbc", false), ("a.c", true)] {
        assert_eq!(checker.passes(&Value::from(text)), expected, "{text}");
        assert_eq!(check.passes(&Value::from(text)), expected, "{text}");
    }
    // Of these an index has no more than the type.
    assert!(checker.passes(&parse("[1]")));
}

#[test]
fn numbers_that_an_index_rounds_are_not_lost() {
    for (condition, item) in [
        ("1 / c.a < 0", r#"{"a":-0.0}"#),
        ("1 / c.a > 0", r#"{"a":0}"#),
        ("INTADD(c.a, 1) = 9007199254740994", r#"{"a":9007199254740993}"#),
        ("TOSTRING(c.a) = '9007199254740993'", r#"{"a":9007199254740993}"#),
        ("c.a + 2 > 9007199254740992", r#"{"a":9007199254740993}"#),
    ] {
        let query = sql::parse(&format!("SELECT VALUE 1 FROM c WHERE {condition}")).unwrap();
        let item = parse(item);
        let rows = sql::eval::run(&query, &[], std::slice::from_ref(&item), 0).unwrap();
        assert_eq!(rows.len(), 1, "{condition}");
        assert!(filter::of(&query, &[]).matches(&item), "{condition}");
    }
}

#[test]
fn long_lists_are_quick_and_sorted() {
    let even: Vec<i64> = (0..100_000).rev().map(|n| n * 2).collect();
    let parameters = [(
        "@list".to_owned(),
        Value::from(even.iter().copied().map(Value::from).collect::<Vec<_>>()),
    )];
    let list = even[50_000..].iter().map(i64::to_string).collect::<Vec<_>>().join(",");
    for (condition, present) in [
        (format!("c.a IN ({list})"), true),
        (format!("c.a NOT IN ({list})"), false),
        ("ARRAY_CONTAINS(@list, c.a)".to_owned(), true),
        ("NOT ARRAY_CONTAINS(@list, c.a)".to_owned(), false),
    ] {
        let query = sql::parse(&format!("SELECT * FROM c WHERE {condition}")).unwrap();
        let filter = filter::of(&query, &parameters);
        let Filter::Test(test) = &filter else { panic!("{}", show(&filter)) };
        let TestKind::Intervals(intervals) = &test.kind else { panic!("{}", show(&filter)) };
        assert!(intervals.len() >= 50_000);
        assert!(intervals.windows(2).all(|pair| pair[0].high < pair[1].low));
        assert!(test.text.is_empty() && filter.is_exact());
        assert_eq!(filter.matches(&parse(r#"{"a":54320}"#)), present);
        assert_eq!(filter.matches(&parse(r#"{"a":54321}"#)), !present);
    }
    let chain = (0..20_000).map(|n| format!("c.a != {n}")).collect::<Vec<_>>().join(" AND ");
    let Filter::Test(test) = of_where(&chain) else { panic!("one path, one test") };
    let TestKind::Intervals(intervals) = test.kind else { panic!("plain intervals") };
    assert_eq!(intervals.len(), 20_001);
}

#[test]
fn paths_of_orders_and_aggregates() {
    let order = |text: &str, computed: &[String]| {
        let query = sql::parse(text).unwrap();
        let Some(sql::ast::OrderByKind::Items(items)) = query.order_by.as_ref().map(|o| &o.kind)
        else {
            panic!("{text}");
        };
        filter::order_path(&query, &items[0].expr, computed)
    };
    let key = |key: &str| Segment::Key(key.to_owned());
    let path = order("SELECT * FROM c ORDER BY c.a['b']", &[]);
    assert_eq!(path, Some(Path(vec![key("a"), key("b")])));
    let path = order("SELECT * FROM c.x.y ORDER BY y.a", &[]);
    assert_eq!(path, Some(Path(vec![key("x"), key("y"), key("a")])));
    let path = order("SELECT * FROM c ORDER BY c.a[0]", &[]).unwrap();
    assert!(!path.is_single_valued());
    assert_eq!(order("SELECT * FROM c ORDER BY c.a", &["a".to_owned()]), None);

    let query = sql::parse("SELECT COUNT(1), {'s': sum(c.a)} AS o, MAX(c.a + 1) FROM c").unwrap();
    let found = filter::paths_of_aggregate(&query, &[], &[]);
    let names: Vec<_> = found.iter().map(|found| found.name.as_str()).collect();
    assert_eq!(names, ["COUNT", "SUM", "MAX"]);
    assert!(
        matches!(&found[0].argument, filter::Argument::Constant(one) if one.as_i64() == Some(1))
    );
    assert!(matches!(&found[1].argument, filter::Argument::Path(path) if path.to_string() == "/a"));
    assert!(matches!(found[2].argument, filter::Argument::Other));
}

#[test]
fn the_deepest_queries_fit_the_stack() {
    let exists = |depth: usize| {
        let open = "EXISTS(SELECT VALUE 1 FROM x IN c.a WHERE x = 1 AND ".repeat(depth);
        format!("{open} true {}", ")".repeat(depth))
    };
    let not = |depth: usize| format!("{}c.a{}", "NOT (".repeat(depth), ")".repeat(depth));
    let choice = |depth: usize| format!("{}c.b", "c.a ? c.b : ".repeat(depth));
    let index = |depth: usize| format!("{}1{} = 1", "c[c.a + ".repeat(depth), "]".repeat(depth));
    for shape in [&exists as &dyn Fn(usize) -> String, &not, &choice, &index] {
        let mut depth = 1;
        while let Ok(query) = sql::parse(&format!("SELECT * FROM c WHERE {}", shape(depth))) {
            filter::of(&query, &[]);
            depth += 1;
        }
        assert!(depth > 30, "{}", shape(1));
    }
}
