//! Full logical partitions and full collections.

use bytes::Bytes;
use engine::{Limits, Options, Sizes};
use protocol::{Code, Operation, request::BatchMode};

use crate::{
    batches::{answers, execute},
    splitting::split,
    support::{Database, collection, keyed, resource},
};

const KB: u64 = 1024;

fn sizes(change: impl Fn(&mut Sizes)) -> Options {
    let mut sizes = Sizes::of(Limits::Current);
    change(&mut sizes);
    Options { sizes, ..Options::default() }
}

fn document(id: &str, key: &str, bytes: usize) -> String {
    let filling = "x".repeat(bytes);
    format!(r#"{{"id":"{id}","pk":"{key}","filling":"{filling}"}}"#)
}

#[tokio::test]
async fn a_logical_partition_fills_up() {
    let options = sizes(|sizes| sizes.logical_partition = 10 * KB);
    let database = Database::with_options(options).await.with_collection(400).await;
    for id in ["a", "b"] {
        database.create(&document(id, "full", 4000)).await.expect("room");
    }
    let refused = database.create(&document("c", "full", 4000)).await.expect_err("no room");
    assert_eq!(refused.code, Code::PartitionKeyQuota);
    assert!(
        refused.message.starts_with("Partition key reached maximum size of 10 KB."),
        "{refused}"
    );
    assert!(refused.meta.charge.abs() < f64::EPSILON, "a refused write costs nothing");
    assert!(refused.meta.owner.is_some() && refused.meta.partitions.len() == 1);
    // Neither the document nor its number in the counters has stayed.
    assert_eq!(database.read("c", "[\"full\"]").await.expect_err("absent").code, Code::NotFound);
    assert_eq!(database.engine.statistics()[0].documents, 2);
    // Another key has room of its own.
    database.create(&document("c", "other", 4000)).await.expect("room elsewhere");
}

#[tokio::test]
async fn a_full_partition_can_shrink() {
    let options = sizes(|sizes| sizes.logical_partition = 10 * KB);
    let database = Database::with_options(options).await.with_collection(400).await;
    for id in ["a", "b"] {
        database.create(&document(id, "full", 4500)).await.expect("room");
    }
    let larger = database.replace("a", &document("a", "full", 6000), keyed("[\"full\"]")).await;
    assert_eq!(larger.expect_err("no room").code, Code::PartitionKeyQuota);
    let upsert = database.write(&document("a", "full", 6000), true, keyed("[\"full\"]")).await;
    assert_eq!(upsert.expect_err("no room").code, Code::PartitionKeyQuota);
    let kept = resource(&database.read("a", "[\"full\"]").await.expect("the old version"));
    assert_eq!(kept.get("filling").as_str().map(str::len), Some(4500));
    // A document as it was read, with its system properties, is as long as before.
    let same = value::json::print(&kept);
    database.replace("a", &same, keyed("[\"full\"]")).await.expect("no larger");
    let smaller = document("a", "full", 100);
    database.replace("a", &smaller, keyed("[\"full\"]")).await.expect("smaller");
    database.create(&document("c", "full", 4000)).await.expect("room again");
    database.delete("b", "[\"full\"]").await.expect("deletes are always allowed");
    database.create(&document("d", "full", 4000)).await.expect("room again");
}

#[tokio::test]
async fn a_collection_without_a_key_fills_up() {
    let options = sizes(|sizes| sizes.single_partition = 10 * KB);
    let database = Database::with_options(options).await;
    database.create_database("db").await;
    database.create_collection(r#"{"id":"c"}"#, None).await.expect("a collection");
    let mut made = 0;
    let refused = loop {
        let body = Bytes::from(document(&made.to_string(), "any", 2000));
        let create = Operation::CreateDocument { collection: collection(), body, upsert: false };
        match database.call(create, protocol::Options::default()).await {
            Ok(_) => made += 1,
            Err(error) => break error,
        }
        assert!(made < 10, "it never fills up");
    };
    assert_eq!(refused.code, Code::CollectionQuota);
    assert!(refused.message.contains("10 KB"), "{refused}");
    // Its index counts too, so that five documents do not fit.
    assert!((2..5).contains(&made), "{made}");
}

#[tokio::test]
async fn a_collection_of_2016_fills_up_over_all_partitions() {
    let options = sizes(|sizes| sizes.collection = Some(100 * KB));
    let database = Database::with_options(options).await.with_collection(25_000).await;
    let mut refused = None;
    for number in 0..100 {
        let key = format!("key-{number}");
        match database.create(&document("a", &key, 4000)).await {
            Ok(_) => {}
            Err(error) => {
                refused = Some((number, error.code));
                break;
            }
        }
    }
    let (made, code) = refused.expect("it fills up");
    assert_eq!(code, Code::CollectionQuota);
    assert!((10..25).contains(&made), "{made}");
    let partitions = database.engine.statistics();
    assert!(partitions.iter().all(|partition| partition.documents > 0), "{partitions:?}");
}

#[tokio::test]
async fn writers_at_the_same_time_do_not_overfill_a_key() {
    let options = sizes(|sizes| sizes.logical_partition = 20 * KB);
    let database = Database::with_options(options).await.with_collection(400).await;
    let bodies: Vec<_> = (0..32).map(|n| document(&n.to_string(), "one", 2000)).collect();
    let mut writers = tokio::task::JoinSet::new();
    let database = std::sync::Arc::new(database);
    for body in bodies {
        let database = std::sync::Arc::clone(&database);
        writers.spawn(async move { database.create(&body).await.map_err(|error| error.code) });
    }
    let results = writers.join_all().await;
    let made = results.iter().filter(|result| result.is_ok()).count() as u64;
    assert!(
        results
            .iter()
            .all(|it| it.as_ref().err().is_none_or(|code| *code == Code::PartitionKeyQuota))
    );
    let statistics = &database.engine.statistics()[0];
    assert_eq!(statistics.documents, made);
    assert!(statistics.bytes <= 20 * KB, "{}", statistics.bytes);
    // One more would not have fitted.
    assert!(statistics.bytes + 2500 > 20 * KB, "{}", statistics.bytes);
}

#[tokio::test]
async fn a_key_is_as_full_after_a_split_as_before() {
    let options = sizes(|sizes| sizes.logical_partition = 10 * KB);
    let database = Database::with_options(options).await.with_collection(400).await;
    for id in ["a", "b"] {
        for key in ["one", "two", "three", "four"] {
            database.create(&document(id, key, 4000)).await.expect("room");
        }
    }
    split(&database, "0").await.expect("split");
    for key in ["one", "two", "three", "four"] {
        let refused = database.create(&document("c", key, 4000)).await.expect_err("no room");
        assert_eq!(refused.code, Code::PartitionKeyQuota);
        database.delete("a", &format!("[\"{key}\"]")).await.expect("deleted");
        database.create(&document("c", key, 4000)).await.expect("room again");
    }
    assert_eq!(database.engine.statistics().len(), 2);
}

/// Each operation of a transaction counts on top of those before it, and what they remove is room.
#[tokio::test]
async fn transactions_are_measured_as_they_go() {
    let create = |id: &str| {
        let body = document(id, "full", 4000);
        format!(r#"{{"operationType":"Create","resourceBody":{body}}}"#)
    };
    let run = async |database: &Database, operations: &[String]| {
        let batch = format!("[{}]", operations.join(","));
        let options = keyed("[\"full\"]");
        let done = execute(database, &batch, BatchMode::Atomic, options).await.expect("answered");
        answers(&done)
    };
    let lost = Err(Code::FailedDependency);
    let options = sizes(|sizes| sizes.logical_partition = 10 * KB);
    let database = Database::with_options(options).await.with_collection(400).await;
    let three = [create("a"), create("b"), create("c")];
    assert_eq!(run(&database, &three).await, [lost, lost, Err(Code::PartitionKeyQuota)]);
    let delete = r#"{"operationType":"Delete","id":"a"}"#.to_owned();
    let turns = [create("a"), create("b"), delete, create("c")];
    assert!(run(&database, &turns).await.iter().all(Result::is_ok));

    let options = sizes(|sizes| sizes.collection = Some(12 * KB));
    let database = Database::with_options(options).await.with_collection(400).await;
    assert_eq!(run(&database, &three).await, [lost, lost, Err(Code::CollectionQuota)]);
}
