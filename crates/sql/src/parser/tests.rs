use crate::{HEIGHT_MAX, NESTING_MAX, TEXT_UNITS_MAX, parse};

/// The canonical text of an expression, which shows how its operators were grouped.
fn grouped(text: &str) -> String {
    let query = parse(&format!("SELECT VALUE {text}"));
    let printed = query.unwrap_or_else(|error| panic!("{text}: {error}")).to_string();
    printed.trim_start_matches("SELECT VALUE ").to_owned()
}

#[test]
fn operators_group_as_in_the_service() {
    for (text, expected) in [
        ("1 + 2 * 3 - 4", "((1 + (2 * 3)) - 4)"),
        ("a & 4 != 0", "((a & 4) != 0)"),
        ("a | b + c ^ d", "(((a | b) + c) ^ d)"),
        ("a || b + c = d", "((a || (b + c)) = d)"),
        ("1 < 2 = true", "((1 < 2) = true)"),
        ("a << 1 < 2", "((a << 1) < 2)"),
        ("NOT a IN (1)", "((NOT a) IN (1))"),
        ("NOT NOT a.b", "(NOT (NOT a.b))"),
        ("a OR b AND c OR d", "((a OR (b AND c)) OR d)"),
        ("a AND (b AND c)", "(a AND (b AND c))"),
        ("(a AND b) AND c", "((a AND b) AND c)"),
        ("a BETWEEN 1 AND 2 AND b", "((a BETWEEN 1 AND 2) AND b)"),
        ("x AND a BETWEEN 1 AND 2", "(x AND (a BETWEEN 1 AND 2))"),
        ("a ? b : c ? d : e", "(a ? b : (c ? d : e))"),
        ("a ? b ? 1 : 2 : c", "(a ? (b ? 1 : 2) : c)"),
        ("a ?? b OR c", "(a ?? (b OR c))"),
        ("a LIKE b || 'c'", "(a LIKE (b || \"c\"))"),
        ("((a + b) * c).d[0]", "((a + b) * c).d[0]"),
        ("((a).b + 1)", "(a.b + 1)"),
        ("(((SELECT 1)).x)", "(\n    SELECT 1\n).x"),
        ("-a.b * c", "((-a.b) * c)"),
        ("let + rank.let", "(let + rank.let)"),
        ("(let = 1)", "(let = 1)"),
        ("first(1) + all", "(first(1) + all)"),
        ("(LET x = a + 1 IN x) IN (1)", "((LET x = (a + 1) IN x) IN (1))"),
    ] {
        assert_eq!(grouped(text), expected, "{text}");
    }
}

/// Texts with the code, the location and the token of their error.
const ERRORS: &[(&str, &str, usize, usize)] = &[
    ("", "SC1002", 0, 0),
    ("SELECT", "SC1002", 6, 6),
    ("selectttt", "SC1001", 0, 9),
    ("SELECT * FROM c WHERE", "SC1002", 21, 21),
    ("SELECT 1;", "SC1010", 8, 9),
    ("SELECT 1, FROM c", "SC1001", 10, 14),
    ("SELECT c.* FROM c", "SC1001", 9, 10),
    ("SELECT c.value FROM c", "SC1001", 9, 14),
    ("SELECT 1 AS Value", "SC1001", 12, 17),
    ("SELECT *, 1", "SC1001", 8, 9),
    ("SELECT VALUE 1, 2", "SC1001", 14, 15),
    ("SELECT TOP -1 1", "SC1001", 11, 12),
    ("SELECT TOP 1.5 1", "SC2060", 11, 14),
    ("SELECT TOP 1.5", "SC1002", 14, 14),
    ("SELECT 1 OFFSET 1", "SC1002", 17, 17),
    ("SELECT 1 OFFSET 1.5 LIMIT 1", "SC1001", 16, 19),
    ("SELECT 1 OFFSET 4294967296 LIMIT 1", "SC2062", 16, 26),
    ("SELECT 1 LIMIT 1", "SC1001", 9, 14),
    ("SELECT 1 FROM c HAVING 1", "SC1001", 16, 22),
    ("SELECT 1 WHERE a IS NULL", "SC1001", 17, 19),
    ("SELECT 1 WHERE a NOT b", "SC1001", 21, 22),
    ("SELECT a IN ()", "SC1001", 13, 14),
    ("SELECT a IN (1) = true", "SC1001", 16, 17),
    ("SELECT a AND b IN (1) = true", "SC1001", 22, 23),
    ("SELECT COUNT(*)", "SC1001", 13, 14),
    ("SELECT [1,]", "SC1001", 10, 11),
    ("SELECT {a:1,}", "SC1001", 12, 13),
    ("SELECT 'é😀' ~", "SC1001", 13, 14),
    ("SELECT 1 ORDER BY RANK f", "SC1002", 24, 24),
    ("SELECT f(a b)", "SC1001", 11, 12),
    ("SELECT (1", "SC1002", 9, 9),
    ("SELECT ) 'a", "SC1001", 7, 8),
    ("SELECT a LIKE b ESCAPE c", "SC1001", 23, 24),
    ("SELECT 1 FROM c[-1]", "SC1001", 16, 17),
];

#[test]
fn errors_are_where_the_service_puts_them() {
    for (text, code, start, end) in ERRORS {
        let error = parse(text).expect_err(text);
        let found = (error.code.to_string(), error.location(text).unwrap());
        assert_eq!(found, ((*code).to_owned(), (*start, *end)), "{text}: {error}");
    }
}

#[test]
fn spans_are_those_of_the_text() {
    use crate::ast::{ExprKind, Projection};
    let text = "SELECT VALUE ((a + b.c) * f(d)) FROM c";
    let query = parse(text).unwrap();
    assert_eq!(query.span.of(text), text);
    let Projection::Value(expr) = &query.select.projection else { panic!("{query:?}") };
    assert_eq!(expr.span.of(text), "(a + b.c) * f(d)");
    let ExprKind::Binary { left, right, .. } = &expr.kind else { panic!("{expr:?}") };
    assert_eq!(left.span.of(text), "a + b.c");
    assert_eq!(right.span.of(text), "f(d)");
}

#[test]
fn everything_is_bounded() {
    let deep = |open: &str, close: &str, levels: usize| {
        format!("SELECT {}1{}", open.repeat(levels), close.repeat(levels))
    };
    let nested = NESTING_MAX / 2 - 2;
    for (open, close, levels) in [
        ("[", "]", nested),
        ("f(", ")", nested),
        ("f(1 + ", ")", nested / 2),
        ("NOT ", "", nested),
        ("(SELECT ", ")", NESTING_MAX / 3 - 1),
        ("1 + (", ")", nested),
        ("1 ?? ", "", nested),
        ("1 ? 1 : ", "", nested),
        ("{a: ", "}", nested),
        ("", "[0]", HEIGHT_MAX - 1),
        ("", " + 1", HEIGHT_MAX - 1),
        ("(", " + 1)", HEIGHT_MAX - 1),
    ] {
        let fine = parse(&deep(open, close, levels)).unwrap_or_else(|error| {
            panic!("{open}{close}: {error}");
        });
        let printed = fine.to_string();
        assert_eq!(parse(&printed).unwrap().to_string(), printed);
        let error = parse(&deep(open, close, 50_000)).expect_err(open);
        assert_eq!(error.code.number(), Some(3002), "{open}{close}");
    }
    assert!(parse(&deep("(", ")", 50_000)).is_ok(), "parentheses alone build nothing");
    let from = format!("SELECT 1 {}", "FROM (SELECT 1 ".repeat(NESTING_MAX));
    assert_eq!(parse(&from).unwrap_err().code.number(), Some(3002));
    let long = format!("SELECT '{}'", "a".repeat(TEXT_UNITS_MAX));
    assert_eq!(parse(&long).unwrap_err().code.number(), Some(3001));
}

#[test]
fn long_filters_are_flat_and_come_back() {
    let filter = vec!["c.a = 1"; 2000].join(" OR ");
    let printed = parse(&format!("SELECT * FROM c WHERE {filter}")).unwrap().to_string();
    assert_eq!(parse(&printed).unwrap().to_string(), printed);
}
