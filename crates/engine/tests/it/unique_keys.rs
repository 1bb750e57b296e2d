//! Unique keys: no two documents of a logical key share the values, whoever writes them and how.

use std::{collections::BTreeMap, sync::Arc};

use bytes::Bytes;
use engine::verify;
use protocol::{Code, Error, Operation, Options, Response, request::BatchMode};
use tokio::task::JoinSet;

use crate::stores::new_store;
use crate::{
    random::Rng,
    support::{Database, TestClock, batch_of, collection, keyed},
    ttl::{on_disk, unswept},
};

pub(crate) const START: u64 = 1_700_000_000;

fn definition(keys: &str, more: &str) -> String {
    format!(
        r#"{{"id":"c","partitionKey":{{"paths":["/pk"],"kind":"Hash","version":2}},
            "uniqueKeyPolicy":{{"uniqueKeys":{keys}}}{more}}}"#
    )
}

pub(crate) const BY_PK: &str = r#"{"partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;

const TWO_KEYS: &str = r#"[{"paths":["/a/b"]},{"paths":["/c","/d"]}]"#;

struct World {
    store: Arc<dyn store::Store>,
    clock: Arc<TestClock>,
    db: Database,
}

impl World {
    async fn new(body: &str) -> Self {
        let (store, clock) = (new_store(), TestClock::at(START));
        let db = Database::open_at(Arc::clone(&store) as _, unswept(), &clock).await;
        db.create_database("db").await;
        db.create_collection(body, Some(400)).await.expect("a collection");
        Self { store, clock, db }
    }

    async fn create(&self, body: &str) -> Result<(), Code> {
        code(self.db.create(body).await)
    }

    async fn batch(&self, key: &str, operations: &str) -> Vec<bool> {
        let execute = Operation::ExecuteBatch {
            collection: collection(),
            operations: batch_of(operations),
            mode: BatchMode::Atomic,
        };
        let answer = self.db.call(execute, keyed(key)).await.expect("a batch");
        let protocol::Body::Batch(results) = answer.body else { panic!("results") };
        results.iter().map(|result| result.answer.is_ok()).collect()
    }

    async fn close(self) {
        self.db.engine.close().await.expect("closed");
        let report = verify(self.store).await.expect("readable");
        assert!(report.is_clean(), "{report}");
    }
}

pub(crate) fn code(answer: Result<Response, Error>) -> Result<(), Code> {
    if let Err(error) = &answer
        && error.code == Code::Conflict
        && !error.message.contains("id already exists")
        && !error.message.contains("re-indexed")
    {
        assert_eq!(error.message, "Unique index constraint violation.");
    }
    answer.map(|_| ()).map_err(|error| error.code)
}

/// Values that are the same, and values that only look so.
#[tokio::test]
async fn what_is_the_same() {
    let world = World::new(&definition(r#"[{"paths":["/v"]}]"#, "")).await;
    let mut number = 0;
    let mut write = async |value: &str, key: &str| {
        number += 1;
        let value = if value.is_empty() { String::new() } else { format!(r#","v":{value}"#) };
        world.create(&format!(r#"{{"id":"d{number}","pk":"{key}"{value}}}"#)).await
    };
    let long = format!("\"{}\"", "x".repeat(5000));
    let different =
        ["1", "\"1\"", "true", "\"true\"", "null", "\"\"", "[]", "[1]", "{}", r#"{"a":1}"#, &long];
    for value in different {
        assert_eq!(write(value, "k").await, Ok(()), "{value}");
        assert_eq!(write(value, "other").await, Ok(()), "{value}: another logical key");
    }
    for same in ["1.0", "1e0", "", "null", "\"\\u0031\"", "[ 1.0 ]", r#"{"a":1.0}"#, &long] {
        assert_eq!(write(same, "k").await, Err(Code::Conflict), "{same}");
    }
    world.close().await;
}

/// Every way to write is held to it, and what keeps its own values is let through.
#[tokio::test]
async fn every_write_is_held_to_it() {
    let world = World::new(&definition(TWO_KEYS, "")).await;
    let db = &world.db;
    let first = r#"{"id":"1","pk":"k","a":{"b":1},"c":1,"d":1}"#;
    let second = r#"{"id":"2","pk":"k","a":{"b":2},"c":1,"d":2}"#;
    assert_eq!(world.create(first).await, Ok(()));
    assert_eq!(world.create(second).await, Ok(()));
    let conflict = Err(Code::Conflict);
    let taken = r#"{"id":"3","pk":"k","a":{"b":3},"c":1,"d":2}"#;
    assert_eq!(world.create(taken).await, conflict);
    let upsert = |body: &str| {
        let body = body.to_owned();
        async move { code(db.write(&body, true, Options::default()).await) }
    };
    assert_eq!(upsert(taken).await, conflict);
    assert_eq!(upsert(second).await, Ok(()), "its own values");
    let clash = r#"{"id":"2","pk":"k","a":{"b":1},"c":5,"d":5}"#;
    assert_eq!(upsert(clash).await, conflict);
    assert_eq!(code(db.replace("2", clash, keyed(r#"["k"]"#)).await), conflict);
    let patch =
        |value: u32| format!(r#"{{"operations":[{{"op":"set","path":"/d","value":{value}}}]}}"#);
    assert_eq!(code(db.patch("2", &patch(1), keyed(r#"["k"]"#)).await), conflict);
    assert_eq!(code(db.patch("2", &patch(2), keyed(r#"["k"]"#)).await), Ok(()));
    assert_eq!(code(db.patch("2", &patch(9), keyed(r#"["k"]"#)).await), Ok(()));
    assert_eq!(world.create(taken).await, Ok(()), "what was given up is free");
    assert_eq!(code(db.delete("1", r#"["k"]"#).await), Ok(()));
    assert_eq!(world.create(first).await, Ok(()));
    // Missing values are null, and only one document may have them.
    assert_eq!(world.create(r#"{"id":"n1","pk":"k"}"#).await, Ok(()));
    let null = r#"{"id":"n2","pk":"k","a":{"b":null},"c":7}"#;
    assert_eq!(world.create(null).await, conflict);
    world.close().await;
}

/// A transaction sees its own changes, in both directions, and a failed one changes nothing.
#[tokio::test]
async fn transactions_see_their_own_changes() {
    let world = World::new(&definition(r#"[{"paths":["/v"]}]"#, "")).await;
    world.create(r#"{"id":"a","pk":"k","v":1}"#).await.expect("created");
    world.create(r#"{"id":"b","pk":"k","v":2}"#).await.expect("created");
    let key = r#"["k"]"#;
    let moved = r#"[{"operationType":"Delete","id":"a"},
        {"operationType":"Create","resourceBody":{"id":"c","pk":"k","v":1}}]"#;
    assert_eq!(world.batch(key, moved).await, [true, true]);
    let twice = r#"[{"operationType":"Create","resourceBody":{"id":"d","pk":"k","v":4}},
        {"operationType":"Create","resourceBody":{"id":"e","pk":"k","v":4}}]"#;
    assert_eq!(world.batch(key, twice).await, [false, false]);
    // By way of a third value the two swap theirs.
    let swapped = r#"[{"operationType":"Replace","id":"b","resourceBody":{"id":"b","pk":"k","v":3}},
        {"operationType":"Replace","id":"c","resourceBody":{"id":"c","pk":"k","v":2}},
        {"operationType":"Replace","id":"b","resourceBody":{"id":"b","pk":"k","v":1}}]"#;
    assert_eq!(world.batch(key, swapped).await, [true, true, true]);
    for (value, is_free) in [(1, false), (2, false), (3, true), (4, true)] {
        let created = world.create(&format!(r#"{{"id":"x{value}","pk":"k","v":{value}}}"#)).await;
        assert_eq!(created.is_ok(), is_free, "{value}");
    }
    let reused = r#"[{"operationType":"Delete","id":"b"},{"operationType":"Delete","id":"c"},
        {"operationType":"Create","resourceBody":{"id":"b","pk":"k","v":2}},
        {"operationType":"Delete","id":"b"},
        {"operationType":"Create","resourceBody":{"id":"b","pk":"k","v":2}}]"#;
    assert_eq!(world.batch(key, reused).await, [true; 5]);
    world.close().await;
}

/// What has expired gives its values up, and goes with the write that takes them.
#[tokio::test]
async fn expired_documents_do_not_count() {
    let world = World::new(&definition(TWO_KEYS, r#","defaultTtl":-1"#)).await;
    let body = |id: &str, ttl: i32| {
        format!(r#"{{"id":"{id}","pk":"k","a":{{"b":1}},"c":1,"d":1,"ttl":{ttl}}}"#)
    };
    world.create(&body("a", 10)).await.expect("created");
    world.clock.set(START + 9);
    assert_eq!(world.create(&body("b", -1)).await, Err(Code::Conflict));
    world.clock.set(START + 10);
    assert_eq!(world.create(&body("b", 5)).await, Ok(()));
    world.clock.set(START + 15);
    let both = format!(
        r#"[{{"operationType":"Create","resourceBody":{}}},{{"operationType":"Delete","id":"c"}},
            {{"operationType":"Create","resourceBody":{}}}]"#,
        body("c", -1),
        body("b", -1)
    );
    assert_eq!(world.batch(r#"["k"]"#, &both).await, [true; 3]);
    let stored: u64 = world.db.engine.statistics().iter().map(|it| it.documents).sum();
    assert_eq!(stored, 1);
    world.close().await;
}

/// Of many who want the same at the same moment one gets it.
#[tokio::test(flavor = "multi_thread")]
async fn one_of_many_writers_wins() {
    let world = World::new(&definition(r#"[{"paths":["/v"]}]"#, "")).await;
    let db = Arc::new(world.db);
    for round in 0..10 {
        let mut writers = JoinSet::new();
        for number in 0..16 {
            let db = Arc::clone(&db);
            let body = format!(r#"{{"id":"d{round}-{number}","pk":"k","v":{round}}}"#);
            writers.spawn(async move { code(db.create(&body).await).is_ok() });
        }
        let won = writers.join_all().await.into_iter().filter(|is_ok| *is_ok).count();
        assert_eq!(won, 1);
    }
    db.engine.close().await.expect("closed");
    let report = verify(world.store).await.expect("readable");
    assert!(report.is_clean(), "{report}");
}

/// The rows go with their documents through splits, merges and restarts.
#[tokio::test]
async fn splits_merges_and_restarts_keep_them() {
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open(on_disk(dir.path())).await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk","/sub"],"kind":"MultiHash","version":2},
        "uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/v"]}]}}"#;
    db.create_collection(body, Some(400)).await.expect("a collection");
    let body = |id: &str, number: u32, v: u32| {
        format!(r#"{{"id":"{id}{number}-{v}","pk":"k{}","sub":"s{number}","v":{v}}}"#, number % 2)
    };
    for number in 0..20 {
        for v in 0..3 {
            db.create(&body("d", number, v)).await.expect("created");
        }
    }
    let check = async |db: &Database| {
        for number in 0..20 {
            let taken = db.create(&body("x", number, number % 3)).await;
            assert_eq!(taken.map(|_| ()).map_err(|error| error.code), Err(Code::Conflict));
        }
    };
    // The first two cut between keys or inside one; the last joins them again.
    for (range, is_split) in [("0", true), ("1", true), ("3", false)] {
        let (path, range) = (collection(), range.to_owned());
        let reshape = if is_split {
            Operation::SplitPartition { path, range }
        } else {
            Operation::MergePartitions { path, range }
        };
        db.call(reshape, Options::default()).await.expect("reshaped");
        check(&db).await;
    }
    db.engine.close().await.expect("closed");
    drop(db);
    let report = verify(on_disk(dir.path())).await.expect("readable");
    assert!(report.is_clean(), "{report}");
    let db = Database::open(on_disk(dir.path())).await;
    check(&db).await;
    db.delete("d3-0", r#"["k1","s3"]"#).await.expect("deleted");
    db.create(&body("x", 3, 0)).await.expect("free again");
    db.engine.close().await.expect("closed");
}

/// A collection that is given a key keeps them, per key.
#[tokio::test]
async fn a_new_partition_key_keeps_them() {
    let body = r#"{"id":"c","uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/v"]}]}}"#;
    let world = World::new(body).await;
    for number in 0..20 {
        let body = format!(r#"{{"id":"d{number}","pk":"k{}","v":{number}}}"#, number % 3);
        world.create(&body).await.expect("created");
    }
    let again = r#"{"id":"x","pk":"other","v":3}"#;
    assert_eq!(world.create(again).await, Err(Code::Conflict), "the whole collection is one key");
    let body = Bytes::from(BY_PK);
    let give = Operation::GivePartitionKey { path: collection(), body };
    world.db.call(give, Options::default()).await.expect("given");
    assert_eq!(world.create(r#"{"id":"x","pk":"k0","v":3}"#).await, Err(Code::Conflict));
    assert_eq!(world.create(again).await, Ok(()), "another key now");
    world.close().await;
}

/// Two documents that a client told apart by `_partitionKey` may share values, and would be of one key
/// then: refused, unless one of them has expired.
#[tokio::test]
async fn a_new_partition_key_is_refused_to_twins() {
    let body = r#"{"id":"c","defaultTtl":-1,"uniqueKeyPolicy":{"uniqueKeys":[{"paths":["/v"]}]}}"#;
    let world = World::new(body).await;
    let twin = |id: &str, key: &str, ttl: &str| {
        format!(r#"{{"id":"{id}","_partitionKey":"{key}","pk":"k","v":1{ttl}}}"#)
    };
    world.create(&twin("a", "x", r#","ttl":5"#)).await.expect("created");
    world.create(&twin("b", "y", "")).await.expect("created");
    let give = || {
        let body = Bytes::from(BY_PK);
        let give = Operation::GivePartitionKey { path: collection(), body };
        world.db.call(give, Options::default())
    };
    let refused = give().await.expect_err("twins");
    assert_eq!(refused.code, Code::BadRequest);
    assert!(refused.message.contains("unique key"), "{}", refused.message);
    assert_eq!(world.db.all(Options::default()).await.len(), 2, "nothing was changed");
    world.clock.set(START + 5);
    give().await.expect("given");
    assert_eq!(world.db.all(keyed(r#"["k"]"#)).await, ["b"]);
    assert_eq!(world.create(r#"{"id":"z","pk":"k","v":1}"#).await, Err(Code::Conflict));
    world.db.delete("b", r#"["k"]"#).await.expect("deleted");
    assert_eq!(world.create(r#"{"id":"z","pk":"k","v":1}"#).await, Ok(()));
    world.close().await;
}

/// Random writes against a model.
#[tokio::test]
async fn random_writes_follow_a_model() {
    for seed in 0..6 {
        let mut rng = Rng::new(seed);
        let body = definition(r#"[{"paths":["/v"]},{"paths":["/w/x","/v"]},{"paths":["/u"]}]"#, "");
        let world = World::new(&body).await;
        // The values of each document: `v` and `u`; the second key never says more than the first.
        let mut model: BTreeMap<(String, String), (usize, usize)> = BTreeMap::new();
        for _ in 0..400 {
            let (key, id) = (format!("k{}", rng.below(2)), format!("d{}", rng.below(8)));
            let (v, u) = (rng.below(8), rng.below(10));
            let place = (key.clone(), id.clone());
            let is_free = |(at, values): (&(String, String), &(usize, usize))| {
                at.0 != key || *at == place || values.0 != v && values.1 != u
            };
            let is_free = model.iter().all(is_free);
            let exists = model.contains_key(&place);
            let body = format!(r#"{{"id":"{id}","pk":"{key}","v":{v},"u":{u},"w":{{"x":1}}}}"#);
            let header = format!(r#"["{key}"]"#);
            let (answer, is_expected) = match rng.below(5) {
                0 => (world.create(&body).await, !exists && is_free),
                1 => (code(world.db.write(&body, true, Options::default()).await), is_free),
                2 => (code(world.db.replace(&id, &body, keyed(&header)).await), exists && is_free),
                3 => {
                    let patch = format!(
                        r#"{{"operations":[{{"op":"set","path":"/v","value":{v}}},
                            {{"op":"set","path":"/u","value":{u}}}]}}"#
                    );
                    let patched = world.db.patch(&id, &patch, keyed(&header)).await;
                    (code(patched), exists && is_free)
                }
                _ => {
                    let deleted = code(world.db.delete(&id, &header).await);
                    assert_eq!(deleted.is_ok(), exists);
                    model.remove(&place);
                    continue;
                }
            };
            assert_eq!(answer.is_ok(), is_expected, "{body}: {answer:?}, {model:?}");
            if is_expected {
                model.insert(place, (v, u));
            }
        }
        world.close().await;
    }
}
