//! Golden calls: every function with what it gives, one file per family under
//! `testdata/functions`. A case without `expected` is undefined: the query has no row.

use std::path::Path;

use value::{Value, json};

/// 2026-01-01T00:00:00.123Z, the time of every call.
const NOW_MILLIS: i64 = 1_767_225_600_123;

/// Cases that every function must have: a plain one, a wrong type, undefined, an edge.
const CASES_MIN: usize = 4;

/// Aggregates are no functions over values, but called like them.
const AGGREGATES: [&str; 8] =
    ["COUNT", "SUM", "AVG", "MIN", "MAX", "COUNTIF", "MAKELIST", "MAKESET"];

/// Every case of every file: the file, the call, and what is expected.
fn cases() -> Vec<(String, String, Option<Value>)> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/functions");
    let mut cases = Vec::new();
    for entry in std::fs::read_dir(folder).expect("the folder of the cases") {
        let path = entry.expect("a file").path();
        let text = std::fs::read(&path).expect("a file");
        let file = json::parse(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        let name = path.file_stem().map(|name| name.to_string_lossy().into_owned());
        for case in file.as_array().expect("a list of cases") {
            let call = case.get("call").as_str().expect("a call").to_owned();
            let expected = case.as_object().and_then(|case| case.get("expected")).cloned();
            cases.push((name.clone().unwrap_or_default(), call, expected));
        }
    }
    cases
}

/// What a call gives, printed; `None` for undefined.
fn run(call: &str) -> Result<Option<String>, String> {
    let query = sql::parse(&format!("SELECT VALUE {call}")).map_err(|error| error.to_string())?;
    let rows = sql::eval::run(&query, &[], &[], NOW_MILLIS).map_err(|error| error.to_string())?;
    Ok(rows.first().map(json::print))
}

#[test]
fn calls_give_what_is_expected() {
    let cases = cases();
    let mut wrong = Vec::new();
    for (file, call, expected) in &cases {
        // Printed, so that integers beyond the precision of doubles are told apart.
        let expected = Ok(expected.as_ref().map(json::print));
        let got = run(call);
        if got != expected {
            wrong.push(format!("{file}: {call}: expected {expected:?}, got {got:?}"));
        }
    }
    println!("{} cases", cases.len());
    assert!(wrong.is_empty(), "{} of {}:\n{}", wrong.len(), cases.len(), wrong.join("\n"));
}

#[test]
fn every_function_has_cases() {
    // The names that a call mentions before a parenthesis.
    let names: Vec<Vec<String>> = cases().iter().map(|(_, call, _)| names_in(call)).collect();
    let count = |name: &str| names.iter().filter(|names| names.contains(&key(name))).count();
    let few: Vec<_> = sql::function_names()
        .chain(AGGREGATES)
        .filter(|name| count(name) < CASES_MIN)
        .map(|name| format!("{name}: {}", count(name)))
        .collect();
    assert!(few.is_empty(), "too few cases: {}", few.join(", "));
}

fn names_in(call: &str) -> Vec<String> {
    let is_name = |c: char| c.is_ascii_alphanumeric() || c == '_';
    let before = call.match_indices('(').map(|(place, _)| &call[..place]);
    before.map(|text| key(text.rsplit(|c| !is_name(c)).next().unwrap_or_default())).collect()
}

/// A name as functions are looked up: case and underscores do not matter, but for a leading one.
fn key(name: &str) -> String {
    let is_kept = |(place, c): &(usize, char)| *place == 0 || *c != '_';
    name.char_indices().filter(is_kept).map(|(_, c)| c.to_ascii_uppercase()).collect()
}
