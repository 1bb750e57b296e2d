//! Whole queries: what the collected cases leave out.

use super::*;
use crate::Error;
use value::{Value, json};

fn values(text: &str) -> Vec<Value> {
    json::parse(text.as_bytes()).unwrap().as_array().unwrap().to_vec()
}

fn run_over(items: &str, query: &str) -> Vec<Value> {
    let query = crate::parse(query).unwrap();
    run(&query, &[], &values(items), 0).unwrap()
}

#[track_caller]
fn assert_rows(items: &str, query: &str, expected: &str) {
    assert_eq!(run_over(items, query), values(expected), "{query}");
}

/// The number of an error, where it points, and its text.
type Message = (Option<u16>, Option<(usize, usize)>, String);

fn messages(query: &str) -> Vec<Message> {
    let query = crate::parse(query).unwrap();
    let errors = check(&query, &[]).into_iter();
    let span = |error: &Error| error.span.map(|span| (span.start, span.end));
    errors.map(|error| (error.code.number(), span(&error), error.to_string())).collect()
}

#[track_caller]
fn assert_refused(query: &str, number: Option<u16>, span: Option<(usize, usize)>, text: &str) {
    assert_eq!(messages(query), [(number, span, text.to_owned())], "{query}");
}

const ITEMS: &str = r#"[{"id":"a","n":2,"l":[1,2]},{"id":"b","n":1},{"id":"c"},{"id":"d","n":1}]"#;

#[test]
fn order_by_puts_rows_without_a_key_first() {
    assert_rows(ITEMS, "SELECT VALUE c.id FROM c ORDER BY c.n", r#"["c","b","d","a"]"#);
    assert_rows(ITEMS, "SELECT VALUE c.id FROM c ORDER BY c.n DESC", r#"["a","d","b","c"]"#);
    assert_rows(ITEMS, "SELECT VALUE c.id FROM c ORDER BY c.n, c.id", r#"["c","b","d","a"]"#);
    assert_rows(ITEMS, "SELECT VALUE c.id FROM c ORDER BY c.none", r#"["a","b","c","d"]"#);
    assert_rows(ITEMS, "SELECT VALUE c.n FROM c ORDER BY c.n", "[1,1,2]");
}

#[test]
fn order_by_has_arrays_and_objects_in_the_order_of_their_hashes() {
    let items = r#"[{"v":[1]},{"v":[0]},{"v":{}},{"v":["a"]},{"v":{"a":1}},{"v":[1.5]}]"#;
    let ascending = r#"[["a"],[1.5],[0],[1],{},{"a":1}]"#;
    assert_rows(items, "SELECT VALUE c.v FROM c ORDER BY c.v", ascending);
    let descending = r#"[{"a":1},{},[1],[0],[1.5],["a"]]"#;
    assert_rows(items, "SELECT VALUE c.v FROM c ORDER BY c.v DESC", descending);
}

#[test]
fn groups_have_undefined_keys_and_an_order() {
    let query = "SELECT c.n, COUNT(1) AS k FROM c GROUP BY c.n";
    assert_rows(ITEMS, query, r#"[{"n":2,"k":1},{"n":1,"k":2},{"k":1}]"#);
    let query = "SELECT VALUE COUNT(1) + c.n FROM c GROUP BY c.n ORDER BY c.n";
    assert_rows(ITEMS, query, "[3,3]");
    let query = r#"SELECT VALUE MAKESET(c["n"]) FROM c"#;
    assert_rows(ITEMS, query, "[[2,1]]");
}

#[test]
fn subqueries_of_every_kind() {
    let over_list = |kind: &str| {
        format!("SELECT VALUE {kind}(SELECT VALUE x > 1 FROM x IN c.l) FROM c WHERE c.id = 'a'")
    };
    assert_rows(ITEMS, &over_list("ALL"), "[false]");
    assert_rows(ITEMS, &over_list("FIRST"), "[false]");
    assert_rows(ITEMS, &over_list("LAST"), "[true]");
    assert_rows(ITEMS, &over_list("ARRAY"), "[[false,true]]");
    assert_rows(ITEMS, &over_list("EXISTS"), "[true]");
    assert_rows("[]", "SELECT VALUE (LET x = 2 IN x * x)", "[4]");
    assert_rows(
        ITEMS,
        "SELECT VALUE r.id FROM (SELECT VALUE root FROM root) AS r WHERE r.n = 2",
        r#"["a"]"#,
    );
    assert_rows(
        ITEMS,
        "SELECT VALUE (SELECT VALUE d.id FROM c AS d) FROM c WHERE c.n = 2",
        r#"["a"]"#,
    );
}

#[test]
fn what_is_no_json_is_not_returned() {
    assert_rows("[]", "SELECT VALUE 1/0", "[]");
    assert_rows("[]", "SELECT 1/0 AS a, [1, 0/0] AS b", r#"[{"b":[1]}]"#);
    assert_rows("[]", "SELECT VALUE undefined", "[]");
    assert_rows("[]", "SELECT undefined", "[{}]");
}

#[test]
fn conditions_that_are_no_booleans() {
    assert_rows("[]", "SELECT VALUE [undefined ? 1 : 2, null ? 1 : 2, 1 ? 1 : 2]", "[[2,2,2]]");
    assert_rows("[]", "SELECT VALUE [null ?? 1, undefined ?? 1]", "[[null,1]]");
}

#[test]
fn in_and_between_with_undefined() {
    assert_rows("[]", "SELECT VALUE [1 IN (undefined, 1), 2 IN (undefined, 1)]", "[[true]]");
    assert_rows("[]", "SELECT VALUE [1 NOT IN ('1'), undefined NOT IN (1)]", "[[true]]");
    assert_rows("[]", "SELECT VALUE [2 BETWEEN 1 AND 3, 2 NOT BETWEEN 1 AND 3]", "[[true,false]]");
    assert_rows("[]", "SELECT VALUE [0 BETWEEN 1 AND 'a', 2 BETWEEN 1 AND 'a']", "[[false]]");
}

#[test]
fn names_are_resolved() {
    let text = "Identifier 'a' could not be resolved.";
    assert_refused("SELECT * FROM Root r WHERE a = 1", Some(2001), Some((27, 28)), text);
    let text = "Identifier 's' could not be resolved.";
    assert_refused("SELECT c.x AS s FROM c ORDER BY s", Some(2001), Some((32, 33)), text);
    let text = "Identifier 'd' could not be resolved.";
    assert_refused("SELECT c.x FROM c JOIN k IN d.l", Some(2001), Some((28, 29)), text);
    let text = "'BADFUNC' is not a recognized built-in function name.";
    assert_refused("SELECT BADFUNC(r.age) FROM Root r", Some(2005), Some((7, 14)), text);
    let text = "The STARTSWITH function requires 2 to 3 argument(s).";
    let query = "SELECT * FROM Root r WHERE STARTSWITH(r.key, 'a', 'b', 'c')";
    assert_refused(query, Some(2050), Some((27, 59)), text);
    assert_eq!(messages("SELECT TOP @n * FROM c").len(), 1);
}

#[test]
fn aggregates_stand_in_select() {
    let text = "Cannot perform an aggregate function on an expression containing an aggregate or a subquery.";
    assert_refused("SELECT VALUE MAX(MIN(r)) From r", Some(2101), Some((13, 24)), text);
    assert_eq!(messages("SELECT * FROM c WHERE COUNT(1) > 1").len(), 1);
    let query = "SELECT c.name, s.score, s.repeat FROM c JOIN s IN c.l GROUP BY c[\"name\"]";
    let errors = messages(query);
    assert_eq!(errors.iter().map(|error| error.0).collect::<Vec<_>>(), [Some(2102), Some(2102)]);
    assert!(errors[0].2.starts_with("Property reference 's.score' is invalid"));
}

#[test]
fn clauses_that_do_not_go_together() {
    let text = "'SELECT *' is not allowed with GROUP BY.";
    assert_refused("SELECT * FROM c GROUP BY c.x", Some(2041), Some((7, 8)), text);
    let text = "'SELECT *' is only valid with a single input set.";
    assert_refused("SELECT * FROM c JOIN d IN c.l", Some(2043), Some((7, 8)), text);
    let text = "'SELECT *' is not valid if FROM clause is omitted.";
    assert_refused("SELECT *", Some(2040), Some((7, 8)), text);
    let text = "The cardinality of a scalar subquery result set cannot be greater than one.";
    let query = "SELECT (SELECT l FROM l IN c.list) FROM c";
    assert_eq!(messages(query).first().map(|error| error.2.as_str()), Some(text));
    let query = "SELECT * FROM c ORDER BY LOWER(c.x)";
    assert_eq!(messages(query).first().map(|error| error.0), Some(Some(2206)));
    let query = crate::parse("SELECT VALUE d FROM c JOIN d IN c.l ORDER BY d.x").unwrap();
    let error = run(&query, &[], &[], 0).unwrap_err();
    assert_eq!(error.to_string(), "Order-by over correlated collections is not supported.");
    let query = "SELECT VALUE r.id FROM (SELECT VALUE c FROM c ORDER BY c.x) AS r";
    assert_eq!(messages(query).first().map(|error| error.0), Some(Some(2202)));
}

#[test]
fn aggregates_over_an_order() {
    assert_rows(ITEMS, "SELECT VALUE MAKELIST(c.id) FROM c ORDER BY c.n", r#"[["c","b","d","a"]]"#);
    assert_rows(ITEMS, "SELECT VALUE COUNT(1) FROM c ORDER BY c.n DESC", "[4]");
    assert_rows(ITEMS, "SELECT VALUE COUNT(1) FROM c ORDER BY c.n, c.id", "[4]");
}

#[test]
fn long_lists_are_checked_in_time() {
    let items: Vec<String> = (0..40_000).map(|n| format!("c.p{n}")).collect();
    let query = crate::parse(&format!("SELECT {} FROM c", items.join(","))).unwrap();
    assert!(check(&query, &[]).is_empty());
    let query = format!("SELECT VALUE {{}} FROM c WHERE c.n IN ({})", vec!["1"; 100_000].join(","));
    assert_rows(ITEMS, &query, "[{},{}]");
}
