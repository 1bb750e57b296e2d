//! Queries over collections of one and of several partitions: the collected cases, and pages.

use std::collections::HashMap;

use bytes::Bytes;
use protocol::{
    Error, Operation, Options,
    query::{QueryFeed, QueryOptions},
};
use value::{Value, json};

use crate::support::{Database, collection, items, keyed};

/// Runs a query page after page.
pub(crate) async fn query(
    db: &Database,
    text: &str,
    parameters: &Value,
    options: Options,
) -> Result<Vec<Value>, Error> {
    let mut body = value::Object::new();
    body.insert("query", text);
    body.insert("parameters", parameters.clone());
    let content = Bytes::from(json::print(&Value::Object(body)));
    let mut options = Options {
        query: QueryOptions { enable_cross_partition: true, ..options.query.clone() },
        ..options
    };
    let mut rows = Vec::new();
    loop {
        let body = gateway::read::query(&content, false)?;
        let feed = QueryFeed::Documents(collection());
        let page = db.call(Operation::Query { feed, query: body }, options.clone()).await?;
        rows.extend(items(&page));
        match page.continuation {
            Some(token) => {
                assert!(token.len() < 1024, "a token of {} bytes", token.len());
                options.continuation = Some(token);
            }
            None => return Ok(rows),
        }
    }
}

fn spec(file: &str) -> Option<Value> {
    let path = format!("{}/../../../shared/spec/{file}", env!("CARGO_MANIFEST_DIR"));
    Some(json::parse(&std::fs::read(path).ok()?).expect("a JSON file"))
}

fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by(value::order::compare);
    rows
}

async fn filled(documents: &[Value], throughput: i64) -> Database {
    let db = Database::memory().await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    db.create_collection(body, Some(throughput)).await.expect("a new collection");
    for (index, document) in documents.iter().enumerate() {
        let mut document = document.clone();
        let object = document.as_object_mut().expect("an object");
        if object.get("id").is_none() {
            object.insert("id", format!("d{index}"));
        }
        db.create(&json::print(&document)).await.expect("created");
    }
    db
}

#[tokio::test]
async fn the_collected_cases() {
    let (Some(cases), Some(datasets)) = (spec("sql-cases.json"), spec("sql-datasets.json")) else {
        println!("the collected cases are not here; nothing was checked");
        return;
    };
    let mut wrong = Vec::new();
    for throughput in [400, 30_000] {
        let mut databases: HashMap<String, Database> = HashMap::new();
        for case in cases.as_array().expect("a list") {
            let (name, documents) = match case.get("dataset") {
                Value::String(name) => (name.clone(), datasets.get(name)),
                _ => (json::print(case.get("docs")), case.get("docs")),
            };
            if !databases.contains_key(&name) {
                let db = filled(documents.as_array().expect("a list"), throughput).await;
                databases.insert(name.clone(), db);
            }
            let db = &databases[&name];
            let text = case.get("query").as_str().expect("text");
            let expected = case.get("expected").as_array().expect("rows").to_vec();
            for page in [1, 100] {
                let options = Options { max_item_count: Some(page), ..Options::default() };
                let actual = query(db, text, case.get("parameters"), options).await;
                let is_ordered = case.get("ordered").as_bool() == Some(true) && throughput == 400;
                let is_right = match &actual {
                    Err(_) => false,
                    Ok(rows) if is_ordered => *rows == expected,
                    Ok(rows) => sorted(rows.clone()) == sorted(expected.clone()),
                };
                if !is_right {
                    let actual = actual
                        .map(|rows| json::print(&Value::from(rows)))
                        .map_err(|error| error.message);
                    let expected = json::print(&Value::from(expected.clone()));
                    wrong.push(format!("{throughput} {page} {text}: {expected} but {actual:?}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{} cases:\n{}", wrong.len(), wrong.join("\n"));
}

/// A key without documents is not counted by those of another key in its slot.
#[tokio::test]
async fn counts_are_those_of_the_key() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let key = r#"{"paths":["/t","/u"],"kind":"MultiHash","version":2}"#;
    let body = format!(r#"{{"id":"c","partitionKey":{key}}}"#);
    db.create_collection(&body, None).await.expect("created");
    db.create(r#"{"id":"1","t":"a","u":"x","n":1}"#).await.expect("created");
    for (key, expected) in [(r#"["a",{}]"#, 0), (r#"["a","x"]"#, 1), (r#"["a"]"#, 1)] {
        for text in ["SELECT VALUE COUNT(1) FROM c WHERE c.n = 1", "SELECT VALUE COUNT(1) FROM c"] {
            let count = query(&db, text, &Value::Null, keyed(key)).await.expect("a count");
            assert_eq!(count, [Value::from(expected)], "{key} {text}");
        }
    }
}

/// What a short text could make of a long parameter is refused.
#[tokio::test]
async fn parameters_are_not_multiplied() {
    let db = Database::memory().await.with_collection(400).await;
    let long = "x".repeat(1 << 20);
    let parameters = format!(r#"[{{"name":"@p","value":"{long}"}}]"#);
    let parameters = json::parse(parameters.as_bytes()).expect("JSON");
    let text = format!("SELECT * FROM c WHERE c.x = [{}]", vec!["@p"; 100].join(","));
    let refused = query(&db, &text, &parameters, Options::default()).await;
    assert_eq!(refused.expect_err("too much").code, protocol::Code::BadRequest);
    let text = "SELECT * FROM c WHERE c.x = @p OR c.y = @p";
    assert_eq!(query(&db, text, &parameters, Options::default()).await.expect("rows"), []);
}
