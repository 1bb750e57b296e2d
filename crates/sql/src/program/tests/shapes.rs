//! What programs say about themselves.

use super::*;

fn shape(text: &str) -> Shape {
    compile(text).shape().clone()
}

#[test]
fn what_is_read() {
    for (text, reads_container) in [
        ("SELECT VALUE 1", false),
        ("SELECT VALUE c FROM c", true),
        ("SELECT VALUE x FROM x IN c.l", true),
        ("SELECT VALUE x FROM (SELECT VALUE 1) AS x", false),
        ("SELECT VALUE x FROM (SELECT VALUE c FROM c) AS x", true),
        ("SELECT VALUE x FROM (SELECT DISTINCT VALUE c FROM c) AS x", true),
    ] {
        assert_eq!(shape(text).reads_container, reads_container, "{text}");
    }
    let steps = shape("SELECT VALUE b FROM c.a[1].b").source_path;
    assert_eq!(steps, [key("a"), PathStep::Index(1), key("b")]);
}

#[test]
fn documents_that_are_passed_on() {
    for (text, projects_document) in [
        ("SELECT * FROM c", true),
        ("SELECT VALUE r FROM c AS r WHERE r.x = 1 ORDER BY r.y", true),
        ("SELECT DISTINCT * FROM c", true),
        ("SELECT c FROM c", false),
        ("SELECT VALUE c.a FROM c", false),
        ("SELECT * FROM c.a", false),
        ("SELECT * FROM x IN c.a", false),
        ("SELECT VALUE c FROM c JOIN x IN c.l", false),
        ("SELECT * FROM (SELECT VALUE c FROM c)", false),
        ("SELECT * FROM (SELECT DISTINCT VALUE c.a FROM c)", false),
        ("SELECT VALUE COUNT(1) FROM c", false),
    ] {
        assert_eq!(shape(text).projects_document, projects_document, "{text}");
    }
}

#[test]
fn counts_of_documents() {
    for (text, counts_all) in [
        ("SELECT VALUE COUNT(1) FROM c", true),
        ("SELECT COUNT(c) AS n FROM c WHERE c.x = 1", true),
        ("SELECT COUNT(1), COUNT('a') FROM c", true),
        ("SELECT VALUE COUNT(1) + 1 FROM c", true),
        ("SELECT VALUE COUNT(c.x) FROM c", false),
        ("SELECT VALUE COUNT(undefined) FROM c", false),
        ("SELECT VALUE SUM(1) FROM c", false),
        ("SELECT COUNT(1), MAX(c.x) FROM c", false),
        ("SELECT VALUE COUNT(1) FROM c JOIN x IN c.l", false),
        ("SELECT VALUE COUNT(1) FROM x IN c.l", false),
        ("SELECT VALUE COUNT(1) FROM c GROUP BY c.x", false),
        ("SELECT VALUE COUNT(1) FROM c ORDER BY c.x", true),
        ("SELECT VALUE COUNT(1) FROM (SELECT DISTINCT VALUE c.x FROM c)", false),
    ] {
        assert_eq!(shape(text).counts_all, counts_all, "{text}");
    }
    let program = compile("SELECT VALUE COUNT(1) + 1 FROM c");
    let value = program.project_group(&[], &program.accumulators_of_count(41), &mut Run::new(0, 0));
    assert_eq!(value, Ok(Value::from(42)));
}

#[test]
fn clauses() {
    let parameters = [("@n".to_owned(), Value::from(3))];
    let settings = Settings { parameters: &parameters, ..Settings::default() };
    let program = compile_with("SELECT DISTINCT TOP 5 c.a FROM c OFFSET @n LIMIT 7", &settings);
    let shape = program.shape();
    assert!(shape.is_distinct && !shape.is_aggregate && !shape.groups && !shape.has_filter);
    assert_eq!((shape.top, shape.offset, shape.limit), (Some(5), 3, Some(7)));
    let shape = self::shape("SELECT c.a FROM c JOIN x IN c.l WHERE x GROUP BY c.a ORDER BY c.a");
    assert!(shape.groups && shape.has_filter && shape.has_joins && shape.is_deterministic);
    assert_eq!(shape.order[0].path, None);
}

#[test]
fn order_paths() {
    let path = |text: &str| shape(text).order[0].path.clone();
    assert_eq!(
        path("SELECT * FROM c ORDER BY c.a[\"b\"][0]"),
        Some(vec![key("a"), key("b"), PathStep::Index(0)])
    );
    assert_eq!(path("SELECT * FROM c.a ORDER BY a.x"), Some(vec![key("a"), key("x")]));
    assert_eq!(path("SELECT VALUE 1 FROM c JOIN x IN c.l ORDER BY c.a"), Some(vec![key("a")]));
    assert!(shape("SELECT * FROM c ORDER BY c.a DESC").order[0].is_descending);
}
