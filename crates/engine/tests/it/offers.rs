//! Throughput as a resource: its rules, its kinds, and what it remembers.

use bytes::Bytes;
use engine::Limits;
use protocol::{
    Code, Error, Operation, Options, Response,
    request::{DatabasePath, Migration, ThroughputRequest},
};
use value::Value;

use crate::stores::new_store;
use crate::support::{Database, items, resource, text};

const KEYED: &str = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;

async fn offers(db: &Database) -> Vec<Value> {
    items(&db.call(Operation::ListOffers, Options::default()).await.expect("offers"))
}

async fn only_offer(db: &Database) -> Value {
    offers(db).await.remove(0)
}

async fn replace(
    db: &Database,
    body: &str,
    migration: Option<Migration>,
) -> Result<Response, Error> {
    let offer = text(only_offer(db).await.get("id"));
    let body =
        Bytes::from(body.replacen('{', &format!(r#"{{"id":"{offer}","#), 1).replace(",}", "}"));
    db.call(Operation::ReplaceOffer { offer, body, migration }, Options::default()).await
}

fn throughput(offer: &Value) -> Option<i64> {
    offer.get("content").get("offerThroughput").as_i64()
}

fn settings(offer: &Value) -> &Value {
    offer.get("content").get("offerAutopilotSettings")
}

async fn create_database(db: &Database, throughput: ThroughputRequest) {
    let body = Bytes::from(r#"{"id":"db"}"#);
    let create = Operation::CreateDatabase { body, upsert: false, throughput };
    db.call(create, Options::default()).await.expect("a new database");
}

#[tokio::test]
async fn a_migration_and_back_survive_a_restart() {
    let store = new_store();
    let db = Database::open(store.clone()).await.with_collection(4100).await;
    let plain = r#"{"content":{"offerThroughput":-1}}"#;
    let migrated = replace(&db, plain, Some(Migration::ToAutoscale)).await.expect("migrated");
    assert_eq!(migrated.meta.min_throughput, Some(1000));
    let offer = resource(&migrated);
    assert_eq!(settings(&offer).get("maxThroughput").as_i64(), Some(5000));
    assert_eq!(throughput(&offer), Some(500));

    let percent = r#"{"content":{"offerAutopilotSettings":{"maxThroughput":60000,
        "autoUpgradePolicy":{"throughputPolicy":{"incrementPercent":7}}}}}"#;
    replace(&db, percent, None).await.expect("replaced");
    drop(db);
    let db = Database::open(store).await;
    let offer = only_offer(&db).await;
    let policy = settings(&offer).get("autoUpgradePolicy").get("throughputPolicy");
    assert_eq!(policy.get("incrementPercent").as_i64(), Some(7));

    let ignored = r#"{"content":{"offerAutopilotSettings":{"maxThroughput":-1}}}"#;
    let back = replace(&db, ignored, Some(Migration::ToManual)).await.expect("migrated back");
    assert_eq!(throughput(&resource(&back)), Some(60_000));
    assert!(settings(&resource(&back)).is_undefined());
    // A hundredth of the most it ever had.
    assert_eq!(back.meta.min_throughput, Some(600));
}

#[tokio::test]
async fn refused_replacements_change_nothing() {
    let db = Database::memory().await.with_collection(1000).await;
    let before = only_offer(&db).await;
    for (body, migration) in [
        (r#"{"content":{"offerThroughput":450}}"#, None),
        (r#"{"content":{"offerAutopilotSettings":{"maxThroughput":4000}}}"#, None),
        (r#"{"content":{"offerThroughput":400}}"#, Some(Migration::ToManual)),
        ("{}", Some(Migration::ToAutoscale)),
    ] {
        let refused = replace(&db, body, migration).await.expect_err("refused");
        assert_eq!(refused.code, Code::BadRequest, "{body}");
        assert_eq!(only_offer(&db).await, before, "{body}");
    }
}

#[tokio::test]
async fn the_limits_of_2016() {
    let options = engine::Options { limits: Limits::Y2016, ..engine::Options::default() };
    let db = Database::open_with(new_store(), options).await;
    db.create_database("db").await;
    for bad in [400, 10_000, 250_100] {
        let refused = db.create_collection(KEYED, Some(bad)).await.expect_err("refused");
        let expected = "between 10100 and 250000 inclusive";
        assert!(refused.message.contains(expected), "{bad}: {}", refused.message);
    }
    // Unasked, it is the least; two partitions are needed for it.
    db.create_collection(KEYED, None).await.expect("a new collection");
    assert_eq!(throughput(&only_offer(&db).await), Some(10_100));
    assert_eq!(db.engine.statistics().len(), 2);
    let refused = replace(&db, r#"{"content":{"offerThroughput":10000}}"#, None).await;
    assert_eq!(refused.expect_err("too low").code, Code::BadRequest);
    db.create_collection(r#"{"id":"single"}"#, Some(400)).await.expect("without a key");
}

#[tokio::test]
async fn what_is_stored_is_remembered() {
    let db = Database::memory().await.with_collection(400).await;
    let stored = |offer: &Value| {
        let minimum = offer.get("content").get("offerMinimumThroughputParameters");
        minimum.get("maxConsumedStorageEverInKB").as_i64().expect("a number")
    };
    assert_eq!(stored(&only_offer(&db).await), 0);
    let body = format!(r#"{{"id":"a","pk":"p","text":"{}"}}"#, "x".repeat(100 * 1024));
    db.create(&body).await.expect("created");
    let full = stored(&only_offer(&db).await);
    assert!((100..200).contains(&full), "{full}");
    db.delete("a", r#"["p"]"#).await.expect("deleted");
    assert_eq!(stored(&only_offer(&db).await), full);
    let replaced = replace(&db, r#"{"content":{"offerThroughput":500}}"#, None).await;
    assert_eq!(stored(&resource(&replaced.expect("replaced"))), full);
}

#[tokio::test]
async fn twenty_five_collections_share_four_hundred_units() {
    let db = Database::memory().await;
    create_database(&db, ThroughputRequest { manual: Some(400), ..Default::default() }).await;
    let create = async |number: usize, throughput: Option<i64>| {
        let body = format!(r#"{{"id":"c{number}","partitionKey":{{"paths":["/pk"]}}}}"#);
        db.create_collection(&body, throughput).await
    };
    for number in 0..25 {
        create(number, None).await.expect("one that shares");
    }
    let refused = create(25, None).await.expect_err("one too many");
    assert!(refused.message.contains("minimum throughput 500"), "{}", refused.message);
    create(26, Some(400)).await.expect("with its own");
    let path = DatabasePath("db".to_owned());
    let listed = db.call(Operation::ListCollections(path), Options::default()).await;
    assert_eq!(items(&listed.expect("collections")).len(), 26);

    // The database's offer is the older one.
    replace(&db, r#"{"content":{"offerThroughput":500}}"#, None).await.expect("raised");
    create(27, None).await.expect("room for one more");
    let refused = replace(&db, r#"{"content":{"offerThroughput":400}}"#, None).await;
    let refused = refused.expect_err("too low").message;
    assert!(refused.ends_with("is because of Number of collections 26."), "{refused}");
    assert_eq!(offers(&db).await.len(), 2);

    let refused = db.create_collection(r#"{"id":"single"}"#, None).await.expect_err("no key");
    assert_eq!(refused.message, "Shared throughput collection should have a partition key");
}

/// How many partitions a new collection has: by its own throughput, or by that of its database.
#[tokio::test]
async fn throughput_makes_partitions() {
    let partitions = async |partition_throughput, own, shared| {
        let options = engine::Options { partition_throughput, ..engine::Options::default() };
        let db = Database::with_options(options).await;
        let create = Operation::CreateDatabase {
            body: Bytes::from_static(br#"{"id":"db"}"#),
            upsert: false,
            throughput: ThroughputRequest { manual: shared, ..ThroughputRequest::default() },
        };
        db.call(create, Options::default()).await.expect("a database");
        let keyed = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
        db.create_collection(keyed, own).await.expect("a collection");
        db.engine.statistics().len()
    };
    assert_eq!(partitions(10_000, Some(25_000), None).await, 3);
    assert_eq!(partitions(6_000, Some(25_000), None).await, 5);
    assert_eq!(partitions(6_000, Some(6_000), None).await, 1);
    assert_eq!(partitions(6_000, Some(6_100), None).await, 2);
    assert_eq!(partitions(6_000, None, Some(25_000)).await, 3);
    assert_eq!(partitions(6_000, Some(12_000), Some(25_000)).await, 2);
}
