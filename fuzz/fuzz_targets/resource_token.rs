//! Any resource token: no panic, and nobody is let in.
//!
//! The first byte picks what the rest is: the text of a token, or a content that is put under a good
//! signature, which nobody outside can make, so that what reads the content meets any bytes too.

#![no_main]

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use fuzz::{COLLECTION, DATE, mac, send};
use http_body_util::Full;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let Some((pick, rest)) = input.split_first() else { return };
    let token = match pick % 3 {
        0 => rest.to_vec(),
        1 => [b"type=resource&ver=1&sig=", rest].concat(),
        _ => signed(rest).into_bytes(),
    };
    for path in [COLLECTION, "/dbs/d/colls/c/docs/1", "/dbs/d/users", "/"] {
        let builder = hyper::Request::builder().uri(path).header("x-ms-date", DATE);
        let request = builder.header("authorization", &token[..]).body(Full::new(Bytes::new()));
        let Ok(request) = request else { return };
        let (status, message) = send(request);
        assert!(matches!(status, 400 | 401 | 403), "{status} for {path}: {message}");
    }
});

fn signed(content: &[u8]) -> String {
    let signature = STANDARD.encode(mac(&[b"sheaf resource token\n", content].concat()));
    format!("type%3Dresource%26ver%3D1%26sig%3D{signature};{};", STANDARD.encode(content))
}
