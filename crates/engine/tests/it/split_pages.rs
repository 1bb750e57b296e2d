//! Paging through a query while partitions split and merge: the pages together are the answer.

use std::time::Duration;

use protocol::{Error, Operation, Options};
use value::{Value, partition_key::Epk};

use crate::stores::new_store;
use crate::{
    random::{
        KEYS, Rng,
        policies::{Key, Policy},
        queries::Query,
        world::{Script, answer, definition, documents, follows_feed, open, page},
    },
    splitting::{merge, ranges, split},
    support::{Database, collection, items, text},
};

pub(crate) const UNHURRIED: Duration = Duration::from_mins(10);

/// What is in the collection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Content {
    Anything,
    /// One tenant, whose hierarchical keys are cut inside their slot.
    OneTenant,
}

/// A collection of one partition, full of random documents.
pub(crate) async fn world(
    rng: &mut Rng,
    content: Content,
    page_time: Duration,
) -> (Database, Policy) {
    let policy = match content {
        Content::Anything => Policy::random(rng),
        Content::OneTenant => Policy::default_policy(Key::Hierarchical).changed(rng),
    };
    let keys: &[&str] = if content == Content::OneTenant { &["\"a\""] } else { &KEYS };
    let db = open(new_store(), page_time).await;
    db.create_database("db").await;
    db.create_collection(&definition(&policy), Some(400)).await.expect("created");
    Script::of_keys(rng, &policy, 60, keys).run(&db).await;
    (db, policy)
}

/// Splits or merges something, where that can be done.
pub(crate) async fn reshape(db: &Database, rng: &mut Rng) {
    let now = ranges(db).await;
    let range = &now[rng.below(now.len())].0;
    let is_merge = now.len() > 5 || now.len() > 1 && rng.chance(40);
    // The last range has no neighbour, and some cannot be cut.
    let _ = if is_merge { merge(db, range).await } else { split(db, range).await };
}

/// A query over the whole collection goes on as if nothing had happened, row by row.
#[tokio::test]
async fn a_query_over_everything_goes_on() {
    goes_on(Content::Anything).await;
}

pub(crate) async fn goes_on(content: Content) {
    for seed in 0..6 {
        let rng = &mut Rng::new(7_000_000 + seed);
        let page_time = if seed % 2 == 0 { UNHURRIED } else { Duration::ZERO };
        let (db, policy) = world(rng, content, page_time).await;
        for _ in 0..40 {
            let query = Query::random(rng, &policy);
            let Ok(expected) = answer(&db, &query, 1000, &Options::default()).await else {
                continue;
            };
            let size = *rng.pick(&[&1, &2, &3, &5, &9]);
            let mut options = Options { max_item_count: Some(size), ..Options::default() };
            let mut rows = Vec::new();
            loop {
                let (items, continuation) =
                    page(&db, &query, options.clone()).await.expect("a page");
                rows.extend(items);
                let Some(token) = continuation else { break };
                options.continuation = Some(token);
                if rng.chance(40) {
                    reshape(&db, rng).await;
                }
            }
            assert_same_answer(&query, rows, expected, seed);
        }
        assert_eq!(documents(&db, &Options::default()).await.len(), count(&db).await);
        let newest = ranges(&db).await.iter().filter_map(|(id, _)| id.parse::<u32>().ok()).max();
        assert!(newest > Some(10), "partitions were hardly split or merged: {newest:?}");
        db.engine.close().await.expect("closed");
    }
}

/// Rows without an order come by partition, in each as documents were created: of partitions that are
/// split before anything was read of them, in another order than expected.
fn assert_same_answer(query: &Query, mut rows: Vec<String>, mut expected: Vec<String>, seed: u64) {
    if follows_feed(query) {
        if ["TOP", "OFFSET"].iter().any(|word| query.text.contains(word)) {
            // Which rows are let through depends on the order.
            assert_eq!(rows.len(), expected.len(), "seed {seed}: {}", query.text);
            return;
        }
        rows.sort_unstable();
        expected.sort_unstable();
    }
    assert_eq!(rows, expected, "seed {seed}: {}", query.text);
}

async fn count(db: &Database) -> usize {
    let query = Query::plain("SELECT VALUE COUNT(1) FROM c");
    let rows = answer(db, &query, 10, &Options::default()).await.expect("a count");
    rows[0].parse().expect("a number")
}

/// What a client has yet to ask of a part of the hash space.
#[derive(Clone, Debug)]
struct Share {
    min: String,
    max: String,
    token: Option<String>,
}

/// The bounds of the ranges as they are now.
async fn bounds(db: &Database) -> Vec<(String, String, String)> {
    let list = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let page = db.call(list, Options::default()).await.expect("the ranges");
    let of = |range: &Value| {
        let bound = |name| text(range.get(name));
        (bound("id"), bound("minInclusive"), bound("maxExclusive"))
    };
    items(&page).iter().map(of).collect()
}

/// Asks as SDKs do: of each range, going by bounds when a range has been split or merged.
async fn by_ranges(db: &Database, query: &Query, rng: &mut Rng) -> Result<Vec<String>, Error> {
    let mut shares: Vec<Share> =
        bounds(db).await.into_iter().map(|(_, min, max)| Share { min, max, token: None }).collect();
    let size = *rng.pick(&[&1, &2, &3, &5, &9]);
    let mut rows = Vec::new();
    while let Some(share) = shares.pop() {
        let now = bounds(db).await;
        let overlapping: Vec<_> =
            now.iter().filter(|(_, min, max)| *min < share.max && share.min < *max).collect();
        if overlapping.len() > 1 {
            shares.extend(overlapping.into_iter().map(|(_, min, max)| Share {
                min: min.max(&share.min).clone(),
                max: max.min(&share.max).clone(),
                token: share.token.clone(),
            }));
            continue;
        }
        let (id, min, max) = overlapping[0];
        let is_part = *min != share.min || *max != share.max;
        let epk = |text: &str| Epk::parse_hex(text).expect("a bound");
        let options = Options {
            range_id: Some(id.clone()),
            epk_range: is_part.then(|| (epk(&share.min), epk(&share.max))),
            continuation: share.token,
            max_item_count: Some(size),
            ..Options::default()
        };
        let (items, token) = page(db, query, options).await?;
        rows.extend(items);
        if token.is_some() {
            shares.push(Share { min: share.min, max: share.max, token });
        }
        if rng.chance(30) {
            reshape(db, rng).await;
        }
    }
    Ok(rows)
}

/// A client that asks range by range gets every document once.
#[tokio::test]
async fn a_client_that_asks_by_ranges_misses_nothing() {
    misses_nothing(Content::Anything).await;
}

pub(crate) async fn misses_nothing(content: Content) {
    for seed in 0..6 {
        let rng = &mut Rng::new(8_000_000 + seed);
        let (db, _) = world(rng, content, UNHURRIED).await;
        let mut expected: Vec<String> =
            answer(&db, &Query::plain("SELECT VALUE c._rid FROM c"), 1000, &Options::default())
                .await
                .expect("all");
        expected.sort_unstable();
        for order in ["", "ORDER BY c._ts", "ORDER BY c.id DESC"] {
            let query = Query::plain(&format!("SELECT VALUE c._rid FROM c {order}"));
            // What no index has is refused before anything is returned.
            let Ok(mut rows) = by_ranges(&db, &query, rng).await else { continue };
            rows.sort_unstable();
            assert_eq!(rows, expected, "seed {seed}: {}", query.text);
        }
        db.engine.close().await.expect("closed");
    }
}

/// Counts and groups are added up by the client: each document counts once.
#[tokio::test]
async fn what_is_added_up_counts_once() {
    counts_once(Content::Anything).await;
}

pub(crate) async fn counts_once(content: Content) {
    for seed in 0..8 {
        let rng = &mut Rng::new(9_000_000 + seed);
        // In a hurry, so that a count is cut short behind every document.
        let page_time = if seed % 2 == 0 { UNHURRIED } else { Duration::ZERO };
        let (db, _) = world(rng, content, page_time).await;
        let all = documents(&db, &Options::default()).await.len();
        let texts = [
            "SELECT VALUE COUNT(1) FROM c",
            "SELECT VALUE COUNT(1) FROM c GROUP BY c.id",
            "SELECT VALUE COUNT(1) FROM c GROUP BY LENGTH(c.id)",
            "SELECT VALUE SUM(IS_DEFINED(c.id) ? 1 : 0) FROM c",
        ];
        for text in texts {
            let query = Query::plain(text);
            let rows = by_ranges(&db, &query, rng).await.expect("rows");
            let sum: usize = rows.iter().map(|row| row.parse::<usize>().expect("a count")).sum();
            assert_eq!(sum, all, "seed {seed}: {text}");
        }
        db.engine.close().await.expect("closed");
    }
}
