//! The order of documents that nobody asks to be sorted: as they were created, in a partition that is
//! small when it is begun with.

use std::sync::Arc;

use bytes::Bytes;
use protocol::{
    Error, Operation, Options, Response,
    query::{QueryFeed, QueryOptions},
};
use value::Value;

use crate::{
    random::world::sequence,
    splitting::{merge, ranges, split},
    support::{Database, collection, items, keyed, text},
};

/// So many documents of as many keys, created one after the other.
async fn filled(db: &Database, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let body = format!(
            r#"{{"id":"{number:05}","pk":"k{number}","n":{number},"even":{},"l":[1,2]}}"#,
            number % 2 == 0
        );
        db.create(&body).await.expect("created");
    }
}

async fn small(count: usize) -> Database {
    let db = Database::memory().await.with_collection(400).await;
    filled(&db, 0..count).await;
    db
}

fn ids(numbers: impl IntoIterator<Item = usize>) -> Vec<String> {
    numbers.into_iter().map(|number| format!("{number:05}")).collect()
}

pub(crate) async fn page(db: &Database, text: &str, options: Options) -> Result<Response, Error> {
    let content = Bytes::from(format!(r#"{{"query":"{text}"}}"#));
    let body = gateway::read::query(&content, false)?;
    let query = QueryOptions { enable_cross_partition: true, ..options.query.clone() };
    let operation = Operation::Query { feed: QueryFeed::Documents(collection()), query: body };
    db.call(operation, Options { query, ..options }).await
}

/// The ids of a page's rows, which are texts or documents.
fn rows(page: &Response) -> Vec<String> {
    let id = |row: &Value| row.as_str().map_or_else(|| text(row.get("id")), str::to_owned);
    items(page).iter().map(id).collect()
}

/// All pages of at most so many rows; `between` is run behind each.
async fn pages(
    db: &Database,
    text: &str,
    size: u32,
    mut between: impl AsyncFnMut(usize),
) -> Vec<String> {
    let mut options = Options { max_item_count: Some(size), ..Options::default() };
    let mut all = Vec::new();
    for number in 0.. {
        let page = page(db, text, options.clone()).await.expect("a page");
        all.extend(rows(&page));
        let Some(token) = page.continuation else { break };
        options.continuation = Some(token);
        between(number).await;
    }
    all
}

#[tokio::test]
async fn small_partitions_are_read_as_they_were_filled() {
    let db = small(300).await;
    // Gaps, and a document that was changed: it stays where it was.
    for number in [7, 8, 250] {
        db.delete(&format!("{number:05}"), &format!(r#"["k{number}"]"#)).await.expect("deleted");
    }
    let body = r#"{"id":"00003","pk":"k3","n":3,"even":false,"l":[1,2]}"#;
    db.replace("00003", body, keyed(r#"["k3"]"#)).await.expect("replaced");
    let is_there = |number: &usize| ![7, 8, 250].contains(number);
    let all: Vec<usize> = (0..300).filter(is_there).collect();
    let matching = |is_wanted: fn(usize) -> bool| {
        ids(all.iter().copied().filter(move |number| is_wanted(*number)))
    };
    for size in [1, 7, 100, 1000] {
        let options = Options { max_item_count: Some(size), ..Options::default() };
        assert_eq!(db.all(options).await, matching(|_| true), "a feed by {size}");
        for (query, expected) in [
            ("SELECT * FROM c", matching(|_| true)),
            // Few that the index knows, many, and what the index does not know.
            ("SELECT * FROM c WHERE c.n > 290", matching(|number| number > 290)),
            ("SELECT * FROM c WHERE c.n IN (12, 3, 299)", ids([3, 12, 299])),
            ("SELECT * FROM c WHERE c.even", matching(|number| number % 2 == 0)),
            ("SELECT * FROM c WHERE c.n >= 5", matching(|number| number >= 5)),
            ("SELECT * FROM c WHERE c.n % 50 = 1", matching(|number| number % 50 == 1)),
            ("SELECT TOP 3 c.id FROM c WHERE c.n >= 5", ids([5, 6, 9])),
            ("SELECT c.id FROM c WHERE c.n >= 5 OFFSET 1 LIMIT 3", ids([6, 9, 10])),
            ("SELECT VALUE c.id FROM c JOIN l IN c.l WHERE c.n < 2", ids([0, 0, 1, 1])),
            ("SELECT DISTINCT VALUE c.id FROM c JOIN l IN c.l WHERE c.n < 9", ids(0..7)),
        ] {
            assert_eq!(pages(&db, query, size, async |_| ()).await, expected, "{query} by {size}");
        }
    }
}

#[tokio::test]
async fn partitions_follow_each_other() {
    let db = Database::memory().await.with_collection(30_000).await;
    filled(&db, 0..100).await;
    let mut parts = Vec::new();
    for (range, _) in ranges(&db).await {
        let options = Options { range_id: Some(range), ..Options::default() };
        let part = db.all(options.clone()).await;
        assert!(part.is_sorted() && part.len() > 10, "{part:?}");
        let queried = page(&db, "SELECT * FROM c", options).await.expect("a page");
        assert_eq!(rows(&queried), part);
        parts.push(part);
    }
    assert_eq!(db.all(Options::default()).await, parts.concat());
    assert_eq!(pages(&db, "SELECT * FROM c", 7, async |_| ()).await, parts.concat());
}

/// What was begun as one goes on as one, whatever has become of the partition.
#[tokio::test]
async fn a_split_does_not_change_the_order() {
    for query in ["SELECT * FROM c", "SELECT * FROM c WHERE c.n >= 0", "SELECT DISTINCT * FROM c"] {
        let db = small(60).await;
        let all = pages(&db, query, 7, async |number| match number {
            0 => drop(split(&db, "0").await.expect("split")),
            2 => {
                split(&db, "1").await.expect("split");
                filled(&db, 60..64).await;
            }
            4 => drop(merge(&db, "2").await.or(merge(&db, "4").await).expect("merged")),
            _ => {}
        })
        .await;
        assert_eq!(all[..60], ids(0..60), "{query}");
        // What came later comes last, each partition counting for itself.
        let mut later = all[60..].to_vec();
        later.sort_unstable();
        assert_eq!(later, ids(60..64), "{query}");
    }
    // The feed, and a client that asks the parts one by one.
    let db = small(60).await;
    let list = Operation::ListDocuments(collection());
    let first = Options { max_item_count: Some(10), ..Options::default() };
    let feed = db.call(list.clone(), first.clone()).await.expect("a page");
    let query = page(&db, "SELECT * FROM c", Options { range_id: Some("0".to_owned()), ..first });
    let query = query.await.expect("a page");
    split(&db, "0").await.expect("split");
    let rest = Options { continuation: feed.continuation, ..Options::default() };
    assert_eq!(db.all(rest).await, ids(10..60));
    let mut rest = Vec::new();
    for range in ["1", "2"] {
        let continuation = query.continuation.clone();
        let options =
            Options { range_id: Some(range.to_owned()), continuation, ..Options::default() };
        let part = rows(&page(&db, "SELECT * FROM c", options).await.expect("a page"));
        assert!(part.is_sorted() && !part.is_empty(), "{part:?}");
        rest.extend(part);
    }
    rest.sort_unstable();
    assert_eq!(rest, ids(10..60));
}

/// A page goes on in the order that it was begun in, though the partition is large by now; large ones
/// go by number.
#[tokio::test]
async fn a_partition_that_grows_goes_on_as_it_began() {
    let db = Database::memory().await.with_collection(400).await;
    bulk(&db, 0..10_000).await;
    let options = Options { max_item_count: Some(1000), ..Options::default() };
    let list = Operation::ListDocuments(collection());
    let feed = db.call(list.clone(), options.clone()).await.expect("a page");
    let query = page(&db, "SELECT * FROM c", options).await.expect("a page");
    assert_eq!(rows(&feed), ids(0..1000));
    bulk(&db, 10_000..20_500).await;
    let rest = |token: &Option<String>| Options {
        continuation: token.clone(),
        max_item_count: Some(1000),
        ..Options::default()
    };
    assert_eq!(db.all(rest(&feed.continuation)).await, ids(1000..20_500));
    let mut options = rest(&query.continuation);
    let mut all = Vec::new();
    while options.continuation.is_some() {
        let page = page(&db, "SELECT * FROM c", options.clone()).await.expect("a page");
        all.extend(rows(&page));
        options.continuation = page.continuation;
    }
    assert_eq!(all, ids(1000..20_500));
    let fresh = page(&db, "SELECT * FROM c", rest(&None)).await.expect("a page");
    let numbers: Vec<u64> = items(&fresh).iter().map(sequence).collect();
    assert!(!numbers.is_sorted(), "a large partition is read by slots");
}

/// Creates small documents of keys of their own.
async fn bulk(db: &Database, numbers: std::ops::Range<usize>) {
    for number in numbers {
        let body = format!(r#"{{"id":"{number:05}","pk":"k{number}"}}"#);
        db.create(&body).await.expect("created");
    }
}

/// Listing a small partition is paid for once, not by every page.
#[tokio::test]
async fn pages_do_not_list_the_partition_again() {
    let dir = tempfile::tempdir().expect("a directory");
    let store: Arc<dyn store::Store> =
        store_lsm::LsmStore::open(dir.path(), store_lsm::Options::default()).expect("opens");
    let db = Database::open(Arc::clone(&store)).await.with_collection(400).await;
    filled(&db, 0..500).await;
    let read = |before: u64| store.statistics().keys_read - before;
    let mut options = Options { max_item_count: Some(10), ..Options::default() };
    let first = page(&db, "SELECT * FROM c", options.clone()).await.expect("a page");
    options.continuation = first.continuation;
    let before = read(0);
    let second = page(&db, "SELECT * FROM c", options.clone()).await.expect("a page");
    assert_eq!(rows(&second), ids(10..20));
    assert!(read(before) < 20, "{} keys for ten documents", read(before));
    // What is written in between is looked at, and nothing else.
    filled(&db, 500..503).await;
    options.continuation = second.continuation;
    let before = read(0);
    let third = page(&db, "SELECT * FROM c", options.clone()).await.expect("a page");
    assert_eq!(rows(&third), ids(20..30));
    assert!(read(before) < 30, "{} keys for ten documents", read(before));
    assert_eq!(pages(&db, "SELECT * FROM c", 50, async |_| ()).await, ids(0..503));
}
