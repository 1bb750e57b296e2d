//! A gateway in front of a database in memory, for the targets that send requests.
//!
//! Every answer has to be well-formed, and none may be a 5xx: [`send`] sees to both.

use std::{
    sync::{Arc, LazyLock},
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use gateway::{Arrival, Clock, Gateway, Key, Keys, PUBLISHED_KEY, Recorder, Settings};
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use gateway::hybrid_row;
use sha2::Sha256;
use tokio::runtime::Runtime;
use value::json;

/// The time of the gateway, and of every request that has no other.
pub const DATE: &str = "Thu, 01 Jan 1970 00:16:40 GMT";

/// The collection with two documents that every target begins with.
pub const COLLECTION: &str = "/dbs/d/colls/c";

/// A request.
pub type Request = hyper::Request<Full<Bytes>>;

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
    let clock = Arc::new(Fixed);
    let gateway = Gateway::new(engine.expect("a database"), settings, Arc::new(Fixed), clock);
    let collection = r#"{"id":"c","partitionKey":{"paths":["/pk"],"kind":"Hash"}}"#;
    for (path, key, body) in [
        ("/dbs", None, r#"{"id":"d"}"#),
        ("/dbs/d/colls", None, collection),
        ("/dbs/d/users", None, r#"{"id":"u"}"#),
        ("/dbs/d/colls/c/docs", Some("[\"a\"]"), r#"{"id":"1","pk":"a","n":1,"list":[1,"x",{"y":null}]}"#),
        ("/dbs/d/colls/c/docs", Some("[\"b\"]"), r#"{"id":"2","pk":"b","n":-2.5,"text":"é"}"#),
    ] {
        let headers = key.map(|key| ("x-ms-documentdb-partitionkey", key.as_bytes()));
        let headers: Vec<_> = headers.into_iter().collect();
        let status = RUNTIME.block_on(signed(&gateway, "POST", path, &headers, body.as_bytes()));
        assert_eq!(status.map(|(status, _)| status), Some(201), "{path}");
    }
    gateway
});

/// Sends a request as it is; the status and the message of a refusal.
pub fn send(request: Request) -> (u16, String) {
    RUNTIME.block_on(exchange(&GATEWAY, request))
}

/// Sends a request signed with the right key; `None` if there is no such request.
pub fn send_signed(
    method: &str,
    path: &str,
    headers: &[(&str, &[u8])],
    body: &[u8],
) -> Option<(u16, String)> {
    RUNTIME.block_on(signed(&GATEWAY, method, path, headers, body))
}

/// The signature of what a refusal names as the payload.
pub fn signature_of(refusal: &str) -> Option<String> {
    let (_, rest) = refusal.split_once("payload to sign: '")?;
    let (payload, _) = rest.split_once('\'')?;
    Some(STANDARD.encode(mac(payload.as_bytes())))
}

/// What the account's key makes of `payload`.
pub fn mac(payload: &[u8]) -> Vec<u8> {
    let key = STANDARD.decode(PUBLISHED_KEY).expect("base64");
    let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any length");
    mac.update(payload);
    mac.finalize().into_bytes().to_vec()
}

/// Sends it with a wrong signature first: the refusal says what the right one covers.
async fn signed(
    gateway: &Gateway,
    method: &str,
    path: &str,
    headers: &[(&str, &[u8])],
    body: &[u8],
) -> Option<(u16, String)> {
    let request = |signature: &str| {
        let mut builder = hyper::Request::builder().method(method).uri(path);
        for (name, value) in headers {
            builder = builder.header(*name, *value);
        }
        builder
            .header("x-ms-date", DATE)
            .header("authorization", format!("type=master&ver=1.0&sig={signature}"))
            .body(Full::new(Bytes::copy_from_slice(body)))
            .ok()
    };
    let (status, message) = exchange(gateway, request("AAAA")?).await;
    match signature_of(&message) {
        Some(signature) => Some(exchange(gateway, request(&signature)?).await),
        None => Some((status, message)),
    }
}

async fn exchange(gateway: &Gateway, request: Request) -> (u16, String) {
    let is_head = request.method() == hyper::Method::HEAD;
    let (parts, body) = request.into_parts();
    let arrival = Arrival { scheme: "http", peer: None };
    let (response, _) = gateway.handle(arrival, &parts, body).await;
    let status = response.status().as_u16();
    assert!(response.headers().contains_key("x-ms-request-charge"));
    assert!(response.headers().contains_key("x-ms-activity-id"));
    let body = response.into_body().collect().await.expect("a whole body").to_bytes();
    if body.is_empty() {
        assert!(is_head || status < 400);
        return (status, String::new());
    }
    if hybrid_row::is_stream(&body) {
        // The results of a batch that came in this form.
        let rows = hybrid_row::records(&body).expect("a stream");
        assert!(status < 400 && rows.iter().all(|row| hybrid_row::ResultRow::read(row).is_ok()));
        return (status, String::new());
    }
    let value = json::parse(&body).expect("JSON");
    let message = value.get("message").as_str().unwrap_or_default().to_owned();
    // No workers are here, so scripts get as far as their compilation.
    assert!(status < 500 || message.contains("worker process was lost"), "{status} {message}");
    (status, message)
}
