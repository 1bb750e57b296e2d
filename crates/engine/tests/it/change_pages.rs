//! Pages of the change feed where little of what was written is asked for.

use std::{sync::Arc, time::Duration};

use protocol::{Operation, Options, Outcome, Response, request::ChangeMode};
use value::partition_key::Epk;

use crate::stores::new_store;
use crate::{
    changes::{changes, etag},
    durability::open,
    splitting::{merge, of_range, ranges, split},
    support::{Database, TestClock, collection, items, keyed, text},
};

const T: u64 = 1_700_000_000;

/// Nothing is swept meanwhile.
fn still() -> engine::Options {
    engine::Options { sweep_interval: Duration::from_hours(1), ..engine::Options::default() }
}

async fn database(clock: &Arc<TestClock>, options: engine::Options, more: &str) -> Database {
    let db = Database::open_at(new_store(), options, clock).await;
    db.create_database("db").await;
    let key = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}"#;
    let body = format!(r#"{{"id":"c",{more}{key}}}"#);
    db.create_collection(&body, Some(400)).await.expect("created");
    db
}

async fn put(db: &Database, id: &str, pk: &str, more: &str) {
    let body = format!(r#"{{"id":"{id}","pk":"{pk}"{more}}}"#);
    db.write(&body, true, Options::default()).await.expect("written");
}

async fn put_all(db: &Database, name: char, count: usize, pk: &str) {
    for number in 0..count {
        put(db, &format!("{name}{number}"), pk, "").await;
    }
}

/// Each under a key of its own.
async fn put_keys(db: &Database, name: char, count: usize) {
    for number in 0..count {
        put(db, &format!("{name}{number}"), &format!("{name}{number}"), "").await;
    }
}

fn sized(size: u32, options: Options) -> Options {
    Options { max_item_count: Some(size), ..options }
}

/// The pages up to the 304.
async fn pages(
    db: &Database,
    mut position: Option<String>,
    since: Option<u64>,
    mode: ChangeMode,
    options: &Options,
) -> Vec<Response> {
    let mut found = Vec::new();
    loop {
        let options = Options { if_none_match: position.clone(), ..options.clone() };
        let read = Operation::ReadChanges { collection: collection(), mode, since };
        let page = db.call(read, options).await.expect("a page");
        if page.outcome == Outcome::NotModified {
            return found;
        }
        assert_ne!(position, page.etag, "it moves on");
        position.clone_from(&page.etag);
        found.push(page);
    }
}

async fn latest(db: &Database, since: Option<u64>, options: Options) -> Vec<Response> {
    pages(db, None, since, ChangeMode::Latest, &options).await
}

fn counts(pages: &[Response]) -> Vec<usize> {
    pages.iter().map(|page| items(page).len()).collect()
}

/// What was paid for rows that were passed over: a document of a page costs 1.
fn passed_over(pages: &[Response]) -> f64 {
    let paid: f64 = pages.iter().map(|page| page.meta.charge).sum();
    paid - pages.iter().map(|page| items(page).len() as f64).sum::<f64>()
}

#[tokio::test]
async fn a_time_is_looked_up_in_every_partition() {
    let clock = TestClock::at(T);
    let db = database(&clock, still(), "").await;
    put_keys(&db, 'o', 2000).await;
    split(&db, "0").await.expect("split");
    clock.set(T + 1000);
    put_keys(&db, 'n', 100).await;
    let whole = latest(&db, Some(T + 500), sized(30, Options::default())).await;
    assert_eq!(counts(&whole).iter().sum::<usize>(), 100);
    assert!(!counts(&whole).contains(&0));
    assert!(passed_over(&whole) < 0.5, "{}", passed_over(&whole));
    // What two partitions become knows up to when they were two.
    let ids: Vec<String> = ranges(&db).await.into_iter().map(|(id, _)| id).collect();
    merge(&db, &ids[0]).await.expect("merged");
    clock.set(T + 2000);
    put_keys(&db, 'm', 10).await;
    let merged = ranges(&db).await;
    let late = latest(&db, Some(T + 1500), of_range(&merged[0].0)).await;
    assert_eq!(counts(&late), [10]);
    assert!(passed_over(&late) < 0.5, "{}", passed_over(&late));
    let all = latest(&db, Some(T + 500), of_range(&merged[0].0)).await;
    assert_eq!(counts(&all).iter().sum::<usize>(), 110, "nothing is lost before");
}

#[tokio::test]
async fn a_clock_that_was_set_back_hides_nothing() {
    let clock = TestClock::at(T + 1000);
    let dir = tempfile::tempdir().expect("a directory");
    let db = Database::open_at(open(dir.path()), still(), &clock).await;
    let db = db.with_collection(400).await;
    put_keys(&db, 'a', 10).await;
    clock.set(T);
    put_keys(&db, 'b', 10).await;
    clock.set(T + 1100);
    put_keys(&db, 'c', 10).await;
    let expected = [(T - 1, 30), (T, 20), (T + 900, 20), (T + 999, 20), (T + 1000, 10)];
    for (since, count) in expected {
        let found = counts(&latest(&db, Some(since), Options::default()).await);
        assert_eq!(found, [count], "since {since}");
    }
    // It is known after a restart, and to whoever takes over.
    db.engine.close().await.expect("closed");
    drop(db);
    let db = Database::open_at(open(dir.path()), still(), &clock).await;
    for _ in 0..2 {
        for (since, count) in expected {
            let found = counts(&latest(&db, Some(since), Options::default()).await);
            assert_eq!(found.iter().sum::<usize>(), count, "since {since}");
        }
        let range = ranges(&db).await.remove(0).0;
        split(&db, &range).await.expect("split");
    }
}

#[tokio::test]
async fn the_changes_of_one_key_are_found_among_many() {
    let clock = TestClock::at(T);
    let policy = r#""defaultTtl":-1,"changeFeedPolicy":{"retentionDuration":60},"#;
    let db = database(&clock, still(), policy).await;
    put_all(&db, 'o', 300, "other").await;
    put(&db, "expired", "k", r#","ttl":5"#).await;
    put_all(&db, 'p', 1500, "other").await;
    put(&db, "live", "k", "").await;
    clock.set(T + 100);
    let options = sized(1, keyed(r#"["k"]"#));
    let found = latest(&db, None, options.clone()).await;
    assert_eq!(counts(&found), [1]);
    assert_eq!(text(items(&found[0])[0].get("id")), "live");
    assert!(passed_over(&found) < 0.5, "the key's own rows led there: {}", passed_over(&found));
    let all = pages(&db, Some("1".into()), None, ChangeMode::All, &options).await;
    assert_eq!(counts(&all), [1, 1], "one that has expired was there");
}

#[tokio::test]
async fn a_page_whose_time_is_up_says_how_far_it_came() {
    let clock = TestClock::at(T);
    let options = engine::Options { page_time: Duration::ZERO, ..still() };
    let policy = r#""changeFeedPolicy":{"retentionDuration":60},"#;
    let db = database(&clock, options, policy).await;
    put_all(&db, 'o', 6000, "other").await;
    put(&db, "x", "k", "").await;
    let all = pages(&db, Some("1".into()), None, ChangeMode::All, &keyed(r#"["k"]"#)).await;
    let counts = counts(&all);
    assert!(counts.len() > 1, "{counts:?}");
    assert_eq!(counts.iter().sum::<usize>(), 1);
    assert!(all.iter().all(|page| page.outcome == Outcome::Ok), "there is more");
}

#[tokio::test]
async fn a_reader_of_nothing_stays_where_it_was() {
    let db = database(&TestClock::at(T), still(), "").await;
    put_keys(&db, 'o', 100).await;
    split(&db, "0").await.expect("split");
    let epk = Epk::parse_hex("20000000000000000000000000000000").expect("a key");
    let nothing = Options { epk_range: Some((epk.clone(), epk)), ..Options::default() };
    let part = changes(&db, None, None, sized(20, Options::default())).await.expect("a page");
    for position in ["100".to_owned(), etag(&part)] {
        let page = changes(&db, Some(&position), None, nothing.clone()).await.expect("an answer");
        assert_eq!((page.outcome, etag(&page)), (Outcome::NotModified, position));
    }
}
