//! Many writers at once: nothing lost, nothing doubled, LSNs without gaps.

use std::{collections::BTreeSet, sync::Arc};

use protocol::{Code, Options};

use crate::support::{Database, keyed, resource};

/// Each writer adds one to the same document, guarded by its etag, until it gets through.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn guarded_increments_on_one_document_all_count() {
    let (_dir, db) = crate::durability::on_disk().await;
    let db = Arc::new(db.with_collection(400).await);
    db.create(r#"{"id":"a","pk":"x","n":0}"#).await.expect("created");
    let tasks: Vec<_> = (0..16)
        .map(|_| {
            let db = Arc::clone(&db);
            tokio::spawn(async move {
                for _ in 0..10 {
                    increment(&db).await;
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let read = db.read("a", r#"["x"]"#).await.expect("read");
    assert_eq!(resource(&read).get("n").as_i64(), Some(160));
    assert_eq!(read.meta.partitions[0].lsn, 162, "one LSN for each write that took effect");
}

async fn increment(db: &Database) {
    loop {
        let read = db.read("a", r#"["x"]"#).await.expect("read");
        let n = resource(&read).get("n").as_i64().expect("a number") + 1;
        let body = format!(r#"{{"id":"a","pk":"x","n":{n}}}"#);
        let options = Options { if_match: read.etag, ..keyed(r#"["x"]"#) };
        match db.replace("a", &body, options).await {
            Ok(_) => return,
            Err(error) => assert_eq!(error.code, Code::PreconditionFailed),
        }
    }
}

/// Of many creates of one id exactly one wins, though all are in flight before the first is durable.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn one_of_many_creates_wins() {
    let (_dir, db) = crate::durability::on_disk().await;
    let db = Arc::new(db.with_collection(400).await);
    for round in 0..5 {
        let tasks: Vec<_> = (0..32)
            .map(|_| {
                let db = Arc::clone(&db);
                tokio::spawn(async move {
                    db.create(&format!(r#"{{"id":"r{round}","pk":"x"}}"#)).await.is_ok()
                })
            })
            .collect();
        let mut wins = 0;
        for task in tasks {
            wins += u32::from(task.await.expect("no panic"));
        }
        assert_eq!(wins, 1);
    }
}

/// Writers of one key group-commit: the key is not held through the fsync.
#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn writers_of_one_key_share_commits() {
    let dir = tempfile::tempdir().expect("a directory");
    let store =
        store_lsm::LsmStore::open(dir.path(), store_lsm::Options::default()).expect("opens");
    let db = Arc::new(Database::open(Arc::clone(&store) as _).await.with_collection(400).await);
    let before = store::Store::statistics(&*store);
    let tasks: Vec<_> = (0..64)
        .map(|writer| {
            let db = Arc::clone(&db);
            tokio::spawn(async move {
                for number in 0..8 {
                    let body = format!(r#"{{"id":"w{writer}-{number}","pk":"x"}}"#);
                    db.create(&body).await.expect("created");
                }
            })
        })
        .collect();
    for task in tasks {
        task.await.expect("no panic");
    }
    let after = store::Store::statistics(&*store);
    let groups = after.commit_groups - before.commit_groups;
    assert!(groups < 512 / 2, "512 writes took {groups} commits");
    let ids: BTreeSet<String> = db.all(Options::default()).await.into_iter().collect();
    assert_eq!(ids.len(), 512);
}

/// A caller that goes away after its write was queued does not undo it or block the key.
#[tokio::test]
async fn a_cancelled_caller_leaves_the_key_usable() {
    let (_dir, db) = crate::durability::on_disk().await;
    let db = db.with_collection(400).await;
    for round in 0..50 {
        let body = format!(r#"{{"id":"a","pk":"x","n":{round}}}"#);
        let write = db.write(&body, true, Options::default());
        let _ = tokio::time::timeout(std::time::Duration::from_micros(round * 10), write).await;
    }
    db.write(r#"{"id":"a","pk":"x","n":99}"#, true, Options::default()).await.expect("written");
    let read = db.read("a", r#"["x"]"#).await.expect("read");
    assert_eq!(resource(&read).get("n").as_i64(), Some(99));
    db.engine.close().await.expect("closed");
}
