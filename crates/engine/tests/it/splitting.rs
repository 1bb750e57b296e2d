//! Splits and merges: nothing is lost or doubled, whoever writes, reads or pages meanwhile.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Duration,
};

use engine::verify;
use protocol::{Code, Error, Operation, Options, request::CollectionPath, session::SessionTokens};
use store_lsm::LsmStore;
use value::Value;

use crate::stores::new_store;
use crate::support::{Database, collection, items, keyed, resource, text};

pub(crate) async fn split(db: &Database, range: &str) -> Result<Value, Error> {
    let operation = Operation::SplitPartition { path: collection(), range: range.to_owned() };
    db.call(operation, Options::default()).await.map(|done| resource(&done))
}

pub(crate) async fn merge(db: &Database, range: &str) -> Result<Value, Error> {
    let operation = Operation::MergePartitions { path: collection(), range: range.to_owned() };
    db.call(operation, Options::default()).await.map(|done| resource(&done))
}

/// The ids of the ranges, in their order, each with its parents.
pub(crate) async fn ranges(db: &Database) -> Vec<(String, Vec<String>)> {
    let list = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let page = db.call(list, Options::default()).await.expect("the ranges");
    let parents = |range: &Value| {
        range.get("parents").as_array().expect("parents").iter().map(text).collect()
    };
    items(&page).iter().map(|range| (text(range.get("id")), parents(range))).collect()
}

pub(crate) fn ids(ranges: &[(String, Vec<String>)]) -> Vec<&str> {
    ranges.iter().map(|(id, _)| id.as_str()).collect()
}

pub(crate) fn of_range(id: &str) -> Options {
    Options { range_id: Some(id.to_owned()), ..Options::default() }
}

/// Waits for what happens by itself.
pub(crate) async fn until(what: &str, mut is_so: impl AsyncFnMut() -> bool) {
    for _ in 0..3000 {
        if is_so().await {
            return;
        }
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    panic!("never came about: {what}");
}

#[tokio::test]
async fn two_departments_go_to_two_partitions() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    for number in 0..20 {
        let (id, other) = (format!("{number:04}"), number % 2 == 0);
        let department = if other { "Marketing" } else { "Sales" };
        db.create(&format!(r#"{{"id":"{id}","pk":"{department}"}}"#)).await.expect("created");
    }
    let before = db.all(Options::default()).await;
    let known = db.read("0000", r#"["Marketing"]"#).await.expect("found").meta.partitions;
    let done = split(&db, "0").await.expect("split");
    assert_eq!(done.get("children").as_array().map(<[Value]>::len), Some(2));
    let now = ranges(&db).await;
    assert_eq!(ids(&now), ["1", "2"]);
    assert!(now.iter().all(|(_, parents)| *parents == ["0"]));
    // Each has one department, whole.
    let left = db.all(of_range("1")).await;
    let right = db.all(of_range("2")).await;
    assert_eq!((left.len(), right.len()), (10, 10));
    assert!(before.is_sorted(), "in the order of creation: {before:?}");
    let after = [left, right].concat();
    let mut sorted = after.clone();
    sorted.sort_unstable();
    assert_eq!(sorted, before, "and by partition now");
    // The old range is gone, and what a session saw of it is not.
    let list = Operation::ListDocuments(collection());
    let error = db.call(list, of_range("0")).await.expect_err("gone");
    assert_eq!(error.code, Code::PartitionGone);
    // Unless the caller would not find its way: then it is answered for, through later splits.
    let kept = |id: &str| Options { keeps_old_ranges: true, ..of_range(id) };
    assert_eq!(db.all(kept("0")).await, after);
    let error = db.call(Operation::ListDocuments(collection()), kept("7")).await;
    assert_eq!(error.expect_err("never was").code, Code::PartitionGone);
    let seen = |lsn| SessionTokens(vec![("0".to_owned(), lsn)]);
    let lsn = known[0].lsn;
    let read = |session| {
        let options = Options { session: Some(session), ..keyed(r#"["Marketing"]"#) };
        db.call(Operation::ReadDocument(crate::support::document("0000")), options)
    };
    assert_eq!(read(seen(lsn)).await.expect("seen that").meta.partitions[0].lsn, lsn);
    assert_eq!(read(seen(lsn + 1)).await.expect_err("not yet").code, Code::SessionNotAvailable);
    // One department cannot be cut.
    assert_eq!(split(&db, "1").await.expect_err("one key").code, Code::BadRequest);
    assert_eq!(split(&db, "0").await.expect_err("gone").code, Code::NotFound);
    // The old partition's space is given back.
    until("the old key space is dropped", async || {
        let names = store::Store::key_spaces(&*store).await.expect("names");
        names.len() == 3
    })
    .await;
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn throughput_makes_partitions() {
    let db = Database::memory().await.with_collection(25_000).await;
    assert_eq!(ids(&ranges(&db).await), ["0", "1", "2"]);
    let db = Database::memory().await.with_collection(400).await;
    for number in 0..50 {
        db.create(&format!(r#"{{"id":"d","pk":"{number}"}}"#)).await.expect("created");
    }
    let offers = db.call(Operation::ListOffers, Options::default()).await.expect("offers");
    let mut offer = items(&offers).remove(0);
    let mut content = offer.get("content").as_object().expect("content").clone();
    content.insert("offerThroughput", 25_000_i64);
    offer.as_object_mut().expect("an offer").insert("content", Value::Object(content));
    let replace = Operation::ReplaceOffer {
        offer: text(offer.get("id")),
        body: value::json::print(&offer).into(),
        migration: None,
    };
    db.call(replace, Options::default()).await.expect("replaced");
    until("three partitions", async || ranges(&db).await.len() == 3).await;
    assert_eq!(db.all(Options::default()).await.len(), 50);
    db.engine.close().await.expect("closed");
}

#[tokio::test]
async fn a_full_partition_splits_until_it_is_one_key() {
    let store = new_store();
    let mut options = engine::Options::default();
    options.sizes.partition = 50_000;
    let db = crate::random::world::open_with(Arc::clone(&store) as _, options).await;
    let db = db.with_collection(400).await;
    let filler = "x".repeat(1000);
    for number in 0..200 {
        let body = format!(r#"{{"id":"{number}","pk":"{}","f":"{filler}"}}"#, number % 8);
        db.create(&body).await.expect("created");
    }
    // Eight keys of 25 KB and more each: five partitions or more.
    until("it is split", async || ranges(&db).await.len() >= 5).await;
    let mut all = db.all(Options::default()).await;
    all.sort_unstable();
    all.dedup();
    assert_eq!(all.len(), 200);
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// How the keys of documents under load look.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// The definition of the partition key.
    pub(crate) definition: &'static str,
    /// The properties of a document with this key, and its header.
    pub(crate) members: fn(usize) -> String,
    pub(crate) header: fn(usize) -> String,
}

const FLAT: Keys = Keys {
    definition: r#"{"paths":["/pk"],"kind":"Hash","version":2}"#,
    members: |key| format!(r#""pk":"{key}""#),
    header: |key| format!(r#"["{key}"]"#),
};

/// The key of a document that is always there.
const STEADY: usize = 1000;

/// Writers that remember what was acknowledged.
async fn write_on(
    db: Arc<Database>,
    keys: Keys,
    writer: usize,
    is_over: Arc<AtomicBool>,
    writes: Arc<AtomicU64>,
) -> BTreeMap<(usize, String), u64> {
    let mut acknowledged = BTreeMap::new();
    let mut number: u64 = 0;
    while !is_over.load(Ordering::Relaxed) {
        let key = (number % 23) as usize;
        let id = format!("w{writer}-{}", number % 7);
        if number % 11 == 10 {
            let deleted = db.delete(&id, &(keys.header)(key)).await;
            let is_gone = |error: &Error| error.code == Code::NotFound;
            assert!(deleted.is_ok() || deleted.is_err_and(|error| is_gone(&error)));
            acknowledged.remove(&(key, id));
        } else {
            let members = (keys.members)(key);
            let body = format!(r#"{{"id":"{id}",{members},"n":{number},"p{number}":1}}"#);
            db.write(&body, true, Options::default()).await.expect("written");
            acknowledged.insert((key, id), number);
        }
        number += 1;
        writes.fetch_add(1, Ordering::Relaxed);
        tokio::task::yield_now().await;
    }
    acknowledged
}

/// A reader never misses a document that is there all the time.
async fn read_on(db: Arc<Database>, keys: Keys, is_over: Arc<AtomicBool>) {
    while !is_over.load(Ordering::Relaxed) {
        db.read("steady", &(keys.header)(STEADY)).await.expect("a document that is always there");
        let everything = db.all(Options { max_item_count: Some(7), ..Options::default() }).await;
        assert_eq!(everything.iter().filter(|id| *id == "steady").count(), 1);
        tokio::task::yield_now().await;
    }
}

pub(crate) async fn splits_under_load(store: Arc<dyn store::Store>, keys: Keys, rounds: usize) {
    let db = Arc::new(Database::open(Arc::clone(&store)).await);
    db.create_database("db").await;
    let body = format!(r#"{{"id":"c","partitionKey":{}}}"#, keys.definition);
    db.create_collection(&body, Some(400)).await.expect("a new collection");
    let members = (keys.members)(STEADY);
    db.create(&format!(r#"{{"id":"steady",{members}}}"#)).await.expect("created");
    let (is_over, writes) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicU64::new(0)));
    let writers: Vec<_> = (0..4)
        .map(|writer| {
            let (is_over, writes) = (Arc::clone(&is_over), Arc::clone(&writes));
            tokio::spawn(write_on(Arc::clone(&db), keys, writer, is_over, writes))
        })
        .collect();
    let reader = tokio::spawn(read_on(Arc::clone(&db), keys, Arc::clone(&is_over)));
    until("there is something to split", async || writes.load(Ordering::Relaxed) > 100).await;
    for round in 0..rounds {
        let before = writes.load(Ordering::Relaxed);
        let now = ranges(&db).await;
        let now = ids(&now);
        let is_merge = now.len() > 6 || round % 3 == 2 && now.len() > 1;
        if is_merge {
            merge(&db, now[round % (now.len() - 1)]).await.expect("merged");
        } else {
            let done = split(&db, now[round % now.len()]).await;
            let is_one_key = |error: &Error| error.code == Code::BadRequest;
            assert!(done.is_ok() || done.is_err_and(|error| is_one_key(&error)));
        }
        // Writers go on before the next one.
        until("writes go on", async || writes.load(Ordering::Relaxed) > before + 20).await;
    }
    is_over.store(true, Ordering::Relaxed);
    reader.await.expect("the reader");
    let mut expected = BTreeMap::new();
    for writer in writers {
        expected.extend(writer.await.expect("a writer"));
    }
    for ((key, id), number) in &expected {
        let found = db.read(id, &(keys.header)(*key)).await.expect("acknowledged");
        assert_eq!(resource(&found).get("n").as_i64(), i64::try_from(*number).ok());
    }
    assert_eq!(db.all(Options::default()).await.len(), expected.len() + 1);
    db.engine.close().await.expect("closed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_in_memory() {
    let store = new_store();
    splits_under_load(Arc::clone(&store) as _, FLAT, 30).await;
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_lost_on_disk() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = || LsmStore::open(directory.path(), store_lsm::Options::default()).expect("a store");
    splits_under_load(open(), FLAT, 12).await;
    // Everything is where the catalog says, after a restart too, and nothing is left over.
    let db = Database::open(open()).await;
    let count = ranges(&db).await.len();
    db.engine.close().await.expect("closed");
    drop(db);
    let store = open();
    let names = store::Store::key_spaces(&*store).await.expect("names");
    assert_eq!(names.len(), count + 1, "{names:?}");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn a_collection_can_be_deleted_while_it_is_split() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    for number in 0..500 {
        db.create(&format!(r#"{{"id":"d","pk":"{number}"}}"#)).await.expect("created");
    }
    let delete = db.call(Operation::DeleteCollection(collection()), Options::default());
    let (split, deleted) = tokio::join!(split(&db, "0"), delete);
    deleted.expect("deleted");
    // Either came first. A delete that is about to commit has stopped the partition, as a split does.
    if let Err(error) = split {
        let codes = [Code::OwnerNotFound, Code::NotFound, Code::PartitionSplitting];
        assert!(codes.contains(&error.code), "{error}");
    }
    until("all key spaces are dropped", async || {
        store::Store::key_spaces(&*store).await.expect("names").len() == 1
    })
    .await;
    db.engine.close().await.expect("closed");
}

#[tokio::test]
async fn one_at_a_time() {
    let db = Database::memory().await.with_collection(400).await;
    for number in 0..500 {
        db.create(&format!(r#"{{"id":"d","pk":"{number}"}}"#)).await.expect("created");
    }
    let (first, second) = tokio::join!(split(&db, "0"), split(&db, "0"));
    let mut results = [first, second];
    results.sort_by_key(Result::is_err);
    assert!(results[0].is_ok());
    assert_eq!(results[1].as_ref().expect_err("the second").code, Code::Conflict);
    let nowhere = CollectionPath { collection: "other".to_owned(), ..collection() };
    let operation = Operation::SplitPartition { path: nowhere, range: "1".to_owned() };
    let error = db.call(operation, Options::default()).await.expect_err("no such collection");
    assert_eq!(error.code, Code::NotFound);
    let last = merge(&db, "2").await.expect_err("the last range");
    assert_eq!(last.code, Code::BadRequest);
    merge(&db, "1").await.expect("merged");
    let now = ranges(&db).await;
    assert_eq!(now, [("3".to_owned(), vec!["0".to_owned(), "1".to_owned(), "2".to_owned()])]);
    let all = db.all(Options::default()).await;
    assert_eq!(all.len(), 500);
    let kept = |id: &str| Options { keeps_old_ranges: true, ..of_range(id) };
    let halves = [db.all(kept("1")).await, db.all(kept("2")).await];
    assert!(halves.iter().all(|half| half.len() > 100));
    assert_eq!(halves.concat(), all);
}

#[tokio::test]
async fn a_collection_without_a_key_is_not_cut() {
    let db = Database::memory().await;
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, None).await.expect("created");
    assert_eq!(split(&db, "0").await.expect_err("no key").code, Code::BadRequest);
    assert_eq!(ids(&ranges(&db).await), ["0"]);
}
