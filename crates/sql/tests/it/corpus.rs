//! The collected queries and errors of the service, read where they lie beside the repository.
//! Without them there is nothing to check and the tests pass.

use value::Value;

/// The entries of one of the files, none if it is not there.
fn entries(file: &str) -> Vec<Value> {
    let path = format!("{}/../../../shared/spec/{file}", env!("CARGO_MANIFEST_DIR"));
    let Ok(text) = std::fs::read(path) else { return Vec::new() };
    match value::json::parse(&text).expect("a JSON file") {
        Value::Array(entries) => entries,
        other => panic!("{file} is no list: {other:?}"),
    }
}

fn text_of(entry: &Value) -> &str {
    entry.get("query").as_str().expect("a query")
}

/// Whether an entry names an error that the parser gives: the grammar's, or that of a count.
fn is_parse_error(error: &Value) -> bool {
    let codes = ["SC10", "SC2060", "SC2061", "SC2062"];
    let code = first_error(error).get("code");
    code.as_str().is_some_and(|code| codes.iter().any(|known| code.starts_with(known)))
}

fn first_error(error: &Value) -> &Value {
    match error.get("errors") {
        Value::Array(errors) => &errors[0],
        other => other,
    }
}

/// Parses the query, prints it, and checks that printing is stable.
fn check_parses(text: &str) {
    let query = sql::parse(text).unwrap_or_else(|error| panic!("{text}: {error}"));
    let printed = query.to_string();
    let again = sql::parse(&printed).unwrap_or_else(|error| panic!("{printed}: {error}"));
    assert_eq!(again.to_string(), printed, "{text}");
}

/// Checks the whole document, as clients get it.
fn check_error(text: &str, expected: &Value) {
    let error = sql::parse(text).expect_err(text);
    let document = sql::error::to_json(&[error], text);
    let document = value::json::parse(document.as_bytes()).expect("our own JSON");
    assert_eq!(&document, expected, "{text}");
}

#[test]
fn cases_parse() {
    let cases = entries("sql-cases.json");
    for case in &cases {
        check_parses(text_of(case));
    }
    println!("{} cases parse", cases.len());
}

#[test]
fn planned_queries_parse_and_refused_ones_do_not() {
    let (mut parsed, mut refused) = (0, 0);
    for plan in entries("sql-plans.json") {
        if is_parse_error(plan.get("error")) {
            check_error(text_of(&plan), plan.get("error"));
            refused += 1;
        } else {
            check_parses(text_of(&plan));
            parsed += 1;
        }
    }
    println!("{parsed} planned queries parse, {refused} are refused as expected");
}

/// The texts that the service rewrote are the measure of the printer: each must come out as it
/// went in. Clients replace the placeholders, and so do we.
#[test]
fn rewritten_queries_print_as_they_are() {
    let mut printed = 0;
    for plan in entries("sql-plans.json") {
        let info = plan.get("plan").get("queryInfo");
        let mut texts = vec![info.get("rewrittenQuery").as_str().unwrap_or_default().to_owned()];
        for list in ["orderByExpressions", "groupByExpressions"] {
            if let Value::Array(exprs) = info.get(list) {
                let exprs = exprs.iter().filter_map(Value::as_str);
                texts.extend(exprs.map(|expr| format!("SELECT {expr}")));
            }
        }
        for text in texts.iter().filter(|text| !text.is_empty()) {
            let text = text.replace("({documentdb-formattableorderbyquery-filter})", "true");
            let query = sql::parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
            assert_eq!(query.to_string(), text);
            printed += 1;
        }
    }
    println!("{printed} texts print as the service prints them");
}

#[test]
fn errors_have_their_code_text_and_place() {
    let (mut checked, mut later, mut unknown) = (0, 0, 0);
    for entry in entries("sql-errors.json") {
        let (text, error) = (text_of(&entry), entry.get("error"));
        if is_parse_error(error) {
            check_error(text, error);
            checked += 1;
        } else if matches!(error, Value::Null) {
            // Refused by the service, but nobody wrote down how. Where it is the grammar, so do we.
            let is_syntax = text.contains(" IS ") || text.contains("c.value");
            assert_eq!(sql::parse(text).is_err(), is_syntax, "{text}");
            unknown += 1;
        } else {
            check_parses(text);
            later += 1;
        }
    }
    println!("{checked} errors of the parser, {later} of later stages, {unknown} without details");
}
