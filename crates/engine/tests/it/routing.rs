//! Where requests belong: what the pure function says is where the database carries them out.

use bytes::Bytes;
use engine::{Route, Target};
use protocol::{
    Operation, Options, Request,
    query::{QueryFeed, QuerySource},
    request::{BatchMode, ChangeMode},
};

use crate::{
    access_matrix::{database, operations, options},
    support::{Database, batch_of, collection, document, keyed},
};

fn route(db: &Database, operation: Operation, options: Options) -> Route {
    db.engine.route(&Request { operation, options })
}

fn create(body: &str) -> Operation {
    let body = Bytes::copy_from_slice(body.as_bytes());
    Operation::CreateDocument { collection: collection(), body, upsert: false }
}

fn query() -> Operation {
    let feed = QueryFeed::Documents(collection());
    Operation::Query { feed, query: QuerySource::new("SELECT * FROM c") }
}

#[track_caller]
fn one(route: Route) -> Target {
    match route {
        Route::Partition(target) => target,
        other => panic!("one partition expected, not {other:?}"),
    }
}

#[tokio::test]
async fn a_document_belongs_where_it_is_written_and_read() {
    let db = Database::memory().await.with_collection(25_000).await;
    let mut ranges = Vec::new();
    for number in 0..40 {
        let body = format!(r#"{{"id":"{number}","pk":"k{number}"}}"#);
        let key = keyed(&format!(r#"["k{number}"]"#));
        // By its body, by its header, and by both.
        let target = one(route(&db, create(&body), Options::default()));
        assert_eq!(one(route(&db, create(&body), key.clone())), target);
        let read = Operation::ReadDocument(document(&number.to_string()));
        assert_eq!(one(route(&db, read.clone(), key.clone())), target);
        assert_eq!(one(route(&db, query(), key.clone())), target);
        let written = db.create(&body).await.expect("created");
        let found = db.call(read, key).await.expect("found");
        for response in [written, found] {
            let at: Vec<u32> = response.meta.partitions.iter().map(|it| it.range_id).collect();
            assert_eq!(at, [target.range], "{number}");
        }
        assert_eq!(target.group, "local");
        ranges.push(target.range);
    }
    ranges.sort_unstable();
    ranges.dedup();
    assert_eq!(ranges.len(), 3, "the documents are in all partitions");
}

#[tokio::test]
async fn feeds_belong_to_the_partitions_that_they_cover() {
    let db = Database::memory().await.with_collection(25_000).await;
    let changes =
        Operation::ReadChanges { collection: collection(), mode: ChangeMode::Latest, since: None };
    for operation in [query(), Operation::ListDocuments(collection()), changes] {
        let Route::Several(targets) = route(&db, operation.clone(), Options::default()) else {
            panic!("{operation:?} covers the collection");
        };
        assert_eq!(targets.len(), 3);
        for target in &targets {
            let range_id = Some(target.range.to_string());
            let options = Options { range_id, ..Options::default() };
            assert_eq!(one(route(&db, operation.clone(), options)), *target);
            let split =
                Operation::SplitPartition { path: collection(), range: target.range.to_string() };
            assert_eq!(one(route(&db, split, Options::default())), *target);
        }
    }
}

#[tokio::test]
async fn a_batch_belongs_where_its_keys_are() {
    let db = Database::memory().await.with_collection(25_000).await;
    let of = |mode, body: &str| Operation::ExecuteBatch {
        collection: collection(),
        operations: batch_of(body),
        mode,
    };
    let writes = |keys: std::ops::Range<u32>| {
        let write = |key: u32| {
            format!(r#"{{"operationType":"Upsert","resourceBody":{{"id":"a","pk":"k{key}"}}}}"#)
        };
        format!("[{}]", keys.map(write).collect::<Vec<_>>().join(","))
    };
    let bulk = BatchMode::Independent { stops_at_failure: false };
    let Route::Several(targets) = route(&db, of(bulk, &writes(0..40)), Options::default()) else {
        panic!("forty keys are in several partitions");
    };
    assert_eq!(targets.len(), 3, "each partition once");
    let single = one(route(&db, of(bulk, &writes(0..1)), Options::default()));
    let atomic = of(BatchMode::Atomic, &writes(0..1));
    assert_eq!(one(route(&db, atomic.clone(), keyed(r#"["k0"]"#))), single);
    // Without a key it is refused, by whoever got it.
    assert_eq!(route(&db, atomic, Options::default()), Route::Here);
}

#[tokio::test]
async fn what_is_wrong_or_unknown_still_has_a_place() {
    let db = Database::memory().await.with_collection(25_000).await;
    assert_eq!(route(&db, create("{"), Options::default()), Route::Here);
    let missing_key = Operation::ReadDocument(document("a"));
    assert_eq!(route(&db, missing_key, Options::default()), Route::Here);
    let mut elsewhere = collection();
    elsewhere.collection = "not known here yet".to_owned();
    let unknown = Operation::ListDocuments(elsewhere);
    assert_eq!(route(&db, unknown, Options::default()), Route::Catalog);
}

/// Operations on documents go to partitions, those on other resources to the owner of the catalog.
#[tokio::test]
async fn every_operation_has_a_place() {
    let (db, media) = database().await;
    for (operation, _) in operations(&media) {
        let name = operation.name();
        // The ranges that these name may not be there: see the test of feeds.
        if ["split_partition", "merge_partitions"].contains(&name) {
            continue;
        }
        let is_here = ["read_account", "plan_query"].contains(&name);
        let is_of_documents = ["document", "attachment", "media", "batch", "bulk", "changes"]
            .iter()
            .any(|word| name.contains(word))
            || ["execute_procedure", "delete_by_partition_key"].contains(&name)
            || name == "give_partition_key"
            || matches!(&operation, Operation::Query { feed: QueryFeed::Attachments(_), .. });
        let route = route(&db, operation, options(r#"["a"]"#));
        let expected = match route {
            Route::Here => is_here,
            Route::Catalog => !is_here && !is_of_documents,
            Route::Partition(_) | Route::Several(_) => is_of_documents,
        };
        assert!(expected, "{name}: {route:?}");
    }
}
