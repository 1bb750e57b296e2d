//! Any values of the headers that are looked at, on every kind of request: no panic, no 5xx.
//!
//! The input is a byte that picks the request, then lines: a byte that picks the header, its value.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;

const NAMES: [&str; 51] = [
    "a-im",
    "content-length",
    "content-type",
    "if-match",
    "if-modified-since",
    "if-none-match",
    "prefer",
    "slug",
    "x-ms-activity-id",
    "x-ms-client-request-id",
    "x-ms-consistency-level",
    "x-ms-continuation",
    "x-ms-cosmos-allow-tentative-writes",
    "x-ms-cosmos-batch-atomic",
    "x-ms-cosmos-batch-continue-on-error",
    "x-ms-cosmos-changefeed-wire-format-version",
    "x-ms-cosmos-intended-collection-rid",
    "x-ms-cosmos-is-batch-request",
    "x-ms-cosmos-is-query-plan-request",
    "x-ms-cosmos-migrate-offer-to-autopilot",
    "x-ms-cosmos-migrate-offer-to-manual-throughput",
    "x-ms-cosmos-offer-autopilot-settings",
    "x-ms-cosmos-populate-content-response-on-write",
    "x-ms-cosmos-populateindexmetrics",
    "x-ms-cosmos-populatequeryadvice",
    "x-ms-cosmos-sdk-supportedcapabilities",
    "x-ms-cosmos-supported-query-features",
    "x-ms-cosmos-throughput-bucket",
    "x-ms-documentdb-collection-rid",
    "x-ms-documentdb-expiry-seconds",
    "x-ms-documentdb-is-upsert",
    "x-ms-documentdb-isquery",
    "x-ms-documentdb-partitionkey",
    "x-ms-documentdb-partitionkeyrangeid",
    "x-ms-documentdb-populatepartitionstatistics",
    "x-ms-documentdb-populatequerymetrics",
    "x-ms-documentdb-populatequotainfo",
    "x-ms-documentdb-post-trigger-include",
    "x-ms-documentdb-pre-trigger-include",
    "x-ms-documentdb-query-enablecrosspartition",
    "x-ms-documentdb-responsecontinuationtokenlimitinkb",
    "x-ms-documentdb-script-enable-logging",
    "x-ms-end-epk",
    "x-ms-indexing-directive",
    "x-ms-max-item-count",
    "x-ms-offer-throughput",
    "x-ms-offer-type",
    "x-ms-read-key-type",
    "x-ms-session-token",
    "x-ms-start-epk",
    "x-ms-version",
];

fuzz_target!(|input: &[u8]| {
    let Some((pick, rest)) = input.split_first() else { return };
    let documents = format!("{COLLECTION}/docs");
    let document = format!("{COLLECTION}/docs/1");
    let (method, path, body): (_, &str, &[u8]) = match pick % 10 {
        0 => ("GET", &documents, b""),
        1 => ("POST", &documents, br#"{"query":"SELECT * FROM c WHERE c.n > 0"}"#),
        2 => ("POST", &documents, br#"{"id":"1","pk":"a"}"#),
        3 => ("GET", &document, b""),
        4 => ("PUT", &document, br#"{"id":"1","pk":"a"}"#),
        5 => ("GET", "/dbs/d/colls/c/pkranges", b""),
        6 => ("GET", "/offers", b""),
        7 => ("POST", "/dbs/d/colls", br#"{"id":"c","partitionKey":{"paths":["/pk"]}}"#),
        8 => ("DELETE", &document, b""),
        _ => ("PATCH", &document, br#"[{"op":"add","path":"/x","value":1}]"#),
    };
    let mut headers = Vec::new();
    for line in rest.split(|byte| *byte == b'\n').take(8) {
        let Some((name, value)) = line.split_first() else { continue };
        headers.push((NAMES[usize::from(*name) % NAMES.len()], value));
    }
    send_signed(method, path, &headers, body);
});
