//! Every header becomes its option, and no bad value passes.

use protocol::{
    Options,
    request::{ConsistencyLevel, IndexingDirective},
};
use value::partition_key::{Epk, PartitionKey};

use crate::support::{Call, Harness};

const DOCS: &str = "/dbs/d/colls/c/docs";

async fn options(headers: &[(&str, &str)]) -> Options {
    let harness = Harness::new();
    let call = headers.iter().fold(Call::get(DOCS), |call, (name, value)| call.header(name, value));
    let reply = harness.send(call).await;
    assert_eq!(reply.status, 200, "{}", reply.text());
    harness.one_call().1.options
}

#[tokio::test]
async fn absent_headers_are_defaults() {
    let expected = format!("{:?}", Options::default());
    assert_eq!(format!("{:?}", options(&[]).await), expected);
    // Old SDKs send headers without a value, new ones many that mean nothing here.
    let empty = options(&[
        ("x-ms-session-token", ""),
        ("x-ms-continuation", ""),
        ("x-ms-max-item-count", "-1"),
        ("x-ms-documentdb-query-enablecrosspartition", "true"),
        ("x-ms-cosmos-supported-serialization-formats", "JsonText,CosmosBinary"),
        ("x-ms-cosmos-throughput-bucket", "5"),
    ]);
    assert_eq!(format!("{:?}", empty.await), expected);
}

#[tokio::test]
async fn scripts_have_headers_of_their_own() {
    let options = options(&[
        ("x-ms-documentdb-pre-trigger-include", "a, é b ,,c"),
        ("x-ms-documentdb-post-trigger-include", "d"),
        ("x-ms-documentdb-pre-trigger-exclude", "e"),
        ("x-ms-documentdb-post-trigger-exclude", "f"),
        ("x-ms-documentdb-script-enable-logging", "True"),
    ])
    .await;
    assert_eq!(options.pre_triggers, ["a", "é b", "c"]);
    assert_eq!(options.post_triggers, ["d"]);
    assert!(options.enable_script_logging);
}

#[tokio::test]
async fn texts_are_passed_on() {
    let options = options(&[
        ("if-match", "\"e1\""),
        ("if-none-match", "*"),
        ("x-ms-documentdb-partitionkeyrangeid", "obLD1IAAAAE=,3"),
        ("x-ms-continuation", "token"),
        ("x-ms-cosmos-intended-collection-rid", "obLD1IAAAAE="),
        ("x-ms-max-item-count", "7"),
        ("x-ms-consistency-level", "eventual"),
        ("x-ms-session-token", "0:-1#42,1:7"),
        ("x-ms-indexing-directive", "exclude"),
    ])
    .await;
    assert_eq!(options.if_match.as_deref(), Some("\"e1\""));
    assert_eq!(options.if_none_match.as_deref(), Some("*"));
    assert_eq!(options.range_id.as_deref(), Some("3"));
    let collection = options.range_collection.map(|rid| rid.to_string());
    assert_eq!(collection.as_deref(), Some("obLD1IAAAAE="));
    assert_eq!(options.continuation.as_deref(), Some("token"));
    assert_eq!(options.intended_collection_rid.as_deref(), Some("obLD1IAAAAE="));
    assert_eq!(options.max_item_count, Some(7));
    assert_eq!(options.consistency, Some(ConsistencyLevel::Eventual));
    let session = options.session.expect("tokens");
    assert_eq!(session.0, [("0".to_owned(), 42), ("1".to_owned(), 7)]);
    assert_eq!(options.indexing_directive, IndexingDirective::Exclude);
}

#[tokio::test]
async fn partition_keys_and_ranges_are_read() {
    for text in ["[\"a\"]", "[]", "[{}]", "[null]", r#"["\u00e9",1,true]"#, "[\"é\"]"] {
        let expected = PartitionKey::parse_header(text).expect("a key");
        let options = options(&[("x-ms-documentdb-partitionkey", text)]).await;
        assert_eq!(options.partition_key, Some(expected), "{text}");
    }
    // The least key has no digits: whoever begins there may say so or say nothing.
    let kind = ("x-ms-read-key-type", "EffectivePartitionKeyRange");
    let end = ("x-ms-end-epk", "1FFF");
    for headers in [&[kind, ("x-ms-start-epk", ""), end][..], &[kind, end]] {
        let range = options(headers).await.epk_range;
        let epk = |hex| Epk::parse_hex(hex).expect("a bound");
        assert_eq!(range.map(|(start, end)| start == epk("") && end == epk("1FFF")), Some(true));
    }
}

#[tokio::test]
async fn flags_are_read() {
    for value in ["true", "True", "TRUE"] {
        let options = options(&[
            ("x-ms-documentdb-populatequotainfo", value),
            ("x-ms-documentdb-populatepartitionstatistics", value),
        ])
        .await;
        assert!(options.populate_quota && options.populate_statistics, "{value}");
    }
    for (name, value, expected) in [
        ("prefer", "return=minimal", true),
        ("prefer", "wait=10, Return=Minimal", true),
        ("prefer", "return=representation", false),
        ("x-ms-cosmos-populate-content-response-on-write", "False", true),
        ("x-ms-cosmos-populate-content-response-on-write", "true", false),
    ] {
        assert_eq!(options(&[(name, value)]).await.minimal_response, expected, "{name}: {value}");
    }
    assert_eq!(options(&[("x-ms-max-item-count", "99999999999")]).await.max_item_count, Some(1000));
    assert_eq!(options(&[("x-ms-max-item-count", "0")]).await.max_item_count, None);
}

#[tokio::test]
async fn bad_values_are_refused_by_name() {
    for (name, value) in [
        ("if-match", "é"),
        ("if-none-match", "é"),
        ("x-ms-documentdb-partitionkey", "a"),
        ("x-ms-documentdb-partitionkey", "{}"),
        ("x-ms-documentdb-partitionkey", "[[1]]"),
        ("x-ms-documentdb-partitionkeyrangeid", "rid,"),
        ("x-ms-read-key-type", "EffectivePartitionKey"),
        ("x-ms-start-epk", "zz"),
        ("x-ms-start-epk", "00"),
        ("x-ms-end-epk", "zz"),
        ("x-ms-max-item-count", "-2"),
        ("x-ms-max-item-count", "ten"),
        ("x-ms-consistency-level", "Total"),
        ("x-ms-session-token", "x"),
        ("x-ms-session-token", "0:"),
        ("x-ms-documentdb-populatequotainfo", "yes"),
        ("x-ms-indexing-directive", "Maybe"),
        ("x-ms-version", "latest"),
    ] {
        let harness = Harness::new();
        let reply = harness.send(Call::get(DOCS).header(name, value)).await;
        assert_eq!((reply.status, harness.calls().len()), (400, 0), "{name}: {value}");
        let expected = if value == "00" { "x-ms-end-epk" } else { name };
        assert!(reply.error().contains(expected), "{name}: {}", reply.text());
    }
    for bucket in ["0", "6", "-1"] {
        let call = Call::get(DOCS).header("x-ms-cosmos-throughput-bucket", bucket);
        let expected = format!(
            "The value '{bucket}' specified for the header 'x-ms-cosmos-throughput-bucket' is \
             invalid."
        );
        assert!(Harness::new().send(call).await.error().contains(&expected));
    }
}

#[tokio::test]
async fn consistency_may_be_weakened_only() {
    for level in ["Session", "ConsistentPrefix", "Eventual"] {
        assert!(options(&[("x-ms-consistency-level", level)]).await.consistency.is_some());
    }
    for level in ["Strong", "BoundedStaleness"] {
        let call = Call::get(DOCS).header("x-ms-consistency-level", level);
        let message = Harness::new().send(call).await.error();
        let expected = format!(
            "ConsistencyLevel {level} specified in the request is invalid when service is \
             configured with consistency level Session."
        );
        assert!(message.contains(&expected), "{message}");
    }
}
