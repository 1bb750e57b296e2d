//! Plans of queries are remembered: what is asked again must be answered by what holds now.

use bytes::Bytes;
use protocol::{
    Error, Operation, Options,
    query::{QueryFeed, QueryOptions, QuerySource},
    request::ScriptKind,
};
use value::{Value, json};

use crate::{
    stores::new_store,
    support::{Database, TestClock, collection, items, workers},
};

const KEY: &str = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}"#;

/// The rows of a query, and its charge. Asked twice: the second answer is that of the first.
async fn ask(
    db: &Database,
    text: &str,
    parameters: &[(&str, &str)],
) -> Result<(Vec<String>, f64), Error> {
    let first = ask_once(db, text, parameters).await;
    let second = ask_once(db, text, parameters).await;
    let outcome = |answer: &Result<(Vec<String>, f64), Error>| {
        answer.clone().map_err(|error| (error.code, error.message))
    };
    assert_eq!(outcome(&first), outcome(&second), "{text}");
    second
}

async fn ask_once(
    db: &Database,
    text: &str,
    parameters: &[(&str, &str)],
) -> Result<(Vec<String>, f64), Error> {
    let value = |text: &str| json::parse(text.as_bytes()).expect("JSON");
    let parameters =
        parameters.iter().map(|(name, text)| ((*name).to_owned(), value(text))).collect();
    let query = QuerySource { parameters, ..QuerySource::new(text) };
    let operation = Operation::Query { feed: QueryFeed::Documents(collection()), query };
    let query = QueryOptions { enable_cross_partition: true, ..QueryOptions::default() };
    let page = db.call(operation, Options { query, ..Options::default() }).await?;
    Ok((items(&page).iter().map(json::print).collect(), page.meta.charge))
}

async fn rows(db: &Database, text: &str) -> Vec<String> {
    ask(db, text, &[]).await.expect("an answer").0
}

async fn replace(db: &Database, rest: &str) {
    let body = Bytes::from(format!(r#"{{"id":"c",{KEY}{rest}}}"#));
    let operation = Operation::ReplaceCollection { path: collection(), body };
    db.call(operation, Options::default()).await.expect("replaced");
}

async fn filled(throughput: i64) -> Database {
    let db = Database::memory().await.with_collection(throughput).await;
    fill(&db).await;
    db
}

async fn fill(db: &Database) {
    for number in 0..12 {
        let body = format!(r#"{{"id":"{number:02}","pk":"k{number}","n":{},"s":"S"}}"#, number % 4);
        db.create(&body).await.expect("created");
    }
}

#[tokio::test]
async fn parameters_are_those_of_the_request() {
    let db = filled(400).await;
    let text = "SELECT VALUE @p FROM c WHERE c.n = @p AND c.id < '04'";
    for (parameter, expected) in [
        ("1", vec!["1"]),
        ("2", vec!["2"]),
        ("1.0", vec!["1.0"]),
        ("1e0", vec!["1e0"]),
        ("-0.0", vec!["-0.0"]),
        ("0", vec!["0"]),
        (r#""1""#, vec![]),
        ("7", vec![]),
    ] {
        let (rows, _) = ask(&db, text, &[("@p", parameter)]).await.expect("an answer");
        // Numbers are printed as they were written.
        let as_written = |text: &str| json::print(&json::parse(text.as_bytes()).expect("JSON"));
        let expected: Vec<String> = expected.into_iter().map(as_written).collect();
        assert_eq!(rows, expected, "{parameter}");
    }
    let top = "SELECT TOP @n VALUE c.id FROM c ORDER BY c.id";
    for count in ["3", "1"] {
        let (rows, _) = ask(&db, top, &[("@n", count)]).await.expect("an answer");
        assert_eq!(rows.len().to_string(), count);
    }
    ask(&db, top, &[("@n", "\"x\"")]).await.expect_err("no number");
}

#[tokio::test]
async fn a_changed_definition_counts_at_once() {
    let db = filled(400).await;
    let text = "SELECT VALUE c.low FROM c WHERE c.low = 's' AND c.id = '03'";
    assert_eq!(rows(&db, text).await, [""; 0]);
    let computed = |query: &str| {
        format!(r#","computedProperties":[{{"name":"low","query":"SELECT VALUE {query} FROM c"}}]"#)
    };
    replace(&db, &computed("LOWER(c.s)")).await;
    assert_eq!(rows(&db, text).await, ["\"s\""]);
    replace(&db, &computed("c.s")).await;
    assert_eq!(rows(&db, text).await, [""; 0]);
    replace(&db, "").await;
    assert_eq!(rows(&db, text).await, [""; 0]);
}

#[tokio::test]
async fn a_changed_policy_counts_at_once() {
    let db = filled(400).await;
    let text = "SELECT VALUE c.n FROM c WHERE c.n > 1 ORDER BY c.n";
    let expected = ["2", "2", "2", "3", "3", "3"];
    assert_eq!(rows(&db, text).await, expected);
    let policy = r#""includedPaths":[{"path":"/*"}],"excludedPaths":[{"path":"/n/?"}]"#;
    replace(&db, &format!(r#","indexingPolicy":{{{policy}}}"#)).await;
    let refused = ask(&db, text, &[]).await.expect_err("not indexed");
    assert!(refused.message.contains("excluded"), "{}", refused.message);
    let unordered = "SELECT VALUE c.id FROM c WHERE c.n = 3";
    assert_eq!(ask_once(&db, unordered, &[]).await.expect("an answer").0.len(), 3);
    replace(&db, "").await;
    // The index may still be filled, which costs more.
    assert_eq!(ask_once(&db, text, &[]).await.expect("an answer").0, expected);
}

#[tokio::test]
async fn another_collection_under_the_same_name_has_its_own() {
    let db = filled(400).await;
    let text = "SELECT VALUE c.low FROM c WHERE c.pk = 'k3'";
    assert_eq!(rows(&db, text).await, [""; 0]);
    for (name, expected) in [("low", "\"s\""), ("other", "")] {
        let delete = Operation::DeleteCollection(collection());
        db.call(delete, Options::default()).await.expect("deleted");
        ask(&db, text, &[]).await.expect_err("gone");
        let computed = format!(r#"{{"name":"{name}","query":"SELECT VALUE LOWER(c.s) FROM c"}}"#);
        let body = format!(r#"{{"id":"c",{KEY},"computedProperties":[{computed}]}}"#);
        db.create_collection(&body, Some(400)).await.expect("created");
        assert_eq!(rows(&db, text).await, [""; 0], "it is empty");
        fill(&db).await;
        assert_eq!(rows(&db, text).await.concat(), expected);
    }
}

#[tokio::test]
async fn the_time_and_functions_are_those_of_the_request() {
    let clock = TestClock::at(1000);
    let options = engine::Options { scripts: workers(), ..engine::Options::default() };
    let db = Database::open_at(new_store(), options, &clock).await;
    let db = db.with_collection(400).await;
    db.create(r#"{"id":"a","pk":"k","at":1500000}"#).await.expect("created");
    let text = "SELECT VALUE c.id FROM c WHERE c.at < GetCurrentTimestampStatic()";
    assert_eq!(rows(&db, text).await, [""; 0]);
    clock.set(2000);
    assert_eq!(rows(&db, text).await, ["\"a\""]);

    let text = "SELECT VALUE udf.f(c.at) FROM c";
    ask(&db, text, &[]).await.expect_err("there is no such function");
    let body = Bytes::from(r#"{"id":"f","body":"function f(x) { return x + 1; }"}"#);
    let kind = ScriptKind::Function;
    let create = Operation::CreateScript { collection: collection(), kind, body, upsert: false };
    db.call(create, Options::default()).await.expect("created");
    assert_eq!(rows(&db, text).await, ["1500001"]);
}

/// More texts than are remembered, and texts too long for it.
#[tokio::test]
async fn whatever_is_forgotten_is_made_anew() {
    let db = filled(25_000).await;
    let others: Vec<String> = (100..1000).map(|number| format!(" OR c.n = {number}")).collect();
    let long = others.concat();
    for round in 0..2 {
        for number in 0..300 {
            let rest = if number % 50 == 0 { &long[..] } else { "" };
            let text = format!("SELECT VALUE {number} FROM c WHERE c.n = {}{rest}", number % 4);
            let mut found = Vec::new();
            let mut options = Options::default();
            options.query.enable_cross_partition = true;
            loop {
                let feed = QueryFeed::Documents(collection());
                let operation = Operation::Query { feed, query: QuerySource::new(&*text) };
                let page = db.call(operation, options.clone()).await.expect("a page");
                found.extend(items(&page));
                options.continuation = page.continuation;
                if options.continuation.is_none() {
                    break;
                }
            }
            assert_eq!(found, vec![Value::from(number); 3], "round {round}");
        }
    }
}
