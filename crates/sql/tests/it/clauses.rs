//! The golden files of the clauses: documents, a query, and the rows that the dialect gives.
//! Each case is run by the reference executor, and as an engine would run it.
//!
//! A case has `documents`, or the `dataset` of that name, or neither for an empty container;
//! `computed` properties and `parameters` if it needs them. Rows are compared as text, so that the
//! order of properties and the digits of integers count.

use std::path::{Path, PathBuf};

use sql::program::{Computed, Program, Run, Settings, check_computed_all};
use sql::{Query, eval, filter};
use value::{Value, json};

use crate::clause_files;

/// 2026-01-01, for queries that ask for the time.
const NOW_MILLIS: i64 = 1_767_225_600_000;

/// The clauses; each has a file of its name.
const CLAUSES: [&str; 16] = [
    "aggregates",
    "computed_properties",
    "distinct",
    "from",
    "group_by",
    "join",
    "let_all_first_last",
    "like_in_between",
    "literals_and_parameters",
    "names",
    "operators",
    "order_by",
    "select",
    "subqueries",
    "top_offset_limit",
    "where",
];

fn read(name: &str) -> Value {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/clauses");
    let text = std::fs::read(folder.join(format!("{name}.json"))).expect("a golden file");
    json::parse(&text).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// A case as it is read.
struct Case {
    name: String,
    text: String,
    query: Query,
    documents: Vec<Value>,
    parameters: Vec<(String, Value)>,
    computed: Vec<Computed>,
    expected: Vec<Value>,
    is_ordered: bool,
}

impl Case {
    fn new(case: &Value, datasets: &Value) -> Result<Case, String> {
        let text = case.get("query").as_str().expect("a query").to_owned();
        let documents = match case.get("dataset") {
            Value::String(name) => datasets.get(name),
            _ => case.get("documents"),
        };
        let list = |value: &Value| value.as_array().unwrap_or_default().to_vec();
        let pair = |pair: &Value, value: &str| {
            (pair.get("name").as_str().expect("a name").to_owned(), pair.get(value).clone())
        };
        let parameters = list(case.get("parameters"));
        let definitions: Vec<_> =
            list(case.get("computed")).iter().map(|entry| pair(entry, "query")).collect();
        let definitions: Vec<_> = definitions
            .iter()
            .map(|(name, query)| (name.as_str(), query.as_str().expect("a query")))
            .collect();
        Ok(Case {
            name: case.get("name").as_str().expect("a name").to_owned(),
            query: sql::parse(&text).map_err(|error| format!("{text}: {error}"))?,
            text,
            documents: list(documents),
            parameters: parameters.iter().map(|entry| pair(entry, "value")).collect(),
            computed: check_computed_all(&definitions)?,
            expected: case.get("expected").as_array().expect("a list of rows").to_vec(),
            is_ordered: case.get("ordered").as_bool().expect("true or false"),
        })
    }

    fn compile(&self, query: &Query) -> Result<Program, String> {
        let settings = Settings {
            parameters: &self.parameters,
            computed: &self.computed,
            ..Settings::default()
        };
        Program::compile(query, &settings)
            .map_err(|errors| sql::error::to_json(&errors, &self.text))
    }

    /// What the reference executor returns.
    fn by_reference(&self, query: &Query) -> Result<Vec<Value>, String> {
        if self.computed.is_empty() {
            return eval::run(query, &self.parameters, &self.documents, NOW_MILLIS)
                .map_err(|error| error.to_string());
        }
        let mut run = Run::new(NOW_MILLIS, 0);
        eval::values(&self.compile(query)?, &self.documents, &mut run)
            .map_err(|halt| halt.to_string())
    }

    /// What an engine returns.
    fn by_engine(&self) -> Result<Vec<Value>, String> {
        let computed: Vec<String> =
            self.computed.iter().map(|property| property.name.clone()).collect();
        let settings = filter::Settings {
            now_millis: Some(NOW_MILLIS),
            computed: &computed,
            ..filter::Settings::default()
        };
        let filter = filter::of_with(&self.query, &self.parameters, &settings);
        let program = self.compile(&self.query)?;
        Ok(clause_files::values(&program, &filter, &self.documents, NOW_MILLIS))
    }

    /// The rows as text.
    fn print(&self, rows: Vec<Value>) -> Vec<String> {
        let mut rows: Vec<String> = rows.iter().map(json::print).collect();
        if !self.is_ordered {
            rows.sort();
        }
        rows
    }

    /// What is wrong with the case.
    fn differences(&self) -> Vec<String> {
        let expected = Ok(self.print(self.expected.clone()));
        let printed = self.query.to_string();
        let again = sql::parse(&printed).map_err(|error| error.to_string());
        let ways = [
            ("reference", self.by_reference(&self.query)),
            ("engine", self.by_engine()),
            ("printed", again.and_then(|query| self.by_reference(&query))),
        ];
        let mut differences = Vec::new();
        for (way, rows) in ways {
            let rows = rows.map(|rows| self.print(rows));
            if rows != expected {
                differences.push(format!(
                    "{} ({way}): {}\n  expected {expected:?}\n  got      {rows:?}",
                    self.name, self.text
                ));
            }
        }
        differences
    }
}

#[test]
fn every_clause_gives_what_is_expected() {
    let datasets = read("datasets");
    let (mut count, mut wrong) = (0, Vec::new());
    for clause in CLAUSES {
        for case in read(clause).as_array().expect("a list of cases") {
            count += 1;
            let differences = match Case::new(case, &datasets) {
                Ok(case) => case.differences(),
                Err(error) => vec![error],
            };
            wrong.extend(differences.into_iter().map(|text| format!("{clause}: {text}")));
        }
    }
    println!("{count} cases");
    assert!(wrong.is_empty(), "{} differences:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn every_file_is_read() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("testdata/clauses");
    for entry in std::fs::read_dir(folder).expect("the folder of the cases") {
        let path = entry.expect("a file").path();
        let name = path.file_stem().expect("a name").to_string_lossy();
        assert!(name == "datasets" || CLAUSES.contains(&&*name), "{name} is no clause");
    }
}
