//! Any text as a query: no panic and no hang on its way through the parser, the checks, the plan,
//! the filter and a run with bounds; what is printed means what was read; and no filter hides a
//! row.

#![no_main]

use std::sync::LazyLock;
use std::sync::atomic::{AtomicUsize, Ordering};

use libfuzzer_sys::fuzz_target;
use sql::filter::Filter;
use sql::plan::{Container, Kind, PartitionKeyPaths, plan};
use sql::program::{Halt, Program, Run, Settings};
use sql::{Query, filter};
use value::{Value, json};

/// How often a run asks whether to go on, each time after a thousand steps.
const QUESTIONS_MAX: usize = 20;

/// What a run may hold at a time. The rows of the executor come on top of it.
const MEMORY_BYTES_MAX: usize = 32 * 1024;

const DOCUMENTS: &str = r#"[
    {"id":"1","a":1,"b":"x","l":[1,2,"x",{"k":1,"v":[1]}],"o":{"k":"v","n":null}},
    {"id":"2","a":-2.5,"b":"Ünï😀","l":[],"o":{"k":2}},
    {"id":"3","a":null,"b":true,"l":{"k":1},"p":{"type":"Point","coordinates":[1,2]}},
    {"id":"4","a":"1","l":[[1,2],[2,1]],"d":"2024-02-29T12:30:00.1234567Z"},
    {"id":"5"}
]"#;

const PARAMETERS: &str = r#"{"@p":1,"@q":"x","@l":[1,"x",null],"@o":{"k":1}}"#;

static WORLD: LazyLock<(Vec<Value>, Vec<(String, Value)>)> = LazyLock::new(|| {
    let parse = |text: &str| json::parse(text.as_bytes()).expect("JSON");
    let documents = parse(DOCUMENTS).as_array().expect("a list").to_vec();
    let parameters = parse(PARAMETERS);
    let pairs = parameters.as_object().expect("an object").iter();
    (documents, pairs.map(|(name, value)| (name.to_owned(), value.clone())).collect())
});

fuzz_target!(|bytes: &[u8]| {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    let (documents, parameters) = &*WORLD;
    let query = match sql::parse(text) {
        Ok(query) => query,
        Err(error) => return check_errors(&[error], text),
    };
    let printed = query.to_string();
    let again = sql::parse(&printed).expect("what was printed parses");
    assert_eq!(again.to_string(), printed);
    check_plans(&query, parameters, text);

    let settings = Settings { parameters, ..Settings::default() };
    let program = match Program::compile(&query, &settings) {
        Ok(program) => program,
        Err(errors) => return check_errors(&errors, text),
    };
    let again = Program::compile(&again, &settings).expect("what was printed is fine too");
    if let (Ok(first), Ok(second)) = (rows(&program, documents), rows(&again, documents)) {
        let print = |rows: Vec<Value>| json::print(&Value::from(rows));
        assert_eq!(print(first), print(second), "{printed}");
    }
    check_filter(&filter::of(&query, parameters), &program, documents);
});

/// Errors lie within the text, and their document is JSON.
fn check_errors(errors: &[sql::Error], text: &str) {
    assert!(!errors.is_empty());
    for error in errors {
        let units = text.encode_utf16().count();
        assert!(error.location(text).is_none_or(|(start, end)| start <= end && end <= units));
    }
    json::parse(sql::error::to_json(errors, text).as_bytes()).expect("JSON");
}

fn check_plans(query: &Query, parameters: &[(String, Value)], text: &str) {
    for kind in [Kind::Hash, Kind::MultiHash, Kind::Range] {
        let paths = [vec!["a".to_owned()], vec!["o".to_owned(), "k".to_owned()]];
        let paths = if kind == Kind::MultiHash { &paths[..] } else { &paths[..1] };
        let container = Container::new(PartitionKeyPaths { paths, kind });
        let document = match plan(query, parameters, &container) {
            Ok(plan) => {
                assert!(!plan.ranges.is_empty());
                plan.to_json(&[])
            }
            Err(refusal) => refusal.to_json(text),
        };
        json::parse(document.as_bytes()).expect("JSON");
    }
}

/// Runs with bounds. What they end is not looked at further.
fn bounded<T>(work: impl FnOnce(&mut Run<'_>) -> Result<T, Halt>) -> Result<T, Halt> {
    let asked = AtomicUsize::new(0);
    let is_cancelled = || asked.fetch_add(1, Ordering::Relaxed) >= QUESTIONS_MAX;
    work(&mut Run::new(0, 0).with_cancel(&is_cancelled).with_memory_limit(MEMORY_BYTES_MAX))
}

fn rows(program: &Program, documents: &[Value]) -> Result<Vec<Value>, Halt> {
    bounded(|run| sql::eval::values(program, documents, run))
}

/// A filter lets through each document that gives a row, and no other where it is exact.
fn check_filter(filter: &Filter, program: &Program, documents: &[Value]) {
    let shape = program.shape();
    if shape.inner.is_some() || !shape.reads_container {
        return;
    }
    for document in documents {
        let mut count = 0;
        let counted = bounded(|run| {
            program.rows(document, run, &mut |_, _| {
                count += 1;
                Ok(())
            })
        });
        let is_let_through = filter.matches(document);
        assert!(count == 0 || is_let_through, "{filter:?} hides {document:?}");
        if counted.is_ok() && filter.is_exact() {
            assert_eq!(count, usize::from(is_let_through), "{filter:?} of {document:?}");
        }
    }
}
