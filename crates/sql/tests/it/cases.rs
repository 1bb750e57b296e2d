//! The collected cases: items, a query, and what the service returns. They lie beside the
//! repository; without them there is nothing to check.

use std::collections::BTreeMap;

use sql::program::{Program, Run, Settings};
use value::Value;

use crate::clause_files::restricted;

/// Cases that use what the evaluator does not have, by feature. Every other case must pass, and
/// these must fail: one that passes is to be taken off the list.
const UNSUPPORTED: &[(&str, &[&str])] = &[];

/// 2026-01-01, for queries that ask for the time.
const NOW_MILLIS: i64 = 1_767_225_600_000;

fn read(file: &str) -> Option<Value> {
    let path = format!("{}/../../../shared/spec/{file}", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read(path).ok()?;
    Some(value::json::parse(&text).expect("a JSON file"))
}

fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).as_str().expect("a string")
}

fn parameters_of(entry: &Value) -> Vec<(String, Value)> {
    let pair =
        |parameter: &Value| (text(parameter, "name").to_owned(), parameter.get("value").clone());
    entry.get("parameters").as_array().unwrap_or_default().iter().map(pair).collect()
}

/// Runs a case; the error says how its result differs.
fn run(case: &Value, datasets: &Value) -> Result<(), String> {
    let documents = match case.get("dataset") {
        Value::String(name) => datasets.get(name),
        _ => case.get("docs"),
    };
    let query = sql::parse(text(case, "query")).map_err(|error| error.to_string())?;
    let documents = documents.as_array().expect("a list of items");
    let mut actual = sql::eval::run(&query, &parameters_of(case), documents, NOW_MILLIS)
        .map_err(|error| error.to_string())?;
    let parameters = parameters_of(case);
    let settings = Settings { parameters: &parameters, ..Settings::default() };
    let program = Program::compile(&query, &settings).map_err(|errors| format!("{errors:?}"))?;
    if program.shape().inner.is_none() {
        let needed: Vec<Value> = documents.iter().map(|it| restricted(&program, it)).collect();
        let rows = sql::eval::values(&program, &needed, &mut Run::new(NOW_MILLIS, 0));
        if rows.as_ref() != Ok(&actual) {
            return Err(format!("with {:?} alone, got {rows:?}", program.needs()));
        }
    }
    let mut expected = case.get("expected").as_array().expect("a list of rows").to_vec();
    if case.get("ordered").as_bool() != Some(true) {
        actual.sort_by(value::order::compare);
        expected.sort_by(value::order::compare);
    }
    if actual == expected {
        return Ok(());
    }
    let print = |rows: Vec<Value>| value::json::print(&Value::from(rows));
    Err(format!("expected {}, got {}", print(expected), print(actual)))
}

#[test]
fn every_case_but_the_unsupported_passes() {
    let (Some(cases), Some(datasets)) = (read("sql-cases.json"), read("sql-datasets.json")) else {
        println!("the collected cases are not here; nothing was checked");
        return;
    };
    let cases = cases.as_array().expect("a list of cases");
    let (mut passed, mut unsupported, mut wrong) = (0, BTreeMap::new(), Vec::new());
    for case in cases {
        let name = text(case, "name");
        let feature = UNSUPPORTED.iter().find(|(_, names)| names.contains(&name));
        match (run(case, &datasets), feature) {
            (Ok(()), None) => passed += 1,
            (Err(_), Some((feature, _))) => *unsupported.entry(feature).or_insert(0) += 1,
            (Ok(()), Some((feature, _))) => {
                wrong.push(format!("{name}: passes, though {feature} is listed as unsupported"));
            }
            (Err(difference), None) => {
                wrong.push(format!("{name}: {}: {difference}", text(case, "query")));
            }
        }
    }
    println!("{passed} of {} cases pass, unsupported: {unsupported:?}", cases.len());
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// Code, text and place of an error as the service prints them; the ORDER BY error alone has a
/// number for a code.
fn known_error(error: &Value) -> (String, String, Option<(i64, i64)>) {
    let code = match error.get("code") {
        Value::String(code) => code.clone(),
        code => format!("SC{}", code.as_i64().expect("a code")),
    };
    let location = error.get("location");
    let place = location.get("start").as_i64().zip(location.get("end").as_i64());
    (code, text(error, "message").to_owned(), place)
}

#[test]
fn the_checks_say_what_the_service_says() {
    let Some(entries) = read("sql-errors.json") else { return };
    let mut checked = 0;
    for entry in entries.as_array().expect("a list of errors") {
        let query_text = text(entry, "query");
        let errors = entry.get("error").get("errors").as_array();
        let (Some(expected), Ok(query)) = (errors, sql::parse(query_text)) else { continue };
        let expected: Vec<_> = expected.iter().map(known_error).collect();
        let offset = |offset: usize| i64::try_from(offset).expect("a short query");
        let actual: Vec<_> = sql::eval::check(&query, &[])
            .into_iter()
            .map(|error| {
                let code = error.code.to_string();
                let place = error.span.map(|span| (offset(span.start), offset(span.end)));
                (code, error.to_string(), place)
            })
            .collect();
        assert_eq!(actual, expected, "{query_text}");
        checked += 1;
    }
    println!("{checked} errors are those of the service");
}

/// What planned queries use beyond the evaluator: how the errors about it begin.
const UNPLANNED: &[&str] = &["The VectorDistance function", "ORDER BY RANK"];

#[test]
fn the_checks_pass_what_the_service_plans() {
    let Some(entries) = read("sql-plans.json") else { return };
    let (mut passed, mut unsupported) = (0, 0);
    for entry in entries.as_array().expect("a list of plans") {
        if entry.get("plan").is_undefined() {
            continue;
        }
        let query = sql::parse(text(entry, "query")).expect("a planned query");
        let errors = sql::eval::check(&query, &parameters_of(entry));
        let is_known =
            |error: &sql::Error| UNPLANNED.iter().any(|start| error.to_string().starts_with(start));
        assert!(errors.iter().all(is_known), "{query}: {errors:?}");
        *(if errors.is_empty() { &mut passed } else { &mut unsupported }) += 1;
    }
    println!("{passed} planned queries pass the checks, {unsupported} are unsupported");
}

#[test]
fn the_deepest_queries_run_on_a_small_stack() {
    let shapes: [fn(usize) -> String; 9] = [
        |depth| format!("SELECT VALUE {}1{}", "(SELECT VALUE ".repeat(depth), ")".repeat(depth)),
        |depth| format!("SELECT VALUE {}1", "NOT ".repeat(depth)),
        |depth| format!("SELECT VALUE {}1{}", "ABS(".repeat(depth), ")".repeat(depth)),
        |depth| format!("SELECT VALUE {}1{}", "1 ?? [".repeat(depth), "]".repeat(depth)),
        |depth| format!("SELECT VALUE {}1{}", "(LET x = 1 IN ".repeat(depth), ")".repeat(depth)),
        |depth| {
            let open = "EXISTS(SELECT VALUE ".repeat(depth);
            format!("SELECT VALUE {open}1{} FROM c", " FROM x IN c.l)".repeat(depth))
        },
        |depth| {
            let open = "(SELECT VALUE x FROM ".repeat(depth);
            format!("SELECT VALUE x FROM {open}c AS x{}", ") AS x".repeat(depth))
        },
        |depth| {
            let open = "(SELECT DISTINCT VALUE x FROM ".repeat(depth);
            format!("SELECT VALUE x FROM {open}c AS x{}", ") AS x".repeat(depth))
        },
        |depth| {
            let open = "EXISTS(SELECT x, COUNT(1) AS n FROM x IN c.l WHERE ".repeat(depth);
            format!("SELECT VALUE {open}true{} FROM c", " GROUP BY x)".repeat(depth))
        },
    ];
    for shape in shapes {
        let parsed = (1..300).map(|depth| sql::parse(&shape(depth)));
        let deepest = parsed.take_while(Result::is_ok).last().expect("one is shallow enough");
        let query = deepest.expect("only queries that parse are taken");
        let item = value::json::parse(br#"{"l":[1]}"#).expect("an item");
        let rows = sql::eval::run(&query, &[], &[item], NOW_MILLIS);
        assert_eq!(rows.map(|rows| rows.len()), Ok(usize::from(!shape(1).contains("NOT"))));
    }
}
