//! What is on disk: reopening, verifying, damage.

use std::sync::Arc;

use bytes::Bytes;
use engine::{OpenError, verify};
use protocol::operator::PartitionStatistics;
use protocol::{Operation, Options};
use store::Batch;

use crate::stores::{commit, new_store};
use crate::support::{Database, batch_of, collection, items, keyed, resource};

pub(crate) async fn on_disk() -> (tempfile::TempDir, Database) {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(open(dir.path())).await;
    (dir, db)
}

pub(crate) fn open(dir: &std::path::Path) -> Arc<dyn store::Store> {
    store_lsm::LsmStore::open(dir, store_lsm::Options::default()).expect("the store opens")
}

async fn fill(db: &Database) {
    for number in 0..60 {
        db.create(&format!(r#"{{"id":"d{number}","pk":"k{}"}}"#, number % 7))
            .await
            .expect("created");
    }
    for number in 0..20 {
        let body = format!(r#"{{"id":"d{number}","pk":"k{}","again":true}}"#, number % 7);
        db.write(&body, true, Options::default()).await.expect("replaced");
    }
    for number in 50..60 {
        let key = format!(r#"["k{}"]"#, number % 7);
        db.delete(&format!("d{number}"), &key).await.expect("deleted");
    }
}

/// Figures that survive the process: which keys were hot does not, nor what was spent.
fn stored(db: &Database) -> Vec<PartitionStatistics> {
    let partitions = db.engine.statistics().into_iter();
    let stored = |partition| PartitionStatistics {
        hottest: Vec::new(),
        used_per_second: 0.0,
        admitted: 0,
        throttled: 0,
        ..partition
    };
    partitions.map(stored).collect()
}

#[tokio::test]
async fn a_database_reopens_as_it_was() {
    let (dir, db) = on_disk().await;
    let db = db.with_collection(25_000).await;
    fill(&db).await;
    let before = (db.all(Options::default()).await, stored(&db));
    let ranges = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let etag = db.call(ranges.clone(), Options::default()).await.expect("ranges").etag;
    let read = resource(&db.read("d3", r#"["k3"]"#).await.expect("read"));
    db.engine.close().await.expect("closed");
    drop(db);

    let report = verify(open(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.partitions, report.documents), (3, 50));

    let db = Database::open(open(dir.path())).await;
    assert_eq!((db.all(Options::default()).await, stored(&db)), before);
    assert_eq!(db.call(ranges, Options::default()).await.expect("ranges").etag, etag);
    let again = resource(&db.read("d3", r#"["k3"]"#).await.expect("read"));
    assert_eq!(value::json::print(&again), value::json::print(&read));
    let offers = db.call(Operation::ListOffers, Options::default()).await.expect("offers");
    assert_eq!(items(&offers).len(), 1);
    // Numbers go on where they stopped: a new document takes nobody's place.
    db.create(r#"{"id":"new","pk":"k3"}"#).await.expect("created");
    assert_eq!(db.all(Options::default()).await.len(), 51);
}

#[tokio::test]
async fn verify_finds_what_is_wrong() {
    for prefix in [b'P', b'D', b'F', b'M'] {
        let store = new_store();
        let db = Database::open(Arc::clone(&store) as _).await.with_collection(25_000).await;
        fill(&db).await;
        assert!(verify(Arc::clone(&store) as _).await.expect("readable").is_clean());
        damage(&*store, prefix).await;
        let report = verify(store).await.expect("readable");
        assert!(!report.is_clean(), "a missing {} row went unseen", char::from(prefix));
    }
}

/// Removes one row under a prefix, behind the database's back.
async fn damage(store: &dyn store::Store, prefix: u8) {
    for name in store.key_spaces().await.expect("names") {
        if !name.starts_with("p-") {
            continue;
        }
        let partition = store.open(&name, 0).await.expect("opens");
        let start =
            if prefix == b'M' { Bytes::from_static(b"Mk") } else { Bytes::from(vec![prefix]) };
        let range = (std::ops::Bound::Included(start), std::ops::Bound::Unbounded);
        let limit = store::PageLimit { entries: 1, bytes: 1 << 20 };
        let page = partition.snapshot().scan(range, store::Direction::Forward, limit).await;
        let Some((key, _)) = page.expect("a page").entries.first().cloned() else { continue };
        if key[0] != prefix {
            continue;
        }
        let mut batch = Batch::default();
        batch.delete(key);
        commit(&*partition, batch).await;
        return;
    }
    panic!("nothing to damage under {}", char::from(prefix));
}

#[tokio::test]
async fn a_newer_format_is_refused() {
    let store = new_store();
    Database::open(Arc::clone(&store) as _).await.create_database("db").await;
    let catalog = store::Store::open(&*store, "catalog", 0).await.expect("opens");
    let mut batch = Batch::default();
    batch.put(&b"V"[..], vec![99]);
    commit(&*catalog, batch).await;
    let clock = Arc::new(engine::SystemClock);
    let refused = engine::Engine::open(store, engine::Options::default(), clock).await;
    assert!(matches!(refused.err(), Some(OpenError::Newer { found: 99, .. })));
}

#[tokio::test]
async fn leftovers_of_a_crash_are_cleared_and_strangers_left_alone() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    // A creation that stopped before the catalog knew, and a key space nobody can explain.
    for (name, state) in
        [("p-00000001-00000001-0", vec![1, 1]), ("p-00000002-00000001-0", vec![1, 2])]
    {
        let partition = store::Store::open(&*store, name, 0).await.expect("opens");
        let mut batch = Batch::default();
        batch.put(&b"Ms"[..], state);
        commit(&*partition, batch).await;
    }
    let db = Database::open(Arc::clone(&store) as _).await;
    assert_eq!(db.all(Options::default()).await, ["a"]);
    let names = store::Store::key_spaces(&*store).await.expect("names");
    assert!(!names.contains(&"p-00000001-00000001-0".to_owned()), "{names:?}");
    assert!(names.contains(&"p-00000002-00000001-0".to_owned()), "{names:?}");
}

/// A lost partition is not quietly replaced by an empty one.
#[tokio::test]
async fn a_missing_partition_is_reported() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(25_000).await;
    fill(&db).await;
    let names = store::Store::key_spaces(&*store).await.expect("names");
    let lost = names.iter().find(|name| name.starts_with("p-")).expect("a partition");
    store::Store::drop_key_space(&*store, lost).await.expect("dropped");
    let checked = verify(Arc::clone(&store) as _).await;
    assert!(matches!(checked, Err(OpenError::Missing { .. })), "{checked:?}");
    let clock = Arc::new(engine::SystemClock);
    let opened =
        engine::Engine::open(Arc::clone(&store) as _, engine::Options::default(), clock).await;
    assert!(matches!(opened.err(), Some(OpenError::Missing { .. })));
    let after = store::Store::key_spaces(&*store).await.expect("names");
    assert!(!after.contains(lost), "nothing was made in its place");
}

/// Deleting gives the space back even if the caller does not wait for the answer.
#[tokio::test]
async fn an_abandoned_delete_still_drops_its_partitions() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(25_000).await;
    let delete = db.call(Operation::DeleteCollection(collection()), Options::default());
    let _ = tokio::time::timeout(std::time::Duration::ZERO, delete).await;
    // A change of the catalog waits for the one before it.
    db.create_database("other").await;
    assert_eq!(store::Store::key_spaces(&*store).await.expect("names"), ["catalog"]);
}

pub(crate) fn copy_tree(from: &std::path::Path, to: &std::path::Path) {
    std::fs::create_dir_all(to).expect("a directory");
    for entry in std::fs::read_dir(from).expect("the fixture is there") {
        let entry = entry.expect("an entry");
        let target = to.join(entry.file_name());
        if entry.file_type().expect("a type").is_dir() {
            copy_tree(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).expect("copied");
        }
    }
}

/// Eight documents whose index is several times as large as they are, and a queue that only has room
/// for one of their batches: the rest wait. A batch that the queue refuses would stop its partition.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn wide_documents_wait_for_room_in_the_queue() {
    let directory = tempfile::tempdir().expect("a directory");
    let options = store_lsm::Options { queue_bytes_max: 1 << 20, ..store_lsm::Options::default() };
    let store = store_lsm::LsmStore::open(directory.path(), options).expect("a store");
    let db = Arc::new(Database::open(store).await.with_collection(400).await);
    let numbers: Vec<String> = (0..20_000_u32).map(|number| number.to_string()).collect();
    let numbers: Arc<str> = numbers.join(",").into();
    for round in 0..2 {
        let writers: Vec<_> = (0..8)
            .map(|writer| {
                let (db, numbers) = (Arc::clone(&db), Arc::clone(&numbers));
                tokio::spawn(async move {
                    let body = format!(r#"{{"id":"{writer}","pk":"{writer}","n":[{numbers}]}}"#);
                    db.write(&body, true, Options::default()).await.map(|_| ())
                })
            })
            .collect();
        for writer in writers {
            writer.await.expect("a writer").expect("written");
        }
        // The second time they are indexed anew in between.
        if round == 0 {
            let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
                "indexingPolicy":{"includedPaths":[{"path":"/n/*"}],"excludedPaths":[{"path":"/*"}]}}"#;
            let replace = Operation::ReplaceCollection { path: collection(), body: body.into() };
            db.call(replace, Options::default()).await.expect("replaced");
        }
    }
    db.create(r#"{"id":"small","pk":"small"}"#).await.expect("writes go on");
    assert_eq!(db.engine.failure(), None);
    db.engine.close().await.expect("closed");
}

/// Deleting several wide documents at once would make a batch that no queue should have to hold.
#[tokio::test]
async fn a_transaction_has_a_largest_size() {
    let db = Database::memory().await.with_collection(400).await;
    let numbers: Vec<String> = (0..120_000_u32).map(|number| number.to_string()).collect();
    let numbers = numbers.join(",");
    for id in 0..4 {
        let body = format!(r#"{{"id":"{id}","pk":"a","n":[{numbers}]}}"#);
        db.create(&body).await.expect("created");
    }
    let deletes = (0..4).map(|id| format!(r#"{{"operationType":"Delete","id":"{id}"}}"#));
    let body = format!("[{}]", deletes.collect::<Vec<_>>().join(","));
    let batch = |body: String| Operation::ExecuteBatch {
        collection: collection(),
        operations: batch_of(body),
        mode: protocol::request::BatchMode::Atomic,
    };
    let refused = db.call(batch(body), keyed(r#"["a"]"#)).await.expect_err("too large");
    assert_eq!(refused.code, protocol::Code::TooLarge);
    assert_eq!(db.all(Options::default()).await.len(), 4);
    let body = r#"[{"operationType":"Delete","id":"0"}]"#.to_owned();
    db.call(batch(body), keyed(r#"["a"]"#)).await.expect("one is small enough");
    assert_eq!(db.all(Options::default()).await.len(), 3);
}
