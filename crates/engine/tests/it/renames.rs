//! A replacement with another id renames its document, wherever it is asked for.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use engine::verify;
use protocol::{
    Code, Error, Operation, Options, Outcome, Response,
    request::{AttachmentPath, BatchMode, ChangeMode},
};
use value::Value;

use crate::stores::new_store;
use crate::{
    attachments::head,
    batches::{answers, execute},
    changes::{changes, etag},
    durability::{on_disk, open},
    random::Rng,
    support::{Database, TestClock, collection, document, items, keyed, resource, text},
    ttl::unswept,
};

const KEY: &str = r#"["x"]"#;

/// What becomes of `id` when its body says `{"id":as,…}`.
async fn rename(db: &Database, id: &str, new: &str) -> Result<Response, Error> {
    let body = format!(r#"{{"id":"{new}","pk":"x","n":2}}"#);
    db.replace(id, &body, Options::default()).await
}

fn code(answer: Result<Response, Error>) -> Result<Outcome, Code> {
    answer.map(|response| response.outcome).map_err(|error| error.code)
}

async fn rid(db: &Database, id: &str) -> String {
    text(resource(&db.read(id, KEY).await.expect(id)).get("_rid"))
}

async fn verified(db: Database, store: Arc<dyn store::Store>) {
    db.engine.close().await.expect("closed");
    let report = verify(store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

#[tokio::test]
async fn the_document_stays_and_its_old_id_is_free() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    let created = resource(&db.create(r#"{"id":"a","pk":"x","n":1}"#).await.expect("created"));
    db.create(r#"{"id":"taken","pk":"x"}"#).await.expect("created");
    db.create(r#"{"id":"b","pk":"y"}"#).await.expect("of another key");

    assert_eq!(code(rename(&db, "a", "taken").await), Err(Code::Conflict));
    let stale = Options { if_match: Some("\"0\"".to_owned()), ..Options::default() };
    let body = r#"{"id":"b","pk":"x","n":2}"#;
    assert_eq!(code(db.replace("a", body, stale).await), Err(Code::PreconditionFailed));
    assert_eq!(code(rename(&db, "gone", "b").await), Err(Code::NotFound));
    let other = r#"{"id":"b","pk":"y","n":2}"#;
    assert_eq!(
        code(db.replace("a", other, keyed(KEY)).await),
        Err(Code::PartitionKeyMismatch),
        "a document keeps its key"
    );
    assert_eq!(resource(&db.read("a", KEY).await.expect("unchanged")), created);

    let current = Options { if_match: Some(text(created.get("_etag"))), ..Options::default() };
    let renamed = db.replace("a", body, current).await.expect("renamed");
    assert_eq!(renamed.outcome, Outcome::Ok);
    let renamed = resource(&renamed);
    assert_eq!((renamed.get("id").as_str(), renamed.get("n").as_i64()), (Some("b"), Some(2)));
    assert_eq!(renamed.get("_rid"), created.get("_rid"));
    assert_eq!(renamed.get("_self"), created.get("_self"));
    assert_ne!(renamed.get("_etag"), created.get("_etag"));
    assert_eq!(resource(&db.read("b", KEY).await.expect("under its new id")), renamed);
    assert_eq!(code(db.read("a", KEY).await), Err(Code::NotFound));
    // By rid it is found as before, and can be renamed.
    let link = text(created.get("_rid"));
    assert_eq!(resource(&db.read(&link, KEY).await.expect("by rid")), renamed);
    assert_eq!(code(rename(&db, &link, "c").await), Ok(Outcome::Ok));

    db.create(r#"{"id":"a","pk":"x","n":9}"#).await.expect("the old id is free");
    assert_ne!(rid(&db, "a").await, rid(&db, "c").await);
    assert_eq!(code(rename(&db, "c", "a").await), Err(Code::Conflict));
    assert_eq!(code(db.delete("c", KEY).await), Ok(Outcome::Deleted));
    assert_eq!(code(db.read("c", KEY).await), Err(Code::NotFound));
    let mut left = db.all(Options::default()).await;
    left.sort_unstable();
    assert_eq!(left, ["a", "b", "taken"]);
    verified(db, store).await;
}

#[tokio::test]
async fn feeds_attachments_unique_keys_and_expiry_go_with_it() {
    let (store, clock) = (new_store(), TestClock::at(1_700_000_000));
    let db = Database::open_at(Arc::clone(&store) as _, unswept(), &clock).await;
    db.create_database("db").await;
    let definition = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/u"]}]},"defaultTtl":-1,
        "changeFeedPolicy":{"retentionDuration":10}}"#;
    db.create_collection(definition, Some(400)).await.expect("a collection");
    let versions = |position: &str| {
        let (collection, mode) = (collection(), ChangeMode::All);
        let options = Options { if_none_match: Some(position.to_owned()), ..Options::default() };
        db.call(Operation::ReadChanges { collection, mode, since: None }, options)
    };
    let start = etag(&versions("*").await.expect("the beginning"));
    db.create(r#"{"id":"a","pk":"x","u":1,"n":1}"#).await.expect("created");
    db.create(r#"{"id":"soon","pk":"x","u":2,"ttl":5}"#).await.expect("created");
    let (body, media) = (Bytes::from_static(b"text"), Some(head(Some("file"), "text/plain")));
    let attach =
        Operation::CreateAttachment { document: document("a"), body, media, upsert: false };
    db.call(attach, keyed(KEY)).await.expect("attached");

    let body = r#"{"id":"b","pk":"x","u":1,"n":2}"#;
    db.replace("a", body, Options::default()).await.expect("renamed, with its own value");
    let again = r#"{"id":"a","pk":"x","u":1}"#;
    assert_eq!(code(db.create(again).await), Err(Code::Conflict), "the value is still taken");
    let attachment =
        |id: &str| AttachmentPath { document: document(id), attachment: "file".to_owned() };
    let read = |id: &str| db.call(Operation::ReadAttachment(attachment(id)), keyed(KEY));
    assert_eq!(code(read("b").await), Ok(Outcome::Ok));
    assert_eq!(code(read("a").await), Err(Code::OwnerNotFound));

    // One entry for the document, under its new id.
    let page = changes(&db, None, None, Options::default()).await.expect("changes");
    let ids: Vec<String> = items(&page).iter().map(|item| text(item.get("id"))).collect();
    assert_eq!(ids, ["soon", "b"]);
    let history = items(&versions(&start).await.expect("all versions"));
    let told = |at: usize| {
        let entry: &Value = &history[at];
        let kind = text(entry.get("metadata").get("operationType"));
        (kind, entry.get("current").get("id").as_str().map(str::to_owned))
    };
    assert_eq!(told(0), ("create".to_owned(), Some("a".to_owned())));
    assert_eq!(told(2), ("replace".to_owned(), Some("b".to_owned())));
    assert_eq!(history.len(), 3);

    // An id that has expired is free; a document that is renamed expires by its new version.
    clock.set(1_700_000_010);
    let body = r#"{"id":"soon","pk":"x","u":3,"ttl":5}"#;
    db.replace("b", body, Options::default()).await.expect("renamed");
    assert_eq!(code(read("soon").await), Ok(Outcome::Ok));
    clock.set(1_700_000_020);
    assert_eq!(code(db.read("soon", KEY).await), Err(Code::NotFound));
    assert_eq!(code(db.create(again).await), Ok(Outcome::Created));
    verified(db, store).await;
}

#[tokio::test]
async fn bulk_operations_rename_too() {
    let db = Database::memory().await.with_collection(400).await;
    db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let operations = r#"[
        {"operationType":"Replace","id":"a","partitionKey":"[\"x\"]","resourceBody":{"id":"b","pk":"x"}},
        {"operationType":"Create","partitionKey":"[\"x\"]","resourceBody":{"id":"a","pk":"x"}},
        {"operationType":"Replace","id":"a","partitionKey":"[\"x\"]","resourceBody":{"id":"b","pk":"x"}},
        {"operationType":"Read","id":"b","partitionKey":"[\"x\"]"}]"#;
    let mode = BatchMode::Independent { stops_at_failure: false };
    let done = execute(&db, operations, mode, Options::default()).await.expect("answered");
    let expected = [Ok(Outcome::Ok), Ok(Outcome::Created), Err(Code::Conflict), Ok(Outcome::Ok)];
    assert_eq!(answers(&done), expected);
}

/// Two documents may change ids with each other, by way of a third.
#[tokio::test]
async fn a_transaction_can_swap_ids() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    for id in ["a", "b", "c"] {
        db.create(&format!(r#"{{"id":"{id}","pk":"x"}}"#)).await.expect("created");
    }
    let before = [rid(&db, "a").await, rid(&db, "b").await, rid(&db, "c").await];
    let swap = r#"[
        {"operationType":"Replace","id":"a","resourceBody":{"id":"t","pk":"x"}},
        {"operationType":"Read","id":"t"},
        {"operationType":"Replace","id":"b","resourceBody":{"id":"a","pk":"x"}},
        {"operationType":"Replace","id":"t","resourceBody":{"id":"b","pk":"x"}},
        {"operationType":"Delete","id":"c"},
        {"operationType":"Replace","id":"a","resourceBody":{"id":"c","pk":"x"}}]"#;
    let done = execute(&db, swap, BatchMode::Atomic, keyed(KEY)).await.expect("answered");
    assert!(answers(&done).iter().all(Result::is_ok), "{:?}", answers(&done));
    assert_eq!(code(db.read("a", KEY).await), Err(Code::NotFound));
    assert_eq!([rid(&db, "b").await, rid(&db, "c").await], [before[0].clone(), before[1].clone()]);
    let missing = r#"[
        {"operationType":"Replace","id":"b","resourceBody":{"id":"a","pk":"x"}},
        {"operationType":"Read","id":"b"}]"#;
    let done = execute(&db, missing, BatchMode::Atomic, keyed(KEY)).await.expect("answered");
    assert_eq!(answers(&done), [Err(Code::FailedDependency), Err(Code::NotFound)]);
    assert_eq!(rid(&db, "b").await, before[0]);
    verified(db, store).await;
}

/// What a model of a few ids says of an operation: whether it succeeds.
fn expected(
    model: &mut BTreeMap<String, u64>,
    operation: &(usize, String, String),
    n: u64,
) -> bool {
    let (kind, id, new) = operation;
    match kind {
        0 if model.contains_key(id) => false,
        0 => model.insert(id.clone(), n).is_none(),
        1 => model.remove(id).is_some(),
        _ if !model.contains_key(id) || id != new && model.contains_key(new) => false,
        _ => {
            let made = model.remove(id).expect("there");
            model.insert(new.clone(), made).is_none()
        }
    }
}

/// Creates, deletes and renames among five ids, at random, `made` telling who is who.
fn operations(rng: &mut Rng) -> Vec<(usize, String, String)> {
    let id = |rng: &mut Rng| ["a", "b", "c", "d", "e"][rng.below(5)].to_owned();
    (0..=rng.below(8)).map(|_| (rng.below(5), id(rng), id(rng))).collect()
}

async fn made(db: &Database) -> BTreeMap<String, u64> {
    let list = Operation::ListDocuments(collection());
    let page = db.call(list, keyed(KEY)).await.expect("a page");
    let entry = |item: &Value| {
        let made = item.get("made").as_i64().and_then(|made| u64::try_from(made).ok());
        (text(item.get("id")), made.expect("a number"))
    };
    items(&page).iter().map(entry).collect()
}

#[tokio::test]
async fn transactions_do_as_a_model_does() {
    let (dir, db) = on_disk().await;
    let db = db.with_collection(400).await;
    let mut rng = Rng::new(14);
    let (mut model, mut number) = (BTreeMap::new(), 0);
    for _ in 0..150 {
        let (mut after, mut batch) = (model.clone(), Vec::new());
        let mut is_ok = true;
        for operation in operations(&mut rng) {
            number += 1;
            // Who is renamed keeps the number that it was made with.
            let made = after.get(&operation.1).copied();
            is_ok &= expected(&mut after, &operation, number);
            let (kind, id, new) = operation;
            batch.push(match kind {
                0 => format!(
                    r#"{{"operationType":"Create","resourceBody":{{"id":"{id}","pk":"x","made":{number}}}}}"#
                ),
                1 => format!(r#"{{"operationType":"Delete","id":"{id}"}}"#),
                _ => format!(
                    r#"{{"operationType":"Replace","id":"{id}","resourceBody":{{"id":"{new}","pk":"x","made":{}}}}}"#,
                    made.unwrap_or(0)
                ),
            });
        }
        let body = format!("[{}]", batch.join(","));
        let done = execute(&db, &body, BatchMode::Atomic, keyed(KEY)).await.expect("answered");
        assert_eq!(answers(&done).iter().all(Result::is_ok), is_ok, "{body} on {model:?}");
        if is_ok {
            model = after;
        }
        assert_eq!(made(&db).await, model, "{body}");
        for id in ["a", "b", "c", "d", "e"] {
            assert_eq!(db.read(id, KEY).await.is_ok(), model.contains_key(id), "{id} after {body}");
        }
    }
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(open(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// A script's own queries see what its renames have done so far, whether they scan or use an index.
#[tokio::test]
async fn scripts_do_as_a_model_does() {
    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    db.procedure(
        "const seen = [];
         const ask = (then) => find('SELECT c.id, c.made FROM c', (all) =>
             find('SELECT VALUE c.id FROM c WHERE c.id >= \"\"', (ids) => {
                 if (ids.slice().sort().join() !== all.map((row) => row.id).sort().join()) throw new Error('index');
                 seen.push(all); then();
             }));
         const step = (at) => {
             if (at === args[0].length) return answer(seen);
             const [kind, id, next, made] = args[0][at];
             const doc = { id: kind ? next : id, pk: 'x', made };
             const link = coll.getAltLink() + '/docs/' + id;
             const then = (e) => ask(() => step(at + 1));
             must(kind === 0 ? coll.createDocument(coll.getSelfLink(), doc, then)
                 : kind === 1 ? coll.deleteDocument(link, then)
                 : coll.replaceDocument(link, doc, then));
         };
         step(0);",
    )
    .await;
    let mut rng = Rng::new(41);
    let (mut model, mut number) = (BTreeMap::new(), 0);
    for _ in 0..25 {
        let (mut calls, mut wanted) = (Vec::new(), Vec::new());
        for operation in operations(&mut rng) {
            number += 1;
            let made = match operation.0 {
                0 => number,
                _ => model.get(&operation.1).copied().unwrap_or(0),
            };
            // What fails is told to the callback, and the script goes on.
            expected(&mut model, &operation, number);
            let (kind, id, new) = operation;
            calls.push(format!(r#"[{kind},"{id}","{new}",{made}]"#));
            wanted.push(model.clone());
        }
        let arguments = format!("[[{}]]", calls.join(","));
        let answer = db.call_procedure(&arguments, keyed(KEY)).await.expect(&arguments);
        let seen = resource(&answer);
        for (seen, wanted) in seen.as_array().expect("pages").iter().zip(&wanted) {
            let rows = seen.as_array().expect("rows").iter();
            let row = |row: &Value| {
                (text(row.get("id")), row.get("made").as_i64().expect("a number").unsigned_abs())
            };
            assert_eq!(&rows.map(row).collect::<BTreeMap<_, _>>(), wanted, "{arguments}");
        }
        assert_eq!(made(&db).await, model, "{arguments}");
    }
    verified(db, store).await;
}

/// Ids in links of scripts may contain slashes.
#[tokio::test]
async fn ids_may_contain_what_ends_a_segment() {
    let db = Database::memory().await.with_collection(400).await;
    for id in ["a/b", r"c\\d", "e?f#g", "/", "h "] {
        db.create(&format!(r#"{{"id":"{id}","pk":"x"}}"#)).await.expect(id);
        let id = id.replace(r"\\", r"\");
        assert_eq!(text(resource(&db.read(&id, KEY).await.expect(&id)).get("id")), id);
    }
    db.procedure(
        "const of = (id) => coll.getAltLink() + '/docs/' + id;
         must(coll.readDocument(of('a/b'), (e, doc) => {
             if (e) throw e;
             doc.id = 'a/b/c';
             must(coll.replaceDocument(of('a/b'), doc, (e, doc) => {
                 if (e) throw e;
                 must(coll.readDocument(of('a/b/c'), (e, doc) => { if (e) throw e; answer(doc.id); }));
             }));
         }));",
    )
    .await;
    let answer = db.call_procedure("[]", keyed(KEY)).await.expect("run");
    assert_eq!(text(&resource(&answer)), "a/b/c");
    let refused = |id: &str| format!(r#"{{"id":"{id}","pk":"x"}}"#);
    for bad in [String::new(), "x".repeat(1024), r"a\u0000".to_owned()] {
        assert_eq!(code(db.create(&refused(&bad)).await), Err(Code::BadRequest));
    }
}
