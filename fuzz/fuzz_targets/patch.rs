//! Any body of a patch: no panic, no 5xx, and a refused one changes nothing.

#![no_main]

use fuzz::{COLLECTION, send_signed};
use libfuzzer_sys::fuzz_target;

const KEY: (&str, &[u8]) = ("x-ms-documentdb-partitionkey", b"[\"a\"]");

fuzz_target!(|input: &[u8]| {
    let path = format!("{COLLECTION}/docs/1");
    let answer = send_signed("PATCH", &path, &[KEY], input);
    if answer.is_some_and(|(status, _)| status == 200) {
        // Back to where every input begins: its document is small.
        let body = br#"{"id":"1","pk":"a","n":1,"list":[1,"x",{"y":null}]}"#;
        let back = send_signed("PUT", &path, &[KEY], body).map(|(status, _)| status);
        assert_eq!(back, Some(200), "a patch took the document's id or key");
    }
});
