//! What must hold for every query: the index gives what a scan gives, pages put together are the
//! whole answer, and partitions make no difference.

use std::{sync::Arc, time::Duration};

use engine::verify;
use protocol::{Operation, Options};
use value::{
    Value, json,
    partition_key::{Epk, Hashing, PartitionKey},
};

use crate::{
    random::{
        Rng,
        policies::{Key, Policy},
        queries::Query,
        world::{
            Script, World, answer, definition, difference, documents, expected, open, page,
            sequence,
        },
    },
    support::{collection, items, text},
};

/// How many worlds a test makes. More than that is for a long night: the number in
/// `PROPERTY_ROUNDS` is multiplied in.
fn rounds(count: u64) -> std::ops::Range<u64> {
    let times = std::env::var("PROPERTY_ROUNDS").ok().and_then(|times| times.parse().ok());
    let start = std::env::var("PROPERTY_SEED").ok().and_then(|seed| seed.parse().ok());
    let start = start.unwrap_or(0);
    start..start + count * times.unwrap_or(1)
}

/// What went wrong, with all it takes to see it again.
#[derive(Default)]
struct Problems {
    listed: Vec<String>,
    queries: usize,
    refused: usize,
    rows: usize,
}

impl Problems {
    fn count(&mut self, expected: &Result<Vec<String>, String>) {
        self.queries += 1;
        match expected {
            Ok(rows) => self.rows += rows.len(),
            Err(_) => self.refused += 1,
        }
    }

    fn add(&mut self, place: &str, query: &Query, policy: &Policy, what: &str) {
        let parameters = &query.parameters;
        let json = &policy.json;
        self.listed
            .push(format!("{place}\n  {}\n  {parameters:?}\n  {json}\n  {what}", query.text));
    }

    /// None were found, by queries that were worth asking.
    fn assert_none(&self) {
        let shown: Vec<String> =
            self.listed.iter().take(20).map(|it| it.chars().take(3000).collect()).collect();
        assert!(shown.is_empty(), "{} problems:\n{}", self.listed.len(), shown.join("\n"));
        assert!(self.refused * 4 < self.queries, "{} of {} refused", self.refused, self.queries);
        assert!(self.rows > self.queries, "{} rows of {} queries", self.rows, self.queries);
    }
}

/// Asks a query of one world: whole, in pages, and in pages that end behind every document.
async fn ask(
    world: &World,
    (query, policy): (&Query, &Policy),
    sizes: [u32; 2],
    place: &str,
    problems: &mut Problems,
) {
    let expected = expected(query, policy, &world.documents);
    problems.count(&expected);
    let everywhere = Options::default();
    for size in [1000, sizes[0]] {
        let actual = answer(&world.db, query, size, &everywhere).await;
        if let Some(what) = difference(&expected, &actual) {
            return problems.add(&format!("{place}, pages of {size}"), query, policy, &what);
        }
    }
    let actual = answer(&world.hurried, query, sizes[1], &everywhere).await;
    if let Some(what) = difference(&expected, &actual) {
        problems.add(&format!("{place}, hurried pages of {}", sizes[1]), query, policy, &what);
    }
}

fn ids(documents: &[Value]) -> Vec<String> {
    documents.iter().map(|document| text(document.get("id"))).collect()
}

/// The feed has the documents of another world, partition after partition, each in the order of
/// creation.
async fn check_feed(world: &World, other: &World) {
    let mut sorted = [ids(&world.documents), ids(&other.documents)];
    for ids in &mut sorted {
        ids.sort_unstable();
    }
    assert_eq!(sorted[0], sorted[1], "the documents of feeds");
    let ranges = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let ranges = items(&world.db.call(ranges, Options::default()).await.expect("ranges"));
    let mut parts = Vec::new();
    for range in &ranges {
        let options = Options { range_id: Some(text(range.get("id"))), ..Options::default() };
        let part = documents(&world.db, &options).await;
        assert!(part.iter().map(sequence).is_sorted(), "{:?}", ids(&part));
        parts.extend(part);
    }
    assert_eq!(ids(&world.documents), ids(&parts), "the order of partitions");
}

#[tokio::test]
async fn an_index_gives_what_a_scan_gives() {
    let mut problems = Problems::default();
    for seed in rounds(8) {
        let rng = &mut Rng::new(seed);
        let policy = Policy::random(rng);
        let script = Script::random(rng, &policy, 40);
        let mut worlds = Vec::new();
        for throughput in [400, 30_000, 70_000] {
            worlds.push(World::new(&policy, &script, throughput).await);
        }
        for world in &worlds {
            check_feed(world, &worlds[0]).await;
        }
        for number in 0..32 {
            let query = Query::random(rng, &policy);
            let sizes = [[1, 2, 3, 7][rng.below(4)], [1, 2, 3, 7, 100][rng.below(5)]];
            for (at, world) in worlds.iter().enumerate() {
                let place = format!("seed {seed}, query {number}, world {at}");
                ask(world, (&query, &policy), sizes, &place, &mut problems).await;
            }
        }
        for world in worlds {
            let report = verify(world.store).await.expect("readable");
            assert!(report.is_clean(), "seed {seed}: {report}");
        }
    }
    problems.assert_none();
}

#[tokio::test]
async fn many_documents_make_no_difference() {
    let mut problems = Problems::default();
    for seed in rounds(2) {
        let rng = &mut Rng::new(1_000_000 + seed);
        let policy = Policy::random(rng);
        let script = Script::random(rng, &policy, 700);
        let world = World::new(&policy, &script, 30_000).await;
        for number in 0..60 {
            let query = Query::random(rng, &policy);
            let expected = expected(&query, &policy, &world.documents);
            problems.count(&expected);
            let size = [50, 1000][rng.below(2)];
            let actual = answer(&world.db, &query, size, &Options::default()).await;
            if let Some(what) = difference(&expected, &actual) {
                let place = format!("seed {seed}, query {number}, pages of {size}");
                problems.add(&place, &query, &policy, &what);
            }
        }
    }
    problems.assert_none();
}

/// Parts of the collection that a request may name: of one key, of ranges, and between cuts.
async fn scopes(world: &World, policy: &Policy, rng: &mut Rng) -> Vec<Options> {
    let db = &world.db;
    let some = &world.documents[rng.below(world.documents.len())];
    let header = policy.key.header(&json::print(some));
    let key = PartitionKey::parse_header(&header).expect("a key");
    let mut named = key.clone();
    // The beginning of a key names all that begin so.
    named.0.truncate(1 + rng.below(key.0.len()));
    let mut scopes = vec![Options { partition_key: Some(named), ..Options::default() }];
    let ranges = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let ranges = items(&db.call(ranges, Options::default()).await.expect("ranges"));
    for range in &ranges {
        let range_id = Some(text(range.get("id")));
        scopes.push(Options { range_id, ..Options::default() });
    }
    // Cut at any point of the hash space, and where a key lies.
    let (hashing, point) = match policy.key {
        // The hash is a number, as key bytes have it.
        Key::V1 => (Hashing::V1, ranges[1].get("minInclusive").clone()),
        Key::V2 => (Hashing::V2, Value::from("2A".repeat(16))),
        Key::Hierarchical => (Hashing::MultiHash, Value::from("15".repeat(32))),
    };
    let point = Epk::parse_hex(&text(&point)).expect("a point of the hash space");
    let mut cuts = [Epk::min(), key.effective(hashing), point, Epk::max()];
    cuts.sort();
    for cut in cuts.windows(2) {
        let epk_range = Some((cut[0].clone(), cut[1].clone()));
        scopes.push(Options { epk_range, ..Options::default() });
    }
    scopes
}

#[tokio::test]
async fn parts_put_together_are_the_whole() {
    let mut problems = Problems::default();
    for seed in rounds(6) {
        let rng = &mut Rng::new(2_000_000 + seed);
        let policy = Policy::random(rng);
        let script = Script::random(rng, &policy, 40);
        let world = World::new(&policy, &script, 30_000).await;
        for number in 0..40 {
            let query = Query::random(rng, &policy);
            let scopes = scopes(&world, &policy, rng).await;
            let mut parts = Vec::new();
            for (at, scope) in scopes.iter().enumerate() {
                let expected = expected(&query, &policy, &documents(&world.db, scope).await);
                problems.count(&expected);
                let actual = answer(&world.db, &query, 7, scope).await;
                if let Some(what) = difference(&expected, &actual) {
                    let place = format!("seed {seed}, query {number}, scope {at}");
                    problems.add(&place, &query, &policy, &what);
                }
                let hurried = answer(&world.hurried, &query, 3, scope).await;
                if let Some(what) = difference(&expected, &hurried) {
                    let place = format!("seed {seed}, query {number}, scope {at}, hurried");
                    problems.add(&place, &query, &policy, &what);
                }
                parts.push(actual.unwrap_or_default());
            }
            if query.is_plain {
                let whole = answer(&world.db, &query, 100, &Options::default()).await;
                let whole = whole.unwrap_or_default();
                // One key, three ranges, three cuts.
                assert_eq!(parts[1..4].concat(), whole, "seed {seed}, query {number}: ranges");
                // Documents that were created one after the other are cut apart.
                let (mut cut, mut whole) = (parts[4..].concat(), whole);
                cut.sort();
                whole.sort();
                assert_eq!(cut, whole, "seed {seed}, query {number}: cuts");
            }
        }
    }
    let shown = problems.listed.join("\n");
    assert!(shown.is_empty(), "{} problems:\n{shown}", problems.listed.len());
    assert!(problems.rows > problems.queries, "{} rows", problems.rows);
}

#[tokio::test]
async fn tokens_outlive_the_process() {
    let dir = tempfile::tempdir().expect("a directory");
    let store = || -> Arc<dyn store::Store> {
        store_lsm::LsmStore::open(dir.path(), store_lsm::Options::default()).expect("opens")
    };
    let rng = &mut Rng::new(3_000_000);
    let policy = Policy::random(rng);
    let mut db = open(store(), Duration::ZERO).await;
    db.create_database("db").await;
    db.create_collection(&definition(&policy), Some(30_000)).await.expect("created");
    Script::random(rng, &policy, 40).run(&db).await;
    let all = documents(&db, &Options::default()).await;
    let mut reopened = 0;
    while reopened < 12 {
        let query = Query::random(rng, &policy);
        let expected = expected(&query, &policy, &all);
        let mut options = Options { max_item_count: Some(2), ..Options::default() };
        let mut rows = Ok(Vec::new());
        for number in 0.. {
            match page(&db, &query, options.clone()).await {
                Ok((items, continuation)) => {
                    rows.as_mut().map(|rows: &mut Vec<String>| rows.extend(items)).expect("rows");
                    options.continuation = continuation;
                }
                Err(error) => rows = Err(error),
            }
            if options.continuation.is_none() || rows.is_err() {
                break;
            }
            if number == 1 {
                db.engine.close().await.expect("closed");
                drop(db);
                db = open(store(), Duration::ZERO).await;
                reopened += 1;
            }
        }
        assert_eq!(difference(&expected, &rows), None, "{}", query.text);
    }
}
