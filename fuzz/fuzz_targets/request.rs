//! Any request through gateway and engine: no panic, no 5xx, and every answer is well-formed.
//!
//! The input is a request as HTTP writes it: `VERB PATH`, header lines, an empty line, the body. It is
//! sent as it is, and once more signed with the payload that the refusal names.
//!
//! Two verbs are short for a POST with the headers that chance would not find: `QUERY` for a query,
//! `PLAN` for the plan of one. The body of both is the text of the query, unless the input names
//! a type for it.

#![no_main]

use bytes::Bytes;
use fuzz::{DATE, Request, send, signature_of};
use http_body_util::Full;
use libfuzzer_sys::fuzz_target;

/// The headers that `QUERY` and `PLAN` stand for.
const QUERY: (&str, &str) = ("x-ms-documentdb-isquery", "true");
const PLAN: (&str, &str) = ("x-ms-cosmos-is-query-plan-request", "true");
const SQL: (&str, &str) = ("content-type", "application/sql");
const EVERYWHERE: (&str, &str) = ("x-ms-documentdb-query-enablecrosspartition", "true");

fuzz_target!(|input: &[u8]| {
    let Some(unsigned) = request(input, None) else { return };
    let (_, refusal) = send(unsigned);
    let signature = signature_of(&refusal);
    if let Some(signed) = signature.and_then(|signature| request(input, Some(&signature))) {
        send(signed);
    }
});

fn request(input: &[u8], signature: Option<&str>) -> Option<Request> {
    let split = input.windows(2).position(|pair| pair == b"\n\n")?;
    let (head, body) = (&input[..split], &input[split + 2..]);
    let mut lines = head.split(|byte| *byte == b'\n');
    let mut first = lines.next()?.splitn(2, |byte| *byte == b' ');
    let (verb, path) = (first.next()?, first.next()?);
    let short_for: &[(&str, &str)] = match verb {
        b"QUERY" => &[QUERY, SQL, EVERYWHERE],
        b"PLAN" => &[PLAN, SQL, EVERYWHERE],
        _ => &[],
    };
    let method = if short_for.is_empty() { verb } else { b"POST" };
    let mut builder = hyper::Request::builder().method(method).uri(path);
    let mut has_date = false;
    let mut has_type = false;
    for line in lines {
        let colon = line.iter().position(|byte| *byte == b':')?;
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        has_date |= name.eq_ignore_ascii_case(b"x-ms-date");
        has_type |= name.eq_ignore_ascii_case(b"content-type");
        if !name.eq_ignore_ascii_case(b"authorization") {
            builder = builder.header(name, value);
        }
    }
    for (name, value) in short_for.iter().filter(|header| !(has_type && **header == SQL)) {
        builder = builder.header(*name, *value);
    }
    if !has_date {
        builder = builder.header("x-ms-date", DATE);
    }
    // A wrong signature rather than none: the refusal names the payload to sign.
    let signature = signature.unwrap_or("AAAA");
    builder = builder.header("authorization", format!("type=master&ver=1.0&sig={signature}"));
    builder.body(Full::new(Bytes::copy_from_slice(body))).ok()
}
