//! Feeds: pages concatenated are the whole, whatever their size, and scopes are exact.

use std::collections::BTreeSet;

use protocol::{Code, Operation, Options};
use value::partition_key::{Epk, Hashing, PartitionKey};

use crate::support::{Database, collection, keyed};

async fn filled() -> Database {
    let db = Database::memory().await.with_collection(25_000).await;
    for number in 0..120 {
        let body = format!(r#"{{"id":"d{number}","pk":"k{}"}}"#, number % 17);
        db.create(&body).await.expect("created");
    }
    db
}

#[tokio::test]
async fn pages_concatenated_are_the_whole() {
    let db = filled().await;
    let whole = db.all(Options { max_item_count: Some(1000), ..Options::default() }).await;
    assert_eq!(whole.len(), 120);
    assert_eq!(whole.iter().collect::<BTreeSet<_>>().len(), 120);
    for size in [1, 2, 7, 40, 60, 119, 120, 121] {
        let options = Options { max_item_count: Some(size), ..Options::default() };
        assert_eq!(db.all(options).await, whole, "pages of {size}");
    }
}

#[tokio::test]
async fn a_key_s_feed_holds_its_documents_in_insertion_order() {
    let db = filled().await;
    for key in 0..17 {
        let options = Options { max_item_count: Some(3), ..keyed(&format!(r#"["k{key}"]"#)) };
        let expected: Vec<String> = (0..120)
            .filter(|number| number % 17 == key)
            .map(|number| format!("d{number}"))
            .collect();
        assert_eq!(db.all(options).await, expected);
    }
    assert!(db.all(keyed(r#"["absent"]"#)).await.is_empty());
}

#[tokio::test]
async fn ranges_and_effective_key_ranges_partition_the_feed() {
    let db = filled().await;
    let whole = db.all(Options::default()).await;
    let mut by_range = Vec::new();
    for range in ["0", "1", "2"] {
        let range_id = Some(range.to_owned());
        by_range.extend(db.all(Options { range_id, ..Options::default() }).await);
    }
    assert_eq!(by_range, whole);
    // A cut in the middle of a slot, at the key of a document.
    let key = PartitionKey::parse_header(r#"["k3"]"#).expect("a key");
    let cut = key.effective(Hashing::V2);
    let half =
        |min: Epk, max: Epk| db.all(Options { epk_range: Some((min, max)), ..Options::default() });
    let below = half(Epk::min(), cut.clone()).await;
    let above = half(cut, Epk::max()).await;
    assert!(!below.contains(&"d3".to_owned()) && above.contains(&"d3".to_owned()));
    // Documents that were created one after the other are cut apart.
    let sorted = |mut ids: Vec<String>| {
        ids.sort_unstable();
        ids
    };
    assert_eq!(sorted([below, above].concat()), sorted(whole));
    let gone = Options { range_id: Some("9".to_owned()), ..Options::default() };
    let refused = db.call(Operation::ListDocuments(collection()), gone).await;
    assert_eq!(refused.expect_err("gone").code, Code::PartitionGone);
}

#[tokio::test]
async fn tokens_of_other_feeds_are_refused() {
    let db = filled().await;
    let page = |options: Options| db.call(Operation::ListDocuments(collection()), options);
    let first = page(Options { max_item_count: Some(5), ..Options::default() }).await;
    let token = first.expect("a page").continuation.expect("more");
    let of_another_format = format!("B{}", &token[1..]);
    for bad in ["", "x", &token[1..], &of_another_format] {
        let options = Options { continuation: Some(bad.to_owned()), ..Options::default() };
        assert_eq!(page(options).await.expect_err("refused").code, Code::BadRequest, "{bad}");
    }
    let options = Options { continuation: Some(token), ..Options::default() };
    let other = db.call(Operation::ListOffers, options).await;
    assert_eq!(other.expect_err("another feed").code, Code::BadRequest);
}

/// A database with one document of the key `["t","wanted"]` among many large ones of its slot.
async fn crowded(policy: &str) -> Database {
    let db = Database::memory().await;
    db.create_database("db").await;
    let key = r#"{"paths":["/t","/u"],"kind":"MultiHash","version":2}"#;
    let body = format!(r#"{{"id":"c","partitionKey":{key},"indexingPolicy":{policy}}}"#);
    db.create_collection(&body, None).await.expect("created");
    let padding = "x".repeat(1 << 20);
    for number in 0..40 {
        let user = if number == 39 { "wanted" } else { "other" };
        let body = format!(r#"{{"id":"d{number}","t":"t","u":"{user}","p":"{padding}"}}"#);
        db.create(&body).await.expect("created");
    }
    db
}

/// Without an index, looking for one key in a full slot goes on over several pages.
#[tokio::test]
async fn long_scans_stop_and_go_on() {
    let db = crowded(r#"{"indexingMode":"none","automatic":false}"#).await;
    let first = db.call(Operation::ListDocuments(collection()), keyed(r#"["t","wanted"]"#)).await;
    let first = first.expect("a page");
    assert!(crate::support::items(&first).is_empty() && first.continuation.is_some());
    assert!(first.meta.charge > 100.0, "looking costs: {}", first.meta.charge);
    assert_eq!(db.all(keyed(r#"["t","wanted"]"#)).await, ["d39"]);
}

#[tokio::test]
async fn the_index_finds_a_key_in_a_full_slot() {
    let db = crowded("{}").await;
    let page = db.call(Operation::ListDocuments(collection()), keyed(r#"["t","wanted"]"#)).await;
    let page = page.expect("a page");
    assert_eq!((crate::support::items(&page).len(), page.continuation), (1, None));
}

#[tokio::test]
async fn hierarchical_keys_are_read_by_prefix() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let body =
        r#"{"id":"c","partitionKey":{"paths":["/t","/u","/s"],"kind":"MultiHash","version":2}}"#;
    db.create_collection(body, Some(25_000)).await.expect("created");
    for number in 0..30 {
        let (tenant, user) = (number % 3, number % 5);
        let body = format!(r#"{{"id":"d{number}","t":"t{tenant}","u":"u{user}","s":{number}}}"#);
        db.create(&body).await.expect("created");
    }
    assert_eq!(db.all(keyed(r#"["t1"]"#)).await.len(), 10);
    assert_eq!(db.all(keyed(r#"["t1","u1"]"#)).await, ["d1", "d16"]);
    assert_eq!(db.all(keyed(r#"["t1","u1",16]"#)).await, ["d16"]);
    db.read("d16", r#"["t1","u1",16]"#).await.expect("a full key");
    let prefix = db.read("d16", r#"["t1","u1"]"#).await;
    assert_eq!(prefix.expect_err("point reads need it all").code, Code::PartitionKeyMismatch);
}
