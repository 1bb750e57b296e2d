//! What the answers and errors of queries look like on the wire.

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use percent_encoding::percent_decode_str;
use protocol::{
    Body, Code, Error, Meta, Response,
    error::QueryFailure,
    query::{IndexMetricsVersion, QueryMeta, QueryMetrics},
    response::FeedKind,
};

use crate::support::{Call, Harness, Reply, resource};

const DOCS: &str = "/dbs/d/colls/c/docs";
const METRICS: &str = "x-ms-documentdb-query-metrics";
const UTILIZATION: &str = "x-ms-cosmos-index-utilization";
const ADVICE: &str = "x-ms-cosmos-query-advice";

fn query() -> Call {
    let body = r#"{"query":"SELECT * FROM c"}"#;
    Call::new("POST", DOCS).body(body).header("content-type", "application/query+json")
}

fn plan() -> Call {
    query().header("x-ms-cosmos-is-query-plan-request", "True")
}

async fn answer(response: Response) -> Reply {
    Harness::answering(move |_| Ok(response.clone())).send(query()).await
}

async fn fail(error: Error, call: Call) -> Reply {
    Harness::answering(move |_| Err(error.clone())).send(call).await
}

fn rows(rows: &[&'static str]) -> Body {
    let items = rows.iter().map(|row| Bytes::from_static(row.as_bytes())).collect();
    Body::Feed { owner_rid: "obLD1IAAAAE=".to_owned(), kind: FeedKind::Documents, items }
}

async fn answer_telling(query: QueryMeta) -> Reply {
    let meta = Meta { query: Some(query.into()), ..Meta::default() };
    answer(Response { meta, body: rows(&[]), ..resource("") }).await
}

#[tokio::test]
async fn rows_have_the_envelope_of_a_feed() {
    let body = rows(&["1", r#"{"a":"é"}"#, "null"]);
    let reply = answer(Response { body: body.clone(), ..resource("") }).await;
    let expected = r#"{"_rid":"obLD1IAAAAE=","Documents":[1,{"a":"é"},null],"_count":3}"#;
    assert_eq!((reply.status, reply.text()), (200, expected));
    assert_eq!(reply.header("x-ms-item-count"), Some("3"));
    for name in ["x-ms-continuation", METRICS, UTILIZATION, ADVICE] {
        assert_eq!(reply.header(name), None, "{name}");
    }
    let more = Response { body, continuation: Some("next".to_owned()), ..resource("") };
    assert_eq!(answer(more).await.header("x-ms-continuation"), Some("next"));
}

#[tokio::test]
async fn a_plan_is_a_plain_object() {
    let text = r#"{"partitionedQueryExecutionInfoVersion":2}"#;
    let harness = Harness::answering(move |_| Ok(resource(text)));
    let reply = harness.send(plan()).await;
    assert_eq!((reply.status, reply.text()), (200, text));
    assert_eq!(reply.header("x-ms-item-count"), None);
    assert_eq!(harness.records()[0].0, "plan_query");
}

#[tokio::test]
async fn metrics_are_told() {
    let metrics = QueryMetrics {
        total_ms: 1.5,
        retrieved_documents: 2,
        index_hit_ratio: 1.0,
        ..QueryMetrics::default()
    };
    let reply = answer_telling(QueryMeta { metrics: Some(metrics), ..QueryMeta::default() }).await;
    let text = reply.header(METRICS).expect("metrics");
    assert!(text.starts_with("totalExecutionTimeInMs=1.50;queryCompileTimeInMs=0.00;"), "{text}");
    assert!(text.contains(";retrievedDocumentCount=2;"), "{text}");
    assert!(text.ends_with(";indexUtilizationRatio=1.00"), "{text}");
}

/// Python decodes the first form, JavaScript the second.
#[tokio::test]
async fn index_metrics_have_two_forms() {
    let json = r#"{"IndexSpec":"/\"a b\"/?","é":"100% + (1)"}"#;
    let tell = async |version| {
        let index_metrics = Some((version, json.to_owned()));
        let reply = answer_telling(QueryMeta { index_metrics, ..QueryMeta::default() }).await;
        reply.header(UTILIZATION).expect("index metrics").to_owned()
    };
    let first = tell(IndexMetricsVersion::V1).await;
    assert_eq!(STANDARD.decode(first).expect("base64"), json.as_bytes());
    let second = tell(IndexMetricsVersion::V2).await;
    assert!(second.starts_with("%7B%22IndexSpec%22%3A%22%2F%5C%22a%20b"), "{second}");
    assert!(second.ends_with("100%25%20%2B%20(1)%22%7D"), "{second}");
    assert_eq!(percent_decode_str(&second).decode_utf8().expect("UTF-8"), json);
}

#[tokio::test]
async fn advice_is_encoded() {
    let advice = r#"[{"Id":"QA1002","Params":["ä"]}]"#.to_owned();
    let reply =
        answer_telling(QueryMeta { advice: Some(advice.clone()), ..QueryMeta::default() }).await;
    let header = reply.header(ADVICE).expect("advice");
    assert_eq!(percent_decode_str(header).decode_utf8().expect("UTF-8"), advice);
}

#[tokio::test]
async fn how_a_query_was_run_stands_behind_its_rows() {
    let explain = Some(r#"{"rows":0}"#.to_owned());
    let reply = answer_telling(QueryMeta { explain, ..QueryMeta::default() }).await;
    let expected = r#"{"_rid":"obLD1IAAAAE=","Documents":[],"_count":0,"_explain":{"rows":0}}"#;
    assert_eq!(reply.text(), expected);
}

/// Node drops an answer with more than 16 KB of headers.
#[tokio::test]
async fn hints_never_cost_the_rows() {
    let long = format!("[\"{}\"]", "é".repeat(3000));
    let hints = QueryMeta {
        index_metrics: Some((IndexMetricsVersion::V2, long.clone())),
        advice: Some(long),
        ..QueryMeta::default()
    };
    let reply = answer_telling(hints).await;
    assert_eq!(reply.status, 200);
    assert_eq!((reply.header(UTILIZATION), reply.header(ADVICE)), (None, None));
}

#[tokio::test]
async fn errors_of_a_query_are_a_document() {
    let document = concat!(
        r#"{"errors":[{"severity":"Error","location":{"start":7,"end":14},"code":"SC2005","#,
        r#""message":"'BADFUNC' is not a recognized built-in function name."}]}"#
    );
    let error = Error::query(document.to_owned());
    let common = "Microsoft.Azure.Documents.Common/2.14.0";
    for (call, prefix, suffix) in [
        (query(), "", common.to_owned()),
        (plan(), "Gateway Failed to Retrieve Query Plan: ", format!("{common}, {common}")),
    ] {
        let reply = fail(error.clone(), call).await;
        assert_eq!((reply.status, reply.header("x-ms-substatus")), (400, None));
        let id = reply.header("x-ms-activity-id").expect("an id");
        let expected = format!("{prefix}Message: {document}\r\nActivityId: {id}, {suffix}");
        assert_eq!(reply.error(), expected);
        assert_eq!(reply.json().get("code").as_str(), Some("BadRequest"));
        assert!(!reply.text().contains("additionalErrorInfo"));
    }
}

#[tokio::test]
async fn other_errors_of_a_plan_are_as_usual() {
    let reply = fail(Error::owner_not_found(), plan()).await;
    assert_eq!(reply.status, 404);
    assert!(reply.error().starts_with(r#"Message: {"Errors":["Owner resource"#));
}

/// Old SDKs parse the text of the member `additionalErrorInfo` as the plan.
#[tokio::test]
async fn a_refusal_hands_out_the_plan() {
    let plan = r#"{"queryInfo":{"rewrittenQuery":"SELECT \"é\"\n"}}"#;
    let failure = QueryFailure { document: None, plan: Some(plan.to_owned()) };
    let error = Error {
        query: Some(failure.into()),
        ..Error::new(Code::CrossPartitionQuery, "The query \"needs\" a plan.")
    };
    let reply = fail(error, query()).await;
    assert_eq!((reply.status, reply.header("x-ms-substatus")), (400, Some("1004")));
    assert!(reply.error().starts_with("The query \"needs\" a plan.\r\nActivityId: "));
    assert_eq!(reply.json().get("code").as_str(), Some("BadRequest"));
    assert_eq!(reply.json().get("additionalErrorInfo").as_str(), Some(plan));
}
