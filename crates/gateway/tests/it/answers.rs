//! What answers and errors look like on the wire.

use std::sync::Arc;

use bytes::Bytes;
use gateway::Arrival;
use http_body_util::Full;
use protocol::{
    Body, BoxFuture, Code, Context, Error, Meta, Outcome, Owner, PartitionPoint, Request, Response,
    Service,
    response::{FeedKind, Quota},
};

use crate::support::{Call, Harness, Reply, gateway, resource};

const DOC: &str = "/dbs/d/colls/c/docs/x";

fn meta() -> Meta {
    Meta {
        charge: 5.714,
        partitions: vec![PartitionPoint { range_id: 3, lsn: 42 }],
        item_lsn: Some(17),
        owner: Some(
            Owner { name_path: "dbs/d é/colls/c".to_owned(), rid: "obLD1IAAAAE=".to_owned() }
                .into(),
        ),
        ..Meta::default()
    }
}

async fn answer(response: Response, call: Call) -> Reply {
    Harness::answering(move |_| Ok(response.clone())).send(call).await
}

async fn fail(error: Error) -> Reply {
    Harness::answering(move |_| Err(error.clone())).send(Call::get(DOC)).await
}

#[tokio::test]
async fn a_resource_has_its_headers() {
    let response =
        Response { etag: Some("e-1".to_owned()), meta: meta(), ..resource(r#"{"a":1}"#) };
    let harness = Harness::answering(move |_| Ok(response.clone()));
    let reply = harness.send(Call::get(DOC)).await;
    assert_eq!((reply.status, reply.text()), (200, r#"{"a":1}"#));
    for (name, value) in [
        ("content-type", "application/json"),
        ("etag", "\"e-1\""),
        ("x-ms-request-charge", "5.71"),
        ("x-ms-session-token", "3:-1#42"),
        ("x-ms-documentdb-partitionkeyrangeid", "3"),
        ("lsn", "42"),
        ("x-ms-cosmos-llsn", "42"),
        ("x-ms-global-committed-lsn", "42"),
        ("x-ms-item-lsn", "17"),
        ("x-ms-cosmos-item-llsn", "17"),
        ("x-ms-alt-content-path", "dbs/d%20%C3%A9/colls/c"),
        ("x-ms-content-path", "obLD1IAAAAE="),
        ("x-ms-schemaversion", "1.19"),
        ("x-ms-gatewayversion", "version=2.14.0"),
        ("cache-control", "no-store, no-cache"),
        ("pragma", "no-cache"),
    ] {
        assert_eq!(reply.header(name), Some(value), "{name}");
    }
    for name in ["x-ms-continuation", "x-ms-item-count", "x-ms-substatus", "x-ms-resource-quota"] {
        assert_eq!(reply.header(name), None, "{name}");
    }
    assert_eq!(reply.header("strict-transport-security"), None, "over plain HTTP");
    assert_eq!(harness.records(), [("read_document", 200, 5.714)]);
}

#[tokio::test]
async fn the_activity_id_is_echoed() {
    let guid = "0f8fad5b-d9cb-469f-a165-70867728950e";
    let reply = Harness::new().send(Call::get(DOC).header("x-ms-activity-id", guid)).await;
    assert_eq!(reply.header("x-ms-activity-id"), Some(guid));
    let reply = Harness::new().send(Call::get(DOC).header("x-ms-activity-id", "mine")).await;
    assert_eq!(reply.header("x-ms-activity-id").map(str::len), Some(36));
    let reply = Harness::new().send(Call::get(DOC).header("x-ms-client-request-id", "mine")).await;
    assert_eq!(reply.header("x-ms-client-request-id"), Some("mine"));
}

/// A token of the new form kills the process of an old client.
#[tokio::test]
async fn old_callers_get_old_session_tokens() {
    let response = Response { meta: meta(), ..resource("{}") };
    let call = Call::get(DOC).header("x-ms-version", "2017-11-15");
    assert_eq!(answer(response, call).await.header("x-ms-session-token"), Some("3:42"));
    let mut error = Error::not_found();
    *error.meta = meta();
    let reply = Harness::answering(move |_| Err(error.clone()))
        .send(Call::get(DOC).header("x-ms-version", "2017-11-15"))
        .await;
    assert_eq!((reply.status, reply.header("x-ms-session-token")), (404, Some("3:42")));
}

#[tokio::test]
async fn outcomes_have_their_statuses() {
    for (outcome, status, body) in [
        (Outcome::Ok, 200, "{}"),
        (Outcome::Created, 201, "{}"),
        (Outcome::Deleted, 204, ""),
        (Outcome::NotModified, 304, ""),
    ] {
        let response = Response { outcome, etag: Some("1".to_owned()), ..resource("{}") };
        let reply = answer(response, Call::get(DOC)).await;
        assert_eq!((reply.status, reply.text()), (status, body));
        assert_eq!(reply.header("content-type").is_some(), !body.is_empty());
        assert_eq!(reply.header("etag"), Some("\"1\""));
        assert_eq!(reply.header("x-ms-session-token"), None, "left out, not empty");
    }
    let minimal = Response { body: Body::Empty, outcome: Outcome::Created, ..resource("") };
    let reply = answer(minimal, Call::post("/dbs/d/colls/c/docs")).await;
    assert_eq!((reply.status, reply.text()), (201, ""));
}

#[tokio::test]
async fn a_feed_without_news_counts_its_items() {
    let owner_rid = "obLD1IAAAAE=".to_owned();
    let body = Body::Feed { owner_rid, kind: FeedKind::Documents, items: Vec::new() };
    let nothing = Response { outcome: Outcome::NotModified, body, ..resource("") };
    let call = Call::get("/dbs/d/colls/c/docs").header("A-IM", "Incremental Feed");
    let reply = answer(nothing, call).await;
    assert_eq!((reply.status, reply.text()), (304, ""));
    assert_eq!(reply.header("x-ms-item-count"), Some("0"));
    assert_eq!(reply.header("content-type"), None);
}

#[tokio::test]
async fn a_head_has_no_body() {
    let reply = answer(resource(r#"{"a":1}"#), Call::new("HEAD", DOC)).await;
    assert_eq!((reply.status, reply.text()), (200, ""));
    assert_eq!(reply.header("content-length"), Some("7"));
    let reply = Harness::new().send(Call::new("HEAD", DOC).unsigned()).await;
    assert_eq!((reply.status, reply.text()), (401, ""));
}

#[tokio::test]
async fn a_page_has_its_envelope() {
    let body = Body::Feed {
        owner_rid: "obLD1IAAAAE=".to_owned(),
        kind: FeedKind::Documents,
        items: vec![Bytes::from_static(br#"{"id":"a"}"#), Bytes::from_static(br#"{"id":"b"}"#)],
    };
    let response = Response { body, continuation: Some("next".to_owned()), ..resource("") };
    let reply = answer(response, Call::get("/dbs/d/colls/c/docs")).await;
    let expected = r#"{"_rid":"obLD1IAAAAE=","Documents":[{"id":"a"},{"id":"b"}],"_count":2}"#;
    assert_eq!(reply.text(), expected);
    assert_eq!(reply.header("x-ms-item-count"), Some("2"));
    assert_eq!(reply.header("x-ms-continuation"), Some("next"));
}

#[tokio::test]
async fn collections_and_offers_have_headers_of_their_own() {
    let quota = Quota {
        document_size_max_kb: 2048,
        collection_size_max_kb: -1,
        documents_bytes: 1025,
        documents_count: 3,
        collection_bytes: 4096,
    };
    let meta = Meta { quota: Some(quota), index_progress: Some(100), ..Meta::default() };
    let reply = answer(Response { meta, ..resource("{}") }, Call::get("/dbs/d/colls/c")).await;
    for (name, value) in [
        (
            "x-ms-resource-quota",
            "documentSize=2048;documentsSize=-1;documentsCount=-1;collectionSize=-1;",
        ),
        (
            "x-ms-resource-usage",
            "documentSize=0;documentsSize=2;documentsCount=3;collectionSize=4;",
        ),
        ("x-ms-documentdb-collection-index-transformation-progress", "100"),
    ] {
        assert_eq!(reply.header(name), Some(value));
    }
    assert_eq!(reply.header("x-ms-offer-replace-pending"), None);
    assert_eq!(reply.header("x-ms-share-throughput"), None);
    let meta = Meta { shares_throughput: true, ..Meta::default() };
    let reply = answer(Response { meta, ..resource("{}") }, Call::get("/dbs/d/colls/c")).await;
    assert_eq!(reply.header("x-ms-share-throughput"), Some("true"));
    let lazy = "x-ms-documentdb-collection-lazy-indexing-progress";
    assert_eq!(reply.header(lazy), None, "it is not lazy");
    let meta = Meta { is_lazy: true, ..Meta::default() };
    let reply = answer(Response { meta, ..resource("{}") }, Call::get("/dbs/d/colls/c")).await;
    assert_eq!(reply.header(lazy), Some("100"));
    let meta = Meta { min_throughput: Some(400), ..Meta::default() };
    let call = Call::get("/offers/VjQS").signing("offers", "vjqs");
    let reply = answer(Response { meta, ..resource("{}") }, call).await;
    assert_eq!(reply.header("x-ms-cosmos-min-throughput"), Some("400"));
    assert_eq!(reply.header("x-ms-offer-replace-pending"), Some("false"));
}

#[tokio::test]
async fn every_code_has_its_row() {
    for (code, status, sub, name) in [
        (Code::BadRequest, 400, None, "BadRequest"),
        (Code::PartitionKeyMismatch, 400, Some("1001"), "BadRequest"),
        (Code::CrossPartitionQuery, 400, Some("1004"), "BadRequest"),
        (Code::PartitionKeyDefinitionMissing, 400, Some("1013"), "BadRequest"),
        (Code::CollectionRidMismatch, 400, Some("1024"), "BadRequest"),
        (Code::Unauthorized, 401, None, "Unauthorized"),
        (Code::Forbidden, 403, None, "Forbidden"),
        (Code::PartitionKeyQuota, 403, Some("1014"), "Forbidden"),
        (Code::CollectionQuota, 403, None, "Forbidden"),
        (Code::StorageFull, 403, None, "Forbidden"),
        (Code::LimitReached, 403, None, "Forbidden"),
        (Code::NotFound, 404, None, "NotFound"),
        (Code::SessionNotAvailable, 404, Some("1002"), "NotFound"),
        (Code::OwnerNotFound, 404, Some("1003"), "NotFound"),
        (Code::MethodNotAllowed, 405, None, "MethodNotAllowed"),
        (Code::Timeout, 408, None, "RequestTimeout"),
        (Code::Conflict, 409, None, "Conflict"),
        (Code::NameCacheStale, 410, Some("1000"), "Gone"),
        (Code::PartitionGone, 410, Some("1002"), "Gone"),
        (Code::PartitionSplitting, 410, Some("1007"), "Gone"),
        (Code::PreconditionFailed, 412, None, "PreconditionFailed"),
        (Code::TooLarge, 413, None, "RequestEntityTooLarge"),
        (Code::ResponseTooLarge, 413, Some("3402"), "RequestEntityTooLarge"),
        (Code::FailedDependency, 424, None, "FailedDependency"),
        (Code::TooManyRequests, 429, Some("3200"), "TooManyRequests"),
        (Code::RetryWith, 449, None, "RetryWith"),
        (Code::Internal, 500, None, "InternalServerError"),
        (Code::Unavailable, 503, None, "ServiceUnavailable"),
    ] {
        let reply = fail(Error::new(code, "words")).await;
        assert_eq!((reply.status, reply.header("x-ms-substatus")), (status, sub), "{code:?}");
        assert_eq!(reply.json().get("code").as_str(), Some(name));
        assert!(reply.error().contains("words"));
        let wait = reply.header("x-ms-retry-after-ms");
        assert_eq!(wait.is_some(), code == Code::TooManyRequests, "{code:?}");
    }
}

#[tokio::test]
async fn an_error_is_json_within_json() {
    let mut error = Error::new(Code::NotFound, "no \"x\" here");
    *error.meta = Meta { retry_after_ms: Some(7), ..meta() };
    let reply = fail(error).await;
    let guid = reply.header("x-ms-activity-id").expect("an id");
    let expected = format!(
        "Message: {{\"Errors\":[\"no \\\"x\\\" here\"]}}\r\nActivityId: {guid}, Request URI: {DOC}, \
         RequestStats: , SDK: sheaf/{}",
        env!("CARGO_PKG_VERSION")
    );
    assert_eq!(reply.error(), expected);
    assert_eq!(reply.header("x-ms-session-token"), Some("3:-1#42"));
    assert_eq!(reply.header("x-ms-request-charge"), Some("5.71"));
    assert_eq!(reply.header("x-ms-retry-after-ms"), Some("7"));
}

#[tokio::test]
async fn a_panic_costs_one_request() {
    let harness = Harness::answering(|request| match request.operation.name() {
        "read_document" => panic!("a defect"),
        _ => Ok(resource("{}")),
    });
    let reply = harness.send(Call::get(DOC)).await;
    assert_eq!(reply.status, 500);
    assert!(!reply.error().contains("a defect"), "that is for the log");
    assert_eq!(harness.send(Call::get("/dbs")).await.status, 200);
    assert_eq!(harness.records()[0], ("read_document", 500, 0.0));
}

/// A service that panics before it has even made a future.
struct Broken;

impl Service for Broken {
    fn call<'a>(&'a self, _: &'a Context, _: Request) -> BoxFuture<'a, Result<Response, Error>> {
        panic!("a defect")
    }
}

/// Also that the server can run requests on any of its threads.
#[tokio::test]
async fn a_panic_before_the_future_counts_too() {
    let gateway = gateway(Arc::new(Broken), Arc::default());
    let (asked, body) = Call::get(DOC).request(Full::<Bytes>::default()).into_parts();
    let arrival = Arrival { scheme: "http", peer: None };
    let task = tokio::spawn(async move { gateway.handle(arrival, &asked, body).await });
    let (response, handled) = task.await.expect("no panic");
    assert_eq!((response.status().as_u16(), handled.operation), (500, "read_document"));
}

#[tokio::test]
async fn documents_tell_of_their_collection_and_writes_of_replicas() {
    let lists = Quota { collection_size_max_kb: 7, ..Quota::default() }.lists();
    let meta = Meta { quota_lists: Some(Arc::new(lists)), ..Meta::default() };
    let response = Response { meta, ..resource("{}") };
    let replicas = ["x-ms-current-write-quorum", "x-ms-current-replica-set-size"];
    let reply = answer(response.clone(), Call::get(DOC)).await;
    let quota = "documentSize=0;documentsSize=7;documentsCount=-1;collectionSize=7;";
    assert_eq!(reply.header("x-ms-resource-quota"), Some(quota));
    let usage = "documentSize=0;documentsSize=0;documentsCount=0;collectionSize=0;";
    assert_eq!(reply.header("x-ms-resource-usage"), Some(usage));
    assert_eq!(replicas.map(|name| reply.header(name)), [None, None]);
    let reply = answer(response, Call::new("DELETE", DOC)).await;
    assert_eq!(replicas.map(|name| reply.header(name)), [Some("1"), Some("1")]);
}
