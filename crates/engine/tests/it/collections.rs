//! Databases, collections, ranges and offers.

use bytes::Bytes;
use protocol::{
    Code, Operation, Options, Outcome,
    request::{CollectionPath, DatabasePath},
};

use crate::support::{Database, collection, items, resource, text};

#[tokio::test]
async fn names_and_rids_name_the_same_resources() {
    let db = Database::memory().await.with_collection(400).await;
    let read = |database: String, name: String| {
        let path = CollectionPath { database: DatabasePath(database), collection: name };
        db.call(Operation::ReadCollection(path), Options::default())
    };
    let by_name = resource(&read("db".to_owned(), "c".to_owned()).await.expect("by name"));
    let link = text(by_name.get("_self"));
    let parts: Vec<&str> = link.split('/').collect();
    let by_rid = read(parts[1].to_owned(), parts[3].to_owned()).await.expect("by rid");
    assert_eq!(text(resource(&by_rid).get("id")), "c");
    assert_eq!(
        read("db".to_owned(), "nope".to_owned()).await.expect_err("absent").code,
        Code::NotFound
    );
    assert_eq!(
        read("nope".to_owned(), "c".to_owned()).await.expect_err("absent").code,
        Code::OwnerNotFound
    );
}

#[tokio::test]
async fn throughput_decides_the_partitions() {
    let db = Database::memory().await.with_collection(25_000).await;
    let list = |known: Option<String>| {
        let list = Operation::ListPartitionKeyRanges { path: collection(), known };
        db.call(list, Options::default())
    };
    let ranges = list(None).await.expect("ranges");
    let items = items(&ranges);
    assert_eq!(items.len(), 3);
    assert_eq!(text(items[0].get("minInclusive")), "");
    assert_eq!(text(items[2].get("maxExclusive")), "FF");
    for pair in items.windows(2) {
        assert_eq!(text(pair[0].get("maxExclusive")), text(pair[1].get("minInclusive")));
    }
    let again = list(ranges.etag.clone()).await.expect("known");
    assert_eq!(again.outcome, Outcome::NotModified);
    assert_eq!(again.etag, ranges.etag);
}

#[tokio::test]
async fn a_reused_name_is_another_collection() {
    let db = Database::memory().await.with_collection(400).await;
    db.create(r#"{"id":"a","pk":"x"}"#).await.expect("created");
    let read = || db.call(Operation::ReadCollection(collection()), Options::default());
    let rid = text(resource(&read().await.expect("read")).get("_rid"));
    db.call(Operation::DeleteCollection(collection()), Options::default()).await.expect("deleted");
    assert_eq!(
        db.create(r#"{"id":"a","pk":"x"}"#).await.expect_err("gone").code,
        Code::OwnerNotFound
    );
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#;
    db.create_collection(body, None).await.expect("again");
    assert!(db.all(Options::default()).await.is_empty());
    let stale = Options { intended_collection_rid: Some(rid), ..Options::default() };
    let refused = db.call(Operation::ListDocuments(collection()), stale).await;
    assert_eq!(refused.expect_err("stale").code, Code::CollectionRidMismatch);
}

#[tokio::test]
async fn collections_without_a_key_take_old_and_new_clients() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let created = db.create_collection(r#"{"id":"c"}"#, None).await.expect("created");
    let key = resource(&created).get("partitionKey").get("systemKey").as_bool();
    assert_eq!(key, Some(true));
    db.create(r#"{"id":"a"}"#).await.expect("created");
    for header in ["[]", "[{}]"] {
        db.read("a", header).await.expect("read");
    }
    let read = Operation::ReadDocument(crate::support::document("a"));
    db.call(read, Options::default()).await.expect("no header at all");
    let refused = db.create_collection(r#"{"id":"d"}"#, Some(10_100)).await;
    assert_eq!(refused.expect_err("too much").code, Code::BadRequest);
}

#[tokio::test]
async fn offers_follow_their_collections() {
    let db = Database::memory().await.with_collection(1000).await;
    let offers = || db.call(Operation::ListOffers, Options::default());
    let offer = items(&offers().await.expect("offers")).remove(0);
    assert_eq!(offer.get("content").get("offerThroughput").as_i64(), Some(1000));
    let rid = text(offer.get("id"));
    let replace = |rate: i64| {
        let mut body = offer.clone();
        let content = body.as_object_mut().and_then(|body| body.get_mut("content"));
        let content = content.and_then(value::Value::as_object_mut).expect("content");
        content.insert("offerThroughput", rate);
        let body = Bytes::from(value::json::print(&body));
        db.call(
            Operation::ReplaceOffer { offer: rid.clone(), body, migration: None },
            Options::default(),
        )
    };
    let replaced = replace(2000).await.expect("replaced");
    assert_eq!(resource(&replaced).get("content").get("offerThroughput").as_i64(), Some(2000));
    assert_eq!(replace(50).await.expect_err("too low").code, Code::BadRequest);
    db.call(Operation::DeleteCollection(collection()), Options::default()).await.expect("deleted");
    assert!(items(&offers().await.expect("offers")).is_empty());
}

#[tokio::test]
async fn deleting_a_database_deletes_all_in_it() {
    let db = Database::memory().await.with_collection(25_000).await;
    let path = || DatabasePath("db".to_owned());
    db.call(Operation::DeleteDatabase(path()), Options::default()).await.expect("deleted");
    let read = db.call(Operation::ReadDatabase(path()), Options::default()).await;
    assert_eq!(read.expect_err("gone").code, Code::NotFound);
    assert!(db.engine.statistics().is_empty());
}

/// The version of the ranges names the collection: a name that is used again starts afresh.
#[tokio::test]
async fn versions_of_ranges_do_not_outlive_the_database() {
    let db = Database::memory().await.with_collection(400).await;
    let ranges = |known: Option<String>| {
        let list = Operation::ListPartitionKeyRanges { path: collection(), known };
        db.call(list, Options::default())
    };
    let old = ranges(None).await.expect("ranges").etag;
    let path = DatabasePath("db".to_owned());
    db.call(Operation::DeleteDatabase(path), Options::default()).await.expect("deleted");
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    db.create_collection(body, Some(25_000)).await.expect("again");
    let fresh = ranges(old).await.expect("ranges");
    assert_eq!(items(&fresh).len(), 3);
    let one = Operation::ReadPartitionKeyRange { path: collection(), range: "2".to_owned() };
    let one = resource(&db.call(one, Options::default()).await.expect("a range"));
    assert_eq!(text(one.get("maxExclusive")), "FF");
}

/// A name that is another resource's rid would take over its links.
#[tokio::test]
async fn nothing_is_named_like_another_s_rid() {
    let db = Database::memory().await.with_collection(400).await;
    let read = db.call(Operation::ReadCollection(collection()), Options::default()).await;
    let link = text(resource(&read.expect("read")).get("_self"));
    let rids: Vec<&str> = link.split('/').collect();
    let create = Operation::CreateDatabase {
        body: Bytes::from(format!(r#"{{"id":"{}"}}"#, rids[1])),
        upsert: true,
        throughput: protocol::request::ThroughputRequest::default(),
    };
    let refused = db.call(create, Options::default()).await;
    assert_eq!(refused.expect_err("refused").code, Code::Conflict);
    let body = format!(r#"{{"id":"{}","partitionKey":{{"paths":["/pk"]}}}}"#, rids[3]);
    let refused = db.create_collection(&body, None).await;
    assert_eq!(refused.expect_err("refused").code, Code::Conflict);
    db.create_database("AAAAAA==").await;
}

/// What an offer may go down to depends on the most it ever had.
#[tokio::test]
async fn offers_keep_their_minimum() {
    let db = Database::memory().await.with_collection(100_000).await;
    let offer =
        items(&db.call(Operation::ListOffers, Options::default()).await.expect("offers")).remove(0);
    let read = Operation::ReadOffer(text(offer.get("id")));
    let least = db.call(read, Options::default()).await.expect("read").meta.min_throughput;
    assert_eq!(least, Some(1000));
    let id = text(offer.get("id"));
    let body = Bytes::from(format!(r#"{{"id":"{id}","content":{{"offerThroughput":900}}}}"#));
    let replace = Operation::ReplaceOffer { offer: text(offer.get("id")), body, migration: None };
    let refused = db.call(replace, Options::default()).await;
    assert_eq!(refused.expect_err("too low").code, Code::BadRequest);
}
