//! A collection is given a partition key while others read, write, delete it, or end the process.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
};

use engine::verify;
use protocol::{Code, Operation, Options};
use store::memory::MemoryStore;
use value::Value;

use crate::stores::new_store;
use crate::{
    migration::{BY_DEVICE, check_clean, contents, definition, documents, fill, give, without_key},
    queries::query,
    reindexing::until_killed,
    splitting::until,
    support::{Database, collection, document},
};

/// Writers who know nothing of keys: their documents say what they need.
async fn write_on(
    db: Arc<Database>,
    writer: usize,
    is_over: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
) -> BTreeMap<String, usize> {
    let mut acknowledged = BTreeMap::new();
    for number in 0.. {
        if is_over.load(Ordering::Relaxed) {
            break;
        }
        // An id has one key for ever: it means one document before and after.
        let (slot, id) = (number % 40, format!("w{writer}-{}", number % 40));
        let body = format!(r#"{{"id":"{id}","deviceId":"k{}","n":{number}}}"#, slot % 9);
        db.write(&body, true, Options::default()).await.expect("written");
        acknowledged.insert(id, number);
        writes.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
    }
    acknowledged
}

/// A reader of one document that is always there, by whatever key the collection has at the time.
async fn read_on(db: Arc<Database>, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        let without = db.call(Operation::ReadDocument(document("d4")), Options::default()).await;
        if let Err(error) = without {
            // It has been given a key: from now on that finds it.
            assert_eq!(error.code, Code::BadRequest);
            db.read("d4", r#"["device 4"]"#).await.expect("always there");
        }
        let text = "SELECT VALUE c.id FROM c WHERE c.id = 'd4' AND c.n > 3";
        let rows = query(&db, text, &Value::Array(Vec::new()), Options::default()).await;
        assert_eq!(rows.expect("rows").len(), 1);
        tokio::task::yield_now().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn readers_and_writers_go_on() {
    let store = new_store();
    let db = without_key(Database::open(Arc::clone(&store) as _).await, "").await;
    let db = Arc::new(db);
    fill(&db, 500).await;
    let steady = documents(&db).await;
    let (is_over, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (is_over, writes) = (Arc::clone(&is_over), Arc::clone(&writes));
            tokio::spawn(write_on(Arc::clone(&db), writer, is_over, writes))
        })
        .collect();
    let reader = tokio::spawn(read_on(Arc::clone(&db), Arc::clone(&is_over)));
    until("writers are at work", async || writes.load(Ordering::Relaxed) > 100).await;
    give(&db, BY_DEVICE).await.expect("given");
    let so_far = writes.load(Ordering::Relaxed);
    until("writers go on", async || writes.load(Ordering::Relaxed) > so_far + 100).await;
    is_over.store(true, Ordering::Relaxed);
    reader.await.expect("the reader");
    let mut acknowledged = BTreeMap::new();
    for writer in writers {
        acknowledged.extend(writer.await.expect("a writer"));
    }
    let mut all = documents(&db).await;
    for (id, number) in acknowledged {
        let found = all.remove(&id).expect("acknowledged");
        assert_eq!(found.get("n").as_i64(), i64::try_from(number).ok(), "{id}");
    }
    assert_eq!(contents(&all), contents(&steady));
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn a_collection_can_be_deleted_meanwhile() {
    let store = new_store();
    let db = without_key(Database::open(Arc::clone(&store) as _).await, "").await;
    fill(&db, 500).await;
    let delete = db.call(Operation::DeleteCollection(collection()), Options::default());
    let (given, deleted) = tokio::join!(give(&db, BY_DEVICE), delete);
    deleted.expect("deleted");
    // A delete that is about to commit has stopped the partition, as a split does.
    if let Err(error) = given {
        assert!([Code::OwnerNotFound, Code::PartitionSplitting].contains(&error.code), "{error}");
    }
    until("all key spaces are dropped", async || {
        store::Store::key_spaces(&*store).await.expect("names").len() == 1
    })
    .await;
    db.engine.close().await.expect("closed");
}

/// The process ends after so many steps: the collection is as before or as after, never between.
#[test]
fn a_kill_leaves_before_or_after() {
    // The kill ends the runtime, not the store: what a store with threads of its own was asked for
    // would still come.
    let store = Arc::new(MemoryStore::new());
    let open = || Database::open(Arc::clone(&store) as _);
    let before = until_killed(async {
        let db = without_key(open().await, "").await;
        fill(&db, 1200).await;
        documents(&db).await
    });
    let mut steps = 0;
    loop {
        until_killed(async {
            let db = open().await;
            let work = give(&db, BY_DEVICE);
            let mut work = std::pin::pin!(work);
            for _ in 0..steps {
                tokio::select! {
                    biased;
                    done = &mut work => { done.expect("given"); return; }
                    () = tokio::task::yield_now() => {}
                }
            }
        });
        let is_given = until_killed(async {
            let db = open().await;
            assert_eq!(contents(&documents(&db).await), contents(&before), "{steps} steps");
            definition(&db).await.get("partitionKey").get("systemKey").is_undefined()
        });
        until_killed(check_clean(Arc::clone(&store) as _, 1, before.len() as u64));
        if is_given {
            break;
        }
        steps += 1;
    }
    assert!(steps > 3, "it was never interrupted");
}
