//! How pages are read: documents a batch at a time, and partitions side by side.

use std::{sync::Arc, time::Duration};

use protocol::{
    Operation, Options,
    query::{QueryFeed, QueryOptions},
    request::ChangeMode,
};
use value::Value;

use crate::{
    queries::query,
    support::{Database, collection, items},
    watched::{Reads, Watch, WatchedStore},
};

const COUNT: usize = 320;

/// So many documents with `g` 1, one under each key, and as many others. Each has ten `tags`.
async fn database(throughput: i64) -> (Database, Arc<Watch>) {
    let store = WatchedStore::default();
    let watch = Arc::clone(&store.watch);
    let options = engine::Options {
        // Nothing is read in the background.
        sweep_interval: Duration::from_hours(1),
        ..engine::Options::default()
    };
    let db = Database::open_with(Arc::new(store), options).await.with_collection(throughput).await;
    for number in 0..2 * COUNT {
        let (group, value) = (number % 2, number / 2);
        let tags: Vec<String> = (0..10).map(|tag| tag.to_string()).collect();
        let body = format!(
            r#"{{"id":"{number}","pk":"{number}","g":{group},"n":{value},"tags":[{}]}}"#,
            tags.join(",")
        );
        db.create(&body).await.expect("created");
    }
    watch.take();
    (db, watch)
}

fn sized(count: usize) -> Options {
    Options { max_item_count: u32::try_from(count).ok(), ..Options::default() }
}

/// The rows of a query, and what was read for them.
async fn read(db: &Database, watch: &Watch, text: &str, options: Options) -> (Vec<Value>, Reads) {
    watch.take();
    let rows = query(db, text, &Value::Array(Vec::new()), options).await.expect("rows");
    (rows, watch.take())
}

#[tokio::test]
async fn documents_are_fetched_together() {
    for (throughput, partitions) in [(400, 1), (30_000, 3)] {
        let (db, watch) = database(throughput).await;
        for text in [
            "SELECT * FROM c WHERE c.g = 1",
            "SELECT * FROM c WHERE c.g = 1 AND c.n >= 0",
            "SELECT * FROM c WHERE c.g IN (1, 2, 3)",
            "SELECT * FROM c WHERE c.g = 1 ORDER BY c.n",
            "SELECT * FROM c WHERE c.g = 1 ORDER BY c.n DESC",
            "SELECT * FROM c WHERE c.g = 1 ORDER BY c.none",
            "SELECT c.id, COUNT(1) AS n FROM c WHERE c.g = 1 GROUP BY c.id",
            "SELECT DISTINCT c.id FROM c WHERE c.g = 1",
        ] {
            let (rows, reads) = read(&db, &watch, text, sized(COUNT)).await;
            assert_eq!(rows.len(), COUNT, "{text}");
            // Each partition is begun with a few reads, and so is each page.
            let most = COUNT / 16 + 16 * partitions;
            assert!(reads.calls <= most, "{text}: {reads:?} in {partitions} partitions");
        }
        let text = "SELECT VALUE SUM(c.n) FROM c WHERE c.g = 1";
        let (_, reads) = read(&db, &watch, text, Options::default()).await;
        assert!(reads.calls <= COUNT / 16 + 16 * partitions, "{text}: {reads:?}");
    }
}

#[tokio::test]
async fn feeds_fetch_documents_together() {
    let (db, watch) = database(400).await;
    let list = Operation::ListDocuments(collection());
    let page = db.call(list, sized(2 * COUNT)).await.expect("a page");
    assert_eq!(items(&page).len(), 2 * COUNT);
    let reads = watch.take();
    assert!(reads.calls <= COUNT / 8 + 16, "{reads:?}");
    let mode = ChangeMode::Latest;
    let changes = Operation::ReadChanges { collection: collection(), mode, since: None };
    let page = db.call(changes, sized(2 * COUNT)).await.expect("a page");
    assert_eq!(items(&page).len(), 2 * COUNT);
    let reads = watch.take();
    assert!(reads.calls <= COUNT / 8 + 24, "{reads:?}");
}

/// What a page does not come to is not read either, but for a few documents.
#[tokio::test]
async fn pages_that_end_early_read_little_ahead() {
    let (db, watch) = database(400).await;
    for order in ["", " ORDER BY c.n", " ORDER BY c.n DESC"] {
        for top in [1, 2, 20] {
            let text = format!("SELECT TOP {top} * FROM c WHERE c.n < 25{order}");
            let (rows, reads) = read(&db, &watch, &text, Options::default()).await;
            assert_eq!(rows.len(), top, "{text}");
            assert!(reads.documents <= top, "{text}: {reads:?}");
        }
        // Two of ten rows of a document.
        let text = format!("SELECT TOP 2 c.id, t FROM c JOIN t IN c.tags WHERE c.n < 25{order}");
        let (rows, reads) = read(&db, &watch, &text, Options::default()).await;
        assert_eq!(rows.len(), 2, "{text}");
        assert!(reads.documents <= 2, "{text}: {reads:?}");
    }
    // Where few match of what the index finds, no more is read ahead than was read before.
    let text = "SELECT TOP 1 * FROM c WHERE c.n < 25 AND c.n * 1 = 20";
    let (rows, reads) = read(&db, &watch, text, Options::default()).await;
    assert_eq!(rows.len(), 1);
    assert!(reads.documents <= 2 * 41, "{reads:?}");
}

/// Nothing of the first partition is answered before something of the others is asked for.
#[tokio::test]
async fn partitions_are_read_side_by_side() {
    let (db, watch) = database(30_000).await;
    for text in [
        "SELECT TOP 10 * FROM c ORDER BY c.n",
        "SELECT TOP 10 * FROM c WHERE c.g = 1 ORDER BY c.n",
        "SELECT TOP 10 * FROM c WHERE c.g = 1 ORDER BY c.none",
        "SELECT VALUE SUM(c.n) FROM c WHERE c.g = 1",
        "SELECT VALUE SUM(c.n) FROM c",
        "SELECT VALUE COUNT(1) FROM c WHERE c.g = 1",
        "SELECT VALUE COUNT(1) FROM c",
        "SELECT c.g, COUNT(1) AS n FROM c GROUP BY c.g",
    ] {
        let (alone, _) = read(&db, &watch, text, Options::default()).await;
        watch.meet(3);
        let together = read(&db, &watch, text, Options::default());
        let together = tokio::time::timeout(Duration::from_mins(2), together).await;
        let (together, _) = together.unwrap_or_else(|_| panic!("{text}: one waits for the other"));
        assert_eq!(alone, together, "{text}");
    }
}

/// A page that finds nothing in one partition goes on with the next. Where the store has to be waited
/// for, those that follow are begun together; pages and charges are the same.
#[tokio::test]
async fn partitions_that_may_come_are_begun_together() {
    let (db, watch) = database(30_000).await;
    for (text, finds) in [
        ("SELECT * FROM c WHERE c.id = 'none'", false),
        ("SELECT * FROM c WHERE c.g = 1 AND c.n * 1 = -1", false),
        ("SELECT * FROM c WHERE c.n * 1 = -1", false),
        ("SELECT * FROM c WHERE c.id = '17'", true),
        ("SELECT * FROM c WHERE c.g = 1 AND c.n * 1 = 7", true),
        ("SELECT * FROM c WHERE c.n * 1 = 7", true),
        ("SELECT TOP 3 * FROM c WHERE c.n IN (3, 5, 7)", true),
        ("SELECT DISTINCT c.g FROM c", true),
    ] {
        watch.set_slow(false);
        let at_hand = pages(&db, text).await;
        watch.set_slow(true);
        assert_eq!(pages(&db, text).await, at_hand, "{text}");
        // What is found in one partition may be a page, which begins with no other.
        assert!(finds || watch.most() >= 2, "{text}: one waits for the other");
    }
}

/// The rows of each page, its charge, and its metrics as far as they are no times.
async fn pages(db: &Database, text: &str) -> Vec<(Vec<Value>, f64, [u64; 3])> {
    let content = bytes::Bytes::from(format!(r#"{{"query":"{text}"}}"#));
    let mut options = sized(2);
    options.query = QueryOptions {
        enable_cross_partition: true,
        populate_metrics: true,
        ..QueryOptions::default()
    };
    let mut pages = Vec::new();
    loop {
        let body = gateway::read::query(&content, false).expect("a query");
        let feed = QueryFeed::Documents(collection());
        let page =
            db.call(Operation::Query { feed, query: body }, options.clone()).await.expect("a page");
        let metrics = page.meta.query.as_ref().and_then(|query| query.metrics.as_ref());
        let metrics = metrics.expect("metrics");
        let counts =
            [metrics.retrieved_documents, metrics.retrieved_bytes, metrics.output_documents];
        pages.push((items(&page), page.meta.charge, counts));
        options.continuation = page.continuation;
        if options.continuation.is_none() {
            return pages;
        }
    }
}
