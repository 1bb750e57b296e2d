//! The upgrade of an index with the longer keys of data format 3: what it gives, and a crash at every
//! single step of it.

use std::{
    ops::Bound,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicI64, Ordering},
    },
};

use bytes::Bytes;
use engine::{Engine, OpenError, verify};
use protocol::{Operation, Options};
use store::{Batch, Direction, Durability, PageLimit, Store, memory::MemoryStore};
use value::{Value, json};

use crate::{
    durability::{copy_tree, open},
    queries::query,
    random::{
        policies::{Key, Policy},
        queries::Query,
        world::{answer, difference, documents, expected, number},
    },
    split_crashes::Mortal,
    splitting::{merge, ranges, split},
    support::{Database, TestClock, collection, workers},
};

/// Documents with values of every kind, among them strings around the lengths at which they were
/// and are cut, two paths of one hash, elements of arrays in composite indexes, and documents that
/// are left out of the index.
const VALUES: &str = "testdata/formats/3-values";

/// Key spaces with their rows.
type Rows = Vec<(String, Vec<(Bytes, Bytes)>)>;

async fn rows_of(store: &dyn Store) -> Rows {
    let mut all = Vec::new();
    for name in store.key_spaces().await.expect("names") {
        let snapshot = store.open(&name, 0).await.expect("opens").snapshot();
        let (mut rows, mut start) = (Vec::new(), Bound::Unbounded);
        loop {
            let limit = PageLimit { entries: 1000, bytes: 1 << 20 };
            let page = snapshot.scan((start, Bound::Unbounded), Direction::Forward, limit).await;
            let entries = page.expect("a page").entries;
            let Some((last, _)) = entries.last() else { break };
            start = Bound::Excluded(last.clone());
            rows.extend(entries);
        }
        all.push((name, rows));
    }
    all
}

async fn store_of(rows: &Rows) -> Arc<dyn Store> {
    let store = MemoryStore::new();
    for (name, rows) in rows {
        let mut batch = Batch::default();
        for (key, row) in rows {
            batch.put(key.clone(), row.clone());
        }
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        store.open(name, 0).await.expect("opens").submit(batch, Durability::Durable, done);
        receiver.await.expect("done").expect("published");
    }
    Arc::new(store)
}

/// The rows that format 3 left behind.
async fn fixture() -> Rows {
    let dir = tempfile::tempdir().expect("a directory");
    copy_tree(&Path::new(env!("CARGO_MANIFEST_DIR")).join(VALUES), dir.path());
    let store = open(dir.path());
    let rows = rows_of(&*store).await;
    store.close().await.expect("closed");
    rows
}

/// How many rows begin with one of these letters.
fn count(rows: &Rows, letters: &[u8]) -> usize {
    let partitions = rows.iter().filter(|(name, _)| name != "catalog");
    let rows = partitions.flat_map(|(_, rows)| rows);
    rows.filter(|(key, _)| letters.contains(&key[0])).count()
}

fn format_of(rows: &Rows) -> u8 {
    let (_, catalog) = rows.iter().find(|(name, _)| name == "catalog").expect("a catalog");
    catalog.iter().find(|(key, _)| &key[..] == b"V").expect("a format").1[0]
}

#[tokio::test]
async fn an_upgraded_index_answers_as_a_scan_does() {
    let store = store_of(&fixture().await).await;
    let refused = verify(Arc::clone(&store)).await;
    assert!(matches!(refused, Err(OpenError::Older)), "{refused:?}");
    let db = Database::open(Arc::clone(&store)).await;
    let report = verify(Arc::clone(&store)).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    check_answers(&db).await;
    // What is written now meets what was translated.
    for document in documents(&db, &Options::default()).await.iter().step_by(3) {
        let body = json::print(document);
        db.write(&body, true, Options::default()).await.expect("replaced");
    }
    let body = r#"{"id":"new","pk":"k1","v":42,"w":"a","many":["x"]}"#;
    db.create(body).await.expect("created");
    check_answers(&db).await;
    // Ids agree in all partitions that come from one.
    let first = ranges(&db).await.swap_remove(0).0;
    split(&db, &first).await.expect("split");
    check_answers(&db).await;
    let first = ranges(&db).await.swap_remove(0).0;
    let _ = merge(&db, &first).await;
    check_answers(&db).await;
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(Arc::clone(&store)).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    // It is upgraded once.
    let before = rows_of(&*store).await;
    Database::open(Arc::clone(&store)).await.engine.close().await.expect("closed");
    assert_eq!(count(&before, b"CGI"), 0);
    assert_eq!(rows_of(&*store).await, before);
}

/// Queries of values of all kinds.
fn texts() -> Vec<String> {
    let mut texts: Vec<String> = Vec::new();
    for path in ["c.v", "c.w", "c.absent"] {
        for test in [
            "= 42",
            "= -42.5",
            "> 0.05",
            "< 0",
            ">= 9007199254740992",
            "= ''",
            "= 'a\\u0000'",
            ">= 'a\\u0000'",
            "< '\\u0001\\u0002\\u0003'",
            "> 'é'",
            "= null",
            "= true",
            "!= 1",
        ] {
            texts.push(format!("SELECT VALUE c.id FROM c WHERE {path} {test}"));
        }
        for (letter, length) in [('b', 127), ('b', 128), ('b', 129), ('x', 256), ('x', 257)] {
            let long = letter.to_string().repeat(length);
            for operator in ["=", "<=", ">"] {
                texts.push(format!("SELECT VALUE c.id FROM c WHERE {path} {operator} '{long}'"));
            }
            texts.push(format!("SELECT VALUE c.id FROM c WHERE STARTSWITH({path}, '{long}')"));
        }
        for function in ["IS_DEFINED", "NOT IS_DEFINED", "IS_ARRAY", "IS_OBJECT", "IS_NUMBER"] {
            texts.push(format!("SELECT VALUE c.id FROM c WHERE {function}({path})"));
        }
        texts.push(format!("SELECT VALUE COUNT(1) FROM c WHERE IS_STRING({path})"));
        texts.push(format!("SELECT VALUE [c.id, {path}] FROM c ORDER BY {path}"));
        texts.push(format!("SELECT VALUE [c.id, {path}] FROM c ORDER BY {path} DESC"));
        texts.push(format!("SELECT TOP 9 VALUE c.id FROM c WHERE {path} > 0 ORDER BY {path}"));
    }
    texts.push("SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.many, 77)".to_owned());
    let long = "x".repeat(200);
    texts.push(format!("SELECT VALUE c.id FROM c WHERE ARRAY_CONTAINS(c.many, '{long}b')"));
    texts.push("SELECT VALUE c.id FROM c JOIN e IN c.list WHERE e.a = 2".to_owned());
    texts
}

async fn check_answers(db: &Database) {
    let all = documents(db, &Options::default()).await;
    let policy = Policy::default_policy(Key::V2);
    for text in texts() {
        let query = Query::plain(&text);
        let expected = expected(&query, &policy, &all);
        assert!(expected.is_ok(), "{text}: {expected:?}");
        for size in [7, 1000] {
            let actual = answer(db, &query, size, &Options::default()).await;
            assert_eq!(difference(&expected, &actual), None, "{text}");
        }
    }
    // The composite indexes. Documents with equal values come by number.
    let mut all = all;
    all.sort_by_key(number);
    for order in ["c.v ASC, c.w DESC", "c.v DESC, c.w ASC", "c.w DESC, c.v ASC"] {
        let text = format!("SELECT VALUE c.id FROM c WHERE c.n >= 0 ORDER BY {order}");
        let parsed = sql::parse(&text).expect("parses");
        let expected = sql::eval::run(&parsed, &[], &all, 0).expect("rows");
        let actual = query(db, &text, &Value::Undefined, Options::default()).await;
        assert_eq!(actual.expect("rows"), expected, "{text}");
    }
    let near = r#"SELECT VALUE c.id FROM c
        WHERE ST_DISTANCE(c.place, {"type":"Point","coordinates":[30,10]}) < 1000"#;
    let near = query(db, near, &Value::Undefined, Options::default()).await.expect("rows");
    assert_eq!(near, [Value::from("d30")]);
}

#[tokio::test]
async fn every_step_of_an_upgrade_may_be_the_last() {
    let before = fixture().await;
    let (older, documents_before) = (count(&before, b"CGI"), count(&before, b"D"));
    assert_eq!(format_of(&before), 3);
    let (mut untouched, mut halfway) = (0, 0);
    for steps in 0.. {
        let store = store_of(&before).await;
        let mortal = Mortal { inner: Arc::clone(&store), left: Arc::new(AtomicI64::new(steps)) };
        let left = Arc::clone(&mortal.left);
        let options = engine::Options { scripts: workers(), ..engine::Options::default() };
        let clock = TestClock::at(1_700_000_000);
        let opened = Engine::open(Arc::new(mortal), options, clock).await;
        left.store(0, Ordering::SeqCst);
        let is_alive = opened.is_ok();
        if let Ok(engine) = opened {
            engine.close().await.expect("closed");
        }
        let after = rows_of(&*store).await;
        let (old, new) = (count(&after, b"CGI"), count(&after, b"VWL"));
        assert_eq!(count(&after, b"D"), documents_before);
        // Earlier builds are refused from before the first row is replaced.
        assert!(format_of(&after) == 4 || (old, new) == (older, 0), "after {steps} steps");
        assert!(old + new <= older, "after {steps} steps: {old} and {new} of {older}");
        untouched += u32::from(new == 0);
        halfway += u32::from(old > 0 && new > 0);
        if old > 0 {
            let refused = verify(Arc::clone(&store)).await;
            assert!(matches!(refused, Err(OpenError::Older)), "after {steps} steps: {refused:?}");
        }

        let db = Database::open(Arc::clone(&store)).await;
        db.create(r#"{"id":"new","pk":"k1","v":42,"many":["x"]}"#).await.expect("writable");
        let read = Operation::ReadCollection(collection());
        db.call(read, Options::default()).await.expect("read");
        db.engine.close().await.expect("closed");
        drop(db);
        let report = verify(Arc::clone(&store)).await.expect("readable");
        assert!(report.is_clean(), "after {steps} steps: {report}");
        assert_eq!(count(&rows_of(&*store).await, b"CGI"), 0, "after {steps} steps");
        if is_alive {
            break;
        }
    }
    assert!(untouched > 3 && halfway > 10, "{untouched} {halfway}");
}
