//! Unique keys of collections from before they were enforced: how documents get their rows, and what
//! becomes of those that share values.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use engine::verify;
use protocol::{Code, Operation, Options, request::BatchMode};
use store::{Batch, Durability};

use crate::{
    support::{Database, TestClock, batch_of, collection, keyed},
    ttl::{on_disk, unswept},
    unique_keys::{BY_PK, START, code},
};

/// Data of a build that kept no such rows gets them after the start.
#[tokio::test]
async fn earlier_collections_get_their_rows() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = TestClock::at(START);
    let body = r#"{"id":"c","defaultTtl":10,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/v"]}]}}"#;
    let long = "x".repeat(3000);
    {
        let db = Database::open_at(on_disk(dir.path()), unswept(), &clock).await;
        db.create_database("db").await;
        db.create_collection(body, Some(400)).await.expect("a collection");
        for number in 0..30 {
            let body = format!(r#"{{"id":"d{number}","pk":"{long}","v":{number}}}"#);
            db.create(&body).await.expect("created");
        }
        db.engine.close().await.expect("closed");
    }
    make_earlier(&*on_disk(dir.path())).await;
    let db = Database::open_at(on_disk(dir.path()), unswept(), &clock).await;
    // In the background: meanwhile the collection cannot be given a key, and later not this one.
    loop {
        let give = Operation::GivePartitionKey { path: collection(), body: Bytes::from(BY_PK) };
        match code(db.call(give, Options::default()).await) {
            Err(Code::BadRequest) => break,
            other => assert!(other.is_err(), "its values are too long for a key"),
        }
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    for number in 0..30 {
        let taken = format!(r#"{{"id":"x","v":{number}}}"#);
        assert_eq!(code(db.create(&taken).await), Err(Code::Conflict));
    }
    clock.set(START + 10);
    let count = "SELECT VALUE COUNT(1) FROM c WHERE c.v >= 0";
    let rows = crate::queries::query(&db, count, &value::Value::Undefined, Options::default());
    assert_eq!(rows.await.expect("a count"), [value::Value::from(0)]);
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// Of two documents that share values from before, the one that has not expired holds them.
#[tokio::test]
async fn earlier_documents_that_have_expired_hold_nothing() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = TestClock::at(START);
    let documents = [r#"{"id":"old","v":1,"ttl":5}"#, r#"{"id":"live","v":1}"#];
    let db = earlier(dir.path(), &clock, &documents, START + 6).await;
    // What the sweep does too.
    assert_eq!(code(db.create(r#"{"id":"old","v":3}"#).await), Ok(()));
    let taken = r#"{"id":"new","v":1}"#;
    assert_eq!(code(db.create(taken).await), Err(Code::Conflict));
    db.delete("live", "[{}]").await.expect("deleted");
    assert_eq!(code(db.create(taken).await), Ok(()));
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// As long as one of those that share values is there, nobody else gets them.
#[tokio::test]
async fn who_shares_values_waits_for_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let clock = TestClock::at(START);
    let twin = |id: &str, ttl: &str| format!(r#"{{"id":"{id}","v":1{ttl}}}"#);
    let documents = ["a", "b", "c", "d", "e"].map(|id| twin(id, ""));
    let fading = twin("f", r#","ttl":100"#);
    let all: Vec<&str> = documents.iter().chain([&fading]).map(String::as_str).collect();
    let db = earlier(dir.path(), &clock, &all, START + 6).await;
    let taken = async |db: &Database| {
        assert_eq!(code(db.create(&twin("new", "")).await), Err(Code::Conflict));
    };
    let delete = async |db: &Database, id: &str| {
        db.delete(id, "[{}]").await.expect("deleted");
    };
    taken(&db).await;
    // The holder, one that waits, and one that goes by changing its values.
    delete(&db, "a").await;
    taken(&db).await;
    delete(&db, "c").await;
    taken(&db).await;
    let other = r#"{"id":"b","v":2}"#;
    assert_eq!(code(db.replace("b", other, keyed("[{}]")).await), Ok(()));
    taken(&db).await;
    db.engine.close().await.expect("closed");
    drop(db);
    let db = Database::open_at(on_disk(dir.path()), unswept(), &clock).await;
    taken(&db).await;
    // In one transaction: the next of them has the values before the one that comes.
    let swap = async |id: &str| {
        let (new, mode) = (twin("new", ""), BatchMode::Atomic);
        let body = format!(
            r#"[{{"operationType":"Delete","id":"{id}"}},
                {{"operationType":"Create","resourceBody":{new}}}]"#
        );
        let execute =
            Operation::ExecuteBatch { collection: collection(), operations: batch_of(body), mode };
        let answer = db.call(execute, keyed("[{}]")).await.expect("a batch");
        let protocol::Body::Batch(results) = answer.body else { panic!("results") };
        results.iter().all(|result| result.answer.is_ok())
    };
    assert!(!swap("d").await, "`e` waits");
    delete(&db, "d").await;
    assert!(!swap("e").await, "`f` waits");
    // The last that waits has expired.
    clock.set(START + 200);
    assert!(swap("e").await, "nobody is left");
    assert_eq!(code(db.create(&twin("newer", "")).await), Err(Code::Conflict));
    delete(&db, "new").await;
    assert_eq!(code(db.create(&twin("newer", "")).await), Ok(()));
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// A database with documents from before unique keys were enforced, of which `v` is one now. Opened at
/// a later second, with everything brought up.
async fn earlier(
    dir: &std::path::Path,
    clock: &Arc<TestClock>,
    documents: &[&str],
    later: u64,
) -> Database {
    let body = r#"{"id":"c","defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[]}}"#;
    {
        let db = Database::open_at(on_disk(dir), unswept(), clock).await;
        db.create_database("db").await;
        db.create_collection(body, Some(400)).await.expect("a collection");
        for document in documents {
            db.create(document).await.expect("created");
        }
        let unfit = format!(r#"{{"id":"unfit","pk":"{}","v":"unfit"}}"#, "x".repeat(3000));
        db.create(&unfit).await.expect("created");
        db.engine.close().await.expect("closed");
    }
    make_earlier(&*on_disk(dir)).await;
    clock.set(later);
    let db = Database::open_at(on_disk(dir), unswept(), clock).await;
    // While it is brought up the answer is 409. Later a document does not fit.
    loop {
        let give = Operation::GivePartitionKey { path: collection(), body: Bytes::from(BY_PK) };
        match code(db.call(give, Options::default()).await) {
            Err(Code::BadRequest) => return db,
            _ => tokio::time::sleep(Duration::from_millis(1)).await,
        }
    }
}

/// Takes out what format 2 did not have.
async fn make_earlier(store: &dyn store::Store) {
    for name in store.key_spaces().await.expect("names") {
        let partition = store.open(&name, 0).await.expect("opens");
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let limit = store::PageLimit { entries: 100_000, bytes: 1 << 30 };
        let page = partition.snapshot().scan(all, store::Direction::Forward, limit).await;
        let mut batch = Batch::default();
        for (key, row) in page.expect("rows").entries {
            match (name.as_str(), key[0]) {
                ("catalog", b'V') => batch.put(key, vec![2]),
                ("catalog", b'C') => {
                    let text = String::from_utf8(row.to_vec()).expect("JSON");
                    let text = text.replace(r#""upkeep":1,"#, "");
                    let keys = r#""uniqueKeys":[{"paths":["/v"]}]"#;
                    batch.put(key, text.replace(r#""uniqueKeys":[]"#, keys).into_bytes());
                }
                ("catalog", _) => {}
                (_, b'U' | b'T') => batch.delete(key),
                _ => {}
            }
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        partition.submit(batch, Durability::Durable, done);
        receiver.await.expect("done").expect("written");
    }
    store.close().await.expect("closed");
}
