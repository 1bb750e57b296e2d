//! A collection without a partition key is given one: every document goes to its own key, and
//! what is refused leaves the collection as it was.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use engine::verify;
use protocol::{
    Code, Error, Operation, Options,
    query::{QueryFeed, QueryOptions, QuerySource},
    request::{CollectionPath, IndexingDirective},
    session::SessionTokens,
};
use store_lsm::LsmStore;
use value::{Value, json};

use crate::stores::new_store;
use crate::{
    queries::query,
    splitting::{ranges, until},
    support::{Database, collection, document, keyed, resource, text},
};

pub(crate) const BY_DEVICE: &str =
    r#"{"partitionKey":{"paths":["/deviceId"],"kind":"Hash","version":2}}"#;

pub(crate) async fn give(db: &Database, body: &str) -> Result<Value, Error> {
    let body = Bytes::from(body.to_owned());
    let operation = Operation::GivePartitionKey { path: collection(), body };
    db.call(operation, Options::default()).await.map(|done| resource(&done))
}

/// A collection `c` of the 2015 kind; `more` are further members of its definition.
pub(crate) async fn without_key(db: Database, more: &str) -> Database {
    db.create_database("db").await;
    db.create_collection(&format!(r#"{{"id":"c"{more}}}"#), Some(400)).await.expect("created");
    db
}

pub(crate) async fn definition(db: &Database) -> Value {
    let read = db.call(Operation::ReadCollection(collection()), Options::default()).await;
    resource(&read.expect("the collection"))
}

/// Every document by its id, in as many pages as it takes.
pub(crate) async fn documents(db: &Database) -> BTreeMap<String, Value> {
    let all = query(db, "SELECT * FROM c", &Value::Array(Vec::new()), Options::default()).await;
    let all = all.expect("all documents");
    let count = all.len();
    let by_id: BTreeMap<_, _> = all.into_iter().map(|it| (text(it.get("id")), it)).collect();
    assert_eq!(by_id.len(), count, "an id stands twice");
    by_id
}

/// A document without what names its number.
fn content(document: &Value) -> String {
    let mut document = document.clone();
    let object = document.as_object_mut().expect("an object");
    object.remove("_rid");
    object.remove("_self");
    json::print(&document)
}

pub(crate) fn contents(documents: &BTreeMap<String, Value>) -> Vec<String> {
    documents.values().map(content).collect()
}

pub(crate) async fn check_clean(store: Arc<dyn store::Store>, partitions: usize, documents: u64) {
    let names = store::Store::key_spaces(&*store).await.expect("names");
    assert_eq!(names.len(), partitions + 1, "{names:?}");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    assert_eq!((report.partitions, report.documents), (partitions as u64, documents));
}

/// Documents of every kind of key: text, number, null, none, and what counts as none.
pub(crate) async fn fill(db: &Database, count: usize) {
    for number in 0..count {
        let key = match number % 7 {
            0 => String::new(),
            1 => r#","deviceId":null"#.to_owned(),
            2 => format!(r#","deviceId":{}"#, number % 3),
            3 => r#","deviceId":{"a":[1]}"#.to_owned(),
            _ => format!(r#","deviceId":"device {}""#, number % 5),
        };
        let ttl = if number % 4 == 0 { r#","ttl":1000"# } else { "" };
        let body =
            format!(r#"{{ "id":"d{number}"{key} ,"n":{number}.0{ttl}, "tags":["a",{number}]}}"#);
        let indexing_directive = match number % 11 {
            0 => IndexingDirective::Exclude,
            _ => IndexingDirective::Default,
        };
        let options = Options { indexing_directive, ..Options::default() };
        db.write(&body, false, options).await.expect("created");
    }
    // Some have a history.
    for number in (0..count).step_by(6) {
        let body = format!(r#"{{"id":"d{number}","deviceId":"moved","n":{number},"again":true}}"#);
        db.write(&body, true, Options::default()).await.expect("replaced");
    }
    for number in (0..count).step_by(10) {
        let gone = Operation::DeleteDocument(document(&format!("d{number}")));
        db.call(gone, Options::default()).await.expect("deleted");
    }
}

#[tokio::test]
async fn every_document_goes_to_its_key() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await;
    let db = without_key(db, r#","defaultTtl":-1"#).await;
    fill(&db, 1000).await;
    let (before, old) = (documents(&db).await, definition(&db).await);
    let new = give(&db, BY_DEVICE).await.expect("given");
    assert_eq!(
        json::print(new.get("partitionKey")),
        r#"{"paths":["/deviceId"],"kind":"Hash","version":2}"#
    );
    assert_eq!(json::print(&definition(&db).await), json::print(&new));
    assert_ne!(new.get("_etag"), old.get("_etag"));
    for same in ["id", "_rid", "indexingPolicy", "defaultTtl"] {
        assert_eq!(new.get(same), old.get(same), "{same}");
    }

    // Everything but the numbers is as it was, to the byte.
    let after = documents(&db).await;
    assert_eq!(contents(&after), contents(&before));
    let by_key = db.read("d4", r#"["device 4"]"#).await.expect("found by its key");
    assert_eq!(
        by_key.etag.as_deref().map(|etag| format!("\"{etag}\"")),
        Some(text(before["d4"].get("_etag")))
    );
    assert_ne!(resource(&by_key).get("_rid"), before["d4"].get("_rid"));
    for (id, key) in [("d7", "[{}]"), ("d8", "[null]"), ("d9", "[0]"), ("d3", "[{}]")] {
        db.read(id, key).await.expect("found by its key");
    }
    let missing = db.read("d4", r#"["device 3"]"#).await.expect_err("another key");
    assert_eq!(missing.code, Code::NotFound);

    // Ids may stand twice now, under two keys; and the rest is as with any collection.
    db.create(r#"{"id":"d4","deviceId":"another"}"#).await.expect("another key");
    let twice = db.create(r#"{"id":"d4","deviceId":"device 4"}"#).await.expect_err("the same key");
    assert_eq!(twice.code, Code::Conflict);
    db.delete("d4", r#"["another"]"#).await.expect("deleted");
    until("the old key space is dropped", async || {
        store::Store::key_spaces(&*store).await.expect("names").len() == 2
    })
    .await;
    db.engine.close().await.expect("closed");
    check_clean(store, 1, after.len() as u64).await;
}

#[tokio::test]
async fn the_index_is_that_of_the_new_definition() {
    let db = without_key(Database::memory().await, "").await;
    fill(&db, 1000).await;
    give(&db, BY_DEVICE).await.expect("given");
    let none = Value::Array(Vec::new());
    let ask = async |text: &str| query(&db, text, &none, Options::default()).await.expect("rows");
    for condition in [
        "c.n >= 500 AND c.n < 520",
        "c.deviceId = 'device 3'",
        "c.again",
        "ARRAY_CONTAINS(c.tags, 77)",
    ] {
        let rows = ask(&format!("SELECT VALUE c.id FROM c WHERE {condition}")).await;
        let slow = ask(&format!("SELECT VALUE c.id FROM c WHERE ({condition}) ?? false")).await;
        assert!(!rows.is_empty(), "{condition}");
        assert_eq!(sorted(rows), sorted(slow), "{condition}");
    }
    let in_order = ask("SELECT VALUE c.n FROM c ORDER BY c.n DESC").await;
    assert_eq!(in_order.len(), documents(&db).await.len());
    assert!(in_order.windows(2).all(|pair| pair[0].as_f64() >= pair[1].as_f64()));
    db.engine.close().await.expect("closed");
}

#[tokio::test]
async fn what_clients_hold_on_to() {
    let db = without_key(Database::memory().await, "").await;
    fill(&db, 100).await;
    let before = documents(&db).await;
    let first = Options { max_item_count: Some(3), ..Options::default() };
    let list = Operation::ListDocuments(collection());
    let page = db.call(list.clone(), first.clone()).await.expect("a page");
    let lsn = page.meta.partitions[0].lsn;
    let ask = |continuation| {
        let body = QuerySource::new("SELECT * FROM c");
        let feed = QueryFeed::Documents(collection());
        let query = QueryOptions { enable_cross_partition: true, ..QueryOptions::default() };
        let options =
            Options { max_item_count: Some(3), query, continuation, ..Options::default() };
        db.call(Operation::Query { feed, query: body }, options)
    };
    let rows = ask(None).await.expect("a page");
    give(&db, BY_DEVICE).await.expect("given");
    // The old range is gone; what a session saw of it is not, nor is a token of it misread.
    assert_eq!(ranges(&db).await, [("1".to_owned(), vec!["0".to_owned()])]);
    let of_range = Options { range_id: Some("0".to_owned()), ..Options::default() };
    let gone = db.call(list.clone(), of_range.clone()).await.expect_err("gone");
    assert_eq!(gone.code, Code::PartitionGone);
    // Some clients ask for it for ever: it stands for what has become of it.
    let kept = db.all(Options { keeps_old_ranges: true, ..of_range }).await;
    assert_eq!(kept.len(), before.len());
    let seen = |lsn| Options {
        session: Some(SessionTokens(vec![("0".to_owned(), lsn)])),
        ..keyed(r#"["device 4"]"#)
    };
    let read = Operation::ReadDocument(document("d4"));
    db.call(read.clone(), seen(lsn)).await.expect("seen that");
    let ahead = db.call(read, seen(lsn + 1)).await.expect_err("not yet");
    assert_eq!(ahead.code, Code::SessionNotAvailable);
    let refused = ask(rows.continuation).await.expect_err("an old token");
    assert_eq!(refused.code, Code::BadRequest);
    let stale = Options { continuation: page.continuation, ..first };
    assert_eq!(db.call(list, stale).await.expect_err("an old token").code, Code::BadRequest);
    db.engine.close().await.expect("closed");
}

fn sorted(mut rows: Vec<Value>) -> Vec<Value> {
    rows.sort_by(value::order::compare);
    rows
}

/// On disk, into several partitions, by a hierarchical key, and opened again.
#[tokio::test]
async fn it_outlives_a_restart() {
    let directory = tempfile::tempdir().expect("a directory");
    let open = || LsmStore::open(directory.path(), store_lsm::Options::default()).expect("a store");
    let db = without_key(Database::open(open()).await, "").await;
    for number in 0..600 {
        let (tenant, user) = (number % 23, number % 7);
        let body = format!(r#"{{"id":"{number}","t":"{tenant}","u":{user},"f":"{number:0200}"}}"#);
        db.create(&body).await.expect("created");
    }
    db.engine.close().await.expect("closed");
    drop(db);

    let mut options = engine::Options::default();
    options.sizes.partition = 100_000;
    let db = Database::open_with(open(), options).await;
    let before = documents(&db).await;
    let key = r#"{"partitionKey":{"paths":["/t","/u"],"kind":"MultiHash","version":2}}"#;
    give(&db, key).await.expect("given");
    assert_eq!(contents(&documents(&db).await), contents(&before));
    db.engine.close().await.expect("closed");
    drop(db);

    // From here on nothing is split.
    let db = Database::open(open()).await;
    assert_eq!(contents(&documents(&db).await), contents(&before));
    let count = ranges(&db).await.len();
    assert!(count >= 3, "{count} partitions");
    db.read("24", r#"["1",3]"#).await.expect("found by its key");
    let prefix = db.all(keyed(r#"["1"]"#)).await;
    assert_eq!(prefix.len(), 27, "those of one tenant");
    db.create(r#"{"id":"24","t":"1","u":99}"#).await.expect("a new document takes nobody's place");
    assert_eq!(db.all(Options::default()).await.len(), 601);
    // It counts as any other: once more is refused.
    assert_eq!(give(&db, key).await.expect_err("it has one").code, Code::BadRequest);
    db.engine.close().await.expect("closed");
    drop(db);
    check_clean(open(), count, 601).await;
}

/// What is refused, and that it leaves no trace.
#[tokio::test]
async fn refusals_change_nothing() {
    let store = new_store();
    let db = without_key(Database::open(Arc::clone(&store) as _).await, "").await;
    fill(&db, 300).await;
    let (before, old) = (documents(&db).await, definition(&db).await);
    for (body, code) in [
        ("", Code::BadRequest),
        ("[]", Code::PartitionKeyDefinitionMissing),
        ("{}", Code::PartitionKeyDefinitionMissing),
        (r#"{"partitionKey":null}"#, Code::PartitionKeyDefinitionMissing),
        (r#"{"partitionKey":"/a"}"#, Code::BadRequest),
        (r#"{"partitionKey":{"paths":[]}}"#, Code::BadRequest),
        (r#"{"partitionKey":{"paths":["/a","/b"]}}"#, Code::BadRequest),
        (r#"{"partitionKey":{"paths":["/_ts"]}}"#, Code::BadRequest),
        (r#"{"partitionKey":{"paths":["/_partitionKey"],"systemKey":true}}"#, Code::BadRequest),
    ] {
        assert_eq!(give(&db, body).await.expect_err(body).code, code, "{body}");
    }
    // A document that does not fit, and it is named.
    let long = format!(r#"{{"id":"long","deviceId":"{}"}}"#, "x".repeat(2049));
    db.create(&long).await.expect("created");
    let unfit = give(&db, BY_DEVICE).await.expect_err("too long");
    assert_eq!(unfit.code, Code::BadRequest);
    assert!(unfit.message.contains("'long'"), "{}", unfit.message);
    db.call(Operation::DeleteDocument(document("long")), Options::default()).await.expect("gone");
    // Two that were told apart by the service's own property.
    for part in ["", r#","_partitionKey":"x""#] {
        db.create(&format!(r#"{{"id":"twin","deviceId":"t"{part}}}"#)).await.expect("created");
    }
    let unfit = give(&db, BY_DEVICE).await.expect_err("one id");
    assert_eq!(unfit.code, Code::BadRequest);
    assert!(unfit.message.contains("'twin'"), "{}", unfit.message);
    db.delete("twin", r#"["x"]"#).await.expect("gone");
    db.call(Operation::DeleteDocument(document("twin")), Options::default()).await.expect("gone");
    // Another version, another collection.
    let body = Bytes::from_static(BY_DEVICE.as_bytes());
    let operation = Operation::GivePartitionKey { path: collection(), body: body.clone() };
    let other = Options { if_match: Some("\"other\"".to_owned()), ..Options::default() };
    let error = db.call(operation, other).await.expect_err("another version");
    assert_eq!(error.code, Code::PreconditionFailed);
    let path = CollectionPath { collection: "other".to_owned(), ..collection() };
    let nowhere = Operation::GivePartitionKey { path, body };
    let error = db.call(nowhere, Options::default()).await.expect_err("no such collection");
    assert_eq!(error.code, Code::NotFound);

    assert_eq!(json::print(&definition(&db).await), json::print(&old));
    assert_eq!(contents(&documents(&db).await), contents(&before));
    assert_eq!(ranges(&db).await, [("0".to_owned(), vec![])]);
    db.create(r#"{"id":"new","deviceId":"t"}"#).await.expect("writes go on");
    // The same collection takes the key once nothing stands against it; two at once are one.
    let (first, second) = tokio::join!(give(&db, BY_DEVICE), give(&db, BY_DEVICE));
    let mut results = [first, second];
    results.sort_by_key(Result::is_err);
    assert!(results[0].is_ok());
    assert_eq!(results[1].as_ref().expect_err("the second").code, Code::Conflict);
    until("the old key space is dropped", async || {
        store::Store::key_spaces(&*store).await.expect("names").len() == 2
    })
    .await;
    db.engine.close().await.expect("closed");
    check_clean(store, 1, before.len() as u64 + 1).await;
}

/// A change of the indexing policy comes first, or fails; in no order is anything lost.
#[tokio::test]
async fn a_changed_policy_comes_first() {
    let store = new_store();
    let db = without_key(Database::open(Arc::clone(&store) as _).await, "").await;
    fill(&db, 500).await;
    let before = documents(&db).await;
    let policy = |path: &str| {
        let body = format!(
            r#"{{"id":"c","indexingPolicy":{{"includedPaths":[{{"path":"/*"}}],"excludedPaths":[{{"path":"{path}"}}]}}}}"#
        );
        let replace = Operation::ReplaceCollection { path: collection(), body: Bytes::from(body) };
        db.call(replace, Options::default())
    };
    policy("/n/?").await.expect("replaced");
    assert_eq!(give(&db, BY_DEVICE).await.expect_err("re-indexing").code, Code::Conflict);
    let progress = async || {
        let options = Options { populate_quota: true, ..Options::default() };
        let read = db.call(Operation::ReadCollection(collection()), options).await;
        read.expect("read").meta.index_progress
    };
    until("re-indexing is done", async || progress().await == Some(100)).await;
    // Begun together: the one that is later sees what the other did.
    let (given, replaced) = tokio::join!(give(&db, BY_DEVICE), policy("/tags/*"));
    match (given, replaced) {
        // The definition that was sent has no key.
        (Ok(_), Err(error)) => assert_eq!(error.code, Code::BadRequest),
        (Err(error), Ok(_)) => assert_eq!(error.code, Code::Conflict),
        (given, replaced) => panic!("{given:?}, {replaced:?}"),
    }
    until("re-indexing is done", async || progress().await == Some(100)).await;
    if definition(&db).await.get("partitionKey").get("systemKey").as_bool() == Some(true) {
        give(&db, BY_DEVICE).await.expect("given");
    }
    assert_eq!(contents(&documents(&db).await), contents(&before));
    until("the old key space is dropped", async || {
        store::Store::key_spaces(&*store).await.expect("names").len() == 2
    })
    .await;
    db.engine.close().await.expect("closed");
    check_clean(store, 1, before.len() as u64).await;
}
