//! Transactional batches: all or nothing, and each operation sees those before it.

use std::sync::Arc;

use bytes::Bytes;
use engine::verify;
use protocol::{
    Body, Code, Error, Operation, Options, Outcome, Response,
    request::{BatchMode, ConsistencyLevel},
    response::BatchResult,
    session::SessionTokens,
};
use value::{Value, json};

use crate::stores::new_store;
use crate::support::{Database, collection, keyed};

pub(crate) async fn execute(
    db: &Database,
    operations: &str,
    mode: BatchMode,
    options: Options,
) -> Result<Response, Error> {
    let operations = gateway::read::batch(&Bytes::from(operations.to_owned()))?;
    let collection = collection();
    db.call(Operation::ExecuteBatch { collection, operations, mode }, options).await
}

pub(crate) fn results(response: &Response) -> &[BatchResult] {
    match &response.body {
        Body::Batch(results) => results,
        other => panic!("expected results, got {other:?}"),
    }
}

pub(crate) type Answer = Result<Outcome, Code>;

pub(crate) fn answers(response: &Response) -> Vec<Answer> {
    results(response).iter().map(|result| result.answer).collect()
}

pub(crate) fn document(result: &BatchResult) -> Value {
    json::parse(result.document.as_ref().expect("a document")).expect("JSON")
}

async fn atomic(db: &Database, operations: &str) -> Response {
    let done = execute(db, operations, BatchMode::Atomic, keyed(r#"["x"]"#)).await;
    done.expect("an answer to each operation")
}

async fn verified(db: Database, store: Arc<dyn store::Store>) {
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

async fn with_store() -> (Arc<dyn store::Store>, Database) {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    (store, db)
}

fn n(value: &Value) -> Option<i64> {
    value.get("n").as_i64()
}

/// What happens to documents within one batch.
const MANY: &str = r#"[
        {"operationType":"Create","resourceBody":{"id":"a","pk":"x","n":1.0}},
        {"operationType":"Read","id":"a"},
        {"operationType":"Replace","id":"a","resourceBody":{"id":"a","pk":"x","n":2}},
        {"operationType":"Upsert","resourceBody":{"id":"a","pk":"x","n":3}},
        {"operationType":"Patch","id":"a","resourceBody":{"operations":[{"op":"incr","path":"/n","value":4}]}},
        {"operationType":"Read","id":"a"},
        {"operationType":"Delete","id":"a"},
        {"operationType":"Create","resourceBody":{"id":"a","pk":"x","n":8}},
        {"operationType":"Delete","id":"old"},
        {"operationType":"Upsert","resourceBody":{"id":"old","pk":"x","n":9}},
        {"operationType":"Create","resourceBody":{"id":"brief","pk":"x"}},
        {"operationType":"Delete","id":"brief"}
    ]"#;

/// Operations that go well together.
const GOOD: [&str; 6] = [
    r#"{"operationType":"Create","resourceBody":{"id":"a","pk":"x"}}"#,
    r#"{"operationType":"Upsert","resourceBody":{"id":"kept","pk":"x","n":2}}"#,
    r#"{"operationType":"Delete","id":"gone"}"#,
    r#"{"operationType":"Replace","id":"a","resourceBody":{"id":"a","pk":"x","n":3}}"#,
    r#"{"operationType":"Patch","id":"kept","resourceBody":[{"op":"set","path":"/n","value":4}]}"#,
    r#"{"operationType":"Read","id":"kept"}"#,
];

/// Operations that fail, wherever they stand among those.
const BAD: [(&str, Code); 11] = [
    (r#"{"operationType":"Create","resourceBody":{"id":"kept","pk":"x"}}"#, Code::Conflict),
    (r#"{"operationType":"Read","id":"nowhere"}"#, Code::NotFound),
    (r#"{"operationType":"Delete","id":"nowhere"}"#, Code::NotFound),
    (
        r#"{"operationType":"Replace","id":"nowhere","resourceBody":{"id":"nowhere","pk":"x"}}"#,
        Code::NotFound,
    ),
    (
        r#"{"operationType":"Replace","id":"kept","resourceBody":{"id":"other","pk":"y"}}"#,
        Code::PartitionKeyMismatch,
    ),
    (
        r#"{"operationType":"Upsert","resourceBody":{"id":"kept","pk":"x"},"ifMatch":"\"no\""}"#,
        Code::PreconditionFailed,
    ),
    (
        r#"{"operationType":"Create","resourceBody":{"id":"b","pk":"y"}}"#,
        Code::PartitionKeyMismatch,
    ),
    (r#"{"operationType":"Create","resourceBody":{"pk":"x"}}"#, Code::BadRequest),
    (r#"{"operationType":"Create","resourceBody":[1]}"#, Code::BadRequest),
    (
        r#"{"operationType":"Patch","id":"kept","resourceBody":{"condition":"from c where c.n = 99","operations":[{"op":"set","path":"/n","value":1}]}}"#,
        Code::PatchConditionFailed,
    ),
    (
        r#"{"operationType":"Patch","id":"kept","resourceBody":[{"op":"set","path":"/pk","value":1}]}"#,
        Code::BadRequest,
    ),
];

#[tokio::test]
async fn each_operation_sees_those_before_it() {
    let (store, db) = with_store().await;
    db.create(r#"{"id":"old","pk":"x","n":1}"#).await.expect("created");
    let done = atomic(&db, MANY).await;
    let expected = [
        Outcome::Created,
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Ok,
        Outcome::Deleted,
        Outcome::Created,
        Outcome::Deleted,
        Outcome::Created,
        Outcome::Created,
        Outcome::Deleted,
    ];
    assert_eq!(answers(&done), expected.map(Ok));
    let made = results(&done);
    assert_eq!(made[0].document, made[1].document, "the text is the client's");
    assert!(
        made[0]
            .document
            .as_ref()
            .is_some_and(|text| text.starts_with(br#"{"id":"a","pk":"x","n":1.0,"#))
    );
    assert_eq!(made[0].etag, made[1].etag);
    assert_ne!(made[0].etag, made[2].etag);
    assert_eq!(n(&document(&made[5])), Some(7));
    let rid = |at: usize| document(&made[at]).get("_rid").clone();
    assert_eq!(rid(0), rid(5));
    assert_ne!(rid(0), rid(7), "another document under the same id");
    assert!(made[6].document.is_none() && made[6].etag.is_none());
    let sum: f64 = made.iter().map(|result| result.charge).sum();
    assert!((done.meta.charge - sum).abs() < 0.001, "{} {sum}", done.meta.charge);
    assert!(made.iter().all(|result| result.charge >= 1.0));

    // One LSN for all of it, and nothing of what came and went.
    assert_eq!(done.meta.partitions[0].lsn, 3);
    let read = db.read("a", r#"["x"]"#).await.expect("there");
    assert_eq!(read.meta.item_lsn, Some(3));
    assert_eq!(read.etag, made[7].etag);
    let read = db.read("old", r#"["x"]"#).await.expect("there");
    assert_eq!(n(&crate::support::resource(&read)), Some(9));
    assert_eq!(db.read("brief", r#"["x"]"#).await.expect_err("gone").code, Code::NotFound);
    assert_eq!(db.all(Options::default()).await, ["a", "old"]);
    verified(db, store).await;
}

/// Twelve operations, of which one fails, at each place in turn.
#[tokio::test]
async fn a_failure_at_any_place_leaves_no_trace() {
    let (store, db) = with_store().await;
    for id in ["kept", "gone"] {
        db.create(&format!(r#"{{"id":"{id}","pk":"x","n":1}}"#)).await.expect("created");
    }
    let before = db.read("kept", r#"["x"]"#).await.expect("there");
    for (bad, code) in BAD {
        for at in 0..=GOOD.len() {
            let mut operations = GOOD.to_vec();
            operations.insert(at, bad);
            let done = atomic(&db, &format!("[{}]", operations.join(","))).await;
            let mut expected: Vec<Answer> = vec![Err(Code::FailedDependency); GOOD.len() + 1];
            expected[at] = Err(code);
            assert_eq!(answers(&done), expected, "{bad} at {at}");
            let all = results(&done);
            assert!(all.iter().all(|result| result.document.is_none() && result.etag.is_none()));
            assert!(all[at].message.is_some());
            let sum: f64 = all.iter().map(|result| result.charge).sum();
            assert!((done.meta.charge - sum).abs() < 0.001);
            let after = db.read("kept", r#"["x"]"#).await.expect("there");
            assert_eq!(
                (&after.etag, after.meta.partitions),
                (&before.etag, before.meta.partitions.clone())
            );
            assert_eq!(db.all(Options::default()).await, ["kept", "gone"]);
        }
    }
    verified(db, store).await;
}

#[tokio::test]
async fn conditions_of_operations() {
    let (store, db) = with_store().await;
    let made = db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let etag = made.etag.expect("an etag");
    let done = atomic(
        &db,
        &format!(
            r#"[{{"operationType":"Read","id":"a","ifNoneMatch":"\"{etag}\""}},
                {{"operationType":"Replace","id":"a","ifMatch":"\"{etag}\"","resourceBody":{{"id":"a","pk":"x","n":1}}}}]"#
        ),
    )
    .await;
    assert_eq!(answers(&done), [Ok(Outcome::NotModified), Ok(Outcome::Ok)]);
    assert!(results(&done)[0].document.is_none());
    // Conditions of patches are asked of what is there by then, those that can take long as well.
    for condition in
        ["from c where c.n = 5", "from c where c.s like 'a%c' and regexmatch(c.s, 'b')"]
    {
        let done = atomic(
            &db,
            &format!(
                r#"[{{"operationType":"Upsert","resourceBody":{{"id":"a","pk":"x","n":5,"s":"abc"}}}},
                    {{"operationType":"Patch","id":"a","resourceBody":{{"condition":"{condition}","operations":[{{"op":"set","path":"/n","value":1}},{{"op":"remove","path":"/s"}}]}}}}]"#
            ),
        )
        .await;
        assert_eq!(answers(&done), [Ok(Outcome::Ok); 2], "{condition}");
    }
    // The etag is another one within the batch already.
    let done = atomic(
        &db,
        r#"[{"operationType":"Upsert","resourceBody":{"id":"b","pk":"x"},"ifMatch":"\"any\""},
            {"operationType":"Delete","id":"b","ifMatch":"\"any\""}]"#,
    )
    .await;
    assert_eq!(answers(&done), [Err(Code::FailedDependency), Err(Code::PreconditionFailed)]);
    verified(db, store).await;
}

/// The index follows the net effect, and so do the terms that a query finds.
#[tokio::test]
async fn queries_find_the_net_effect() {
    let (store, db) = with_store().await;
    db.create(r#"{"id":"a","pk":"x","tag":"one","other":"stays"}"#).await.expect("created");
    let done = atomic(
        &db,
        r#"[{"operationType":"Replace","id":"a","resourceBody":{"id":"a","pk":"x","tag":"two"}},
            {"operationType":"Replace","id":"a","resourceBody":{"id":"a","pk":"x","tag":"three","other":"stays"}}]"#,
    )
    .await;
    assert_eq!(answers(&done), [Ok(Outcome::Ok); 2]);
    for (tag, count) in [("one", 0), ("two", 0), ("three", 1)] {
        let text =
            format!(r#"SELECT VALUE c.id FROM c WHERE c.tag = "{tag}" AND c.other = "stays""#);
        let found =
            crate::queries::query(&db, &text, &Value::Array(Vec::new()), keyed(r#"["x"]"#)).await;
        let found = found.expect("rows");
        assert_eq!(found.len(), count, "{tag}");
    }
    verified(db, store).await;
}

#[tokio::test]
async fn reads_alone_come_from_one_snapshot() {
    let (store, db) = with_store().await;
    db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let read = r#"[{"operationType":"Read","id":"a"},{"operationType":"Read","id":"a"}]"#;
    let done = atomic(&db, read).await;
    assert_eq!(answers(&done), [Ok(Outcome::Ok); 2]);
    assert!((done.meta.charge - 2.0).abs() < 0.001, "{}", done.meta.charge);
    assert_eq!(done.meta.partitions[0].lsn, 2, "nothing was written");
    let done =
        atomic(&db, r#"[{"operationType":"Read","id":"a"},{"operationType":"Read","id":"b"}]"#)
            .await;
    assert_eq!(answers(&done), [Err(Code::FailedDependency), Err(Code::NotFound)]);
    let ahead = SessionTokens(vec![("0".to_owned(), 9)]);
    let options = Options {
        session: Some(ahead),
        consistency: Some(ConsistencyLevel::Session),
        ..keyed(r#"["x"]"#)
    };
    let error = execute(&db, read, BatchMode::Atomic, options).await.expect_err("not yet");
    assert_eq!(error.code, Code::SessionNotAvailable);
    // What undoes itself takes no LSN.
    let done = atomic(
        &db,
        r#"[{"operationType":"Create","resourceBody":{"id":"b","pk":"x"}},{"operationType":"Delete","id":"b"}]"#,
    )
    .await;
    assert_eq!(done.meta.partitions[0].lsn, 2);
    verified(db, store).await;
}

#[tokio::test]
async fn the_key_and_the_collection() {
    let (_, db) = with_store().await;
    let create = r#"[{"operationType":"Create","resourceBody":{"id":"a","pk":"x"}}]"#;
    let run = |options| execute(&db, create, BatchMode::Atomic, options);
    assert_eq!(run(Options::default()).await.expect_err("no key").code, Code::BadRequest);
    let short = run(keyed(r#"["x","y"]"#)).await.expect_err("too many parts");
    assert_eq!(short.code, Code::PartitionKeyMismatch);
    let other = r#"[{"operationType":"Read","id":"a","partitionKey":"[\"y\"]"}]"#;
    let other = execute(&db, other, BatchMode::Atomic, keyed(r#"["x"]"#)).await;
    assert_eq!(other.expect_err("another key").code, Code::PartitionKeyMismatch);
    let same = r#"[{"operationType":"Create","resourceBody":{"id":"a","pk":"x"},"partitionKey":"[\"x\"]"}]"#;
    execute(&db, same, BatchMode::Atomic, keyed(r#"["x"]"#)).await.expect("the same key");

    // A collection without a key, as old clients and new ones name it.
    let db = Database::memory().await;
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, None).await.expect("a collection without a key");
    for (id, options) in [("a", Options::default()), ("b", keyed("[]"))] {
        let create = format!(
            r#"[{{"operationType":"Create","resourceBody":{{"id":"{id}"}}}},{{"operationType":"Read","id":"{id}"}}]"#
        );
        let done = execute(&db, &create, BatchMode::Atomic, options).await.expect("answered");
        assert_eq!(answers(&done), [Ok(Outcome::Created), Ok(Outcome::Ok)]);
    }
    let keyed_inside =
        r#"[{"operationType":"Create","resourceBody":{"id":"k","_partitionKey":"z"}}]"#;
    let done = execute(&db, keyed_inside, BatchMode::Atomic, keyed("[]")).await.expect("answered");
    assert_eq!(answers(&done), [Err(Code::PartitionKeyMismatch)]);
}

#[tokio::test]
async fn answers_and_transactions_are_bounded() {
    let (store, db) = with_store().await;
    let pad = "p".repeat(1_500_000);
    for id in 0..8 {
        db.create(&format!(r#"{{"id":"{id}","pk":"x","pad":"{pad}"}}"#)).await.expect("created");
    }
    let all = |operation: &str, more: &str| {
        let one = |id| format!(r#"{{"operationType":"{operation}","id":"{id}"{more}}}"#);
        format!("[{}]", (0..8).map(one).collect::<Vec<_>>().join(","))
    };
    let mut expected: Vec<Answer> = vec![Err(Code::FailedDependency); 8];
    // Of the answer to all, the last of them is told that it is too large.
    expected[7] = Err(Code::ResponseTooLarge);
    assert_eq!(answers(&atomic(&db, &all("Read", "")).await), expected);
    let patch = all("Patch", r#","resourceBody":[{"op":"set","path":"/n","value":1}]"#);
    assert_eq!(answers(&atomic(&db, &patch).await), expected);
    let minimal = Options { minimal_response: true, ..keyed(r#"["x"]"#) };
    let done = execute(&db, &patch, BatchMode::Atomic, minimal).await.expect("answered");
    expected.fill(Err(Code::FailedDependency));
    expected[6] = Err(Code::TooLarge);
    assert_eq!(answers(&done), expected);
    assert_eq!(answers(&atomic(&db, &all("Delete", "")).await), [Ok(Outcome::Deleted); 8]);
    verified(db, store).await;
}
