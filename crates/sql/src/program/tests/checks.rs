//! What is refused before it runs, beside what the reference executor's tests show.

use super::*;
use crate::Code;

fn errors(text: &str) -> Vec<Error> {
    let query = crate::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    Program::compile(&query, &Settings::default()).err().unwrap_or_default()
}

#[track_caller]
fn assert_refused(text: &str, code: Code, message: &str) {
    let errors = errors(text);
    let found: Vec<_> = errors.iter().map(|error| (error.code, error.message.as_str())).collect();
    assert_eq!(found, [(code, message)], "{text}");
}

#[test]
fn limits() {
    let joins = |count: usize| {
        let joins: Vec<String> = (0..count).map(|n| format!(" JOIN a{n} IN c.l")).collect();
        format!("SELECT VALUE 1 FROM c{}", joins.concat())
    };
    assert!(errors(&joins(10)).is_empty());
    let message = "The SQL query exceeded the maximum number of joins. The allowed limit is 10.";
    assert_refused(&joins(11), Code::TooManyJoins, message);
    let calls = |count: usize| format!("SELECT VALUE [{}]", vec!["udf.f()"; count].join(", "));
    assert!(errors(&calls(10)).is_empty());
    let message = "The SQL query exceeded the maximum number of user-defined function calls. The \
                   allowed limit is 10.";
    assert_refused(&calls(11), Code::TooManyUdfCalls, message);
    let query = crate::parse(&calls(11)).unwrap();
    let settings = Settings { udfs_max: 11, ..Settings::default() };
    assert!(Program::compile(&query, &settings).is_ok());
}

#[test]
fn search_is_not_there() {
    let message = "The VectorDistance function is not supported.";
    assert_refused("SELECT VectorDistance(c.v, [1]) FROM c", Code::Unsupported, message);
    let message = "The FullTextContains function is not supported.";
    let query = "SELECT * FROM c WHERE FullTextContains(c.t, 'a')";
    assert_refused(query, Code::Unsupported, message);
    let message = "The FullTextScore function is only allowed in the ORDER BY RANK clause.";
    assert_refused("SELECT FullTextScore(c.t, 'a') FROM c", Code::MisplacedScore, message);
    let message = "'RRF' is not a recognized built-in function name.";
    assert_refused("SELECT RRF(c.a, c.b) FROM c", Code::UnknownFunction, message);
    let query = "SELECT * FROM c ORDER BY RANK FullTextScore(c.t, 'a')";
    assert_refused(query, Code::Unsupported, "ORDER BY RANK is not supported.");
}

#[test]
fn computed_indexes() {
    let message = "The specified query includes 'member indexer' which is currently not supported.";
    for query in [
        "SELECT VALUE [1, 2][c.n] FROM c",
        "SELECT VALUE {a: 1}[c.k] FROM c",
        "SELECT VALUE UPPER('a')[c.n] FROM c",
    ] {
        assert_refused(query, Code::MemberIndexer, message);
    }
    for query in [
        "SELECT VALUE c.l[1 + 1] FROM c",
        "SELECT VALUE c.l[c.n].x[c.m] FROM c",
        "SELECT VALUE [1, 2][0] FROM c",
        "SELECT VALUE [1, 2][1 - 1] FROM c",
    ] {
        assert!(errors(query).is_empty(), "{query}");
    }
}

#[test]
fn aggregates_and_subqueries_out_of_place() {
    let message = "Aggregate function 'COUNT' is only allowed in the SELECT clause.";
    assert_refused("SELECT udf.f(COUNT(c.x)) FROM c", Code::MisplacedAggregate, message);
    let message = "A subquery over the container outside of the FROM clause is not supported.";
    assert_refused("SELECT VALUE ARRAY(SELECT VALUE c FROM c)", Code::Unsupported, message);
}

#[test]
fn computed_properties_are_checked() {
    for query in [
        "SELECT VALUE LOWER(c.name) FROM c",
        "SELECT VALUE c.price - (c.price * 0.2) FROM c",
        "SELECT VALUE root.a FROM root",
        "SELECT VALUE ARRAY(SELECT VALUE t.name FROM t IN c.tags) FROM c",
    ] {
        assert!(check_computed("p", query).is_ok(), "{query}");
    }
    for (query, what) in [
        ("SELECT VALUE", "has an invalid query"),
        ("SELECT c.a FROM c", "of the form"),
        ("SELECT * FROM c", "of the form"),
        ("SELECT VALUE 1", "one source"),
        ("SELECT VALUE d FROM c JOIN d IN c.l", "one source"),
        ("SELECT VALUE d FROM d IN c.l", "over the items"),
        ("SELECT VALUE a FROM c.a", "over the items"),
        ("SELECT VALUE r FROM (SELECT VALUE c FROM c) AS r", "over the items"),
        ("SELECT VALUE c.a FROM c WHERE c.a", "WHERE"),
        ("SELECT VALUE c.a FROM c GROUP BY c.a", "GROUP BY"),
        ("SELECT VALUE c.a FROM c ORDER BY c.a", "ORDER BY"),
        ("SELECT TOP 1 VALUE c.a FROM c", "TOP"),
        ("SELECT DISTINCT VALUE c.a FROM c", "DISTINCT"),
        ("SELECT VALUE c.a FROM c OFFSET 0 LIMIT 1", "OFFSET LIMIT"),
        ("SELECT VALUE EXISTS(SELECT VALUE c.a) FROM c", "EXISTS"),
        ("SELECT VALUE ALL(SELECT VALUE c.a) FROM c", "ALL"),
        ("SELECT VALUE FIRST(SELECT VALUE c.a) FROM c", "FIRST"),
        ("SELECT VALUE LAST(SELECT VALUE c.a) FROM c", "LAST"),
        ("SELECT VALUE (SELECT VALUE c.a) FROM c", "a scalar subquery"),
        ("SELECT VALUE COUNT(1) FROM c", "aggregate function 'COUNT'"),
        ("SELECT VALUE udf.f(c.a) FROM c", "user-defined"),
        ("SELECT VALUE GetCurrentDateTime() FROM c", "'GetCurrentDateTime'"),
        ("SELECT VALUE [NOW()] FROM c", "'NOW'"),
        ("SELECT VALUE c.a = @p FROM c", "a parameter"),
        ("SELECT VALUE d.a FROM c", "could not be resolved"),
        ("SELECT VALUE ARRAY(SELECT VALUE t FROM t IN c.l WHERE t) FROM c", "WHERE"),
    ] {
        let message = check_computed("p", query).expect_err(query);
        assert!(message.starts_with("The computed property 'p' ") && message.ends_with('.'));
        assert!(message.contains(what), "{query}: {message}");
    }
    for name in ["", "id", "_ts"] {
        assert!(check_computed(name, "SELECT VALUE c.a FROM c").is_err(), "{name}");
    }
    for text in
        ["SELECT VALUE c.a + 1 FROM c", "SELECT VALUE ARRAY(SELECT VALUE x FROM x IN c.a) FROM c"]
    {
        let definitions = [("a", "SELECT VALUE c.x FROM c"), ("b", text)];
        let message = check_computed_all(&definitions).unwrap_err();
        assert_eq!(message, "The computed property 'b' cannot refer to the computed property 'a'.");
    }
}
