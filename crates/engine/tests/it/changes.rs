//! The change feed: where it begins and ends, what its pages hold, and what it refuses.

use std::sync::{Arc, atomic::AtomicU64};

use engine::{Engine, RateLimit};
use protocol::{Code, Error, Operation, Options, Outcome, Response, request::ChangeMode};
use value::{
    Value,
    partition_key::{Epk, Hashing, PartitionKey},
};

use crate::stores::new_store;
use crate::{
    batches::execute,
    migration::{BY_DEVICE, give, without_key},
    splitting::{merge, of_range, ranges, split},
    support::{Database, TestClock, collection, items, keyed, text},
};

/// A page from a position.
pub(crate) async fn changes(
    db: &Database,
    position: Option<&str>,
    since: Option<u64>,
    options: Options,
) -> Result<Response, Error> {
    let options = Options { if_none_match: position.map(str::to_owned), ..options };
    let (collection, mode) = (collection(), ChangeMode::Latest);
    db.call(Operation::ReadChanges { collection, mode, since }, options).await
}

pub(crate) fn etag(page: &Response) -> String {
    page.etag.clone().expect("a position")
}

/// Every page from a position on, and the position at the end.
pub(crate) async fn follow(
    db: &Database,
    position: Option<&str>,
    options: &Options,
) -> (Vec<Vec<Value>>, String) {
    let mut pages = Vec::new();
    let mut position = position.map(str::to_owned);
    loop {
        let page = changes(db, position.as_deref(), None, options.clone()).await.expect("a page");
        let next = etag(&page);
        if page.outcome == Outcome::NotModified {
            return (pages, next);
        }
        assert_ne!(position.as_ref(), Some(&next), "it moves on");
        pages.push(items(&page));
        position = Some(next);
    }
}

fn ids(pages: &[Vec<Value>]) -> Vec<String> {
    pages.iter().flatten().map(|item| text(item.get("id"))).collect()
}

fn sized(size: u32) -> Options {
    Options { max_item_count: Some(size), ..Options::default() }
}

async fn write(db: &Database, id: &str, key: &str) {
    let body = format!(r#"{{"id":"{id}","pk":"{key}"}}"#);
    db.write(&body, true, Options::default()).await.expect("written");
}

#[tokio::test]
async fn the_latest_versions_come_once_in_the_order_of_their_writes() {
    let db = Database::memory().await.with_collection(400).await;
    let (pages, start) = follow(&db, None, &Options::default()).await;
    assert_eq!((pages.len(), start.as_str()), (0, "1"), "nothing was written yet");
    for id in ["a", "b", "c", "d"] {
        write(&db, id, "x").await;
    }
    write(&db, "b", "x").await;
    db.delete("c", r#"["x"]"#).await.expect("deleted");
    for size in 1..5 {
        let (pages, end) = follow(&db, None, &sized(size)).await;
        assert_eq!(ids(&pages), ["a", "d", "b"], "pages of {size}");
        assert!(pages.iter().all(|page| page.len() <= size as usize && !page.is_empty()));
        assert_eq!(end, "7");
    }
    let (pages, _) = follow(&db, Some(&start), &Options::default()).await;
    let lsns: Vec<_> = pages[0].iter().map(|item| item.get("_lsn").as_i64()).collect();
    assert_eq!(lsns, [Some(2), Some(5), Some(6)]);
    assert_eq!(pages[0][0].get("_etag").as_str().map(str::len), Some(38), "whole documents");
    // One that is written between two pages comes later, once.
    let first = changes(&db, None, None, sized(1)).await.expect("a page");
    assert_eq!(text(items(&first)[0].get("id")), "a");
    write(&db, "d", "x").await;
    let (pages, end) = follow(&db, Some(&etag(&first)), &sized(1)).await;
    assert_eq!(ids(&pages), ["b", "d"]);
    let page = changes(&db, Some(&end), None, Options::default()).await.expect("an answer");
    assert_eq!((page.outcome, etag(&page)), (Outcome::NotModified, end));
    assert!(page.meta.charge > 0.0 && page.meta.partitions[0].lsn == 8);
}

#[tokio::test]
async fn from_now_and_from_a_time() {
    let clock = Arc::new(TestClock(AtomicU64::new(1_700_000_000)));
    let options = engine::Options { rate_limit: RateLimit::Never, ..engine::Options::default() };
    let store = new_store();
    let engine = Engine::open(store, options, Arc::clone(&clock) as _).await.expect("open");
    let db = Database { engine }.with_collection(400).await;
    let at = |second: u64| clock.0.store(second, std::sync::atomic::Ordering::Relaxed);
    for number in 0..300 {
        at(1_700_000_000 + number);
        write(&db, &format!("d{number}"), "x").await;
    }
    let now = changes(&db, Some("*"), None, Options::default()).await.expect("an answer");
    assert_eq!((now.outcome, etag(&now).as_str()), (Outcome::NotModified, "301"));
    write(&db, "new", "x").await;
    let (pages, _) = follow(&db, Some(&etag(&now)), &Options::default()).await;
    assert_eq!(ids(&pages), ["new"]);
    for since in [0, 1_699_999_999, 1_700_000_000, 1_700_000_100, 1_700_000_298, 1_700_000_299] {
        let first = changes(&db, None, Some(since), sized(7)).await.expect("a page");
        let expected = (0..300_u64).filter(|number| 1_700_000_000 + number > since).count()
            + usize::from(since < 1_700_000_299);
        if expected == 0 {
            assert_eq!(first.outcome, Outcome::NotModified);
            continue;
        }
        // Python goes on with both; the time stays a filter.
        let (mut found, mut position) = (items(&first).len(), etag(&first));
        loop {
            let page = changes(&db, Some(&position), Some(since), sized(7)).await.expect("a page");
            if page.outcome == Outcome::NotModified {
                break;
            }
            found += items(&page).len();
            position = etag(&page);
        }
        assert_eq!(found, expected, "since {since}");
    }
    for ahead in [1_700_000_600, 1_700_003_700, 1_700_100_000, 253_402_300_799, u64::MAX] {
        let page = changes(&db, None, Some(ahead), Options::default()).await.expect("a page");
        assert_eq!(page.outcome, Outcome::NotModified, "{ahead}");
    }
}

#[tokio::test]
async fn a_transaction_is_never_torn() {
    let db = Database::memory().await.with_collection(400).await;
    write(&db, "before", "x").await;
    let creates: Vec<String> = (0..40)
        .map(|number| {
            let body = format!(r#"{{"id":"t{number}","pk":"x"}}"#);
            format!(r#"{{"operationType":"Create","resourceBody":{body}}}"#)
        })
        .collect();
    let batch = format!("[{}]", creates.join(","));
    let mode = protocol::request::BatchMode::Atomic;
    execute(&db, &batch, mode, keyed(r#"["x"]"#)).await.expect("done");
    write(&db, "behind", "x").await;
    for size in [1, 2, 3, 39, 40, 41, 42, 100] {
        let (pages, _) = follow(&db, None, &sized(size)).await;
        let sizes: Vec<usize> = pages.iter().map(Vec::len).collect();
        assert_eq!(sizes.iter().sum::<usize>(), 42);
        let with: Vec<_> = pages
            .iter()
            .filter(|page| page.iter().any(|item| text(item.get("id")).starts_with('t')))
            .collect();
        assert_eq!(with.len(), 1, "pages of {size}: {sizes:?}");
    }
}

#[tokio::test]
async fn scopes() {
    let db = Database::memory().await.with_collection(25_000).await;
    for number in 0..120 {
        write(&db, &format!("d{number}"), &format!("k{}", number % 17)).await;
    }
    let mut all = ids(&follow(&db, None, &sized(7)).await.0);
    let mut by_range = Vec::new();
    for (id, _) in ranges(&db).await {
        by_range.extend(ids(&follow(&db, None, &of_range(&id)).await.0));
    }
    assert_eq!(by_range.len(), 120);
    by_range.sort();
    all.sort();
    assert_eq!(all, by_range);
    for key in 0..17 {
        let options = Options { max_item_count: Some(2), ..keyed(&format!(r#"["k{key}"]"#)) };
        let expected: Vec<_> =
            (0..120).filter(|it| it % 17 == key).map(|it| format!("d{it}")).collect();
        assert_eq!(ids(&follow(&db, None, &options).await.0), expected);
    }
    let cut = PartitionKey::parse_header(r#"["k3"]"#).expect("a key").effective(Hashing::V2);
    let half = |min, max| Options { epk_range: Some((min, max)), ..Options::default() };
    let below = ids(&follow(&db, None, &half(Epk::min(), cut.clone())).await.0);
    let above = ids(&follow(&db, None, &half(cut, Epk::max())).await.0);
    assert!(!below.contains(&"d3".to_owned()) && above.contains(&"d3".to_owned()));
    let mut both = [below, above].concat();
    both.sort();
    assert_eq!(both, all);
    let gone = changes(&db, None, None, of_range("9")).await;
    assert_eq!(gone.expect_err("no such range").code, Code::PartitionGone);
}

/// One key among many that change all the time is found by its own rows.
#[tokio::test]
async fn a_key_that_hardly_changes() {
    let db = Database::memory().await.with_collection(400).await;
    write(&db, "first", "rare").await;
    let mut rare = vec!["first".to_owned()];
    for round in 0..3 {
        for number in 0..2600 {
            write(&db, &format!("d{round}-{number}"), &format!("k{}", number % 50)).await;
        }
        if round < 2 {
            rare.push(format!("r{round}"));
            write(&db, &format!("r{round}"), "rare").await;
        }
    }
    for size in [1, 2, 100] {
        let options = Options { max_item_count: Some(size), ..keyed(r#"["rare"]"#) };
        let (pages, end) = follow(&db, None, &options).await;
        assert_eq!(ids(&pages), rare, "pages of {size}");
        assert_eq!(end, "7804", "the end is that of the partition");
        assert!(pages.iter().all(|page| !page.is_empty()));
    }
    // The same by its effective key, as Python asks for it.
    let epk = PartitionKey::parse_header(r#"["rare"]"#).expect("a key").effective(Hashing::V2);
    let behind = Epk::from_bytes([epk.as_bytes(), &[0xff]].concat());
    let options = Options { epk_range: Some((epk, behind)), ..Options::default() };
    assert_eq!(ids(&follow(&db, None, &options).await.0), rare);
}

#[tokio::test]
async fn what_is_no_position_is_refused() {
    let db = Database::memory().await.with_collection(25_000).await;
    for number in 0..30 {
        write(&db, &format!("d{number}"), &format!("k{number}")).await;
    }
    let (_, whole) = follow(&db, None, &sized(5)).await;
    assert!(whole.parse::<u64>().is_err(), "an LSN for each range: {whole}");
    let body = r#"{"id":"other","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    db.create_collection(body, Some(25_000)).await.expect("created");
    let mut other = collection();
    other.collection = "other".to_owned();
    let (mode, since) = (ChangeMode::Latest, None);
    let options = Options { if_none_match: Some(whole.clone()), ..Options::default() };
    let foreign = Operation::ReadChanges { collection: other, mode, since };
    let foreign = db.call(foreign, options).await.expect_err("another collection's");
    assert_eq!(foreign.code, Code::BadRequest);
    let damaged = [&whole[..whole.len() - 1], "A"].concat();
    for bad in ["", "x", "-1", "1.5", "99999999", "18446744073709551616", &whole[1..], &damaged] {
        let refused = changes(&db, Some(bad), None, Options::default()).await;
        let is_same = bad == whole;
        assert!(is_same || refused.expect_err(bad).code == Code::BadRequest, "{bad}");
    }
    // Quotes are part of the header, not of the position.
    let quoted = format!("\"{whole}\"");
    let page = changes(&db, Some(&quoted), None, Options::default()).await.expect("an answer");
    assert_eq!(page.outcome, Outcome::NotModified);
    // All versions are kept only where that is asked for, and never from the beginning.
    for position in [None, Some("*".to_owned()), Some("0".to_owned())] {
        let options = Options { if_none_match: position, ..Options::default() };
        let (collection, mode) = (collection(), ChangeMode::All);
        let read = Operation::ReadChanges { collection, mode, since: None };
        assert_eq!(db.call(read, options).await.expect_err("off").code, Code::BadRequest);
    }
}

/// A position of a range goes on in the ranges that it became.
#[tokio::test]
async fn positions_go_on_in_other_ranges() {
    let db = Database::memory().await.with_collection(400).await;
    for number in 0..40 {
        write(&db, &format!("d{number}"), &format!("k{number}")).await;
    }
    let first = changes(&db, None, None, Options { max_item_count: Some(15), ..of_range("0") });
    let first = first.await.expect("a page");
    assert_eq!(etag(&first), "16");
    split(&db, "0").await.expect("split");
    let gone = changes(&db, Some("16"), None, of_range("0")).await.expect_err("gone");
    assert_eq!(gone.code, Code::PartitionGone);
    for number in 0..10 {
        write(&db, &format!("d{number}"), &format!("k{number}")).await;
    }
    let (left, left_end) = follow(&db, Some("16"), &of_range("1")).await;
    let (right, right_end) = follow(&db, Some("16"), &of_range("2")).await;
    let mut both = [ids(&left), ids(&right)].concat();
    both.sort();
    let mut expected: Vec<_> = (0..10).chain(15..40).map(|it| format!("d{it}")).collect();
    expected.sort();
    assert_eq!(both, expected, "what was not read yet, and what was written again");
    assert!(left_end.parse::<u64>().is_ok() && right_end.parse::<u64>().is_ok());
    // Each goes on in its own part of the range that both become.
    let list = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    let now = items(&db.call(list, Options::default()).await.expect("the ranges"));
    let middle = Epk::parse_hex(&text(now[0].get("maxExclusive"))).expect("a key");
    write(&db, "l", &text(left[0][0].get("pk"))).await;
    write(&db, "r", &text(right[0][0].get("pk"))).await;
    merge(&db, "1").await.expect("merged");
    write(&db, "l2", &text(left[0][0].get("pk"))).await;
    for (range, position, expected) in [
        ((Epk::min(), middle.clone()), &left_end, &["l", "l2"][..]),
        ((middle, Epk::max()), &right_end, &["r"]),
    ] {
        let options = Options { epk_range: Some(range), ..of_range("3") };
        assert_eq!(ids(&follow(&db, Some(position), &options).await.0), expected);
    }
}

/// Giving a collection a key keeps the feed: versions and their order stay.
#[tokio::test]
async fn a_new_key_keeps_positions() {
    let db = without_key(Database::memory().await, "").await;
    for number in 0..30 {
        let body = format!(r#"{{"id":"d{number}","deviceId":"k{number}"}}"#);
        db.create(&body).await.expect("created");
    }
    let first = changes(&db, None, None, sized(12)).await.expect("a page");
    give(&db, BY_DEVICE).await.expect("given");
    let (pages, _) = follow(&db, Some(&etag(&first)), &sized(4)).await;
    let expected: Vec<_> = (12..30).map(|it| format!("d{it}")).collect();
    assert_eq!(ids(&pages), expected);
}
