//! Client encryption keys, and the policies that name them; conflicts, which there are none of.

use std::sync::Arc;

use bytes::Bytes;
use engine::verify;
use protocol::{
    Code, Error, Operation, Options, Outcome, Response,
    query::{QueryFeed, QuerySource},
    request::{CollectionPath, DatabasePath, EncryptionKeyPath},
};
use value::json;

use crate::stores::new_store;
use crate::{
    durability::{on_disk, open},
    support::{Database, collection, items, keyed, resource, text},
};

fn database() -> DatabasePath {
    DatabasePath("db".to_owned())
}

fn path(key: &str) -> EncryptionKeyPath {
    EncryptionKeyPath { database: database(), key: key.to_owned() }
}

fn definition(id: &str, wrapped: &str) -> Bytes {
    Bytes::from(format!(
        r#"{{"id":"{id}","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":"{wrapped}","keyWrapMetadata":{{"type":"AZURE_KEY_VAULT","name":"n","value":"https://vault","algorithm":"RSA-OAEP"}},"more":1.0}}"#
    ))
}

impl Database {
    async fn key(&self, body: Bytes, upsert: bool) -> Result<Response, Error> {
        let create = Operation::CreateEncryptionKey { database: database(), body, upsert };
        self.call(create, Options::default()).await
    }

    async fn read_key(&self, name: &str) -> Result<Response, Error> {
        self.call(Operation::ReadEncryptionKey(path(name)), Options::default()).await
    }

    async fn replace_key(
        &self,
        name: &str,
        body: Bytes,
        options: Options,
    ) -> Result<Response, Error> {
        self.call(Operation::ReplaceEncryptionKey { path: path(name), body }, options).await
    }
}

#[tokio::test]
async fn the_life_of_a_key() {
    let db = Database::memory().await.with_collection(400).await;
    let created = db.key(definition("k", "AQID"), false).await.expect("created");
    assert_eq!(created.outcome, Outcome::Created);
    assert_eq!(created.meta.owner.as_ref().expect("an owner").name_path, "dbs/db");
    let key = resource(&created);
    let rid = text(key.get("_rid"));
    let owner = protocol::rid::EncryptionKeyRid::parse(&rid).expect("a rid").database;
    assert_eq!(text(key.get("_self")), format!("dbs/{owner}/clientencryptionkeys/{rid}/"));
    assert_eq!(json::print(key.get("more")), "1.0", "kept as it was given");
    for name in ["k", &rid] {
        let read = db.read_key(name).await.expect("read");
        assert_eq!(json::print(&resource(&read)), json::print(&key));
    }
    let etag = created.etag.clone().expect("an etag");
    let known = Options { if_none_match: Some(etag.clone()), ..Options::default() };
    let unchanged = db.call(Operation::ReadEncryptionKey(path("k")), known).await;
    assert_eq!(unchanged.expect("read").outcome, Outcome::NotModified);

    for taken in ["k", &rid] {
        let refused = db.key(definition(taken, "AQID"), false).await.expect_err("taken");
        assert_eq!(refused.code, Code::Conflict);
    }
    // Wrapped anew, only by who knows the version.
    let known = Options { if_match: Some(etag.clone()), ..Options::default() };
    let replaced = db.replace_key("k", definition("k", "BAUG"), known.clone()).await;
    let replaced = resource(&replaced.expect("replaced"));
    assert_eq!(text(replaced.get("_rid")), rid);
    assert_eq!(text(replaced.get("wrappedDataEncryptionKey")), "BAUG");
    let late = db.replace_key("k", definition("k", "BAUG"), known).await.expect_err("late");
    assert_eq!(late.code, Code::PreconditionFailed);
    let renamed = db.replace_key("k", definition("l", "BAUG"), Options::default()).await;
    assert_eq!(renamed.expect_err("renamed").code, Code::BadRequest);
    let missing = db.replace_key("l", definition("l", "BAUG"), Options::default()).await;
    assert_eq!(missing.expect_err("missing").code, Code::NotFound);
    let upserted = db.key(definition("k", "CAUG"), true).await.expect("upserted");
    assert_eq!(upserted.outcome, Outcome::Ok);
    let upserted = db.key(definition("l", "CAUG"), true).await.expect("upserted");
    assert_eq!(upserted.outcome, Outcome::Created);

    let feed = Operation::ListEncryptionKeys(database());
    let one = Options { max_item_count: Some(1), ..Options::default() };
    let first = db.call(feed.clone(), one.clone()).await.expect("a page");
    assert_eq!(text(items(&first)[0].get("id")), "k");
    let next = Options { continuation: first.continuation, ..one };
    let second = db.call(feed, next).await.expect("a page");
    assert_eq!(text(items(&second)[0].get("id")), "l");
    assert_eq!(second.continuation, None);

    let query = QuerySource::new("SELECT VALUE r.id FROM r WHERE r.id = 'l'");
    let query = Operation::Query { feed: QueryFeed::EncryptionKeys(database()), query };
    let rows = items(&db.call(query, Options::default()).await.expect("rows"));
    assert_eq!(rows.iter().map(text).collect::<Vec<_>>(), ["l"]);
}

#[tokio::test]
async fn bad_keys() {
    let db = Database::memory().await;
    let missing = db.key(definition("k", ""), false).await.expect_err("no database");
    assert_eq!(missing.code, Code::OwnerNotFound);
    db.create_database("db").await;
    let good = String::from_utf8(definition("k", "AQID").to_vec()).expect("text");
    for bad in [
        String::new(),
        "[]".to_owned(),
        good.replace(r#""k""#, "1"),
        good.replace("\"id\"", "\"x\""),
        good.replace("encryptionAlgorithm", "x"),
        good.replace("wrappedDataEncryptionKey", "x"),
        good.replace(r#""AQID""#, "[1,2,3]"),
        good.replace("keyWrapMetadata", "x"),
        good.replace(r#""keyWrapMetadata":{"#, r#""keyWrapMetadata":1,"y":{"#),
    ] {
        let error = db.key(Bytes::from(bad.clone()), false).await.expect_err(&bad);
        assert_eq!(error.code, Code::BadRequest, "{bad}");
    }
    let large = db.key(definition("k", &"A".repeat(70_000)), false).await.expect_err("large");
    assert_eq!(large.code, Code::TooLarge);
    for number in 0..20 {
        db.key(definition(&format!("k{number}"), "AQID"), false).await.expect("created");
    }
    let full = db.key(definition("k20", "AQID"), false).await.expect_err("full");
    assert_eq!(full.code, Code::LimitReached);
    db.key(definition("k3", "AQID"), true).await.expect("there is room for what is there");
}

#[tokio::test]
async fn policies_name_keys_of_their_database() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let body = |key: &str| {
        format!(
            r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash"}},"clientEncryptionPolicy":{{"includedPaths":[{{"path":"/a","clientEncryptionKeyId":"{key}","encryptionType":"Randomized","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256"}}],"policyFormatVersion":1}}}}"#
        )
    };
    let error = db.create_collection(&body("unknownKey"), None).await.expect_err("unknown");
    assert_eq!(error.code, Code::BadRequest);
    assert_eq!(error.message, "ClientEncryptionKey with id '[unknownKey]' does not exist.");
    let key = resource(&db.key(definition("k", "AQID"), false).await.expect("created"));
    let by_rid = db.create_collection(&body(&text(key.get("_rid"))), None).await;
    assert_eq!(by_rid.expect_err("clients look for ids").code, Code::BadRequest);
    let made = resource(&db.create_collection(&body("k"), None).await.expect("created"));
    let policy = made.get("clientEncryptionPolicy");
    assert_eq!(text(policy.get("includedPaths").as_array().expect("paths")[0].get("path")), "/a");
    // What was read can be put back, and nothing else.
    let replace =
        |body: String| Operation::ReplaceCollection { path: collection(), body: body.into() };
    db.call(replace(json::print(&made)), Options::default()).await.expect("replaced");
    let changed = db.call(replace(body("other")), Options::default()).await.expect_err("changed");
    assert!(changed.message.contains("cannot be changed as part of collection replace"));
}

/// Rows of keys in the store's catalog, with that of the next number.
async fn rows(store: &dyn store::Store) -> usize {
    let catalog = store.open("catalog", 0).await.expect("the catalog");
    let from = std::ops::Bound::Included(Bytes::from_static(b"E"));
    let to = std::ops::Bound::Excluded(Bytes::from_static(b"F"));
    let limit = store::PageLimit { entries: 1000, bytes: 1 << 20 };
    let page = catalog.snapshot().scan((from, to), store::Direction::Forward, limit).await;
    page.expect("a page").entries.len()
}

#[tokio::test]
async fn keys_survive_and_vanish_with_their_database() {
    let (dir, db) = on_disk().await;
    let db = db.with_collection(400).await;
    let before = resource(&db.key(definition("k", "AQID"), false).await.expect("created"));
    db.engine.close().await.expect("closed");
    drop(db);
    assert!(verify(open(dir.path())).await.expect("readable").is_clean());
    let db = Database::open(open(dir.path())).await;
    let after = resource(&db.read_key("k").await.expect("read"));
    assert_eq!(json::print(&after), json::print(&before));
    let next = resource(&db.key(definition("l", "AQID"), false).await.expect("created"));
    let rid = protocol::rid::EncryptionKeyRid::parse(&text(next.get("_rid"))).expect("a rid");
    assert_eq!(rid.number, 2);
    db.engine.close().await.expect("closed");

    let store = new_store();
    let db = Database::open(Arc::clone(&store) as _).await.with_collection(400).await;
    db.key(definition("k", "AQID"), false).await.expect("created");
    assert_eq!(rows(&*store).await, 2);
    db.call(Operation::DeleteDatabase(database()), Options::default()).await.expect("deleted");
    assert_eq!(rows(&*store).await, 0);
    db.create_database("db").await;
    assert_eq!(db.read_key("k").await.expect_err("gone").code, Code::NotFound);
}

#[tokio::test]
async fn there_are_no_conflicts() {
    let db = Database::memory().await.with_collection(400).await;
    let list = || Operation::ListConflicts(collection());
    let page = db.call(list(), Options::default()).await.expect("a page");
    assert_eq!((items(&page).len(), page.continuation), (0, None));
    let query = QuerySource::new("SELECT * FROM c");
    let query = Operation::Query { feed: QueryFeed::Conflicts(collection()), query };
    let refused = db.call(query.clone(), Options::default()).await.expect_err("of all keys");
    assert_eq!(refused.code, Code::BadRequest);
    assert!(items(&db.call(query, keyed(r#"["a"]"#)).await.expect("rows")).is_empty());
    let conflict = || "x".to_owned();
    for operation in [
        Operation::ReadConflict { collection: collection(), conflict: conflict() },
        Operation::DeleteConflict { collection: collection(), conflict: conflict() },
    ] {
        let error = db.call(operation.clone(), Options::default()).await.expect_err("no key");
        assert_eq!(error.code, Code::BadRequest);
        let error = db.call(operation, keyed(r#"["a"]"#)).await.expect_err("none");
        assert_eq!(error.code, Code::NotFound);
    }
    let nowhere = CollectionPath { collection: "nowhere".to_owned(), ..collection() };
    let error = db.call(Operation::ListConflicts(nowhere), Options::default()).await;
    assert_eq!(error.expect_err("no collection").code, Code::OwnerNotFound);
    let foreign = Options { continuation: Some("AAAA".to_owned()), ..Options::default() };
    let error = db.call(list(), foreign).await.expect_err("no token of this feed");
    assert_eq!(error.code, Code::BadRequest);
}
