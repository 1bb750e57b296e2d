//! Reserved throughput on a clock that tests turn by hand.

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use engine::{Clock, Engine, RateLimit};
use protocol::operator::PartitionStatistics;
use protocol::{
    Code, Error, Operation, Options, Response,
    autoscale::Autoscale,
    query::{QueryFeed, QuerySource},
    request::{BatchMode, DatabasePath, ThroughputRequest},
};

use crate::stores::{new_store, starting};
use crate::support::{Database, collection, items, keyed, resource};

/// Time that stands still unless told, in milliseconds.
#[derive(Debug, Default)]
pub(crate) struct Watch(AtomicU64);

impl Watch {
    pub(crate) fn pass(&self, milliseconds: u64) {
        self.0.fetch_add(milliseconds, Ordering::Relaxed);
    }
}

impl Clock for Watch {
    fn now_seconds(&self) -> u64 {
        1_700_000_000
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.0.load(Ordering::Relaxed))
    }
}

pub(crate) async fn open(
    store: Arc<dyn store::Store>,
    rate_limit: RateLimit,
) -> (Database, Arc<Watch>) {
    let watch = Arc::new(Watch::default());
    let options = engine::Options { rate_limit, ..engine::Options::default() };
    let engine = starting(Engine::open(store, options, Arc::clone(&watch) as _)).await;
    (Database { engine: engine.expect("an empty store opens") }, watch)
}

pub(crate) async fn fresh(rate_limit: RateLimit) -> (Database, Arc<Watch>) {
    open(new_store(), rate_limit).await
}

pub(crate) const KEYED: &str =
    r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;

pub(crate) fn body(id: u32, key: u32) -> String {
    format!(r#"{{"id":"{id}","pk":{key}}}"#)
}

/// Writes until one is refused: the charges of those that were not, and the refusal.
pub(crate) async fn exhaust(database: &Database, key: u32) -> (f64, Error) {
    let mut spent = 0.0;
    for id in 0..10_000 {
        match database.write(&body(id, key), true, Options::default()).await {
            Ok(response) => spent += response.meta.charge,
            Err(error) => return (spent, error),
        }
    }
    panic!("nothing was refused");
}

async fn assert_unlimited(database: &Database) {
    for id in 0..300 {
        database.write(&body(id, 1), true, Options::default()).await.expect("no limit");
    }
}

pub(crate) fn wait_ms(error: &Error) -> u64 {
    error.meta.retry_after_ms.expect("a time to wait")
}

pub(crate) fn partition(database: &Database, at: usize) -> PartitionStatistics {
    database.engine.statistics()[at].clone()
}

pub(crate) async fn offer(database: &Database) -> value::Value {
    let list = database.call(Operation::ListOffers, Options::default()).await.expect("offers");
    items(&list)[0].clone()
}

async fn replace_offer(database: &Database, rate: i64) -> Response {
    let mut offer = offer(database).await;
    let rid = crate::support::text(offer.get("id"));
    let value::Value::Object(object) = &mut offer else { panic!("an offer") };
    let mut content = value::Object::new();
    content.insert("offerThroughput", rate);
    object.insert("content", value::Value::Object(content));
    let body = Bytes::from(value::json::print(&offer));
    let replace = Operation::ReplaceOffer { offer: rid, body, migration: None };
    database.call(replace, Options::default()).await.expect("a new throughput")
}

pub(crate) async fn query(database: &Database, text: &str) -> Result<Response, Error> {
    let body = QuerySource::new(text);
    let mut options = Options::default();
    options.query.enable_cross_partition = true;
    let feed = QueryFeed::Documents(collection());
    database.call(Operation::Query { feed, query: body }, options).await
}

#[tokio::test]
async fn a_second_of_the_share_can_be_spent_and_then_time_must_pass() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    let (spent, refused) = exhaust(&database, 1).await;
    assert!((400.0..415.0).contains(&spent), "{spent}");
    assert_eq!(refused.code, Code::TooManyRequests);
    assert!(refused.meta.charge.abs() < f64::EPSILON, "a refusal costs nothing");
    assert!(refused.message.starts_with("Request rate is large. More Request Units may be needed"));
    let figures = partition(&database, 0);
    assert_eq!(figures.throttled, 1);
    assert!((figures.reserved_per_second - 400.0).abs() < 1e-9);
    // A request succeeds once it has waited as told, and not before.
    let again = async || database.write(&body(0, 1), true, Options::default()).await;
    let wait = wait_ms(&again().await.expect_err("nothing is left"));
    assert!((2..100).contains(&wait), "{wait}");
    watch.pass(wait - 1);
    again().await.expect_err("too early");
    watch.pass(1);
    again().await.expect("as told");
    assert_eq!(partition(&database, 0).throttled, 3);
}

#[tokio::test]
async fn a_refused_request_that_waits_as_told_succeeds() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    exhaust(&database, 1).await;
    for id in 100_000..100_050 {
        let write = async || database.write(&body(id, 1), true, keyed("[1]")).await;
        if let Err(refused) = write().await {
            watch.pass(wait_ms(&refused));
            write().await.expect("it waited");
        }
    }
}

#[tokio::test]
async fn every_kind_of_request_is_counted_and_can_be_refused() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    database.create(&body(1, 1)).await.expect("a document");
    watch.pass(10_000);
    let spend = exhaust(&database, 1).await.0;
    watch.pass(1000);
    // The last whole second is the one in which all was spent.
    let figures = partition(&database, 0);
    assert!((figures.used_per_second - spend).abs() < 1.0, "{figures:?} {spend}");
    // One more that is dear leaves a debt for all that follow.
    query(&database, "SELECT * FROM c").await.expect("enough for one");
    exhaust(&database, 1).await;
    let refusals = [
        database.read("1", "[1]").await,
        database.create(&body(70_000, 1)).await,
        database.replace("1", &body(1, 1), Options::default()).await,
        database.patch("1", r#"[{"op":"remove","path":"/n"}]"#, keyed("[1]")).await,
        database.delete("1", "[1]").await,
        database.call(Operation::ListDocuments(collection()), Options::default()).await,
        query(&database, "SELECT VALUE 1 FROM c").await,
    ];
    for refusal in refusals {
        let refusal = refusal.expect_err("nothing is left");
        assert_eq!(refusal.code, Code::TooManyRequests);
        assert!(refusal.meta.charge.abs() < f64::EPSILON);
    }
    // Metadata is not the collection's to pay.
    database.call(Operation::ReadCollection(collection()), Options::default()).await.expect("free");
    database.call(Operation::ListOffers, Options::default()).await.expect("free");
    let ranges = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    database.call(ranges, Options::default()).await.expect("free");
}

#[tokio::test]
async fn errors_cost_what_they_say() {
    let (database, _watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    let mut refused = 0;
    for _ in 0..500 {
        match database.read("absent", "[1]").await.expect_err("absent").code {
            Code::NotFound => {}
            Code::TooManyRequests => refused += 1,
            other => panic!("{other:?}"),
        }
    }
    assert!((95..=105).contains(&refused), "{refused} of 500 at one unit each");
    // What never reached a partition costs nothing there.
    database.create("no JSON").await.expect_err("bad");
    assert_eq!(partition(&database, 0).admitted, 500 - refused);
}

#[tokio::test]
async fn partitions_spend_their_own_shares() {
    let (database, _watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(25_000).await;
    let (spent, _) = exhaust(&database, 1).await;
    assert!((8333.0..8350.0).contains(&spent), "{spent}");
    let throttled: Vec<_> = database.engine.statistics().iter().map(|it| it.throttled).collect();
    assert_eq!(throttled.iter().sum::<u64>(), 1);
    // Some other key lies in a partition that has spent nothing.
    let mut served = 0;
    for key in 2..20 {
        let written = database.write(&body(1, key), true, Options::default()).await;
        served += u32::from(written.is_ok());
    }
    assert!((1..18).contains(&served), "{served}");
}

#[tokio::test]
async fn a_query_is_refused_as_a_whole_and_costs_the_others_nothing() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(25_000).await;
    exhaust(&database, 1).await;
    let spent = |database: &Database| -> Vec<u64> {
        database.engine.statistics().iter().map(|it| it.admitted).collect()
    };
    let before = spent(&database);
    let refused = query(&database, "SELECT * FROM c").await.expect_err("one partition is spent");
    assert_eq!(refused.code, Code::TooManyRequests);
    assert_eq!(spent(&database), before);
    watch.pass(wait_ms(&refused));
    let page = query(&database, "SELECT * FROM c").await.expect("it waited");
    watch.pass(1000);
    let used: f64 = database.engine.statistics().iter().map(|it| it.used_per_second).sum();
    assert!(used >= page.meta.charge - 0.01, "{used} of {}", page.meta.charge);
    // The partition that has all documents bears most of it.
    let most = database.engine.statistics().iter().map(|it| it.used_per_second).fold(0.0, f64::max);
    assert!(most > 0.9 * used, "{most} of {used}");
}

#[tokio::test]
async fn only_what_was_asked_for_is_enforced_unless_told() {
    let (database, _watch) = fresh(RateLimit::Provisioned).await;
    database.create_database("db").await;
    database.create_collection(KEYED, None).await.expect("a collection");
    assert_unlimited(&database).await;
    assert_eq!(offer(&database).await.get("content").get("offerThroughput").as_i64(), Some(400));
    // From now on someone has asked for it.
    replace_offer(&database, 400).await;
    let (spent, _) = exhaust(&database, 1).await;
    assert!((400.0..415.0).contains(&spent), "{spent}");

    let (database, _watch) = fresh(RateLimit::Always).await;
    database.create_database("db").await;
    database.create_collection(KEYED, None).await.expect("a collection");
    let (spent, _) = exhaust(&database, 1).await;
    assert!((400.0..415.0).contains(&spent), "{spent}");

    let (database, _watch) = fresh(RateLimit::Never).await;
    assert_unlimited(&database.with_collection(400).await).await;
}

#[tokio::test]
async fn what_was_asked_for_is_known_after_a_restart() {
    for (asked, is_limited) in [(None, false), (Some(400), true)] {
        let store: Arc<dyn store::Store> = new_store();
        let (database, _watch) = open(Arc::clone(&store), RateLimit::Provisioned).await;
        database.create_database("db").await;
        database.create_collection(KEYED, asked).await.expect("a collection");
        drop(database);
        let (database, _watch) = open(store, RateLimit::Provisioned).await;
        if is_limited {
            exhaust(&database, 1).await;
        } else {
            assert_unlimited(&database).await;
        }
    }
}

#[tokio::test]
async fn a_new_offer_counts_at_once() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    exhaust(&database, 1).await;
    replace_offer(&database, 4000).await;
    watch.pass(1000);
    let (spent, _) = exhaust(&database, 1).await;
    assert!((3900.0..4020.0).contains(&spent), "{spent}");
    replace_offer(&database, 400).await;
    watch.pass(1000);
    let (spent, _) = exhaust(&database, 1).await;
    assert!((380.0..415.0).contains(&spent), "{spent}");
}

#[tokio::test]
async fn a_database_shares_among_collections_without_their_own() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let create = Operation::CreateDatabase {
        body: Bytes::from_static(br#"{"id":"db"}"#),
        upsert: false,
        throughput: ThroughputRequest { manual: Some(1000), ..ThroughputRequest::default() },
    };
    database.call(create, Options::default()).await.expect("a database");
    for (id, own) in [("c", None), ("d", None), ("e", Some(400))] {
        let body = KEYED.replace(r#""c""#, &format!("{id:?}"));
        database.create_collection(&body, own).await.expect("a collection");
    }
    let (spent, _) = exhaust(&database, 1).await;
    assert!((1000.0..1015.0).contains(&spent), "{spent}");
    let in_collection = async |id: &str| {
        let path = protocol::request::CollectionPath {
            database: DatabasePath("db".to_owned()),
            collection: id.to_owned(),
        };
        let body = Bytes::from_static(br#"{"id":"1","pk":1}"#);
        let create = Operation::CreateDocument { collection: path, body, upsert: true };
        database.call(create, Options::default()).await
    };
    let refused = in_collection("d").await.expect_err("the first has spent it");
    assert_eq!(refused.code, Code::TooManyRequests);
    in_collection("e").await.expect("it has its own");
    watch.pass(wait_ms(&refused) + 1000);
    in_collection("d").await.expect("there is some again");
}

#[tokio::test]
async fn autoscale_shows_what_the_last_minute_needed() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    database.create_database("db").await;
    let settings = Autoscale { max: 4000, increment_percent: None };
    let create = Operation::CreateCollection {
        database: DatabasePath("db".to_owned()),
        body: Bytes::from_static(KEYED.as_bytes()),
        upsert: false,
        throughput: ThroughputRequest { autoscale: Some(settings), ..Default::default() },
        partition_key_optional: true,
    };
    database.call(create, Options::default()).await.expect("a collection");
    let current = async || {
        let offer = offer(&database).await;
        offer.get("content").get("offerThroughput").as_i64().expect("a number")
    };
    assert_eq!(current().await, 400);
    for id in 0..200 {
        database.write(&body(id, 1), true, Options::default()).await.expect("below the maximum");
    }
    let busy = current().await;
    assert!((1000..2000).contains(&busy) && busy % 100 == 0, "{busy}");
    let (_, refused) = exhaust(&database, 1).await;
    assert_eq!(refused.code, Code::TooManyRequests);
    assert_eq!(current().await, 4000);
    watch.pass(59_000);
    assert_eq!(current().await, 4000);
    watch.pass(2000);
    assert_eq!(current().await, 400);
}

#[tokio::test]
async fn a_deleted_collection_takes_its_debt_along() {
    let (database, _watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    exhaust(&database, 1).await;
    database
        .call(Operation::DeleteCollection(collection()), Options::default())
        .await
        .expect("deleted");
    database.create_collection(KEYED, Some(400)).await.expect("a new one");
    let made = database.create(&body(1, 1)).await.expect("a full bucket");
    assert_eq!(resource(&made).get("id").as_str(), Some("1"));
}

#[tokio::test]
async fn a_feed_ends_its_page_before_a_partition_that_is_spent() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(25_000).await;
    for key in 2..40 {
        database.create(&body(key, key)).await.expect("a document");
    }
    watch.pass(1000);
    exhaust(&database, 1).await;
    let (mut ids, mut refusals, mut short_pages) = (0, 0, 0);
    let mut options = Options { max_item_count: Some(5000), ..Options::default() };
    loop {
        let list = Operation::ListDocuments(collection());
        match database.call(list, options.clone()).await {
            Ok(page) => {
                ids += items(&page).len();
                let Some(token) = page.continuation else { break };
                short_pages += 1;
                options.continuation = Some(token);
            }
            Err(refused) => {
                assert_eq!(refused.code, Code::TooManyRequests);
                assert!(refused.meta.charge.abs() < f64::EPSILON);
                refusals += 1;
                watch.pass(wait_ms(&refused));
            }
        }
    }
    let documents: u64 = database.engine.statistics().iter().map(|it| it.documents).sum();
    assert_eq!(ids as u64, documents);
    assert!(refusals >= 1 && short_pages >= 1, "{refusals} refusals, {short_pages} pages");
}

#[tokio::test]
async fn the_children_of_a_split_share_what_their_parent_had() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(1000).await;
    for key in 0..50 {
        database.create(&body(key, key)).await.expect("a document");
    }
    let split = Operation::SplitPartition { path: collection(), range: "0".to_owned() };
    database.call(split, Options::default()).await.expect("two partitions");
    let reserved: Vec<f64> =
        database.engine.statistics().iter().map(|it| it.reserved_per_second).collect();
    assert_eq!(reserved.len(), 2);
    assert!(reserved.iter().all(|share| (share - 500.0).abs() < 1e-9), "{reserved:?}");
    watch.pass(1000);
    let (spent, _) = exhaust(&database, 1).await;
    assert!((500.0..515.0).contains(&spent), "{spent}");
}

/// A transaction is let in once, and pays for all of it; operations of a bulk pay for themselves.
#[tokio::test]
async fn batches_are_let_in_once_and_bulk_by_operation() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(400).await;
    let upserts = |count: u32| {
        let one = |id| format!(r#"{{"operationType":"Upsert","resourceBody":{}}}"#, body(id, 1));
        format!("[{}]", (0..count).map(one).collect::<Vec<_>>().join(","))
    };
    let run = async |count, mode| {
        crate::batches::execute(&database, &upserts(count), mode, keyed("[1]")).await
    };
    let spent = run(100, BatchMode::Atomic).await.expect("let in").meta.charge;
    assert!(spent > 400.0, "{spent}");
    let refused = run(1, BatchMode::Atomic).await.expect_err("in debt");
    assert_eq!(refused.code, Code::TooManyRequests);
    assert!(refused.meta.charge.abs() < f64::EPSILON, "a refusal costs nothing");
    assert_eq!(partition(&database, 0).throttled, 1);
    let independent = BatchMode::Independent { stops_at_failure: false };
    let bulk = run(3, independent).await.expect("answered");
    let results = crate::batches::results(&bulk);
    for result in results {
        assert_eq!(result.answer, Err(Code::TooManyRequests));
        assert!(result.retry_after_ms.is_some_and(|wait| wait > 0));
    }
    assert!(bulk.meta.charge.abs() < f64::EPSILON);
    watch.pass(5000);
    run(1, BatchMode::Atomic).await.expect("time has passed");
    let bulk = run(100, independent).await.expect("answered");
    let fates = crate::batches::answers(&bulk);
    let served = fates.iter().take_while(|fate| fate.is_ok()).count();
    assert!((20..60).contains(&served), "{served}");
    assert!(fates[served..].iter().all(|fate| *fate == Err(Code::TooManyRequests)));
}

/// SDKs make a new id for every try of a document that has none.
#[tokio::test]
async fn a_wait_is_enough_for_another_document() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(1000).await;
    exhaust(&database, 1).await;
    let mut refusals = 0;
    for id in (100_000..100_120).step_by(2) {
        let Err(refused) = database.create(&body(id, 1)).await else { continue };
        assert!(refused.meta.charge.abs() < f64::EPSILON, "a refusal costs nothing");
        refusals += 1;
        watch.pass(wait_ms(&refused));
        database.create(&body(id + 1, 1)).await.expect("it waited");
    }
    assert!(refusals >= 5, "{refusals}");
}

#[tokio::test]
async fn refusals_that_nobody_comes_back_for_count_for_nothing() {
    let (database, watch) = fresh(RateLimit::Provisioned).await;
    let database = database.with_collection(1000).await;
    let (_, refused) = exhaust(&database, 1).await;
    let first = wait_ms(&refused);
    for id in 100_000..100_040 {
        database.create(&body(id, 1)).await.expect_err("in debt");
    }
    watch.pass(2000);
    let (_, refused) = exhaust(&database, 1).await;
    assert!(wait_ms(&refused) <= first + 10, "{} after {first}", wait_ms(&refused));
}
