//! Patches through the engine: the newest version is changed, as a whole or not at all.

use std::sync::Arc;

use protocol::{Body, Code, Error, Operation, Options, Outcome};
use value::Value;

use crate::support::{Database, collection, items, keyed, resource, text};

const KEY: &str = r#"["x"]"#;
const INCREMENT: &str = r#"[{"op":"incr","path":"/n","value":1}]"#;

async fn database() -> Database {
    Database::memory().await.with_collection(400).await
}

/// The document `a`, as it is now.
async fn current(db: &Database) -> Value {
    resource(&db.read("a", KEY).await.expect("read"))
}

fn if_match(etag: &str) -> Options {
    Options { if_match: Some(etag.to_owned()), ..keyed(KEY) }
}

#[tokio::test]
async fn a_patch_is_a_new_version_of_the_same_document() {
    let db = database().await;
    let created = db.create(r#"{ "id":"a", "pk":"x", "n":1.0, "f":1.50, "s":"\u0061"}"#).await;
    let created = created.expect("created");
    let patched = db.patch("a", INCREMENT, keyed(KEY)).await.expect("patched");
    assert_eq!(patched.outcome, Outcome::Ok);
    let Body::Resource(body) = &patched.body else { panic!("no body") };
    let body = std::str::from_utf8(body).expect("text");
    let user = r#"{"id":"a","pk":"x","n":2,"f":1.50,"s":"\u0061","_rid":"#;
    assert!(body.starts_with(user), "{body}");
    let (before, after) = (resource(&created), resource(&patched));
    assert_eq!(before.get("_rid"), after.get("_rid"));
    assert_ne!(before.get("_etag"), after.get("_etag"));
    assert_eq!(text(after.get("_etag")), format!("\"{}\"", patched.etag.expect("an etag")));
    assert_eq!(patched.meta.item_lsn, Some(3));
    assert!(patched.meta.owner.is_some() && !patched.meta.partitions.is_empty());
    assert_eq!(current(&db).await, after);
}

#[tokio::test]
async fn the_answer_can_do_without_the_document() {
    let db = database().await;
    db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let minimal = Options { minimal_response: true, ..keyed(KEY) };
    let patched = db.patch("a", INCREMENT, minimal).await.expect("patched");
    assert!(matches!(patched.body, Body::Empty) && patched.etag.is_some());
    assert_eq!(current(&db).await.get("n").as_i64(), Some(1));
}

#[tokio::test]
async fn a_patch_costs_what_the_replacement_would() {
    let db = database().await;
    for id in ["a", "b"] {
        db.create(&format!(r#"{{"id":"{id}","pk":"x","n":1}}"#)).await.expect("created");
    }
    let patched = db.patch("a", INCREMENT, keyed(KEY)).await.expect("patched");
    let replaced = db.replace("b", r#"{"id":"b","pk":"x","n":2}"#, keyed(KEY)).await;
    let difference = patched.meta.charge - replaced.expect("replaced").meta.charge;
    assert!(difference.abs() < f64::EPSILON);
}

/// What a refused patch looks like: it cost something, and left the document as it was.
async fn refused(db: &Database, body: &str, options: Options) -> Error {
    let before = current(db).await;
    let error = db.patch("a", body, options).await.expect_err(body);
    assert_eq!(current(db).await.get("_etag"), before.get("_etag"), "{body}");
    error
}

#[tokio::test]
async fn all_operations_or_none() {
    let db = database().await;
    db.create(r#"{"id":"a","pk":"x","n":1}"#).await.expect("created");
    let body = r#"[{"op":"set","path":"/n","value":2},{"op":"remove","path":"/absent"}]"#;
    let error = refused(&db, body, keyed(KEY)).await;
    assert_eq!(error.code, Code::BadRequest);
    assert!(error.message.starts_with("For Operation(2): "), "{}", error.message);
    assert!(error.meta.charge > 0.0 && !error.meta.partitions.is_empty());
    for path in ["/id", "/pk", "/_etag"] {
        let body = format!(r#"[{{"op":"set","path":"{path}","value":"x"}}]"#);
        assert_eq!(refused(&db, &body, keyed(KEY)).await.code, Code::BadRequest, "{path}");
    }
}

#[tokio::test]
async fn only_what_is_there_and_as_it_was_known() {
    let db = database().await;
    let created = db.create(r#"{"id":"a","pk":"x","n":1}"#).await.expect("created");
    for (id, key) in [("b", KEY), ("a", r#"["y"]"#)] {
        let absent = db.patch(id, INCREMENT, keyed(key)).await.expect_err("absent");
        assert_eq!(absent.code, Code::NotFound);
        assert!(absent.meta.charge > 0.0);
    }
    let keyless = db.patch("a", INCREMENT, Options::default()).await.expect_err("no key");
    assert_eq!(keyless.code, Code::BadRequest);
    let etag = created.etag.clone().expect("an etag");
    db.patch("a", INCREMENT, if_match(&etag)).await.expect("known");
    let stale = refused(&db, INCREMENT, if_match(&etag)).await;
    assert_eq!(stale.code, Code::PreconditionFailed);
    db.patch("a", INCREMENT, if_match("*")).await.expect("anything goes");
    let rid = text(resource(&created).get("_rid"));
    db.patch(&rid, INCREMENT, keyed(KEY)).await.expect("by rid");
    assert_eq!(current(&db).await.get("n").as_i64(), Some(4));
}

#[tokio::test]
async fn conditions_are_asked_of_the_newest_version() {
    let db = database().await;
    db.create(r#"{"id":"a","pk":"x","n":1,"s":"abc"}"#).await.expect("created");
    let patch =
        |condition: &str| format!(r#"{{"condition":"{condition}","operations":{INCREMENT}}}"#);
    db.patch("a", &patch("from c where c.n = 1"), keyed(KEY)).await.expect("holds");
    let failed = refused(&db, &patch("from c where c.n = 1"), keyed(KEY)).await;
    assert_eq!(failed.code, Code::PatchConditionFailed);
    assert!(failed.meta.charge > 0.0 && !failed.meta.partitions.is_empty());
    // One that can take long runs apart, and comes to the same.
    let slow = "from c where c.s like 'a%' and regexmatch(c.s, '^a.c$') and c.n = 2";
    db.patch("a", &patch(slow), keyed(KEY)).await.expect("holds");
    let failed = refused(&db, &patch(slow), keyed(KEY)).await;
    assert_eq!(failed.code, Code::PatchConditionFailed);
    for bad in ["from c where", "where c.n = 1", "from c where c.n = @p", "from c where udf.f(c)"] {
        assert_eq!(refused(&db, &patch(bad), keyed(KEY)).await.code, Code::BadRequest, "{bad}");
    }
    // The condition counts only where the document is there and of the version that was named.
    let etag = Options { if_match: Some("\"stale\"".to_owned()), ..keyed(KEY) };
    let stale = refused(&db, &patch("from c where false"), etag).await;
    assert_eq!(stale.code, Code::PreconditionFailed);
    let absent = db.patch("b", &patch("from c where false"), keyed(KEY)).await;
    assert_eq!(absent.expect_err("absent").code, Code::NotFound);
}

#[tokio::test]
async fn the_outcome_must_be_a_document() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"]},"defaultTtl":100}"#;
    db.create_collection(body, None).await.expect("a collection");
    let big = "b".repeat(1_500_000);
    db.create(&format!(r#"{{"id":"a","pk":"x","b":"{big}"}}"#)).await.expect("created");
    let set =
        |path: &str, value: &str| format!(r#"[{{"op":"set","path":"{path}","value":{value}}}]"#);
    let large = refused(&db, &set("/c", &format!("\"{big}\"")), keyed(KEY)).await;
    assert_eq!(large.code, Code::TooLarge);
    let request = refused(&db, &set("/b", &format!("\"{big}{big}\"")), keyed(KEY)).await;
    assert_eq!(request.code, Code::TooLarge);
    for ttl in ["0", "-2", "\"5\""] {
        let error = refused(&db, &set("/ttl", ttl), keyed(KEY)).await;
        assert_eq!(error.code, Code::BadRequest, "{ttl}");
        assert!(error.message.contains("ttl"), "{}", error.message);
    }
    // The request itself has two levels.
    let deep = format!("{}{}", "[".repeat(126), "]".repeat(126));
    db.patch("a", &set("/b", &deep), keyed(KEY)).await.expect("as deep as can be");
    let deeper = r#"[{"op":"move","from":"/b","path":"/o/o/b"}]"#;
    db.patch("a", &set("/o", r#"{"o":{}}"#), keyed(KEY)).await.expect("patched");
    let error = refused(&db, deeper, keyed(KEY)).await;
    assert!(error.message.contains("nested deeper"), "{}", error.message);
    db.patch("a", &set("/ttl", "5"), keyed(KEY)).await.expect("a time to live");
}

#[tokio::test]
async fn the_index_follows() {
    let db = database().await;
    db.create(r#"{"id":"a","pk":"x","n":1,"tags":["p"]}"#).await.expect("created");
    let body = r#"[{"op":"add","path":"/tags/-","value":"q"},{"op":"remove","path":"/n"}]"#;
    db.patch("a", body, keyed(KEY)).await.expect("patched");
    for (filter, expected) in [
        ("ARRAY_CONTAINS(c.tags, 'q')", 1),
        ("ARRAY_CONTAINS(c.tags, 'p')", 1),
        ("c.n = 1", 0),
        ("IS_DEFINED(c.n)", 0),
    ] {
        let content = format!(r#"{{"query":"SELECT * FROM c WHERE {filter}"}}"#);
        let body = gateway::read::query(content.as_bytes(), false).expect("a query");
        let feed = protocol::query::QueryFeed::Documents(collection());
        let page =
            db.call(Operation::Query { feed, query: body }, keyed(KEY)).await.expect("a page");
        assert_eq!(items(&page).len(), expected, "{filter}");
    }
}

#[tokio::test]
async fn collections_without_a_key() {
    let db = Database::memory().await;
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, None).await.expect("a collection");
    db.create(r#"{"id":"a","n":1}"#).await.expect("created");
    let patched = db.patch("a", INCREMENT, Options::default()).await.expect("patched");
    assert_eq!(resource(&patched).get("n").as_i64(), Some(2));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn of_increments_at_the_same_time_none_is_lost() {
    let (_dir, db) = crate::durability::on_disk().await;
    let db = Arc::new(db.with_collection(400).await);
    db.create(r#"{"id":"a","pk":"x","n":0,"m":0}"#).await.expect("created");
    let body = r#"{"condition":"from c where c.n = -c.m","operations":[
        {"op":"incr","path":"/n","value":1},{"op":"incr","path":"/m","value":-1}]}"#;
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let db = Arc::clone(&db);
            tokio::spawn(async move {
                for _ in 0..25 {
                    db.patch("a", body, keyed(KEY)).await.expect("patched");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let read = db.read("a", KEY).await.expect("read");
    let document = resource(&read);
    assert_eq!((document.get("n").as_i64(), document.get("m").as_i64()), (Some(400), Some(-400)));
    assert_eq!(read.meta.partitions[0].lsn, 402, "one LSN for each patch");
}

/// Conditions that can take long are asked before the lock, and of the newest version all the same.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn conditions_that_run_apart_see_every_change() {
    let db = Arc::new(database().await);
    db.create(r#"{"id":"a","pk":"x","n":0,"s":"abc"}"#).await.expect("created");
    let body = format!(
        r#"{{"condition":"from c where c.s like '%c' and c.n < 50","operations":{INCREMENT}}}"#
    );
    let tasks: Vec<_> = (0..8)
        .map(|_| {
            let (db, body) = (Arc::clone(&db), body.clone());
            tokio::spawn(async move {
                let mut applied = 0;
                loop {
                    match db.patch("a", &body, keyed(KEY)).await {
                        Ok(_) => applied += 1,
                        Err(error) if error.code == Code::RetryWith => {}
                        Err(error) => {
                            assert_eq!(error.code, Code::PatchConditionFailed);
                            return applied;
                        }
                    }
                }
            })
        })
        .collect();
    let mut applied = 0;
    for task in tasks {
        applied += task.await.expect("no panic");
    }
    assert_eq!(applied, 50);
    assert_eq!(current(&db).await.get("n").as_i64(), Some(50));
}
