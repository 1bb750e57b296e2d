//! Feeds over many partitions of a store that has to be waited for: how often one waits after the
//! other, and that pages, positions and charges are those of a store that has everything at hand.

use std::{sync::Arc, time::Duration};

use protocol::{Operation, Options, Outcome, PartitionPoint, Response, request::ChangeMode};
use value::Value;

use crate::{
    support::{Database, collection, items},
    watched::{Watch, WatchedStore},
};

const PARTITIONS: usize = 40;
/// What the database's clock says.
const NOW: u64 = 1_700_000_000;

/// Documents of these keys, in that many partitions.
async fn database(keys: impl Iterator<Item = usize>) -> (Database, Arc<Watch>) {
    let store = WatchedStore::default();
    let watch = Arc::clone(&store.watch);
    let options = engine::Options {
        // Nothing is read in the background.
        sweep_interval: Duration::from_hours(1),
        all_versions_retention: Some(Duration::from_hours(1)),
        ..engine::Options::default()
    };
    let throughput = i64::try_from(10_000 * PARTITIONS).expect("small");
    let db = Database::open_with(Arc::new(store), options).await.with_collection(throughput).await;
    for key in keys {
        let body = format!(r#"{{"id":"{key}","pk":"{key}"}}"#);
        db.create(&body).await.expect("created");
    }
    watch.take();
    (db, watch)
}

fn list() -> Operation {
    Operation::ListDocuments(collection())
}

fn changes(mode: ChangeMode, since: Option<u64>) -> Operation {
    Operation::ReadChanges { collection: collection(), mode, since }
}

fn sized(count: u32) -> Options {
    Options { max_item_count: Some(count), ..Options::default() }
}

/// What a client sees of a page.
type Seen = (Outcome, Vec<Value>, f64, Option<String>, Option<String>, Vec<PartitionPoint>);

fn seen(page: &Response) -> Seen {
    let (etag, token) = (page.etag.clone(), page.continuation.clone());
    let points = page.meta.partitions.clone();
    (page.outcome, items(page), page.meta.charge, etag, token, points)
}

/// All pages from there on.
async fn pages(db: &Database, operation: &Operation, mut options: Options) -> Vec<Seen> {
    let mut pages = Vec::new();
    loop {
        let page = db.call(operation.clone(), options.clone()).await.expect("a page");
        pages.push(seen(&page));
        if matches!(operation, Operation::ListDocuments(_)) {
            options.continuation = page.continuation;
            if options.continuation.is_none() {
                return pages;
            }
        } else {
            options.if_none_match = page.etag;
            if page.outcome == Outcome::NotModified {
                return pages;
            }
        }
    }
}

/// The position from which all changes come.
async fn beginning(db: &Database, mode: ChangeMode) -> Options {
    match mode {
        ChangeMode::Latest => Options::default(),
        ChangeMode::All => {
            let now = Options { if_none_match: Some("*".to_owned()), ..Options::default() };
            let page = db.call(changes(mode, None), now).await.expect("a position");
            Options { if_none_match: page.etag, ..Options::default() }
        }
    }
}

/// Reads a page with everything at hand, and again where each read is waited for. Gives the page, how
/// often was waited one after the other, and how many reads that were.
async fn waited(
    db: &Database,
    watch: &Watch,
    (operation, options): (Operation, Options),
) -> (Seen, usize, usize) {
    let at_hand = db.call(operation.clone(), options.clone()).await.expect("a page");
    watch.take();
    watch.set_slow(true);
    let page = db.call(operation, options).await.expect("a page");
    let (waits, calls) = (watch.waits(), watch.take().calls);
    watch.set_slow(false);
    assert_eq!(seen(&page), seen(&at_hand));
    (seen(&page), waits, calls)
}

/// Each partition has changed, but not since: to find that out takes some reads of each.
#[tokio::test]
async fn idle_partitions_are_waited_for_together() {
    let (db, watch) = database(0..10 * PARTITIONS).await;
    let poll = (changes(ChangeMode::Latest, Some(NOW + 10)), Options::default());
    let (page, waits, calls) = waited(&db, &watch, poll).await;
    assert_eq!(page.0, Outcome::NotModified);
    assert!(calls >= 2 * PARTITIONS, "{calls} reads");
    // One partition alone, then two, four, eight, sixteen, and the rest.
    assert!(waits <= 6 * calls.div_ceil(PARTITIONS), "{waits} waits for {calls} reads");
    // Who has a position behind all of it reads nothing.
    let behind = Options { if_none_match: page.3, ..Options::default() };
    let (page, waits, calls) =
        waited(&db, &watch, (changes(ChangeMode::Latest, None), behind)).await;
    assert_eq!((page.0, waits, calls), (Outcome::NotModified, 0, 0));
}

/// A page of few changes in each of many partitions.
#[tokio::test]
async fn partitions_with_a_few_changes_are_read_together() {
    for mode in [ChangeMode::Latest, ChangeMode::All] {
        let (db, watch) = database(0..0).await;
        let begin = beginning(&db, mode).await;
        for key in 0..PARTITIONS {
            db.create(&format!(r#"{{"id":"{key}","pk":"{key}"}}"#)).await.expect("created");
        }
        let options = Options { max_item_count: Some(1000), ..begin };
        let (page, waits, calls) = waited(&db, &watch, (changes(mode, None), options)).await;
        assert_eq!(page.1.len(), PARTITIONS);
        assert!(waits <= calls / 2, "{mode:?}: {waits} waits for {calls} reads");
        assert!(waits < PARTITIONS / 2, "{mode:?}: {waits} waits for {calls} reads");
    }
}

/// What is read ahead is no more than a page has room for, apart from the rows that say what changed.
#[tokio::test]
async fn no_more_than_a_page_is_read_ahead() {
    let (db, watch) = database(0..10 * PARTITIONS).await;
    watch.set_slow(true);
    for count in [1, 3, 25] {
        watch.take();
        let page = db.call(changes(ChangeMode::Latest, None), sized(count)).await.expect("a page");
        let (found, documents) = (items(&page).len(), watch.take().documents);
        assert!(documents <= 2 * found + 8, "{documents} documents for {found}");
    }
}

#[tokio::test]
async fn pages_are_those_of_a_store_at_hand() {
    for mode in [ChangeMode::Latest, ChangeMode::All] {
        let (db, watch) = database((0..60).filter(|key| key % 3 == 0)).await;
        let begin = beginning(&db, mode).await;
        for key in 0..150 {
            let body = format!(
                r#"{{"id":"{key}","pk":"{}","filling":"{}"}}"#,
                key / 2,
                "x".repeat(key * 40)
            );
            db.write(&body, true, Options::default()).await.expect("written");
        }
        for count in [3, 40, 1000] {
            let options = Options { max_item_count: Some(count), ..begin.clone() };
            watch.set_slow(false);
            let at_hand = pages(&db, &changes(mode, None), options.clone()).await;
            let listed = pages(&db, &list(), sized(count)).await;
            watch.set_slow(true);
            assert_eq!(pages(&db, &changes(mode, None), options).await, at_hand);
            assert_eq!(pages(&db, &list(), sized(count)).await, listed);
            watch.set_slow(false);
        }
    }
}

/// Most partitions are empty: a list of documents passes them together.
#[tokio::test]
async fn empty_partitions_are_passed_together() {
    let (db, watch) = database(0..2).await;
    watch.set_slow(true);
    let first = db.call(list(), Options::default()).await.expect("a page");
    let (waits, calls) = (watch.waits(), watch.take().calls);
    assert_eq!(items(&first).len(), 1);
    let mut options = Options { continuation: first.continuation, ..Options::default() };
    let mut found = 1;
    while options.continuation.is_some() {
        let page = db.call(list(), options.clone()).await.expect("a page");
        found += items(&page).len();
        options.continuation = page.continuation;
    }
    assert_eq!(found, 2);
    let (all_waits, all_calls) = (watch.waits(), calls + watch.take().calls);
    assert!(all_calls > PARTITIONS, "{all_calls} reads");
    assert!(all_waits < PARTITIONS, "{waits}, {all_waits} waits for {all_calls} reads");
}
