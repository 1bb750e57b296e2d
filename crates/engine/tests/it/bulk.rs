//! Bulk requests: each operation with its own key and its own fate.

use std::sync::Arc;

use engine::verify;
use protocol::{Code, Options, Outcome, request::BatchMode};

use crate::stores::new_store;
use crate::{
    batches::{answers, document, execute, results},
    splitting::{ids, of_range, ranges, split},
    support::{Database, keyed},
};

const ALL: BatchMode = BatchMode::Independent { stops_at_failure: false };

fn create(id: &str, key: &str) -> String {
    format!(
        r#"{{"operationType":"Create","partitionKey":"[\"{key}\"]","resourceBody":{{"id":"{id}","pk":"{key}"}}}}"#
    )
}

fn list(operations: &[String]) -> String {
    format!("[{}]", operations.join(","))
}

#[tokio::test]
async fn each_for_itself_and_in_order() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    let operations = [
        create("a", "x"),
        create("a", "x"),
        create("a", "y"),
        r#"{"operationType":"Read","id":"a","partitionKey":"[\"y\"]"}"#.to_owned(),
        r#"{"operationType":"Read","id":"a","partitionKey":"[\"z\"]"}"#.to_owned(),
        r#"{"operationType":"Patch","id":"a","partitionKey":"[\"x\"]","resourceBody":[{"op":"incr","path":"/n","value":2}]}"#.to_owned(),
        r#"{"operationType":"Replace","id":"a","partitionKey":"[\"x\"]","ifMatch":"\"no\"","resourceBody":{"id":"a","pk":"x"}}"#.to_owned(),
        r#"{"operationType":"Upsert","partitionKey":"[\"x\"]","resourceBody":{"id":"a","pk":"x","n":3.0}}"#.to_owned(),
        r#"{"operationType":"Read","id":"a"}"#.to_owned(),
        r#"{"operationType":"Create","partitionKey":"[\"x\"]","resourceBody":{"id":"b","pk":"y"}}"#.to_owned(),
        r#"{"operationType":"Upsert","resourceBody":{"id":"c","pk":"x"}}"#.to_owned(),
        r#"{"operationType":"Delete","id":"a","partitionKey":"[\"y\"]"}"#.to_owned(),
    ];
    let done = execute(&db, &list(&operations), ALL, of_range("0")).await.expect("answered");
    let expected = [
        Ok(Outcome::Created),
        Err(Code::Conflict),
        Ok(Outcome::Created),
        Ok(Outcome::Ok),
        Err(Code::NotFound),
        Ok(Outcome::Ok),
        Err(Code::PreconditionFailed),
        Ok(Outcome::Ok),
        Err(Code::BadRequest),
        Err(Code::PartitionKeyMismatch),
        Ok(Outcome::Created),
        Ok(Outcome::Deleted),
    ];
    assert_eq!(answers(&done), expected);
    let all = results(&done);
    assert_eq!(document(&all[5]).get("n").as_i64(), Some(2));
    let sum: f64 = all.iter().map(|result| result.charge).sum();
    assert!((done.meta.charge - sum).abs() < 0.001);
    // Six writes took effect, each with its own LSN.
    assert_eq!(done.meta.partitions[0].lsn, 7);
    assert!(done.meta.owner.is_some());
    let mut left = db.all(Options::default()).await;
    left.sort_unstable();
    assert_eq!(left, ["a", "c"]);

    // The key of the request is for those that name none.
    let read = r#"[{"operationType":"Read","id":"a"}]"#;
    let done = execute(&db, read, ALL, keyed(r#"["x"]"#)).await.expect("answered");
    assert_eq!(answers(&done), [Ok(Outcome::Ok)]);
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn the_rest_can_be_left_alone() {
    let db = Database::memory().await.with_collection(400).await;
    let operations = list(&[create("a", "x"), create("a", "x"), create("b", "x")]);
    let mode = BatchMode::Independent { stops_at_failure: true };
    let done = execute(&db, &operations, mode, of_range("0")).await.expect("answered");
    let expected = [Ok(Outcome::Created), Err(Code::Conflict), Err(Code::FailedDependency)];
    assert_eq!(answers(&done), expected);
    assert_eq!(db.all(Options::default()).await, ["a"]);
}

#[tokio::test]
async fn ranges_that_are_gone() {
    let db = Database::memory().await.with_collection(400).await;
    for number in 0..20 {
        db.create(&format!(r#"{{"id":"d","pk":"k{number}"}}"#)).await.expect("created");
    }
    split(&db, "0").await.expect("split");
    let now = ranges(&db).await;
    assert_eq!(ids(&now), ["1", "2"]);
    let read = |number: usize| {
        format!(r#"{{"operationType":"Read","id":"d","partitionKey":"[\"k{number}\"]"}}"#)
    };
    let all = list(&(0..20).map(read).collect::<Vec<_>>());
    let gone = execute(&db, &all, ALL, of_range("0")).await.expect_err("gone");
    assert_eq!(gone.code, Code::PartitionGone);
    // What is in the other range is said to be gone from this one.
    let left = execute(&db, &all, ALL, of_range("1")).await.expect("answered");
    let right = execute(&db, &all, ALL, of_range("2")).await.expect("answered");
    for pair in answers(&left).into_iter().zip(answers(&right)) {
        let is_one = matches!(
            pair,
            (Ok(Outcome::Ok), Err(Code::PartitionGone))
                | (Err(Code::PartitionGone), Ok(Outcome::Ok))
        );
        assert!(is_one, "{pair:?}");
    }
    assert_eq!(left.meta.partitions.len(), 1);
    // Unless the caller would not find its way.
    for id in ["0", "1"] {
        let kept = Options { keeps_old_ranges: true, ..of_range(id) };
        let done = execute(&db, &all, ALL, kept).await.expect("answered");
        assert_eq!(answers(&done), [Ok(Outcome::Ok); 20], "{id}");
    }
    let kept = Options { keeps_old_ranges: true, ..of_range("7") };
    assert_eq!(
        execute(&db, &all, ALL, kept).await.expect_err("never was").code,
        Code::PartitionGone
    );
}

#[tokio::test]
async fn answers_are_bounded() {
    let db = Database::memory().await.with_collection(400).await;
    let pad = "p".repeat(1_500_000);
    db.create(&format!(r#"{{"id":"a","pk":"x","pad":"{pad}"}}"#)).await.expect("created");
    let read = r#"{"operationType":"Read","id":"a","partitionKey":"[\"x\"]"}"#.to_owned();
    let operations = list(&[read.clone(), read.clone(), read.clone(), read, create("b", "x")]);
    let done = execute(&db, &operations, ALL, Options::default()).await.expect("answered");
    let (fits, not) = (Ok(Outcome::Ok), Err(Code::ResponseTooLarge));
    assert_eq!(answers(&done), [fits, fits, fits, not, not]);
    assert_eq!(db.all(Options::default()).await, ["a"]);
}
