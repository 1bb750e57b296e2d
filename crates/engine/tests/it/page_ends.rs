//! Where pages end, and what clients are given to go on with.

use protocol::{Code, Operation, Options, Response, query::QueryOptions, request::ChangeMode};
use value::{Value, json, partition_key::Hashing};

use crate::{
    creation_order::page,
    splitting::ranges,
    support::{Database, collection, items, keyed, text},
};

const ALL: &str = "SELECT * FROM c";

async fn filled(throughput: i64) -> Database {
    let db = Database::memory().await.with_collection(throughput).await;
    for number in 0..60 {
        let body = format!(r#"{{"id":"{number:02}","pk":"k{}"}}"#, number % 20);
        db.create(&body).await.expect("created");
    }
    db
}

fn sized(size: u32, options: Options) -> Options {
    Options { max_item_count: Some(size), ..options }
}

fn ids(page: &Response) -> Vec<String> {
    items(page).iter().map(|item| text(item.get("id"))).collect()
}

async fn feed(db: &Database, options: Options) -> Response {
    db.call(Operation::ListDocuments(collection()), options).await.expect("a page of the feed")
}

#[tokio::test]
async fn a_full_page_has_a_token_and_the_next_may_be_empty() {
    let db = filled(400).await;
    for scope in [Options::default(), keyed(r#"["k3"]"#)] {
        let count = if scope.partition_key.is_some() { 3 } else { 60 };
        for is_query in [true, false] {
            let ask = async |options: Options| {
                if is_query {
                    page(&db, ALL, options).await.expect("a page")
                } else {
                    feed(&db, options).await
                }
            };
            let full = ask(sized(count, scope.clone())).await;
            assert_eq!(items(&full).len(), count as usize);
            let continuation = full.continuation;
            assert!(continuation.is_some(), "whether there is more is not known yet");
            let last = ask(Options { continuation, ..sized(count, scope.clone()) }).await;
            assert_eq!((items(&last).len(), last.continuation), (0, None));
            let larger = ask(sized(count + 1, scope.clone())).await;
            assert_eq!((items(&larger).len(), larger.continuation), (count as usize, None));
        }
    }
    // Who would ask for ever is told at once.
    let keeper =
        Options { range_id: Some("0".to_owned()), keeps_old_ranges: true, ..Options::default() };
    let full = page(&db, ALL, sized(60, keeper.clone())).await.expect("a page");
    assert_eq!((items(&full).len(), full.continuation), (60, None));
    assert!(page(&db, ALL, sized(59, keeper)).await.expect("a page").continuation.is_some());
    // Where LIMIT or TOP ends the answer, nothing is open.
    for query in ["SELECT TOP 5 * FROM c", "SELECT * FROM c OFFSET 3 LIMIT 5"] {
        let page = page(&db, query, sized(5, Options::default())).await.expect("a page");
        assert_eq!((items(&page).len(), page.continuation), (5, None), "{query}");
    }
}

#[tokio::test]
async fn a_page_is_of_one_partition() {
    let db = filled(30_000).await;
    let mut bounds = Vec::new();
    let list = Operation::ListPartitionKeyRanges { path: collection(), known: None };
    for range in items(&db.call(list, Options::default()).await.expect("ranges")) {
        bounds.push((text(range.get("minInclusive")), text(range.get("maxExclusive"))));
    }
    let mut parts = Vec::new();
    for (range_id, _) in ranges(&db).await {
        let options = Options { range_id: Some(range_id), ..Options::default() };
        parts.push(ids(&feed(&db, options).await));
    }
    let (mut by_query, mut by_feed) = (Vec::new(), Vec::new());
    let mut options = Options::default();
    loop {
        let page = page(&db, ALL, options.clone()).await.expect("a page");
        by_query.push(ids(&page));
        let Some(token) = page.continuation else { break };
        // It says where it goes on, and does so with what is inside as with all of it.
        let json = json::parse(token.as_bytes()).expect("JSON");
        let (min, max) = &bounds[by_query.len()];
        assert_eq!(json.get("range").get("min"), &Value::from(min.as_str()));
        assert_eq!(json.get("range").get("max"), &Value::from(max.as_str()));
        let inside = text(json.get("token"));
        options.continuation = Some(if by_query.len() == 1 { token } else { inside });
    }
    options.continuation = None;
    loop {
        let page = feed(&db, options.clone()).await;
        by_feed.push(ids(&page));
        options.continuation = page.continuation;
        if options.continuation.is_none() {
            break;
        }
    }
    assert_eq!((&by_query, &by_feed), (&parts, &parts));
    // What finds nothing in a partition goes on to the next, and what is put together here is whole.
    let last = parts[2][0].as_str();
    let query = format!("SELECT * FROM c WHERE c.id = '{last}'");
    let found = page(&db, &query, Options::default()).await.expect("a page");
    assert_eq!((ids(&found), found.continuation), (vec![last.to_owned()], None));
    for query in
        ["SELECT * FROM c ORDER BY c.id", "SELECT DISTINCT * FROM c", "SELECT TOP 60 * FROM c"]
    {
        let page = page(&db, query, Options::default()).await.expect("a page");
        assert_eq!((ids(&page).len(), page.continuation), (60, None), "{query}");
    }
    // Whoever names a range gets a token of its own kind.
    let options = Options { range_id: Some("0".to_owned()), ..Options::default() };
    let page = page(&db, ALL, sized(1, options)).await.expect("a page");
    assert!(page.continuation.is_some_and(|token| !token.contains('{')));
}

#[tokio::test]
async fn tokens_belong_to_a_query_however_its_range_is_named() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let key = r#"{"paths":["/t","/u"],"kind":"MultiHash","version":2}"#;
    let body = format!(r#"{{"id":"c","partitionKey":{key}}}"#);
    db.create_collection(&body, None).await.expect("created");
    for number in 0..12 {
        let user = number % 2;
        let body = format!(r#"{{"id":"{number:02}","t":"t","u":"u{user}"}}"#);
        db.create(&body).await.expect("created");
    }
    let named = keyed(r#"["t","u0"]"#);
    let key = named.partition_key.clone().expect("a key");
    let (from, to) = key.effective_range(Hashing::MultiHash);
    let ranged = Options { epk_range: Some((from, to)), ..Options::default() };
    let all = vec!["00", "02", "04", "06", "08", "10"];
    for (one, other) in [(&named, &ranged), (&ranged, &named)] {
        for is_query in [true, false] {
            let ask = async |options: Options| {
                if is_query { page(&db, ALL, options).await } else { Ok(feed(&db, options).await) }
            };
            let first = ask(sized(2, one.clone())).await.expect("a page");
            let continuation = first.continuation.clone();
            let rest = Options { continuation, ..sized(100, other.clone()) };
            let rest = ask(rest).await.expect("the token is good");
            assert_eq!([ids(&first), ids(&rest)].concat(), all);
        }
    }
    // Another key, or another query, is another matter.
    let first = page(&db, ALL, sized(2, named.clone())).await.expect("a page");
    let with = |options: Options| Options { continuation: first.continuation.clone(), ..options };
    let error = page(&db, ALL, with(keyed(r#"["t","u1"]"#))).await.expect_err("another key");
    assert_eq!(error.code, Code::BadRequest);
    let error = page(&db, "SELECT c.id FROM c", with(named)).await.expect_err("another query");
    assert_eq!(error.code, Code::BadRequest);
}

#[tokio::test]
async fn a_token_needs_room() {
    let db = filled(400).await;
    let limited = |limit, size| Options {
        query: QueryOptions { continuation_kb_max: Some(limit), ..QueryOptions::default() },
        ..sized(size, Options::default())
    };
    let error = page(&db, ALL, limited(0, 10)).await.expect_err("no room");
    assert_eq!(error.code, Code::BadRequest);
    assert!(error.message.contains("continuation token limit specified is not large enough"));
    assert!(page(&db, ALL, limited(1, 10)).await.expect("a page").continuation.is_some());
    assert_eq!(items(&page(&db, ALL, limited(0, 100)).await.expect("all")).len(), 60);
}

/// `PartitionKey.None`, as some SDKs write it.
#[tokio::test]
async fn the_empty_key_means_documents_without_one() {
    let db = Database::memory().await.with_collection(400).await;
    for (id, key) in [("a", r#","pk":"x""#), ("b", ""), ("c", r#","pk":null"#), ("d", "")] {
        db.create(&format!(r#"{{"id":"{id}"{key}}}"#)).await.expect("created");
    }
    for key in ["[]", "[{}]"] {
        assert_eq!(db.all(keyed(key)).await, ["b", "d"], "{key}");
        assert_eq!(ids(&page(&db, ALL, keyed(key)).await.expect("a page")), ["b", "d"], "{key}");
        let mode = ChangeMode::Latest;
        let changes = Operation::ReadChanges { collection: collection(), mode, since: None };
        let changes = db.call(changes, keyed(key)).await.expect("changes");
        assert_eq!(ids(&changes), ["b", "d"], "{key}");
    }
    // Of a hierarchical key all parts are absent; a collection without keys has only such documents.
    let db = Database::memory().await;
    db.create_database("db").await;
    let key = r#"{"paths":["/t","/u"],"kind":"MultiHash","version":2}"#;
    let body = format!(r#"{{"id":"c","partitionKey":{key}}}"#);
    db.create_collection(&body, None).await.expect("created");
    for (id, key) in [("a", r#","t":"x""#), ("b", ""), ("c", r#","u":"y""#)] {
        db.create(&format!(r#"{{"id":"{id}"{key}}}"#)).await.expect("created");
    }
    assert_eq!(db.all(keyed("[]")).await, ["b"]);
    let db = Database::memory().await;
    db.create_database("db").await;
    db.create_collection(r#"{"id":"c"}"#, None).await.expect("created");
    db.create(r#"{"id":"a"}"#).await.expect("created");
    assert_eq!(db.all(keyed("[]")).await, ["a"]);
}
