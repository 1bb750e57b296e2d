//! Every sign of a query makes one, on every feed, with its options.

use gateway::CrossPartition;
use proptest::{collection::vec, prelude::*, sample::select};
use protocol::{
    Operation, Request,
    query::{IndexMetricsVersion, Planning, QueryFeed, QueryOptions, QuerySource},
    request::{CollectionPath, DatabasePath},
};

use crate::support::{Call, Harness, READ_ONLY_KEY, resource};

const DOCS: &str = "/dbs/d/colls/c/docs";
const QUERY: &str = r#"{"query":"SELECT * FROM c"}"#;

/// What the body says if it is JSON, or if it is the text itself.
fn source(is_text: bool) -> QuerySource {
    let text = if is_text { QUERY } else { "SELECT * FROM c" };
    QuerySource { bytes: QUERY.len(), ..QuerySource::new(text) }
}

/// However a client says that a POST is a query.
const SIGNS: [(&str, &str); 6] = [
    ("x-ms-documentdb-isquery", "True"),
    ("x-ms-documentdb-isquery", "true"),
    ("x-ms-documentdb-query", "true"),
    ("content-type", "application/query+json"),
    ("content-type", "Application/Query+JSON; charset=utf-8"),
    ("content-type", "application/sql"),
];

fn database() -> DatabasePath {
    DatabasePath("d".to_owned())
}

fn collection() -> CollectionPath {
    CollectionPath { database: database(), collection: "c".to_owned() }
}

fn query(path: &str) -> Call {
    Call::new("POST", path).body(QUERY).header("x-ms-documentdb-isquery", "true")
}

/// The one request that a call becomes.
async fn request(call: Call) -> Request {
    let harness = Harness::new();
    let reply = harness.send(call).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    harness.one_call().1
}

/// The options of a query with these headers.
async fn options(headers: &[(&str, &str)]) -> QueryOptions {
    let call = headers.iter().fold(query(DOCS), |call, (name, value)| call.header(name, value));
    request(call).await.options.query
}

#[tokio::test]
async fn every_feed_can_be_queried() {
    for (path, expected) in [
        ("/dbs", QueryFeed::Databases),
        ("/dbs/d/colls", QueryFeed::Collections(database())),
        (DOCS, QueryFeed::Documents(collection())),
        ("/dbs/d/colls/c/pkranges", QueryFeed::PartitionKeyRanges(collection())),
        ("/offers", QueryFeed::Offers),
        ("/dbs/d/clientencryptionkeys", QueryFeed::EncryptionKeys(database())),
        ("/dbs/d/colls/c/conflicts", QueryFeed::Conflicts(collection())),
    ] {
        for (name, value) in SIGNS {
            for path in [path.to_owned(), format!("{path}/")] {
                let call = Call::new("POST", path).body(QUERY).header(name, value);
                // It reads, so a key that may only read will do.
                let Operation::Query { feed, query } =
                    request(call.key(READ_ONLY_KEY)).await.operation
                else {
                    panic!("{name} is not a query")
                };
                assert_eq!(feed, expected);
                assert_eq!(query, source(value == "application/sql"));
            }
        }
    }
}

#[tokio::test]
async fn plans_are_of_documents_only() {
    let plan = "x-ms-cosmos-is-query-plan-request";
    for (name, value) in SIGNS.into_iter().chain([("content-type", "application/json")]) {
        let call = Call::new("POST", DOCS).body(QUERY).header(plan, "True").header(name, value);
        let Operation::PlanQuery { collection: path, query } =
            request(call.key(READ_ONLY_KEY)).await.operation
        else {
            panic!("{name} is not a plan")
        };
        assert_eq!(path, collection());
        assert_eq!(query, source(value == "application/sql"));
    }
    for path in ["/dbs", "/dbs/d/colls", "/dbs/d/colls/c/pkranges", "/offers", "/dbs/d"] {
        let harness = Harness::new();
        let reply = harness.send(query(path).header(plan, "true")).await;
        assert_eq!((reply.status, harness.calls().len()), (400, 0), "{path}");
        assert!(reply.error().contains("a query over documents"), "{}", reply.text());
    }
}

/// A query must never become anything else.
#[tokio::test]
async fn what_is_no_feed_cannot_be_queried() {
    for (path, status) in [
        ("/dbs/d", 405),
        ("/dbs/d/colls/c", 405),
        ("/dbs/d/colls/c/docs/x", 405),
        ("/dbs/d/colls/c/pkranges/0", 405),
        ("/dbs/d/users/u", 405),
        ("/dbs/d/users/u/permissions/p", 405),
        ("/dbs/d/colls/c/conflicts/x", 405),
        ("/dbs/d/colls/c/docs/x/attachments/a", 405),
        ("/dbs/d/clientencryptionkeys/k", 405),
        ("/dbs/d/colls/c/sprocs/s", 405),
        ("/dbs/d/colls/c/udfs/f", 405),
    ] {
        for (name, value) in SIGNS {
            let harness = Harness::new();
            let reply = harness.send(query(path).header(name, value)).await;
            assert_eq!((reply.status, harness.calls().len()), (status, 0), "{path}");
            let is_later = reply.error().contains("not supported by this version of Sheaf yet");
            assert_eq!(is_later, status == 400, "{}", reply.text());
        }
    }
}

#[tokio::test]
async fn bad_signs_are_refused() {
    for name in [
        "x-ms-documentdb-isquery",
        "x-ms-documentdb-query",
        "x-ms-cosmos-is-query-plan-request",
        "x-ms-cosmos-is-batch-request",
    ] {
        for value in ["1", "yes", "true, true", "\u{e9}"] {
            let harness = Harness::new();
            let reply = harness.send(Call::post(DOCS).header(name, value)).await;
            assert_eq!((reply.status, harness.calls().len()), (400, 0), "{name}: {value}");
            assert!(reply.error().contains(name), "{}", reply.text());
        }
    }
    let no = Call::post(DOCS).header("x-ms-documentdb-isquery", "False");
    assert_eq!(request(no).await.operation.name(), "create_document");
    let upsert = query(DOCS).header("x-ms-documentdb-is-upsert", "true");
    assert_eq!(request(upsert).await.operation.name(), "query_documents");
    let empty = Harness::new().send(query(DOCS).body("")).await;
    assert_eq!(empty.status, 400);
}

/// A path encoded twice is tried again with its body and its options.
#[tokio::test]
async fn a_repeated_query_is_the_same() {
    let harness = Harness::answering(|_| Err(protocol::Error::owner_not_found()));
    let call = query("/dbs/d/colls/c%2520c/docs")
        .header("x-ms-documentdb-populatequerymetrics", "true")
        .signing("docs", "dbs/d/colls/c c");
    assert_eq!(harness.send(call).await.status, 404);
    let calls = harness.calls();
    let names: Vec<&str> = calls
        .iter()
        .map(|(_, request)| match &request.operation {
            Operation::Query { feed: QueryFeed::Documents(path), query } => {
                assert_eq!(*query, source(false));
                assert!(request.options.query.populate_metrics);
                path.collection.as_str()
            }
            other => panic!("{other:?}"),
        })
        .collect();
    assert_eq!(names, ["c%20c", "c c"]);
}

#[tokio::test]
async fn headers_become_options() {
    assert_eq!(options(&[]).await, QueryOptions::default());
    let all = options(&[
        ("x-ms-documentdb-query-enablecrosspartition", "True"),
        ("x-ms-cosmos-query-optimisticdirectexecute", "True"),
        ("x-ms-cosmos-supported-query-features", " Aggregate, Distinct ,Top"),
        ("x-ms-documentdb-populatequerymetrics", "true"),
        ("x-ms-cosmos-populateindexmetrics", "TRUE"),
        ("x-ms-cosmos-populatequeryadvice", "True"),
        ("x-sheaf-explain", "True"),
        ("x-ms-documentdb-responsecontinuationtokenlimitinkb", "1"),
        ("x-ms-cosmos-sdk-supportedcapabilities", "1"),
    ]);
    let expected = QueryOptions {
        enable_cross_partition: true,
        planning: Planning::All,
        is_optimistic: true,
        supported_features: ["Aggregate", "Distinct", "Top"].map(str::to_owned).into(),
        populate_metrics: true,
        index_metrics: Some(IndexMetricsVersion::V1),
        populate_advice: true,
        explain: true,
        continuation_kb_max: Some(1),
    };
    assert_eq!(all.await, expected);
    let both = options(&[
        ("x-ms-cosmos-populateindexmetrics", "true"),
        ("x-ms-cosmos-populateindexmetrics-V2", "True"),
    ]);
    assert_eq!(both.await.index_metrics, Some(IndexMetricsVersion::V2));
    let limit = "x-ms-documentdb-responsecontinuationtokenlimitinkb";
    for (value, expected) in [("0", Some(0)), ("", None), ("99999999999", Some(u32::MAX))] {
        assert_eq!(options(&[(limit, value)]).await.continuation_kb_max, expected, "{value}");
    }
}

/// What feeds share with queries means the same; Python and JavaScript leave the key away.
#[tokio::test]
async fn queries_have_the_options_of_feeds() {
    let call = query(DOCS)
        .header("x-ms-documentdb-partitionkey", "")
        .header("x-ms-max-item-count", "-1")
        .header("x-ms-documentdb-partitionkeyrangeid", "3")
        .header("x-ms-continuation", "token")
        .header("x-ms-start-epk", "")
        .header("x-ms-end-epk", "FF");
    let options = request(call).await.options;
    assert_eq!(options.partition_key, None);
    assert_eq!(options.max_item_count, None);
    assert_eq!(options.range_id.as_deref(), Some("3"));
    assert_eq!(options.continuation.as_deref(), Some("token"));
    assert!(options.epk_range.is_some());
}

#[tokio::test]
async fn bad_options_are_refused_by_name() {
    for (name, value) in [
        ("x-ms-documentdb-query-enablecrosspartition", "maybe"),
        ("x-ms-cosmos-supported-query-features", "é"),
        ("x-ms-documentdb-populatequerymetrics", "1"),
        ("x-ms-cosmos-populateindexmetrics", "V1"),
        ("x-ms-cosmos-populateindexmetrics-v2", "2"),
        ("x-ms-cosmos-populatequeryadvice", "please"),
        ("x-sheaf-explain", "why"),
        ("x-ms-documentdb-responsecontinuationtokenlimitinkb", "-1"),
        ("x-ms-documentdb-responsecontinuationtokenlimitinkb", "1.5"),
    ] {
        let harness = Harness::new();
        let reply = harness.send(query(DOCS).header(name, value)).await;
        assert_eq!((reply.status, harness.calls().len()), (400, 0), "{name}: {value}");
        assert!(reply.error().contains(name), "{name}: {}", reply.text());
        // They mean nothing elsewhere, and some SDKs send them everywhere.
        assert_eq!(harness.send(Call::get(DOCS).header(name, value)).await.status, 200);
        assert_eq!(harness.one_call().1.options.query, QueryOptions::default());
    }
}

#[tokio::test]
async fn the_setting_decides_who_plans() {
    let capable = ("x-ms-cosmos-sdk-supportedcapabilities", "1");
    let parallel = ("x-ms-documentdb-query-parallelizecrosspartitionquery", "true");
    let go = ("user-agent", "azsdk-go-azcosmos/v1.4.0 (go1.24; linux)");
    for (setting, headers, expected) in [
        (CrossPartition::Auto, vec![], Planning::None),
        (CrossPartition::Auto, vec![capable], Planning::All),
        (CrossPartition::Auto, vec![("x-ms-cosmos-sdk-supportedcapabilities", "")], Planning::All),
        (CrossPartition::Auto, vec![("x-ms-version", "2020-07-15")], Planning::None),
        (CrossPartition::Auto, vec![("x-ms-version", "2018-12-31")], Planning::None),
        (CrossPartition::Auto, vec![("x-ms-version", "2018-09-17")], Planning::Early),
        (CrossPartition::Auto, vec![("x-ms-version", "2017-11-15")], Planning::Early),
        (
            CrossPartition::Auto,
            vec![("x-ms-version", "2017-11-15"), parallel],
            Planning::EarlyParallel,
        ),
        (CrossPartition::Auto, vec![("x-ms-version", "2020-07-15"), parallel], Planning::None),
        (CrossPartition::Auto, vec![capable, go], Planning::None),
        (CrossPartition::Auto, vec![("x-ms-version", "2018-09-17"), go], Planning::None),
        (CrossPartition::Service, vec![], Planning::Service),
        (CrossPartition::Service, vec![capable, go], Planning::Service),
        (CrossPartition::Service, vec![("x-ms-version", "2020-07-15")], Planning::Service),
        (CrossPartition::Direct, vec![capable], Planning::None),
        (CrossPartition::Direct, vec![("x-ms-version", "2017-11-15")], Planning::None),
    ] {
        let harness = Harness::merging(setting, |_| Ok(resource("{}")));
        let mut call = query(DOCS);
        for (name, value) in &headers {
            call = call.header(name, value);
        }
        assert_eq!(harness.send(call).await.status, 200);
        let options = harness.one_call().1.options.query;
        assert_eq!(options.planning, expected, "{setting:?} {headers:?}");
    }
}

/// Names and values that say "query" more or less well.
fn hostile() -> impl Strategy<Value = Vec<(&'static str, Vec<u8>)>> {
    let name = select(vec![
        "x-ms-documentdb-isquery",
        "x-ms-documentdb-query",
        "x-ms-cosmos-is-query-plan-request",
        "content-type",
        "x-ms-documentdb-query-enablecrosspartition",
        "x-ms-cosmos-supported-query-features",
        "x-ms-documentdb-populatequerymetrics",
        "x-ms-cosmos-populateindexmetrics",
        "x-ms-cosmos-populateindexmetrics-v2",
        "x-ms-cosmos-populatequeryadvice",
        "x-sheaf-explain",
        "x-ms-documentdb-responsecontinuationtokenlimitinkb",
        "x-ms-documentdb-partitionkey",
        "x-ms-version",
    ]);
    let value = prop_oneof![
        select(vec!["true", "True", "false", "", "1", "-1", "0", "[]", "2017-11-15"])
            .prop_map(|text| text.as_bytes().to_vec()),
        select(vec!["application/sql", "application/query+json;a=b", "application/sql,", ";"])
            .prop_map(|text| text.as_bytes().to_vec()),
        vec(prop_oneof![0x20u8..=0x7E, 0x80u8..=0xFF], 0..30),
    ];
    vec((name, value), 0..6)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    /// What carries a sign is a query, a plan or refused, whatever else it carries.
    #[test]
    fn a_sign_among_any_headers_never_creates(
        sign in select(SIGNS.to_vec()),
        path in select(vec!["/dbs", "/dbs/d/colls", DOCS, "/dbs/d/colls/c/pkranges", "/offers"]),
        headers in hostile(),
        body in vec(any::<u8>(), 0..40),
    ) {
        let call = headers
            .into_iter()
            .fold(Call::new("POST", path), |call, (name, value)| call.header(name, value))
            .header(sign.0, sign.1)
            .body(body);
        let harness = Harness::new();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let reply = runtime.expect("a runtime").block_on(harness.send(call));
        let calls = harness.calls();
        if calls.is_empty() {
            prop_assert_eq!(reply.status, 400, "{}", reply.text());
            reply.error();
        } else {
            let name = calls[0].1.operation.name();
            prop_assert!(matches!(name, "query_documents" | "query_resources" | "plan_query"));
        }
    }
}
