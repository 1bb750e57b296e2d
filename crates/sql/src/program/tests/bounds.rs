//! What ends a query that asks for too much, and what user-defined functions do to it.

use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;

const MEGABYTE: usize = 1024 * 1024;

/// One item with a list of that many numbers.
fn item_with_list(length: usize) -> String {
    let numbers: Vec<String> = (0..length).map(|number| number.to_string()).collect();
    format!(r#"[{{"l":[{}],"s":"{}"}}]"#, numbers.join(","), "x".repeat(1000))
}

#[test]
fn cross_joins_can_be_cancelled() {
    let joins: String = ["b", "d", "e", "f", "g", "h", "i", "j", "k", "m"]
        .map(|name| format!(" JOIN {name} IN c.l"))
        .concat();
    for query in [
        format!("SELECT VALUE COUNT(1) FROM c{joins}"),
        format!("SELECT VALUE EXISTS(SELECT VALUE 1 FROM a IN c.l{joins} WHERE false) FROM c"),
        format!("SELECT VALUE c.s FROM c{joins} WHERE b + d < 0"),
    ] {
        let program = compile(&query);
        let asked = AtomicUsize::new(0);
        let is_cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= 20;
        let mut run = Run::new(0, 0).with_cancel(&is_cancelled).with_memory_limit(MEGABYTE);
        let result = run_program(&program, &item_with_list(1000), &mut run);
        assert_eq!(result, Err(Halt::Cancelled), "{query}");
        assert_eq!(asked.load(Ordering::Relaxed), 21);
        assert!((20_000..25_000).contains(&run.steps()), "{} steps", run.steps());
    }
}

#[test]
fn long_expressions_can_be_cancelled() {
    let filter = vec!["c.s = c.t"; 5000].join(" OR ");
    let program = compile(&format!("SELECT VALUE 1 FROM c WHERE {filter}"));
    let mut run = Run::new(0, 0).with_cancel(&|| true);
    assert_eq!(run_program(&program, &item_with_list(1), &mut run), Err(Halt::Cancelled));
}

#[test]
fn what_is_built_is_bounded() {
    let doubled = |start: &str, twice: &str| {
        let lets = format!("(LET x = {twice} IN ").repeat(40);
        format!("SELECT VALUE (LET x = {start} IN {lets}x{}) FROM c", ")".repeat(40))
    };
    for query in [
        "SELECT VALUE ARRAY(SELECT VALUE c.s FROM a IN c.l JOIN b IN c.l) FROM c".to_owned(),
        "SELECT VALUE ARRAY(SELECT DISTINCT VALUE [a, b] FROM a IN c.l JOIN b IN c.l) FROM c"
            .to_owned(),
        "SELECT VALUE EXISTS(SELECT VALUE COUNT(1) FROM a IN c.l JOIN b IN c.l GROUP BY [a, b]) \
         FROM c"
            .to_owned(),
        "SELECT VALUE (SELECT VALUE MAKELIST([a, b]) FROM a IN c.l JOIN b IN c.l) FROM c"
            .to_owned(),
        "SELECT VALUE MAKELIST(c.s) FROM c JOIN a IN c.l JOIN b IN c.l".to_owned(),
        "SELECT VALUE MAKESET([a, b]) FROM c JOIN a IN c.l JOIN b IN c.l".to_owned(),
        "SELECT a, MAKELIST(c.s) FROM c JOIN a IN c.l JOIN b IN c.l GROUP BY a".to_owned(),
        "SELECT VALUE x FROM c JOIN x IN (SELECT VALUE ARRAY(SELECT VALUE c.s FROM a IN c.l \
         JOIN b IN c.l))"
            .to_owned(),
        doubled("[1]", "[x, x]"),
        doubled("c.s", "x || x"),
        doubled("{a: c.s}", "{a: x, b: x}"),
        doubled("[c.s]", "ARRAY_CONCAT(x, x)"),
    ] {
        let program = compile(&query);
        let mut run = Run::new(0, 0).with_memory_limit(4 * MEGABYTE);
        let result = run_program(&program, &item_with_list(1000), &mut run);
        assert_eq!(result, Err(Halt::OutOfMemory), "{query}");
    }
}

#[test]
fn memory_is_given_back_after_each_row() {
    // Each row builds a good part of the limit, and there are thousands.
    let list = "ARRAY(SELECT VALUE c.s FROM a IN c.l)";
    let joins = "FROM c JOIN b IN c.l JOIN d IN c.l";
    for query in [
        format!("SELECT VALUE ARRAY_LENGTH({list}) {joins} WHERE d < 30"),
        format!("SELECT VALUE MAX(b) {joins} WHERE ARRAY_LENGTH({list}) > 1"),
        format!("SELECT VALUE MAX(b) {joins} WHERE EXISTS(SELECT VALUE {list})"),
        format!("SELECT VALUE MAX(b) {joins} JOIN (SELECT VALUE {list}) AS x"),
        format!("SELECT VALUE MAX(b) {joins} JOIN (SELECT DISTINCT VALUE {list}) AS x"),
        format!("SELECT VALUE MAX(b) {joins} JOIN (SELECT VALUE MAKELIST(c.s) FROM a IN c.l) AS x"),
        format!(
            "SELECT VALUE MAX(b) {joins} JOIN (SELECT VALUE MAKELIST(c.s) FROM a IN c.l GROUP BY 1) \
             AS x"
        ),
        format!("SELECT VALUE MAX(b) {joins} JOIN x IN (SELECT VALUE [{list}])"),
    ] {
        let mut run = Run::new(0, 0).with_memory_limit(MEGABYTE);
        let rows = run_program(&compile(&query), &item_with_list(60), &mut run);
        assert!(rows.is_ok_and(|rows| !rows.is_empty()), "{query}");
        assert_eq!(run.mark(), 0, "{query}");
    }
}

/// Functions by which tests see what they are called with.
struct Functions;

impl Udfs for Functions {
    fn call(&self, name: &str, args: &[Value]) -> Result<Value, String> {
        match name {
            "count" => Ok(Value::from(i64::try_from(args.len()).unwrap())),
            "absent" => {
                Ok(Value::from(args.iter().filter(|value| value.is_undefined()).count() as f64))
            }
            "fail" => Err("it failed".to_owned()),
            _ => Err(format!("no {name}")),
        }
    }
}

#[test]
fn user_defined_functions_are_asked() {
    let call = |text: &str| {
        let mut run = Run::new(0, 0).with_udfs(&Functions);
        run_program(&compile(&format!("SELECT VALUE {text} FROM c")), "[{}]", &mut run)
    };
    assert_eq!(call("udf.count(1, c.x, 'a')"), Ok(vec![Value::from(3)]));
    assert_eq!(call("udf.absent(1, c.x, undefined)"), Ok(vec![Value::from(2)]));
    assert_eq!(call("udf.fail()"), Err(Halt::Udf("it failed".to_owned())));
    assert_eq!(call("udf.COUNT()"), Err(Halt::Udf("no COUNT".to_owned())));
    assert_eq!(call("false AND udf.fail()"), Ok(vec![Value::Bool(false)]));
    let program = compile("SELECT VALUE udf.count() FROM c");
    assert!(!program.shape().is_deterministic);
    assert_eq!(program.shape().functions, ["count"]);
    let result = run_program(&program, "[{}]", &mut Run::new(0, 0));
    assert!(matches!(result, Err(Halt::Udf(message)) if message.contains("'count'")));
}

#[test]
fn compiling_computes_no_more_than_it_may() {
    let calls = vec!["REPLICATE('x', 10000)"; 5000].join(", ");
    let program = compile(&format!("SELECT VALUE [{calls}]"));
    let mut run = Run::new(0, 0).with_memory_limit(MEGABYTE);
    assert_eq!(run_program(&program, "[]", &mut run), Err(Halt::OutOfMemory));
}

#[test]
fn long_texts_take_time_by_their_length() {
    // Each of these would not end if every part were looked for among all others.
    let numbered = |count: usize, part: fn(usize) -> String| {
        (0..count).map(part).collect::<Vec<_>>().join(", ")
    };
    let columns = numbered(30_000, |n| format!("c.p{n}"));
    let keys = numbered(20_000, |n| format!("c.p{n}"));
    let calls = numbered(10_000, |n| format!("ABS(c.p{n})"));
    for text in [
        format!("SELECT {columns} FROM c"),
        format!("SELECT {keys} FROM c GROUP BY {keys}"),
        format!("SELECT VALUE [{calls}] FROM c GROUP BY {calls}"),
        format!("SELECT COUNT(1) AS n FROM c GROUP BY {keys} ORDER BY {keys}"),
    ] {
        assert_eq!(run_program(&compile(&text), "[]", &mut Run::new(0, 0)), Ok(Vec::new()));
    }
    let twice = format!("SELECT {keys}, {keys} FROM c");
    let errors = check(&crate::parse(&twice).unwrap(), &Settings::default());
    assert_eq!(errors.len(), 100, "not all are told");
    let loose = format!("SELECT {columns} FROM c GROUP BY c.x");
    let errors = check(&crate::parse(&loose).unwrap(), &Settings::default());
    assert_eq!(errors.len(), 100, "not all are told");
    let parameters: Vec<(String, Value)> =
        (0..40_000).map(|n| (format!("@p{n}"), Value::from(1))).collect();
    let settings = Settings { parameters: &parameters, ..Settings::default() };
    let sum = numbered(40_000, |n| format!("@p{n}"));
    compile_with(&format!("SELECT VALUE [{sum}]"), &settings);
}

#[test]
fn long_parameters_are_not_copied_for_every_use() {
    let parameters = [("@p".to_owned(), Value::from("x".repeat(MEGABYTE)))];
    let settings = Settings { parameters: &parameters, ..Settings::default() };
    let uses = vec!["@p"; 50_000].join(", ");
    let program = compile_with(&format!("SELECT VALUE [{uses}]"), &settings);
    let mut run = Run::new(0, 0).with_memory_limit(4 * MEGABYTE);
    assert_eq!(run_program(&program, "[]", &mut run), Err(Halt::OutOfMemory));
    let program = compile_with(
        &format!("SELECT VALUE LENGTH(@p) + COUNT(1) IN ({uses}) FROM c WHERE c.s IN ({uses})"),
        &settings,
    );
    assert_eq!(run_program(&program, "[{}]", &mut run), Ok(vec![Value::Bool(false)]));
}
