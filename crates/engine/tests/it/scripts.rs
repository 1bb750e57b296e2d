//! Stored procedures, triggers and functions as resources.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use engine::verify;
use protocol::{
    Code, Error, Operation, Options, Outcome, Response,
    query::{QueryFeed, QuerySource},
    request::{CollectionPath, DatabasePath, ScriptKind, ScriptPath},
    response::FeedKind,
};
use store::Batch;
use value::json;

use crate::stores::{commit, new_store};
use crate::{
    durability::{on_disk, open},
    migration::{BY_DEVICE, fill, give, without_key},
    splitting::{split, until},
    support::{Database, collection, items, resource, text},
};

fn path(kind: ScriptKind, script: &str) -> ScriptPath {
    ScriptPath { collection: collection(), kind, script: script.to_owned() }
}

fn definition(id: &str, body: &str) -> Bytes {
    let when = r#""triggerType":"pre","triggerOperation":"All""#;
    let (id, body) = (json::print(&id.into()), json::print(&body.into()));
    Bytes::from(format!(r#"{{"id":{id},"body":{body},{when},"more":[1]}}"#))
}

impl Database {
    async fn script(&self, kind: ScriptKind, id: &str, body: &str) -> Result<Response, Error> {
        self.put_script(kind, definition(id, body), false, Options::default()).await
    }

    async fn put_script(
        &self,
        kind: ScriptKind,
        body: Bytes,
        upsert: bool,
        options: Options,
    ) -> Result<Response, Error> {
        let collection = collection();
        self.call(Operation::CreateScript { collection, kind, body, upsert }, options).await
    }

    async fn read_script(&self, kind: ScriptKind, name: &str) -> Result<Response, Error> {
        self.call(Operation::ReadScript(path(kind, name)), Options::default()).await
    }

    async fn replace_script(
        &self,
        (kind, name): (ScriptKind, &str),
        body: Bytes,
        options: Options,
    ) -> Result<Response, Error> {
        self.call(Operation::ReplaceScript { path: path(kind, name), body }, options).await
    }

    async fn delete_script(&self, kind: ScriptKind, name: &str) -> Result<Response, Error> {
        self.call(Operation::DeleteScript(path(kind, name)), Options::default()).await
    }

    async fn script_ids(&self, kind: ScriptKind) -> Vec<String> {
        let list = Operation::ListScripts { collection: collection(), kind };
        let page = self.call(list, Options::default()).await.expect("a page");
        items(&page).iter().map(|item| text(item.get("id"))).collect()
    }
}

#[tokio::test]
async fn the_life_of_a_script() {
    let db = Database::memory().await.with_collection(400).await;
    let c = db.call(Operation::ReadCollection(collection()), Options::default()).await;
    let owner = text(resource(&c.expect("read")).get("_self"));
    for (kind, segment, nibble) in [
        (ScriptKind::StoredProcedure, "sprocs", "gA=="),
        (ScriptKind::Trigger, "triggers", "cA=="),
        (ScriptKind::Function, "udfs", "YA=="),
    ] {
        let created = db.script(kind, "s", "function () {}").await.expect("created");
        assert_eq!(created.outcome, Outcome::Created);
        assert!((created.meta.charge - 4.95).abs() < 1e-9);
        assert_eq!(created.meta.owner.as_ref().expect("an owner").name_path, "dbs/db/colls/c");
        let script = resource(&created);
        let rid = text(script.get("_rid"));
        assert!(rid.ends_with(nibble) && rid.len() == 24, "{rid}");
        assert_eq!(text(script.get("_self")), format!("{owner}{segment}/{rid}/"));
        assert_eq!(text(script.get("_etag")), format!("\"{}\"", created.etag.expect("an etag")));
        assert_eq!(script.get("_ts").as_i64(), Some(1_700_000_000));
        // What the client said comes back as it said it.
        assert_eq!(json::print(script.get("more")), "[1]");
        assert_eq!(text(script.get("triggerType")), "pre");

        for name in ["s", &rid] {
            let read = db.read_script(kind, name).await.expect("read");
            assert_eq!(json::print(&resource(&read)), json::print(&script));
        }
        let again = db.script(kind, "s", "function () {}").await.expect_err("the name is taken");
        assert_eq!(again.code, Code::Conflict);
        let as_rid = db.script(kind, &rid, "function () {}").await.expect_err("so is the rid");
        assert_eq!(as_rid.code, Code::Conflict);

        let body = definition("s", "function () { return 2; }");
        let upserted = db.put_script(kind, body, true, Options::default()).await.expect("upserted");
        assert_eq!(upserted.outcome, Outcome::Ok);
        assert_eq!(text(resource(&upserted).get("_rid")), rid);
        let body = definition("renamed", "x => 3");
        let replaced = db.replace_script((kind, "s"), body, Options::default()).await;
        let replaced = resource(&replaced.expect("replaced"));
        assert_eq!(text(replaced.get("_rid")), rid);
        assert_eq!(text(replaced.get("body")), "x => 3");
        assert_eq!(db.script_ids(kind).await, ["renamed"]);
        assert_eq!(db.read_script(kind, "s").await.expect_err("renamed").code, Code::NotFound);

        let deleted = db.delete_script(kind, "renamed").await.expect("deleted");
        assert_eq!(deleted.outcome, Outcome::Deleted);
        let gone = db.delete_script(kind, "renamed").await.expect_err("gone");
        assert_eq!((gone.code, gone.meta.charge), (Code::NotFound, 1.0));
        let next = resource(&db.script(kind, "s", "function () {}").await.expect("created"));
        assert_ne!(text(next.get("_rid")), rid, "no rid is given twice");
        let missing = db.replace_script((kind, "t"), definition("t", "x=>x"), Options::default());
        assert_eq!(missing.await.expect_err("missing").code, Code::NotFound);
    }
}

#[tokio::test]
async fn names_are_of_one_kind_and_one_collection() {
    let db = Database::memory().await.with_collection(400).await;
    db.create_collection(r#"{"id":"other"}"#, None).await.expect("created");
    let kind = ScriptKind::StoredProcedure;
    let rid = text(resource(&db.script(kind, "s", "x=>x").await.expect("created")).get("_rid"));
    assert!(db.read_script(ScriptKind::Trigger, &rid).await.is_err());
    let other = CollectionPath { collection: "other".to_owned(), ..collection() };
    let elsewhere = ScriptPath { collection: other, kind, script: rid };
    let read = db.call(Operation::ReadScript(elsewhere), Options::default()).await;
    assert_eq!(read.expect_err("another's").code, Code::NotFound);
    let nowhere = CollectionPath { collection: "nowhere".to_owned(), ..collection() };
    for operation in [
        Operation::ListScripts { collection: nowhere.clone(), kind },
        Operation::CreateScript {
            collection: nowhere.clone(),
            kind,
            body: definition("s", "x=>x"),
            upsert: false,
        },
        Operation::DeleteScript(ScriptPath { collection: nowhere, kind, script: "s".to_owned() }),
    ] {
        let error = db.call(operation, Options::default()).await.expect_err("no such collection");
        assert_eq!(error.code, Code::OwnerNotFound);
    }
    // Two names, one of which is wanted by the other.
    db.script(kind, "t", "x=>x").await.expect("created");
    let taken = db.replace_script((kind, "t"), definition("s", "x=>x"), Options::default()).await;
    assert_eq!(taken.expect_err("taken").code, Code::Conflict);
    // The collection that the client had in mind.
    let intended =
        Options { intended_collection_rid: Some("obLD1IAAAAE=".to_owned()), ..Options::default() };
    let error = db.call(Operation::ReadScript(path(kind, "s")), intended).await;
    assert_eq!(error.expect_err("another").code, Code::CollectionRidMismatch);
}

#[tokio::test]
async fn versions_are_checked() {
    let db = Database::memory().await.with_collection(400).await;
    let kind = ScriptKind::Function;
    let created = db.script(kind, "f", "x => x").await.expect("created");
    let etag = created.etag.expect("an etag");
    let known = Options { if_none_match: Some(format!("\"{etag}\"")), ..Options::default() };
    let read = db.call(Operation::ReadScript(path(kind, "f")), known).await.expect("read");
    assert_eq!(read.outcome, Outcome::NotModified);
    let stale = Options {
        if_match: Some("\"00000000-0000-0000-0000-000000000000\"".to_owned()),
        ..Options::default()
    };
    let body = definition("f", "x => 2");
    let replace = db.replace_script((kind, "f"), body.clone(), stale.clone()).await;
    assert_eq!(replace.expect_err("stale").code, Code::PreconditionFailed);
    let upsert = db.put_script(kind, body.clone(), true, stale.clone()).await;
    assert_eq!(upsert.expect_err("stale").code, Code::PreconditionFailed);
    let delete = db.call(Operation::DeleteScript(path(kind, "f")), stale).await;
    assert_eq!(delete.expect_err("stale").code, Code::PreconditionFailed);
    let fresh = Options { if_match: Some(format!("\"{etag}\"")), ..Options::default() };
    let replaced = db.replace_script((kind, "f"), body, fresh).await.expect("replaced");
    assert_ne!(replaced.etag, Some(etag));
}

#[tokio::test]
async fn a_source_that_is_no_function_is_refused_with_the_place() {
    let db = Database::memory().await.with_collection(400).await;
    let kind = ScriptKind::StoredProcedure;
    let bad = "function f() {\n  var x = ;\n}";
    let error = db.script(kind, "s", bad).await.expect_err("no JavaScript");
    assert_eq!((error.code, error.meta.charge), (Code::BadRequest, 0.0));
    assert!(error.message.contains("SyntaxError"), "{}", error.message);
    assert!(error.message.contains("line: 2, column: 11, source line:\nvar x = ;"), "{error}");
    assert_eq!(db.script(kind, "s", "5").await.expect_err("no function").code, Code::BadRequest);
    db.script(kind, "s", "function f() {}").await.expect("created");
    let replaced = db.replace_script((kind, "s"), definition("s", bad), Options::default()).await;
    assert_eq!(replaced.expect_err("no JavaScript").code, Code::BadRequest);
    let kept = resource(&db.read_script(kind, "s").await.expect("read"));
    assert_eq!(text(kept.get("body")), "function f() {}");
}

#[tokio::test]
async fn feeds_have_pages_and_queries() {
    let db = Database::memory().await.with_collection(400).await;
    let kind = ScriptKind::Trigger;
    for number in 0..5 {
        db.script(kind, &format!("t{number}"), "function () {}").await.expect("created");
    }
    db.script(ScriptKind::Function, "f", "x => x").await.expect("created");
    let mut options = Options { max_item_count: Some(2), ..Options::default() };
    let mut ids = Vec::new();
    loop {
        let list = Operation::ListScripts { collection: collection(), kind };
        let page = db.call(list, options.clone()).await.expect("a page");
        let protocol::Body::Feed { kind: of, .. } = &page.body else { panic!("{page:?}") };
        assert_eq!(*of, FeedKind::Scripts(kind));
        ids.extend(items(&page).iter().map(|item| text(item.get("id"))));
        match page.continuation {
            Some(token) => options.continuation = Some(token),
            None => break,
        }
    }
    assert_eq!(ids, ["t0", "t1", "t2", "t3", "t4"]);
    // A token of one feed is none of another.
    let list = Operation::ListScripts { collection: collection(), kind: ScriptKind::Function };
    let error = db.call(list, options).await.expect_err("another feed's token");
    assert_eq!(error.code, Code::BadRequest);

    let query = |kind, text: &'static str| Operation::Query {
        feed: QueryFeed::Scripts(collection(), kind),
        query: QuerySource::new(text),
    };
    let found = "SELECT VALUE r.id FROM root r WHERE r.id > 't1' ORDER BY r.id DESC";
    let page = db.call(query(kind, found), Options::default()).await.expect("rows");
    let rows: Vec<_> = items(&page).iter().map(text).collect();
    assert_eq!(rows, ["t4", "t3", "t2"]);
    let all = db.call(query(ScriptKind::Function, "SELECT * FROM c"), Options::default()).await;
    assert_eq!(items(&all.expect("rows")).len(), 1);
}

#[tokio::test]
async fn collections_hold_so_many_and_no_more() {
    let db = Database::memory().await.with_collection(400).await;
    let kind = ScriptKind::Trigger;
    for number in 0..50 {
        db.script(kind, &format!("t{number}"), "x=>x").await.expect("created");
    }
    let error = db.script(kind, "one more", "x=>x").await.expect_err("full");
    assert_eq!(error.code, Code::LimitReached);
    // What is there can still be changed, and makes room when it goes.
    let body = definition("t7", "x=>7");
    db.put_script(kind, body, true, Options::default()).await.expect("upserted");
    db.delete_script(kind, "t0").await.expect("deleted");
    db.script(kind, "one more", "x=>x").await.expect("created");

    let long = format!("function f() {{ /* {} */ }}", "x".repeat(2 << 20));
    let error = db.script(ScriptKind::Function, "long", &long).await.expect_err("too long");
    assert_eq!(error.code, Code::TooLarge);
    let long = format!("function f() {{ /* {} */ }}", "x".repeat(2_000_000));
    let kind = ScriptKind::StoredProcedure;
    for number in 0..8 {
        db.script(kind, &format!("s{number}"), &long).await.expect("created");
    }
    let error = db.script(kind, "s8", &long).await.expect_err("no more bytes");
    assert_eq!(error.code, Code::LimitReached);
    db.delete_script(kind, "s0").await.expect("deleted");
    db.script(kind, "s8", &long).await.expect("created");
}

#[tokio::test]
async fn scripts_survive_what_their_collection_survives() {
    let (dir, db) = on_disk().await;
    let db = without_key(db, "").await;
    for (kind, id) in ScriptKind::ALL.into_iter().zip(["s", "t", "f"]) {
        db.script(kind, id, "function () {}").await.expect("created");
        let rid = resource(&db.script(kind, "gone", "x=>x").await.expect("created"));
        db.delete_script(kind, &text(rid.get("_rid"))).await.expect("deleted");
    }
    let kind = ScriptKind::Function;
    let before = json::print(&resource(&db.read_script(kind, "f").await.expect("read")));
    for number in 0..50 {
        db.create(&format!(r#"{{"id":"d{number}","pk":"k{number}"}}"#)).await.expect("created");
    }
    give(&db, r#"{"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#)
        .await
        .expect("given a key");
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "indexingPolicy":{"indexingMode":"none","automatic":false}}"#;
    let replace = Operation::ReplaceCollection {
        path: collection(),
        body: Bytes::from_static(body.as_bytes()),
    };
    db.call(replace, Options::default()).await.expect("replaced");
    split(&db, "1").await.expect("split");
    assert_eq!(json::print(&resource(&db.read_script(kind, "f").await.expect("read"))), before);
    db.engine.close().await.expect("closed");
    drop(db);

    assert!(verify(open(dir.path())).await.expect("readable").is_clean());
    let db = Database::open(open(dir.path())).await;
    assert_eq!(json::print(&resource(&db.read_script(kind, "f").await.expect("read"))), before);
    assert_eq!(db.script_ids(ScriptKind::Trigger).await, ["t"]);
    // Numbers go on where they stopped, though the last one was deleted.
    let next = resource(&db.script(kind, "next", "x=>x").await.expect("created"));
    let rid = protocol::rid::ChildRid::parse(&text(next.get("_rid"))).expect("a rid");
    assert_eq!(rid.number, 3);
}

/// Changes of scripts neither stop the moving of documents nor get lost in it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scripts_change_while_their_collection_is_reshaped() {
    let db = Arc::new(without_key(Database::memory().await, "").await);
    fill(&db, 1500).await;
    let is_over = Arc::new(AtomicBool::new(false));
    let writer = tokio::spawn({
        let (db, is_over) = (Arc::clone(&db), Arc::clone(&is_over));
        async move {
            let mut last = 0;
            while !is_over.load(Ordering::Relaxed) {
                last += 1;
                let body = definition("s", &format!("x => {last}"));
                let put = db.put_script(ScriptKind::Function, body, true, Options::default());
                put.await.expect("written");
            }
            last
        }
    });
    until("scripts are written", async || !db.script_ids(ScriptKind::Function).await.is_empty())
        .await;
    give(&db, BY_DEVICE).await.expect("given a key");
    split(&db, "1").await.expect("split");
    is_over.store(true, Ordering::Relaxed);
    let last = writer.await.expect("the writer");
    let read = resource(&db.read_script(ScriptKind::Function, "s").await.expect("read"));
    assert_eq!(text(read.get("body")), format!("x => {last}"));
}

/// Rows of scripts in the store's catalog, with those of the next numbers.
async fn rows(store: &dyn store::Store) -> usize {
    let catalog = store.open("catalog", 0).await.expect("the catalog");
    let from = std::ops::Bound::Included(Bytes::from_static(b"S"));
    let to = std::ops::Bound::Excluded(Bytes::from_static(b"T"));
    let limit = store::PageLimit { entries: 1000, bytes: 1 << 20 };
    let page = catalog.snapshot().scan((from, to), store::Direction::Forward, limit).await;
    page.expect("a page").entries.len()
}

#[tokio::test]
async fn scripts_vanish_with_their_collection() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    for _ in 0..2 {
        for kind in ScriptKind::ALL {
            db.script(kind, "s", "x=>x").await.expect("created");
        }
        assert_eq!(rows(&*store).await, 6);
        db.call(Operation::DeleteCollection(collection()), Options::default()).await.expect("gone");
        assert_eq!(rows(&*store).await, 0);
        db.create_collection(r#"{"id":"c"}"#, None).await.expect("created");
        assert_eq!(db.script_ids(ScriptKind::Trigger).await, [""; 0]);
    }
    db.script(ScriptKind::Function, "s", "x=>x").await.expect("created");
    let path = DatabasePath("db".to_owned());
    db.call(Operation::DeleteDatabase(path), Options::default()).await.expect("gone");
    assert_eq!(rows(&*store).await, 0);
}

/// As a build leaves it that knows nothing of scripts and deletes a collection.
#[tokio::test]
async fn scripts_of_nobody_are_found_and_dropped() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    db.script(ScriptKind::Function, "s", "x=>x").await.expect("created");
    drop(db);
    let rid = protocol::rid::CollectionRid { database: protocol::rid::DatabaseRid(7), number: 7 };
    let orphan = rid.script(ScriptKind::Function, 1);
    let mut batch = Batch::default();
    let row = br#"{"etag":"00000001-0000-0000-0000-000000000000","ts":1,
        "properties":{"id":"s"},"body":"x=>x"}"#;
    batch.put([b"S", &orphan.bytes()[..]].concat(), row.to_vec());
    let catalog = store.open("catalog", 0).await.expect("the catalog");
    commit(&*catalog, batch).await;
    assert_eq!(rows(&*store).await, 3);

    let report = verify(Arc::clone(&store) as _).await.expect("readable");
    assert_eq!(report.problems, ["catalog: 1 rows belong to a deleted collection or database"]);
    let db = Database::open(Arc::clone(&store) as _).await;
    assert_eq!(rows(&*store).await, 2);
    assert_eq!(db.script_ids(ScriptKind::Function).await, ["s"]);
    assert!(verify(store).await.expect("readable").is_clean());
}

#[tokio::test]
async fn many_at_a_time_all_arrive() {
    let db = Arc::new(Database::memory().await.with_collection(400).await);
    let tasks: Vec<_> = (0..30)
        .map(|number| {
            let db = Arc::clone(&db);
            let id = format!("s{}", number % 20);
            tokio::spawn(async move {
                db.script(ScriptKind::StoredProcedure, &id, "x=>x").await.map_err(|it| it.code)
            })
        })
        .collect();
    let mut created = 0;
    for task in tasks {
        match task.await.expect("ended") {
            Ok(_) => created += 1,
            Err(code) => assert_eq!(code, Code::Conflict),
        }
    }
    assert_eq!(created, 20);
    assert_eq!(db.script_ids(ScriptKind::StoredProcedure).await.len(), 20);
}

#[tokio::test]
async fn triggers_are_not_left_out_silently() {
    let db = Database::memory().await.with_collection(400).await;
    let named = || vec!["t".to_owned()];
    for options in [
        Options { pre_triggers: named(), ..Options::default() },
        Options { post_triggers: named(), ..Options::default() },
    ] {
        let error = db.write(r#"{"id":"a","pk":"a"}"#, false, options).await.expect_err("refused");
        assert_eq!(error.code, Code::BadRequest);
    }
    assert!(db.all(Options::default()).await.is_empty());
}

#[tokio::test]
async fn running_one_looks_for_it_first() {
    let db = Database::memory().await.with_collection(400).await;
    let kind = ScriptKind::StoredProcedure;
    let run =
        |name: &str| Operation::ExecuteProcedure { path: path(kind, name), body: Bytes::new() };
    let error = db.call(run("s"), Options::default()).await.expect_err("no such procedure");
    assert_eq!(error.code, Code::NotFound);
}
