//! Deleting all documents of a partition key.

use std::{ops::Bound, sync::Arc, time::Duration};

use bytes::Bytes;
use engine::verify;
use protocol::{Body, Code, Operation, Options, Outcome};
use store::{Batch, Direction, Durability, PageLimit};
use value::Value;

use crate::{
    durability,
    gated::GatedStore,
    queries::query,
    support::{Database, collection, keyed},
    ttl::on_disk,
};

fn clear() -> Operation {
    Operation::DeleteByPartitionKey(collection())
}

async fn fill(db: &Database, key: &str, count: usize) {
    for number in 0..count {
        let body = format!(r#"{{"id":"d{number}","pk":"{key}","v":{number}}}"#);
        db.create(&body).await.expect("created");
    }
}

async fn count(db: &Database, options: Options) -> Value {
    let text = "SELECT VALUE COUNT(1) FROM c WHERE c.v >= 0";
    let rows = query(db, text, &Value::Undefined, options).await.expect("a count");
    rows.into_iter().next().expect("one row")
}

#[tokio::test]
async fn a_key_is_deleted_and_no_other() {
    let (dir, db) = durability::on_disk().await;
    let db = db.with_collection(25_000).await;
    fill(&db, "a", 350).await;
    fill(&db, "b", 20).await;
    let response = db.call(clear(), keyed(r#"["a"]"#)).await.expect("deleted");
    assert_eq!(response.outcome, Outcome::Ok);
    assert!(matches!(response.body, Body::Empty));
    assert_eq!(response.meta.partitions.len(), 1, "a session token");
    assert!(response.meta.charge > 1.0, "{}", response.meta.charge);
    assert_eq!(db.all(keyed(r#"["a"]"#)).await, Vec::<String>::new());
    assert_eq!(count(&db, keyed(r#"["a"]"#)).await, Value::from(0));
    assert_eq!(db.all(Options::default()).await.len(), 20);
    let again = db.call(clear(), keyed(r#"["a"]"#)).await.expect("nothing to delete");
    assert!(again.meta.charge < response.meta.charge);
    fill(&db, "a", 5).await;
    assert_eq!(db.all(Options::default()).await.len(), 25);
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn what_cannot_be_deleted_is_refused() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let body =
        r#"{"id":"c","partitionKey":{"paths":["/pk","/sub"],"kind":"MultiHash","version":2}}"#;
    db.create_collection(body, Some(400)).await.expect("a collection");
    db.create(r#"{"id":"x","pk":"a","sub":"b"}"#).await.expect("created");
    for (options, expected) in [
        (Options::default(), Code::BadRequest),
        (keyed(r#"["a"]"#), Code::PartitionKeyMismatch),
        (keyed(r#"["a","b","c"]"#), Code::PartitionKeyMismatch),
    ] {
        assert_eq!(db.call(clear(), options).await.expect_err("refused").code, expected);
    }
    db.call(clear(), keyed(r#"["a","c"]"#)).await.expect("nothing to delete");
    assert_eq!(db.all(Options::default()).await.len(), 1);
    db.call(clear(), keyed(r#"["a","b"]"#)).await.expect("deleted");
    assert_eq!(db.all(Options::default()).await.len(), 0);
}

/// Writers of the key go on: what is written after the answer stays, what was there before goes.
#[tokio::test(flavor = "multi_thread")]
async fn writers_go_on() {
    let db = Arc::new(Database::memory().await.with_collection(400).await);
    fill(&db, "a", 250).await;
    let writer = {
        let db = Arc::clone(&db);
        tokio::spawn(async move {
            for number in 0..100 {
                let body = format!(r#"{{"id":"w{number}","pk":"a"}}"#);
                db.write(&body, true, Options::default()).await.expect("written");
            }
        })
    };
    let split = Operation::SplitPartition { path: collection(), range: "0".to_owned() };
    let (cleared, _) =
        tokio::join!(db.call(clear(), keyed(r#"["a"]"#)), db.call(split, Options::default()),);
    cleared.expect("deleted");
    writer.await.expect("written");
    db.write(r#"{"id":"later","pk":"a"}"#, true, Options::default()).await.expect("written");
    let left = db.all(keyed(r#"["a"]"#)).await;
    assert!(left.contains(&"later".to_owned()));
    assert!(!left.iter().any(|id| id.starts_with('d')), "{left:?}");
}

/// What a stop interrupts is finished after the next start, and no more than that.
#[tokio::test]
async fn what_was_begun_is_finished() {
    let (dir, db) = durability::on_disk().await;
    let db = db.with_collection(400).await;
    fill(&db, "a", 10).await;
    fill(&db, "b", 3).await;
    db.create(r#"{"id":"later","pk":"a"}"#).await.expect("created");
    db.engine.close().await.expect("closed");
    drop(db);
    note(&*on_disk(dir.path()), 13).await;
    let db = Database::open(on_disk(dir.path())).await;
    while db.all(keyed(r#"["a"]"#)).await != ["later"] {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    assert_eq!(db.all(keyed(r#"["b"]"#)).await.len(), 3);
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// Notes that the first key of the partition is being deleted up to an LSN.
async fn note(store: &dyn store::Store, lsn: u64) {
    let names = store.key_spaces().await.expect("names");
    let name = names.iter().find(|name| name.starts_with("p-")).expect("a partition");
    let partition = store.open(name, 0).await.expect("opens");
    let counters = (Bound::Included(Bytes::from("Mk")), Bound::Excluded(Bytes::from("Ml")));
    let limit = PageLimit { entries: 10, bytes: 1 << 20 };
    let page = partition.snapshot().scan(counters, Direction::Forward, limit).await;
    let entries = page.expect("rows").entries;
    let is_first = |key: &&Bytes| key.windows(1).any(|byte| byte == b"a");
    let key = entries.iter().map(|(key, _)| key).find(is_first).expect("the key");
    let mut batch = Batch::default();
    batch.put([b"Md", &key[2..]].concat(), lsn.to_be_bytes().to_vec());
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let done = Box::new(move |result| drop(sender.send(result)));
    partition.submit(batch, Durability::Durable, done);
    receiver.await.expect("done").expect("written");
    drop(partition);
    store.close().await.expect("closed");
}

/// What fails for a passing reason is told, and done all the same once the reason has passed.
#[tokio::test]
async fn what_cannot_be_deleted_now_is_deleted_later() {
    let store = GatedStore::new();
    let (gate, inner) = (Arc::clone(&store.gate), Arc::clone(&store.inner));
    let db = Database::open(Arc::new(store)).await.with_collection(400).await;
    fill(&db, "a", 10).await;
    fill(&db, "b", 3).await;
    gate.set_behind(true);
    let refused = db.call(clear(), keyed(r#"["a"]"#)).await.expect_err("the storage is behind");
    assert_eq!(refused.code, Code::TooManyRequests);
    assert_eq!(db.all(keyed(r#"["a"]"#)).await.len(), 10);
    gate.set_behind(false);
    while !db.all(keyed(r#"["a"]"#)).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(1)).await;
    }
    // Another of the same key ends no earlier, and leaves no mark behind.
    db.call(clear(), keyed(r#"["a"]"#)).await.expect("deleted");
    assert_eq!(db.all(keyed(r#"["b"]"#)).await.len(), 3);
    db.engine.close().await.expect("closed");
    let report = verify(inner).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// A collection that is given a partition key meanwhile has other documents under the value.
#[tokio::test]
async fn a_new_partition_key_ends_it() {
    let store = GatedStore::new();
    let gate = Arc::clone(&store.gate);
    let db = Arc::new(Database::open(Arc::new(store)).await);
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, Some(400)).await.expect("a collection");
    for number in 0..5 {
        // Under the new key they are the other way round.
        let body = format!(r#"{{"id":"d{number}","_partitionKey":"old","pk":"new"}}"#);
        db.create(&body).await.expect("created");
        let body = format!(r#"{{"id":"e{number}","_partitionKey":"new","pk":"old"}}"#);
        db.create(&body).await.expect("created");
    }
    gate.set_open(false);
    let cleared = {
        let db = Arc::clone(&db);
        tokio::spawn(async move { db.call(clear(), keyed(r#"["old"]"#)).await })
    };
    gate.holds(1).await;
    let given = {
        let body = Bytes::from(r#"{"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#);
        let give = Operation::GivePartitionKey { path: collection(), body };
        let db = Arc::clone(&db);
        tokio::spawn(async move { db.call(give, Options::default()).await })
    };
    gate.holds(2).await;
    gate.set_open(true);
    given.await.expect("ended").expect("given");
    let refused = cleared.await.expect("ended").expect_err("the key is another");
    assert_eq!(refused.code, Code::Conflict);
    assert_eq!(db.all(Options::default()).await.len(), 10);
    assert_eq!(db.all(keyed(r#"["old"]"#)).await.len(), 5);
}
