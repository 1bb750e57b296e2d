//! Any definition of what a database, a collection or a document holds besides documents: no panic,
//! no 5xx.
//!
//! The first byte picks the kind, and the way: create, upsert, or replace of one that is there.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;

/// Where a kind lives, and a definition that is good.
const KINDS: [(&str, &str); 7] = [
    ("/dbs/d/users", r#"{"id":"x"}"#),
    ("/dbs/d/users/u/permissions", r#"{"id":"x","permissionMode":"Read","resource":"dbs/d/colls/c"}"#),
    ("/dbs/d/colls/c/sprocs", r#"{"id":"x","body":"function () {}"}"#),
    (
        "/dbs/d/colls/c/triggers",
        r#"{"id":"x","body":"function () {}","triggerType":"Pre","triggerOperation":"All"}"#,
    ),
    ("/dbs/d/colls/c/udfs", r#"{"id":"x","body":"function () {}"}"#),
    (
        "/dbs/d/clientencryptionkeys",
        r#"{"id":"x","encryptionAlgorithm":"AEAD_AES_256_CBC_HMAC_SHA256","wrappedDataEncryptionKey":"QUJD","keyWrapMetadata":{"name":"n","type":"t","value":"v","algorithm":"a"}}"#,
    ),
    (
        "/dbs/d/colls/c/docs/1/attachments",
        r#"{"id":"x","contentType":"text/plain","media":"http://example.com/"}"#,
    ),
];

fuzz_target!(|input: &[u8]| {
    let Some((pick, body)) = input.split_first() else { return };
    let (path, good) = KINDS[usize::from(*pick) % KINDS.len()];
    let key: (&str, &[u8]) = ("x-ms-documentdb-partitionkey", b"[\"a\"]");
    let mut headers = Vec::new();
    if path.starts_with(COLLECTION) {
        headers.push(key);
    }
    let one = format!("{path}/x");
    match pick >> 5 {
        0..3 => {
            send_signed("POST", path, &headers, body);
        }
        3..5 => {
            headers.push(("x-ms-documentdb-is-upsert", b"true"));
            send_signed("POST", path, &headers, body);
        }
        _ => {
            send_signed("POST", path, &headers, good.as_bytes());
            send_signed("PUT", &one, &headers, body);
        }
    }
    send_signed("DELETE", &one, &headers, b"");
});
