//! The golden files of the errors: what is said about a query, about which part of it, and in
//! which order. Places count UTF-16 units.
//!
//! An error has a `code` (where there is one), a `message`, and `start` and `end` unless it is
//! about the query as a whole. A case with the `stage` "plan" is about the plan; all others are
//! about running the query.

use std::path::Path;

use sql::plan::{Container, Kind, PartitionKeyPaths, plan};
use sql::program::{Program, Settings};
use sql::{NESTING_MAX, TEXT_UNITS_MAX};
use value::{Object, Value, json};

/// The files, so that none is forgotten when the folder is moved.
const FILES: [&str; 6] = ["clauses", "functions", "names", "plans", "several", "syntax"];

fn read(name: &str) -> Vec<Value> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/errors");
    let text = std::fs::read(folder.join(format!("{name}.json"))).expect("a golden file");
    let file = json::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
    file.as_array().expect("a list of cases").to_vec()
}

/// The error as clients get it.
fn document_of(error: &Value) -> Value {
    let mut document = Object::new();
    document.insert("severity", "Error");
    if !error.get("start").is_undefined() {
        let mut location = Object::new();
        location.insert("start", error.get("start").clone());
        location.insert("end", error.get("end").clone());
        document.insert("location", location);
    }
    if !error.get("code").is_undefined() {
        document.insert("code", error.get("code").clone());
    }
    document.insert("message", error.get("message").clone());
    Value::from(document)
}

/// What is said about a query: the document, or nothing if it is fine.
fn complaint(text: &str, parameters: &[(String, Value)], is_planned: bool) -> Option<String> {
    let query = match sql::parse(text) {
        Ok(query) => query,
        Err(error) => return Some(sql::error::to_json(&[error], text)),
    };
    if is_planned {
        let paths = [vec!["pk".to_owned()]];
        let key = PartitionKeyPaths { paths: &paths, kind: Kind::Hash };
        let refusal = plan(&query, parameters, &Container::new(key)).err();
        return refusal.map(|refusal| refusal.to_json(text));
    }
    let settings = Settings { parameters, ..Settings::default() };
    let errors = Program::compile(&query, &settings).err();
    errors.map(|errors| sql::error::to_json(&errors, text))
}

#[test]
fn errors_are_those_expected() {
    let (mut count, mut wrong) = (0, Vec::new());
    for case in FILES.iter().flat_map(|file| read(file)) {
        count += 1;
        let text = case.get("query").as_str().expect("a query");
        let pair = |parameter: &Value| {
            let name = parameter.get("name").as_str().expect("a name");
            (name.to_owned(), parameter.get("value").clone())
        };
        let parameters: Vec<_> =
            case.get("parameters").as_array().unwrap_or_default().iter().map(pair).collect();
        let errors = case.get("errors").as_array().expect("a list of errors");
        let mut expected = Object::new();
        expected.insert("errors", errors.iter().map(document_of).collect::<Vec<_>>());
        let expected = Some(json::print(&Value::from(expected)));
        let got = complaint(text, &parameters, case.get("stage").as_str() == Some("plan"));
        if got != expected {
            wrong.push(format!("{text}\n  expected {expected:?}\n  got      {got:?}"));
        }
    }
    println!("{count} cases");
    assert!(wrong.is_empty(), "{} of {count}:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_number_has_a_case() {
    let cases: Vec<Value> = FILES.iter().flat_map(|file| read(file)).collect();
    let errors = cases.iter().flat_map(|case| case.get("errors").as_array().unwrap_or_default());
    let codes: Vec<String> = errors.map(|error| json::print(error.get("code"))).collect();
    // Those of limits that no file can show are below.
    for number in [
        1001, 1002, 1010, 1011, 1012, 2001, 2005, 2040, 2041, 2043, 2050, 2060, 2061, 2062, 2101,
        2102, 2202, 2203, 2204, 2213, 2221, 2223, 2224, 2225, 2228, 2229, 2240, 2990, 3003, 3005,
    ] {
        assert!(codes.contains(&format!("\"SC{number}\"")), "SC{number} has no case");
    }
    assert!(codes.contains(&"2206".to_owned()));
}

#[test]
fn the_longest_text_is_read_and_no_longer() {
    // The characters are two units each: what counts are units, not bytes or characters.
    let longest = |extra: usize| {
        let frame = "SELECT VALUE \"\"".len();
        format!(
            "SELECT VALUE \"{}\"{}",
            "😀".repeat((TEXT_UNITS_MAX - frame) / 2),
            " ".repeat(extra)
        )
    };
    let spare = (TEXT_UNITS_MAX - "SELECT VALUE \"\"".len()) % 2;
    assert_eq!(complaint(&longest(spare), &[], false), None);
    let expected = concat!(
        r#"{"errors":[{"severity":"Error","code":"SC3001","#,
        r#""message":"The SQL query text exceeded the maximum limit of 524288 characters."}]}"#,
    );
    assert_eq!(complaint(&longest(spare + 1), &[], false).as_deref(), Some(expected));
    let ascii = format!("SELECT VALUE 1{}", " ".repeat(TEXT_UNITS_MAX - 13));
    assert_eq!(complaint(&ascii, &[], false).as_deref(), Some(expected));
}

#[test]
fn what_nests_too_deep_is_refused() {
    let shapes: [fn(usize) -> String; 7] = [
        |depth| format!("SELECT VALUE {}1{}", "(1 + ".repeat(depth), ")".repeat(depth)),
        |depth| format!("SELECT VALUE {}1{}", "[".repeat(depth), "]".repeat(depth)),
        |depth| format!("SELECT VALUE {}1{}", "{a: ".repeat(depth), "}".repeat(depth)),
        |depth| format!("SELECT VALUE {}true", "NOT ".repeat(depth)),
        |depth| format!("SELECT VALUE {}1{}", "ABS(".repeat(depth), ")".repeat(depth)),
        |depth| format!("SELECT VALUE {}1{}", "(SELECT VALUE ".repeat(depth), ")".repeat(depth)),
        |depth| format!("SELECT VALUE c{} FROM c", ".a".repeat(depth)),
    ];
    for shape in shapes {
        assert_eq!(complaint(&shape(30), &[], false), None, "{}", shape(30));
        for depth in [NESTING_MAX + 1, 30_000] {
            let document = complaint(&shape(depth), &[], false).expect("too deep");
            assert!(document.contains(r#""code":"SC3002""#), "{document}");
            let message = "The SQL query exceeded the maximum nesting depth.";
            assert!(document.contains(message), "{document}");
        }
    }
    // Chains grow sideways, however long they are.
    for sign in [" AND ", " OR "] {
        let chain = vec!["c.x = 1"; 20_000].join(sign);
        assert_eq!(complaint(&format!("SELECT * FROM c WHERE {chain}"), &[], false), None);
    }
}

#[test]
fn compositions_of_aggregates_are_not_planned() {
    let expected =
        r#"{"Errors":["Compositions of aggregates and other expressions are not allowed."]}"#;
    for list in ["VALUE COUNT(1) + 5", "VALUE [SUM(c.x)]", "VALUE {s: SUM(c.x)}", "ABS(AVG(c.x))"] {
        let text = format!("SELECT {list} FROM c");
        assert_eq!(complaint(&text, &[], true).as_deref(), Some(expected), "{text}");
        assert_eq!(complaint(&text, &[], false), None, "{text}");
    }
}
