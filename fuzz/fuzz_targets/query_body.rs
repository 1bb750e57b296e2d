//! Any body of a query, with and without a partition key, and of a plan: no panic, no 5xx.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((pick, body)) = input.split_first() else { return };
    let path = format!("{COLLECTION}/docs");
    let mut headers: Vec<(&str, &[u8])> = vec![("content-type", b"application/query+json")];
    match pick % 3 {
        0 => headers.extend([
            ("x-ms-documentdb-isquery", &b"true"[..]),
            ("x-ms-documentdb-partitionkey", b"[\"a\"]"),
        ]),
        1 => headers.extend([
            ("x-ms-documentdb-isquery", &b"true"[..]),
            ("x-ms-documentdb-query-enablecrosspartition", b"true"),
        ]),
        _ => headers.extend([
            ("x-ms-cosmos-is-query-plan-request", &b"true"[..]),
            ("x-ms-cosmos-supported-query-features", b"OrderBy,Aggregate"),
        ]),
    }
    send_signed("POST", &path, &headers, body);
});
