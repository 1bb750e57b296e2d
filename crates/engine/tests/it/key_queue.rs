//! Those who wait for a partition key: how long, and in which order.

use std::{sync::Arc, time::Duration};

use protocol::{Code, Options};

use crate::{
    gated::{Gate, GatedStore},
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
    let mode = protocol::request::BatchMode::Atomic;
    let refused = crate::batches::execute(&db, batch, mode, keyed(KEY)).await;
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
