//! Whatever comes in, an answer in the service's own form goes out.

use proptest::{collection::vec, prelude::*, sample::select};

use crate::support::{Call, Harness, Reply};

const NAMES: [&str; 34] = [
    "authorization",
    "x-ms-date",
    "x-ms-version",
    "x-ms-activity-id",
    "x-ms-consistency-level",
    "x-ms-session-token",
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-read-key-type",
    "x-ms-start-epk",
    "x-ms-end-epk",
    "x-ms-max-item-count",
    "x-ms-continuation",
    "x-ms-documentdb-isquery",
    "x-ms-documentdb-query",
    "x-ms-cosmos-is-query-plan-request",
    "x-ms-cosmos-is-batch-request",
    "x-ms-documentdb-query-enablecrosspartition",
    "x-ms-cosmos-supported-query-features",
    "x-ms-documentdb-populatequerymetrics",
    "x-ms-cosmos-populateindexmetrics",
    "x-ms-cosmos-populateindexmetrics-v2",
    "x-ms-documentdb-responsecontinuationtokenlimitinkb",
    "x-ms-cosmos-sdk-supportedcapabilities",
    "x-ms-documentdb-is-upsert",
    "x-ms-indexing-directive",
    "x-ms-offer-throughput",
    "content-type",
    "content-encoding",
    "content-length",
    "prefer",
    "if-match",
    "if-none-match",
    "host",
];

fn headers() -> impl Strategy<Value = Vec<(&'static str, Vec<u8>)>> {
    let value = prop_oneof![
        "[ -~]{0,20}".prop_map(String::into_bytes),
        vec(prop_oneof![0x20u8..=0x7E, 0x80u8..=0xFF], 0..20),
        select(vec!["true", "[\"a\"]", "0:-1#1", "-1", "*", "Session", "00FF", "0"])
            .prop_map(|text| text.as_bytes().to_vec()),
    ];
    vec((select(NAMES.to_vec()), value), 0..6)
}

fn path() -> impl Strategy<Value = String> {
    let segment = select(vec![
        "dbs",
        "colls",
        "docs",
        "pkranges",
        "offers",
        "users",
        "x",
        "%41",
        "%ff",
        "%00",
        "%2F",
        "%",
        "obLD1A==",
        "operations",
        "media",
        "addresses",
        "",
    ]);
    prop_oneof![
        vec(segment, 0..9).prop_map(|segments| format!("/{}", segments.join("/"))),
        Just("/dbs/d/colls/c/docs/x".to_owned()),
        Just("/dbs/d/colls/c/docs".to_owned()),
        "/[!-~&&[^#?\"<>\\\\^`{|}]]{0,40}",
    ]
}

fn send(call: Call) -> Reply {
    let runtime =
        tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime");
    runtime.block_on(Harness::new().send(call))
}

fn check(reply: &Reply) {
    if reply.status >= 400 {
        reply.error();
    } else {
        assert_eq!(reply.text(), "{}");
    }
    assert!(reply.status != 500, "{}", reply.text());
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn any_signed_request_is_answered(
        method in select(vec!["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"]),
        path in path(),
        headers in headers(),
        body in vec(any::<u8>(), 0..40),
    ) {
        let mut call = Call::new(method, path).body(body);
        for (name, value) in headers {
            // The helper signs the date, so that one stays.
            if !matches!(name, "authorization" | "x-ms-date") {
                call = call.header(name, value);
            }
        }
        if let Some(reply) = Some(send(call)).filter(|reply| !reply.text().starts_with("{\"_self\"")) {
            check(&reply);
        }
    }

    #[test]
    fn any_unsigned_request_is_refused(path in path(), headers in headers()) {
        let call = headers
            .into_iter()
            .fold(Call::get(path).unsigned(), |call, (name, value)| call.header(name, value));
        let reply = send(call);
        check(&reply);
        prop_assert!(matches!(reply.status, 400 | 401 | 404), "{}", reply.text());
    }
}
