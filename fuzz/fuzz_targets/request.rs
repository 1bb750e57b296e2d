//! Any request through gateway and engine: no panic, no 5xx, and every answer is well-formed.
//!
//! The input is a request as HTTP writes it: `VERB PATH`, header lines, an empty line, the body. It is
//! sent as it is, and once more signed with the payload that the refusal names.
//!
//! Two verbs are short for a POST with the headers that chance would not find: `QUERY` for a query,
//! `PLAN` for the plan of one. The body of both is the text of the query, unless the input names
//! a type for it.

#![no_main]

use std::{
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use gateway::{Clock, Gateway, Key, Keys, PUBLISHED_KEY, Recorder, Settings};
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use libfuzzer_sys::fuzz_target;
use sha2::Sha256;
use tokio::runtime::Runtime;
use value::json;

const DATE: &str = "Thu, 01 Jan 1970 00:16:40 GMT";

/// The headers that `QUERY` and `PLAN` stand for.
const QUERY: (&str, &str) = ("x-ms-documentdb-isquery", "true");
const PLAN: (&str, &str) = ("x-ms-cosmos-is-query-plan-request", "true");
const SQL: (&str, &str) = ("content-type", "application/sql");
const EVERYWHERE: (&str, &str) = ("x-ms-documentdb-query-enablecrosspartition", "true");

struct Fixed;

impl Clock for Fixed {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1000)
    }
}

impl Recorder for Fixed {
    fn record(&self, _: &'static str, _: u16, _: Duration, _: f64) {}
}

static RUNTIME: LazyLock<Runtime> = LazyLock::new(|| {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime")
});

static GATEWAY: LazyLock<Gateway> = LazyLock::new(|| {
    let store = Arc::new(store::memory::MemoryStore::new());
    let clock = Arc::new(engine::SystemClock);
    let engine = RUNTIME.block_on(engine::Engine::open(store, engine::Options::default(), clock));
    let key = Key::parse(PUBLISHED_KEY).expect("a key");
    let keys = Keys { read_write: vec![key], read_only: Vec::new() };
    let settings = Settings { keys, ..Settings::default() };
    let gateway = Gateway::new(engine.expect("a database"), settings, Arc::new(Fixed), Arc::new(Fixed));
    for (path, body) in [
        ("POST /dbs", r#"{"id":"d"}"#),
        ("POST /dbs/d/colls", r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#),
        (
            "POST /dbs/d/colls/c/docs\nx-ms-documentdb-partitionkey:[\"a\"]",
            r#"{"id":"1","pk":"a","n":1,"list":[1,"x",{"y":null}]}"#,
        ),
        (
            "POST /dbs/d/colls/c/docs\nx-ms-documentdb-partitionkey:[\"b\"]",
            r#"{"id":"2","pk":"b","n":-2.5,"text":"é"}"#,
        ),
    ] {
        let text = format!("{path}\n\n{body}");
        let status = RUNTIME.block_on(exchange(&gateway, text.as_bytes()));
        assert_eq!(status, Some(201), "{path}");
    }
    gateway
});

fuzz_target!(|input: &[u8]| {
    let gateway = &*GATEWAY;
    RUNTIME.block_on(exchange(gateway, input));
});

/// Sends a request unsigned, then signed; the status of the second.
async fn exchange(gateway: &Gateway, input: &[u8]) -> Option<u16> {
    let (status, refusal) = send(gateway, request(input, None)?).await;
    let payload = refusal.split_once("payload to sign: '").and_then(|(_, rest)| rest.split_once('\''));
    let Some((payload, _)) = payload else { return Some(status) };
    let key = STANDARD.decode(PUBLISHED_KEY).expect("base64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any length");
    mac.update(payload.as_bytes());
    let signature = STANDARD.encode(mac.finalize().into_bytes());
    let (status, _) = send(gateway, request(input, Some(&signature))?).await;
    Some(status)
}

async fn send(gateway: &Gateway, request: hyper::Request<Full<Bytes>>) -> (u16, String) {
    let is_head = request.method() == hyper::Method::HEAD;
    let response = gateway.handle("http", request).await;
    let status = response.status().as_u16();
    assert!(status < 500, "{response:?}");
    assert!(response.headers().contains_key("x-ms-request-charge"));
    assert!(response.headers().contains_key("x-ms-activity-id"));
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    if body.is_empty() {
        assert!(is_head || status < 400);
        return (status, String::new());
    }
    let value = json::parse(&body).expect("JSON");
    (status, value.get("message").as_str().unwrap_or_default().to_owned())
}

fn request(input: &[u8], signature: Option<&str>) -> Option<hyper::Request<Full<Bytes>>> {
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
