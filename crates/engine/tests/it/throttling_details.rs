//! What throughput is asked for and charged where more than one partition, or a failure, is involved.

use std::{sync::Arc, time::Duration};

use bytes::Bytes;
use engine::{Engine, RateLimit};
use protocol::{
    Code, Operation, Options,
    query::{QueryFeed, QuerySource},
    request::ThroughputRequest,
};

use crate::stores::new_store;
use crate::{
    gated::GatedStore,
    support::{Database, collection, text},
    throttling::{KEYED, Watch, body, exhaust, fresh, offer, open, partition, query},
};

/// A database of one collection, whose queries end each page at once.
async fn impatient(rate: i64, query_timeout: Duration) -> (Database, Arc<Watch>) {
    let watch = Arc::new(Watch::default());
    let options = engine::Options {
        rate_limit: RateLimit::Provisioned,
        query_timeout,
        page_time: Duration::ZERO,
        ..engine::Options::default()
    };
    let engine = Engine::open(new_store(), options, Arc::clone(&watch) as _).await;
    (Database { engine: engine.expect("opens") }.with_collection(rate).await, watch)
}

async fn split_largest(database: &Database) {
    let statistics = database.engine.statistics();
    let largest = statistics.iter().max_by_key(|it| it.documents).expect("a partition");
    let range = largest.range_id.to_string();
    let split = Operation::SplitPartition { path: collection(), range };
    database.call(split, Options::default()).await.expect("two partitions");
}

fn total(
    database: &Database,
    figure: impl Fn(&protocol::operator::PartitionStatistics) -> u64,
) -> u64 {
    database.engine.statistics().iter().map(figure).sum()
}

#[tokio::test]
async fn a_query_that_fails_costs_what_it_has_read() {
    let (database, watch) = impatient(400, Duration::ZERO).await;
    for id in 0..20 {
        database.create(&body(id, 1)).await.expect("a document");
    }
    watch.pass(10_000);
    let mut charged = 0.0;
    for _ in 0..5 {
        let failed = query(&database, "SELECT c.id, COUNT(1) AS n FROM c GROUP BY c.id").await;
        let failed = failed.expect_err("it has no time at all");
        assert_eq!(failed.code, Code::Timeout, "{}", failed.message);
        assert!(failed.meta.charge >= 1.4, "{}", failed.meta.charge);
        charged += failed.meta.charge;
    }
    watch.pass(1000);
    let used = partition(&database, 0).used_per_second;
    assert!((used - charged).abs() < 0.01, "{used} of {charged}");
}

#[tokio::test]
async fn a_shared_budget_is_asked_once_by_a_query_over_many_partitions() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let create = Operation::CreateDatabase {
        body: Bytes::from_static(br#"{"id":"db"}"#),
        upsert: false,
        throughput: ThroughputRequest { manual: Some(400), ..ThroughputRequest::default() },
    };
    database.call(create, Options::default()).await.expect("a database");
    database.create_collection(KEYED, None).await.expect("a collection");
    for key in 0..40 {
        database.create(&body(key, key)).await.expect("a document");
    }
    for _ in 0..2 {
        split_largest(&database).await;
    }
    watch.pass(10_000);
    let throttled = |database: &Database| total(database, |it| it.throttled);
    let admitted = |database: &Database| total(database, |it| it.admitted);
    let (before, all) = (throttled(&database), admitted(&database));
    let page = query(&database, "SELECT * FROM c ORDER BY c.id").await.expect("a page");
    assert!(page.meta.charge > 30.0);
    assert_eq!((throttled(&database), admitted(&database)), (before, all + 3));
    let (spent, _) = exhaust(&database, 1).await;
    assert!((400.0 - page.meta.charge..415.0 - page.meta.charge).contains(&spent), "{spent}");
    let before = throttled(&database);
    query(&database, "SELECT * FROM c ORDER BY c.id").await.expect_err("spent");
    assert_eq!(throttled(&database), before + 1);
}

#[tokio::test]
async fn a_split_neither_forgives_a_debt_nor_refills() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    for key in 0..30 {
        database.create(&body(key, key)).await.expect("a document");
    }
    watch.pass(1000);
    let mut spent = 0.0;
    for _ in 0..2 {
        spent += exhaust(&database, 1).await.0;
        split_largest(&database).await;
    }
    spent += exhaust(&database, 1).await.0;
    assert!((400.0..420.0).contains(&spent), "{spent}");
    // A merge brings together what is left.
    let first = partition(&database, 0).range_id.to_string();
    let merge = Operation::MergePartitions { path: collection(), range: first };
    database.call(merge, Options::default()).await.expect("one less");
    spent += exhaust(&database, 1).await.0;
    assert!(spent < 800.0, "{spent}");
}

#[tokio::test]
async fn a_page_is_paid_for_where_it_is_read() {
    let (database, watch) = impatient(4000, Duration::from_mins(1)).await;
    for key in 0..40 {
        database.create(&body(key, key)).await.expect("a document");
    }
    watch.pass(1000);
    let count = async |range: u32, continuation: Option<String>| {
        let body = QuerySource::new("SELECT VALUE COUNT(c.pk) FROM c WHERE c.pk != 7");
        let options =
            Options { range_id: Some(range.to_string()), continuation, ..Options::default() };
        let feed = QueryFeed::Documents(collection());
        database.call(Operation::Query { feed, query: body }, options).await
    };
    let page = count(0, None).await.expect("a page");
    let token = page.continuation.expect("the page ended at once");
    split_largest(&database).await;
    let children: Vec<u32> = database.engine.statistics().iter().map(|it| it.range_id).collect();
    // The first child answers for both. Each pays for the pages that come to it.
    let admitted =
        || database.engine.statistics().iter().map(|it| it.admitted).collect::<Vec<u64>>();
    let mut page = count(children[0], Some(token)).await.expect("another page");
    assert_eq!(admitted(), [1, 0]);
    while let Some(token) = page.continuation {
        page = count(children[0], Some(token)).await.expect("another page");
    }
    assert!(admitted().iter().all(|admitted| *admitted > 0), "{:?}", admitted());
}

#[tokio::test]
async fn metadata_that_is_refused_costs_nothing_and_what_is_not_there_costs_the_look() {
    let (database, _watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    let rid = text(offer(&database).await.get("id"));
    let replace = async |offer: &str, rate: u32| {
        let body =
            Bytes::from(format!(r#"{{"id":"{offer}","content":{{"offerThroughput":{rate}}}}}"#));
        let replace = Operation::ReplaceOffer { offer: offer.to_owned(), body, migration: None };
        database.call(replace, Options::default()).await
    };
    let cost = |expected: f64, actual: f64| assert!((expected - actual).abs() < 1e-9, "{actual}");
    cost(0.0, replace(&rid, 450).await.expect_err("no step").meta.charge);
    cost(1.0, replace("AAAB", 500).await.expect_err("absent").meta.charge);
    cost(4.95, replace(&rid, 500).await.expect("a new rate").meta.charge);
    let other = KEYED.replace(r#""c""#, r#""x""#);
    let create = async |body: &str, rate| database.create_collection(body, Some(rate)).await;
    cost(0.0, create(&other, 450).await.expect_err("no step").meta.charge);
    cost(0.0, create("{}", 400).await.expect_err("no id").meta.charge);
    cost(1.0, create(KEYED, 400).await.expect_err("it exists").meta.charge);
    cost(4.95, create(&other, 400).await.expect("a collection").meta.charge);
    let create = Operation::CreateDatabase {
        body: Bytes::from_static(br#"{"id":"other"}"#),
        upsert: false,
        throughput: ThroughputRequest { manual: Some(1), ..ThroughputRequest::default() },
    };
    let refused = database.call(create, Options::default()).await.expect_err("too little");
    cost(0.0, refused.meta.charge);
}

#[tokio::test]
async fn a_write_that_the_storage_has_no_room_for_counts_as_throttled() {
    let store = GatedStore::new();
    let gate = Arc::clone(&store.gate);
    let (database, _watch) = open(Arc::new(store), RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    gate.set_behind(true);
    let refused = database.create(&body(1, 1)).await.expect_err("the storage is behind");
    assert_eq!((refused.code, refused.meta.retry_after_ms), (Code::TooManyRequests, Some(1000)));
    assert_eq!(partition(&database, 0).throttled, 1);
    gate.set_behind(false);
    database.create(&body(1, 1)).await.expect("it has caught up");
}
