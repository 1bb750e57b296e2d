//! Any bytes as binary JSON: no panic, and the text is JSON but for duplicate keys.

#![no_main]

use libfuzzer_sys::fuzz_target;
use value::{binary, json};

fuzz_target!(|bytes: &[u8]| {
    let mut body = vec![0x80];
    body.extend_from_slice(bytes);
    let Ok(text) = binary::to_text(&body) else { return };
    assert!(text.len() <= binary::TEXT_BYTES_MAX);
    match json::parse(&text) {
        Ok(value) => assert_eq!(json::print(&value).as_bytes(), text),
        Err(error) => assert!(matches!(error.kind, json::ErrorKind::DuplicateKey(_))),
    }
});
