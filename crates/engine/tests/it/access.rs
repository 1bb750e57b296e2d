//! Resource tokens at work: links of names and of rids, and one partition key.

use bytes::Bytes;
use protocol::{
    Code, Error, Operation, Options, Principal, Proof, Response,
    query::{QueryFeed, QuerySource},
    request::{
        BatchMode, ChangeMode, CollectionPath, DatabasePath, DocumentPath, ThroughputRequest,
    },
    response::BatchResult,
};
use value::{
    Value, json,
    partition_key::{Epk, Hashing, PartitionKey},
};

use crate::{
    durability::{copy_tree, on_disk, open},
    support::{Database, batch_of, collection, document, items, keyed, resource, text},
    users::{holder, minting, permission, rights},
};

const KEY: &str = r#"["k1"]"#;

/// Documents `d0` to `d29` of the keys `k0` to `k4`, in three partitions or one.
async fn filled(throughput: i64) -> Database {
    let db = Database::memory().await.with_collection(throughput).await;
    for number in 0..30 {
        let body = format!(r#"{{"id":"d{number}","pk":"k{}"}}"#, number % 5);
        db.create(&body).await.expect("created");
    }
    db.user("u", false).await.expect("a user");
    db
}

pub(crate) async fn granted(
    db: &Database,
    id: &str,
    mode: &str,
    link: &str,
    key: Option<&str>,
) -> Principal {
    let made = db.permit("u", rights(id, mode, link, key)).await.expect("a permission");
    holder(&resource(&made))
}

fn ids(values: &[Value]) -> Vec<String> {
    let mut ids: Vec<String> = values.iter().map(|value| text(value.get("id"))).collect();
    ids.sort_unstable();
    ids
}

fn own() -> Vec<String> {
    ["d1", "d11", "d16", "d21", "d26", "d6"].map(str::to_owned).to_vec()
}

/// All pages, three documents each.
async fn pages(
    db: &Database,
    who: &Principal,
    operation: Operation,
    mut options: Options,
) -> Result<Vec<String>, Error> {
    options.max_item_count = Some(3);
    let mut all = Vec::new();
    loop {
        let page = db.call_as(who, operation.clone(), options.clone()).await?;
        all.extend(items(&page));
        match page.continuation {
            Some(token) => options.continuation = Some(token),
            None => return Ok(ids(&all)),
        }
    }
}

/// All changes, three documents a page.
async fn changes(db: &Database, who: &Principal, mut options: Options) -> Vec<String> {
    options.max_item_count = Some(3);
    let read =
        Operation::ReadChanges { collection: collection(), mode: ChangeMode::Latest, since: None };
    let mut all = Vec::new();
    loop {
        let page = db.call_as(who, read.clone(), options.clone()).await.expect("a page");
        options.if_none_match.clone_from(&page.etag);
        if page.outcome == protocol::Outcome::NotModified {
            return ids(&all);
        }
        all.extend(items(&page));
    }
}

fn select() -> Operation {
    let body = QuerySource::new("SELECT * FROM c WHERE c.pk != 'k9'");
    Operation::Query { feed: QueryFeed::Documents(collection()), query: body }
}

#[tokio::test]
async fn readers_of_one_key_see_that_key_page_after_page() {
    for throughput in [400, 25_000] {
        let db = filled(throughput).await;
        let who = granted(&db, "p", "Read", "dbs/db/colls/c", Some(KEY)).await;
        let list = || Operation::ListDocuments(collection());
        let feed = || Operation::ReadChanges {
            collection: collection(),
            mode: ChangeMode::Latest,
            since: None,
        };
        assert_eq!(pages(&db, &who, list(), keyed(KEY)).await.expect("pages"), own());
        assert_eq!(pages(&db, &who, select(), keyed(KEY)).await.expect("pages"), own());
        assert_eq!(changes(&db, &who, keyed(KEY)).await, own());
        // Without the key they are about all partitions, or about one that others share.
        let ranges = Operation::ListPartitionKeyRanges { path: collection(), known: None };
        let ranges = items(&db.call_as(&who, ranges, Options::default()).await.expect("ranges"));
        let of_range =
            |range: &Value| Options { range_id: Some(text(range.get("id"))), ..Options::default() };
        let everything =
            Options { epk_range: Some((Epk::min(), Epk::max())), ..Options::default() };
        let wide = ranges.iter().map(of_range).chain([Options::default(), everything]);
        for options in wide {
            for operation in [list(), select(), feed(), Operation::ListConflicts(collection())] {
                let shown = format!("{operation:?} {options:?}");
                let refused = db.call_as(&who, operation, options.clone()).await.expect_err(&shown);
                assert_eq!(refused.code, Code::Forbidden, "{shown}");
            }
        }
        for key in ["[]", r#"["k2"]"#, "[1]", r#"["k1","x"]"#] {
            for operation in [
                Operation::ListDocuments(collection()),
                select(),
                Operation::ReadDocument(document("d1")),
            ] {
                let refused = db.call_as(&who, operation, keyed(key)).await.expect_err(key);
                assert_eq!(refused.code, Code::Forbidden, "{key}");
            }
        }
    }
}

#[tokio::test]
async fn writers_of_one_key_write_that_key() {
    let db = filled(25_000).await;
    let who = granted(&db, "p", "All", "dbs/db/colls/c", Some(KEY)).await;
    let create = |body: &str, upsert| {
        let body = Bytes::from(body.to_owned());
        Operation::CreateDocument { collection: collection(), body, upsert }
    };
    let code = |answer: Result<Response, Error>| answer.err().map(|error| error.code);
    for (body, key, expected) in [
        (r#"{"id":"n1","pk":"k1"}"#, Some(KEY), None),
        (r#"{"id":"n2","pk":"k1"}"#, None, None),
        (r#"{"id":"n3","pk":"k2"}"#, Some(KEY), Some(Code::PartitionKeyMismatch)),
        (r#"{"id":"n4","pk":"k2"}"#, None, Some(Code::PartitionKeyMismatch)),
        (r#"{"id":"n5","pk":"k2"}"#, Some(r#"["k2"]"#), Some(Code::Forbidden)),
        (r#"{"id":"d2","pk":"k2"}"#, None, Some(Code::PartitionKeyMismatch)),
    ] {
        for upsert in [false, true] {
            let options = key.map(keyed).unwrap_or_default();
            let answer = db.call_as(&who, create(body, upsert), options).await;
            assert_eq!(code(answer), expected, "{body}");
        }
        let id = text(json::parse(body.as_bytes()).expect("JSON").get("id"));
        let _ =
            db.call_as(&who, Operation::DeleteDocument(document(&id)), Options::default()).await;
    }
    // The id alone is not enough: the key is the token's.
    let delete = Operation::DeleteDocument(document("d2"));
    let missing = db.call_as(&who, delete, Options::default()).await;
    assert_eq!(code(missing), Some(Code::NotFound));
    db.read("d2", r#"["k2"]"#).await.expect("still there");
    let delete = Operation::DeleteDocument(document("d1"));
    assert_eq!(code(db.call_as(&who, delete, Options::default()).await), None);
    // All that is left of the key, and nothing else.
    let clear = Operation::DeleteByPartitionKey(collection());
    assert_eq!(code(db.call_as(&who, clear, Options::default()).await), None);
    assert_eq!(db.all(keyed(r#"["k2"]"#)).await.len(), 6);
}

#[tokio::test]
async fn batches_of_one_key() {
    let db = filled(25_000).await;
    let who = granted(&db, "p", "All", "dbs/db/colls/c", Some(KEY)).await;
    let independent = BatchMode::Independent { stops_at_failure: false };
    let batch = |mode, body: &str| Operation::ExecuteBatch {
        collection: collection(),
        operations: batch_of(body),
        mode,
    };
    let own = r#"[{"operationType":"Read","id":"d1","partitionKey":"[\"k1\"]"}]"#;
    let bare = r#"[{"operationType":"Read","id":"d1"},{"operationType":"Read","id":"d2"}]"#;
    let other = r#"[{"operationType":"Read","id":"d1","partitionKey":"[\"k1\"]"},
        {"operationType":"Read","id":"d2","partitionKey":"[\"k2\"]"}]"#;
    for mode in [BatchMode::Atomic, independent] {
        for options in [keyed(KEY), Options::default()] {
            let read = db.call_as(&who, batch(mode, own), options.clone()).await.expect("read");
            assert_eq!(answers(&read), [true]);
            let refused = db.call_as(&who, batch(mode, other), options).await;
            assert_eq!(refused.expect_err("another key").code, Code::Forbidden);
        }
        let refused = db.call_as(&who, batch(mode, own), keyed(r#"["k2"]"#)).await;
        assert_eq!(refused.expect_err("another key").code, Code::Forbidden);
    }
    // Those that name no key have the token's.
    let read = db.call_as(&who, batch(independent, bare), Options::default()).await;
    assert_eq!(answers(&read.expect("read")), [true, false]);
}

fn answers(response: &Response) -> Vec<bool> {
    let protocol::Body::Batch(results) = &response.body else { panic!("no batch") };
    results.iter().map(|BatchResult { answer, .. }| answer.is_ok()).collect()
}

#[tokio::test]
async fn the_beginning_of_a_hierarchical_key() {
    let db = Database::memory().await;
    db.create_database("db").await;
    let body = r#"{"id":"c","partitionKey":{"paths":["/t","/u"],"kind":"MultiHash","version":2}}"#;
    db.create_collection(body, None).await.expect("a collection");
    for (id, tenant, part) in [("1", "a", r#","u":"x""#), ("2", "a", ""), ("3", "b", r#","u":"x""#)]
    {
        db.create(&format!(r#"{{"id":"{id}","t":"{tenant}"{part}}}"#)).await.expect("created");
    }
    db.user("u", false).await.expect("a user");
    let who = granted(&db, "p", "All", "dbs/db/colls/c", Some(r#"["a"]"#)).await;
    let list = || Operation::ListDocuments(collection());
    let range_of = |key: &str| {
        let key = PartitionKey::parse_header(key).expect("a key");
        let epk_range = Some(key.effective_range(Hashing::MultiHash));
        Options { epk_range, range_id: Some("0".to_owned()), ..Options::default() }
    };
    for (options, expected) in [
        (keyed(r#"["a"]"#), vec!["1", "2"]),
        // Some SDKs read a part of a key by the range of effective keys that it has.
        (range_of(r#"["a"]"#), vec!["1", "2"]),
        (keyed(r#"["a","x"]"#), vec!["1"]),
        (keyed(r#"["a",{}]"#), vec!["2"]),
    ] {
        assert_eq!(pages(&db, &who, list(), options).await.expect("a page"), expected);
    }
    for other in [keyed(r#"["b","x"]"#), range_of(r#"["b"]"#), Options::default()] {
        let refused = pages(&db, &who, list(), other).await.expect_err("another");
        assert_eq!(refused.code, Code::Forbidden);
    }
    let read = Operation::ReadDocument(document("1"));
    db.call_as(&who, read, keyed(r#"["a","x"]"#)).await.expect("read");
}

#[tokio::test]
async fn names_and_rids_mean_the_same() {
    let db = filled(25_000).await;
    let own = resource(&db.read("d1", KEY).await.expect("read"));
    let self_link = text(own.get("_self"));
    let parts: Vec<&str> = self_link.split('/').collect();
    let by_rid = DocumentPath {
        collection: CollectionPath {
            database: DatabasePath(parts[1].to_owned()),
            collection: parts[3].to_owned(),
        },
        document: parts[5].to_owned(),
    };
    let collection_link = format!("dbs/{}/colls/{}/", parts[1], parts[3]);
    let named_collection = granted(&db, "1", "Read", "dbs/db/colls/c", None).await;
    let named_document = granted(&db, "2", "Read", "dbs/db/colls/c/docs/d1", None).await;
    db.user("v", false).await.expect("a user");
    let made = db.permit("v", rights("q", "Read", &self_link, None)).await;
    let document_by_rid = holder(&resource(&made.expect("a permission")));
    for (who, path) in [
        (&named_collection, &by_rid),
        (&named_document, &by_rid),
        (&document_by_rid, &by_rid),
        (&document_by_rid, &document("d1")),
        (&named_document, &document("d1")),
    ] {
        db.call_as(who, Operation::ReadDocument(path.clone()), keyed(KEY)).await.expect("read");
    }
    let made = db.permit("v", rights("p", "Read", &collection_link, None)).await;
    let collection_by_rid = holder(&resource(&made.expect("a permission")));
    let read = Operation::ReadDocument(document("d1"));
    db.call_as(&collection_by_rid, read, keyed(KEY)).await.expect("read");

    // A document of the same id under another key is not the one that the rid names.
    db.create(r#"{"id":"d1","pk":"k2"}"#).await.expect("created");
    let read = Operation::ReadDocument(document("d1"));
    let refused = db.call_as(&document_by_rid, read, keyed(r#"["k2"]"#)).await;
    assert_eq!(refused.expect_err("another").code, Code::Forbidden);
    // Nor is a collection of the same name the one that was.
    db.call(Operation::DeleteCollection(collection()), Options::default()).await.expect("deleted");
    let read = || Operation::ReadCollection(collection());
    for (who, expected) in
        [(&named_collection, Code::NotFound), (&collection_by_rid, Code::Forbidden)]
    {
        let gone = db.call_as(who, read(), Options::default()).await.expect_err("deleted");
        assert_eq!(gone.code, expected);
    }
    let body = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}}"#;
    db.create_collection(body, None).await.expect("again");
    db.call_as(&named_collection, read(), Options::default()).await.expect("by its name");
    let other = db.call_as(&collection_by_rid, read(), Options::default()).await;
    assert_eq!(other.expect_err("another").code, Code::Forbidden);
}

#[tokio::test]
async fn who_reads_the_way_does_not_see_the_rest() {
    let db = filled(400).await;
    let whole = granted(&db, "1", "Read", "dbs/db/colls/c", None).await;
    let of_key = granted(&db, "2", "All", "dbs/db/colls/c", Some(KEY)).await;
    let of_document = granted(&db, "3", "All", "dbs/db/colls/c/docs/d1", None).await;
    for (who, sees) in [(whole, true), (of_key, false), (of_document, false)] {
        let options =
            Options { populate_quota: true, populate_statistics: true, ..Options::default() };
        let read = db.call_as(&who, Operation::ReadCollection(collection()), options).await;
        let read = read.expect("read");
        assert_eq!(read.meta.quota.is_some(), sees);
        assert_eq!(!resource(&read).get("statistics").is_undefined(), sees);
        let read = db.call_as(&who, Operation::ReadDocument(document("d1")), keyed(KEY)).await;
        assert_eq!(read.expect("read").meta.quota_lists, None, "it tells of others");
    }
}

/// A permission may name anything, but opens nothing outside of the database of its user.
#[tokio::test]
async fn what_lies_in_another_database_stays_closed() {
    let db = filled(400).await;
    db.create_database("away").await;
    let create = Operation::CreateCollection {
        database: DatabasePath("away".to_owned()),
        body: Bytes::from(r#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#),
        upsert: false,
        throughput: ThroughputRequest::default(),
        partition_key_optional: false,
    };
    let made = resource(&db.call(create, Options::default()).await.expect("a collection"));
    let away =
        CollectionPath { database: DatabasePath("away".to_owned()), collection: "c".to_owned() };
    for (id, link) in [("p", "dbs/away/colls/c".to_owned()), ("p", text(made.get("_self")))] {
        let who = granted(&db, id, "All", &link, None).await;
        let read = Operation::ReadCollection(away.clone());
        let refused = db.call_as(&who, read, Options::default()).await.expect_err("closed");
        assert_eq!(refused.code, Code::Unauthorized, "{link}");
        let delete = Operation::DeletePermission(permission("u", id));
        db.call(delete, Options::default()).await.expect("deleted");
    }
}

#[tokio::test]
async fn tokens_live_as_long_as_the_rights_they_were_made_for() {
    let db = filled(400).await;
    let body = || rights("p", "Read", "dbs/db/colls/c", None);
    let who = granted(&db, "p", "Read", "dbs/db/colls/c", None).await;
    let read = async || {
        let read = Operation::ReadDocument(document("d1"));
        db.call_as(&who, read, keyed(KEY)).await.err().map(|error| error.code)
    };
    // Others ask for the same right again, and for its token.
    let user = crate::users::user("u");
    let again = Operation::CreatePermission { user, body: body(), upsert: true };
    db.call(again, minting()).await.expect("upserted");
    assert_eq!(read().await, None);
    let path = permission("u", "p");
    let more = rights("p", "All", "dbs/db/colls/c", None);
    let replace = |body| Operation::ReplacePermission { path: path.clone(), body };
    db.call(replace(more), minting()).await.expect("replaced");
    assert_eq!(read().await, Some(Code::Unauthorized));
    db.call(replace(body()), minting()).await.expect("replaced");
    assert_eq!(read().await, Some(Code::Unauthorized), "a token does not come back");
}

/// A restored backup gives numbers again that it gave before: tokens made since must not fit.
#[tokio::test]
async fn a_token_is_not_good_for_another_permission_of_its_number() {
    let (dir, db) = on_disk().await;
    let db = db.with_collection(400).await;
    db.create(r#"{"id":"d1","pk":"k1"}"#).await.expect("created");
    db.engine.close().await.expect("closed");
    drop(db);
    let backup = tempfile::tempdir().expect("a directory");
    copy_tree(dir.path(), backup.path());

    let mut grants = Vec::new();
    for (path, key) in [(dir.path(), r#"["k9"]"#), (backup.path(), KEY)] {
        let db = Database::open(open(path)).await;
        db.user("u", false).await.expect("a user");
        let who = granted(&db, "p", "Read", "dbs/db/colls/c", Some(key)).await;
        for earlier in &grants {
            let read = Operation::ReadDocument(document("d1"));
            let refused = db.call_as(earlier, read, Options::default()).await;
            assert_eq!(refused.expect_err("another's").code, Code::Unauthorized);
        }
        grants.push(who);
        db.engine.close().await.expect("closed");
    }
    let permissions: Vec<_> = grants
        .iter()
        .map(|who| match who.proof() {
            Proof::Token(grant) => grant.permission,
            other => unreachable!("holders of tokens, not {other:?}"),
        })
        .collect();
    assert_eq!(permissions[0], permissions[1], "or this shows nothing");
}
