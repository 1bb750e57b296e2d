//! Any authorization, dates and path from somebody without a key: no panic, and never let in.
//!
//! The input is lines: the path, the authorization, `x-ms-date`, `date`.

#![no_main]

use bytes::Bytes;
use fuzz::{DATE, send};
use http_body_util::Full;
use libfuzzer_sys::fuzz_target;

fuzz_target!(|input: &[u8]| {
    let mut lines = input.splitn(5, |byte| *byte == b'\n');
    let path = lines.next().unwrap_or_default();
    let mut builder = hyper::Request::builder().uri(path);
    for name in ["authorization", "x-ms-date", "date"] {
        match lines.next() {
            Some(b"now") => builder = builder.header(name, DATE),
            Some(value) if !value.is_empty() => builder = builder.header(name, value),
            _ => {}
        }
    }
    let Ok(request) = builder.body(Full::new(Bytes::new())) else { return };
    let (status, _) = send(request);
    assert!((400..500).contains(&status), "let in with {status}");
});
