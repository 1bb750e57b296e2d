//! Those who wait for a partition key: how long, and in which order.

use std::{sync::Arc, time::Duration};

use protocol::{Code, Options, Outcome, request::BatchMode};
use value::Value;

use crate::{
    batches::{answers, execute},
    gated::{Gate, GatedStore},
    queries::query,
    support::{Database, keyed},
};

const KEY: &str = r#"["x"]"#;

async fn gated(options: engine::Options) -> (Arc<Database>, Arc<Gate>) {
    let store = GatedStore::new();
    let gate = Arc::clone(&store.gate);
    let db = Database::open_with(Arc::new(store), options).await.with_collection(400).await;
    (Arc::new(db), gate)
}

/// Lets every task come to where it waits for others: all of them are on this thread.
async fn settle() {
    for _ in 0..1000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_writer_waits_for_its_key_only_so_long() {
    let key_patience = Duration::from_millis(50);
    let (db, gate) = gated(engine::Options { key_patience, ..engine::Options::default() }).await;
    gate.set_open(false);
    let first = {
        let db = Arc::clone(&db);
        tokio::spawn(async move { db.create(r#"{"id":"a","pk":"x"}"#).await })
    };
    gate.holds(1).await;
    let refused = db.create(r#"{"id":"b","pk":"x"}"#).await.expect_err("the key is busy");
    assert_eq!(refused.code, Code::TooManyRequests);
    assert_eq!(refused.meta.retry_after_ms, Some(1000));
    let batch = r#"[{"operationType":"Create","resourceBody":{"id":"b","pk":"x"}}]"#;
    let refused = execute(&db, batch, BatchMode::Atomic, keyed(KEY)).await;
    assert_eq!(refused.expect_err("the key is busy").code, Code::TooManyRequests);
    assert_eq!(db.engine.statistics()[0].throttled, 2);
    gate.set_open(true);
    first.await.expect("no panic").expect("created");
    assert_eq!(db.all(Options::default()).await, ["a"], "what was refused was not done");
    db.create(r#"{"id":"b","pk":"x"}"#).await.expect("the key is free");
}

/// A procedure holds the key and others wait for it; a plain write that comes last is next.
#[tokio::test]
async fn short_writes_pass_a_queue_of_scripts() {
    let (db, gate) = gated(engine::Options::default()).await;
    db.procedure("create({id: args[0], pk: 'x'});").await;
    gate.set_open(false);
    let run = |id: &str| {
        let (db, arguments) = (Arc::clone(&db), format!(r#"["{id}"]"#));
        tokio::spawn(async move { db.call_procedure(&arguments, keyed(KEY)).await })
    };
    let mut scripts = vec![run("s0")];
    gate.holds(1).await;
    scripts.extend(["s1", "s2", "s3"].map(run));
    settle().await;
    let plain = {
        let db = Arc::clone(&db);
        tokio::spawn(async move { db.create(r#"{"id":"plain","pk":"x"}"#).await })
    };
    settle().await;
    gate.set_open(true);
    let written = plain.await.expect("no panic").expect("created");
    let mut order = vec![written.meta.item_lsn.expect("an LSN")];
    for script in scripts {
        order.push(script.await.expect("no panic").expect("done").meta.partitions[0].lsn);
    }
    let first = order[1];
    assert_eq!(order[0], first + 1, "it is behind the one that had the key");
    assert_eq!(order[2..], [first + 2, first + 3, first + 4], "scripts stay in order");
}

/// Batches whose conditions run on threads of their own wait for a key: more of them than queries may
/// run on such threads. Those queries go on.
#[tokio::test]
async fn batches_that_wait_for_a_key_do_not_stop_slow_queries() {
    let (db, gate) = gated(engine::Options::default()).await;
    db.create(r#"{"id":"a","pk":"x","s":"abc","n":0}"#).await.expect("created");
    gate.shut_for_one();
    let holder = {
        let db = Arc::clone(&db);
        tokio::spawn(async move { db.create(r#"{"id":"b","pk":"x"}"#).await })
    };
    gate.holds(1).await;
    let batch = r#"[{"operationType":"Patch","id":"a","resourceBody":{
        "condition":"from c where c.s like '%b%'",
        "operations":[{"op":"incr","path":"/n","value":1}]}}]"#;
    let count = 2 * std::thread::available_parallelism().map_or(2, usize::from) + 4;
    let patch = |_| {
        let db = Arc::clone(&db);
        tokio::spawn(async move { execute(&db, batch, BatchMode::Atomic, keyed(KEY)).await })
    };
    let batches: Vec<_> = (0..count).map(patch).collect();
    settle().await;
    let text = "SELECT VALUE c.n FROM c WHERE c.s LIKE 'a%'";
    let none = Value::Array(Vec::new());
    let numbers = || query(&db, text, &none, keyed(KEY));
    assert_eq!(numbers().await.expect("an answer")[0].as_i64(), Some(0), "none has the key");
    assert!(batches.iter().all(|batch| !batch.is_finished()));
    gate.set_open(true);
    holder.await.expect("no panic").expect("created");
    for batch in batches {
        let done = batch.await.expect("no panic").expect("executed");
        assert_eq!(answers(&done), [Ok(Outcome::Ok)]);
    }
    let patched = numbers().await.expect("an answer")[0].as_i64();
    assert_eq!(patched, i64::try_from(count).ok(), "each was done once");
}
