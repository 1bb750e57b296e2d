//! Quotas, statistics of partitions, and hot keys.

use std::sync::Arc;

use bytes::Bytes;
use engine::{Limits, RateLimit, Sizes};
use protocol::{Operation, Options, Response, request::ThroughputRequest, response::Quota};
use value::{Value, json};

use crate::{
    queries::query,
    support::{Database, collection, keyed, resource},
    throttling,
};

async fn quota(db: &Database, populate_quota: bool) -> Option<Quota> {
    let options = Options { populate_quota, ..Options::default() };
    let read = db.call(Operation::ReadCollection(collection()), options).await;
    read.expect("a collection").meta.quota
}

async fn statistics(db: &Database) -> Vec<Value> {
    let options = Options { populate_statistics: true, ..Options::default() };
    let read = db.call(Operation::ReadCollection(collection()), options).await;
    let read = resource(&read.expect("a collection"));
    read.get("statistics").as_array().expect("statistics").to_vec()
}

fn number(value: &Value, name: &str) -> u64 {
    json::print(value.get(name)).parse().expect("a whole number")
}

fn document(id: &str, key: &str, bytes: usize) -> String {
    format!(r#"{{"id":"{id}","pk":{key},"filling":"{}"}}"#, "x".repeat(bytes))
}

#[tokio::test]
async fn a_quota_tells_what_is_used() {
    let db = Database::memory().await.with_collection(25_000).await;
    assert_eq!(quota(&db, false).await, None);
    for key in 0..20 {
        db.create(&document("a", &format!("\"{key}\""), 1000)).await.expect("made");
    }
    let quota = quota(&db, true).await.expect("a quota");
    // Three partitions of 50 GB: more are made as it grows.
    assert_eq!((quota.documents_count, quota.collection_size_max_kb), (20, 150 << 20));
    assert!((20_000..30_000).contains(&quota.documents_bytes), "{quota:?}");
    assert!(quota.collection_bytes > quota.documents_bytes, "the index counts: {quota:?}");
    let partitions = db.engine.statistics();
    let sum = |figure: fn(&protocol::operator::PartitionStatistics) -> u64| {
        partitions.iter().map(figure).sum()
    };
    assert_eq!(quota.documents_bytes, sum(|it| it.bytes));
    assert_eq!(quota.collection_bytes, sum(|it| it.bytes + it.index_bytes));
}

/// What a collection has is told beside its documents, from a text that is made anew
/// when it is a second old.
#[tokio::test]
async fn documents_tell_the_usage_of_a_moment_ago() {
    let (db, watch) = throttling::fresh(RateLimit::Never).await;
    let db = db.with_collection(400).await;
    let told = |answer: &Response| answer.meta.quota_lists.clone().expect("quota and usage");
    let made = told(&db.create(&document("a", "1", 10)).await.expect("made"));
    let quota =
        "documentSize=2048;documentsSize=52428800;documentsCount=-1;collectionSize=52428800;";
    assert_eq!(made.quota, quota);
    assert!(made.usage.starts_with(b"documentSize=0;documentsSize="), "{made:?}");
    let read = told(&db.read("a", "[1]").await.expect("read"));
    assert!(Arc::ptr_eq(&read, &made), "it is not made for every answer");
    watch.pass(1000);
    let after = told(&db.read("a", "[1]").await.expect("read"));
    assert!(after.usage.windows(17).any(|text| text == b";documentsCount=1"), "{after:?}");
    told(&db.write(&document("a", "1", 20), true, keyed("[1]")).await.expect("replaced"));
    told(&db.delete("a", "[1]").await.expect("deleted"));
    let hides_usage = Options { hides_usage: true, ..keyed("[1]") };
    let made = db.write(&document("b", "1", 20), true, hides_usage).await.expect("made");
    assert_eq!(made.meta.quota_lists, None);
}

#[tokio::test]
async fn a_collection_says_whether_it_shares_throughput() {
    let db = Database::memory().await;
    let create = Operation::CreateDatabase {
        body: Bytes::from_static(br#"{"id":"db"}"#),
        upsert: false,
        throughput: ThroughputRequest { manual: Some(1000), ..ThroughputRequest::default() },
    };
    db.call(create, Options::default()).await.expect("a database");
    for (id, own) in [("c", None), ("d", Some(400))] {
        let body = throttling::KEYED.replace(r#""c""#, &format!("{id:?}"));
        let made = db.create_collection(&body, own).await.expect("a collection");
        assert_eq!(made.meta.shares_throughput, own.is_none());
    }
    let read = db.call(Operation::ReadCollection(collection()), Options::default()).await;
    let read = read.expect("a collection").meta;
    assert!(read.shares_throughput);
    assert_eq!((read.quota, read.index_progress), (None, None), "nobody asked");
}

#[tokio::test]
async fn limits_show_in_the_quota() {
    let db = Database::memory().await;
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, None).await.expect("a collection");
    // Told without being asked: there is one partition only.
    let quota_of_one = quota(&db, false).await.expect("a quota");
    assert_eq!(quota_of_one.collection_size_max_kb, 10_485_760);
    let sizes = Sizes::of(Limits::Y2016);
    let options = engine::Options { sizes, ..engine::Options::default() };
    let db = Database::with_options(options).await.with_collection(20_000).await;
    let quota_of_2016 = quota(&db, true).await.expect("a quota");
    assert_eq!(quota_of_2016.collection_size_max_kb, 250 * 1024 * 1024);
}

#[tokio::test]
async fn statistics_name_the_largest_keys() {
    let db = Database::memory().await.with_collection(25_000).await;
    for number in 0..60 {
        db.create(&document("a", &format!("\"small-{number}\""), 10)).await.expect("made");
    }
    db.create(&document("a", "\"large\"", 50_000)).await.expect("made");
    db.create(&document("b", "\"large\"", 50_000)).await.expect("made");
    db.create(&document("a", "7.5", 9000)).await.expect("made");
    db.create(r#"{"id":"a","other":true}"#).await.expect("made");
    let all = statistics(&db).await;
    assert_eq!(all.len(), 3);
    let total = |name| all.iter().map(|it| number(it, name)).sum::<u64>();
    assert_eq!(total("documentCount"), 64);
    assert_eq!(total("sampledDistinctPartitionKeyCount"), 63);
    let mut found = Vec::new();
    for (id, partition) in all.iter().enumerate() {
        assert_eq!(partition.get("id").as_str(), Some(id.to_string().as_str()));
        let keys = partition.get("partitionKeys").as_array().expect("keys");
        assert!((1..=10).contains(&keys.len()));
        let sizes: Vec<u64> = keys.iter().map(|key| number(key, "sizeInKB")).collect();
        assert!(sizes.is_sorted_by(|a, b| a >= b), "{sizes:?}");
        assert!(number(partition, "sizeInKB") >= sizes[0]);
        for key in keys {
            found.push((json::print(key.get("partitionKey")), number(key, "sizeInKB")));
        }
    }
    assert!(found.contains(&(r#"["large"]"#.to_owned(), 99)), "{found:?}");
    assert!(found.contains(&("[7.5]".to_owned(), 10)), "{found:?}");
    assert!(found.iter().all(|(key, _)| key != "[]"), "{found:?}");
}

#[tokio::test]
async fn statistics_of_an_empty_collection_are_there() {
    let db = Database::memory().await.with_collection(400).await;
    let [partition] = statistics(&db).await.try_into().expect("one partition");
    assert_eq!(
        json::print(&partition),
        r#"{"id":"0","sizeInKB":0,"documentCount":0,"sampledDistinctPartitionKeyCount":0,"partitionKeys":[]}"#
    );
}

#[tokio::test]
async fn what_is_spent_on_a_key_makes_it_hot() {
    let db = Database::memory().await.with_collection(400).await;
    db.create(&document("a", "\"read\"", 10)).await.expect("made");
    db.create(&document("a", "\"asked\"", 10)).await.expect("made");
    db.create(&document("a", "\"listed\"", 10)).await.expect("made");
    db.create(&document("a", "\"cold\"", 10)).await.expect("made");
    let mut spent = 0.0;
    for _ in 0..40 {
        spent += db.read("a", "[\"read\"]").await.expect("read").meta.charge;
        // What finds nothing is paid for, too.
        spent += db.read("b", "[\"read\"]").await.expect_err("absent").meta.charge;
    }
    for _ in 0..20 {
        query(&db, "SELECT * FROM c", &Value::Array(Vec::new()), keyed("[\"asked\"]"))
            .await
            .expect("rows");
        let list = Operation::ListDocuments(collection());
        db.call(list, keyed("[\"listed\"]")).await.expect("a page");
    }
    let partitions = db.engine.statistics();
    let hottest = &partitions[0].hottest;
    let keys: Vec<String> = hottest.iter().map(|hot| hot.key.to_string()).collect();
    assert_eq!(keys, [r#"["read"]"#, r#"["asked"]"#, r#"["listed"]"#, r#"["cold"]"#]);
    // All in the first second of the clock, which counts as a whole one; and the document was made.
    let rate = hottest[0].units_per_second;
    assert!(rate > spent && rate < spent + 12.0, "{rate} of {spent}");
}
