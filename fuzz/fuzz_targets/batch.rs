//! Any body of a transactional batch or of a bulk request: no panic, no 5xx.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((pick, body)) = input.split_first() else { return };
    let path = format!("{COLLECTION}/docs");
    let mut headers: Vec<(&str, &[u8])> = vec![("x-ms-cosmos-is-batch-request", b"true")];
    if pick % 2 == 0 {
        headers.push(("x-ms-cosmos-batch-atomic", b"true"));
        headers.push(("x-ms-documentdb-partitionkey", b"[\"a\"]"));
    } else {
        headers.push(("x-ms-cosmos-batch-atomic", b"false"));
        headers.push(("x-ms-cosmos-batch-continue-on-error", b"true"));
        headers.push(("x-ms-documentdb-partitionkeyrangeid", b"0"));
    }
    send_signed("POST", &path, &headers, body);
});
