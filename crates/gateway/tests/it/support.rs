//! A service that records its requests and answers as told, and signed calls to a gateway before it.

use std::{
    sync::{Arc, Mutex},
    time::{Duration, SystemTime},
};

use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use gateway::{
    Arrival, BodyError, Clock, CrossPartition, Gateway, Key, Keys, Names, PUBLISHED_KEY, Recorder,
    Settings,
};
use hmac::{Hmac, KeyInit, Mac};
use http_body_util::{BodyExt, Full};
use hyper::{HeaderMap, body::Body as HttpBody};
use percent_encoding::percent_decode_str;
use protocol::{
    Body, BoxFuture, Context, Error, Meta, Outcome, Principal, Request, Response, Service,
};
use sha2::Sha256;
use value::Value;

/// A key that may only read.
pub(crate) const READ_ONLY_KEY: &str = "cmVhZCBvbmx5IGtleQ==";
/// The second key of each kind works like the first.
pub(crate) const SECONDARY_KEY: &str = "c2Vjb25kYXJ5IGtleQ==";
/// The time of every call, and of the gateway's clock.
pub(crate) const DATE: &str = "Tue, 01 Jan 2030 00:00:00 GMT";

type Answers = dyn Fn(&Request) -> Result<Response, Error> + Send + Sync;

/// The service.
pub(crate) struct Fake {
    calls: Mutex<Vec<(Principal, Request)>>,
    answers: Box<Answers>,
}

impl Service for Fake {
    fn call<'a>(
        &'a self,
        context: &'a Context,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Error>> {
        Box::pin(async move {
            let answer = (self.answers)(&request);
            self.calls.lock().expect("calls").push((context.principal, request));
            answer
        })
    }
}

/// The metrics.
#[derive(Default)]
pub(crate) struct Records(Mutex<Vec<(&'static str, u16, f64)>>);

impl Recorder for Records {
    fn record(&self, operation: &'static str, status: u16, _elapsed: Duration, charge: f64) {
        self.0.lock().expect("records").push((operation, status, charge));
    }
}

/// A clock that stands this long before [`DATE`].
struct Stopped(Duration);

impl Clock for Stopped {
    fn now(&self) -> SystemTime {
        httpdate::parse_http_date(DATE).expect("a date") - self.0
    }
}

/// A gateway, and what happened around it.
pub(crate) struct Harness {
    pub(crate) gateway: Gateway,
    service: Arc<Fake>,
    records: Arc<Records>,
}

impl Harness {
    /// Every call succeeds with an empty object.
    pub(crate) fn new() -> Self {
        Self::answering(|_| Ok(resource("{}")))
    }

    /// Calls are answered by `answers`.
    pub(crate) fn answering(
        answers: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::merging(CrossPartition::Auto, answers)
    }

    /// Calls are answered by `answers`; `cross_partition` says who merges queries.
    pub(crate) fn merging(
        cross_partition: CrossPartition,
        answers: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::setting(Settings { cross_partition, ..settings() }, answers)
    }

    /// Every call succeeds with an empty object, and the server has these names.
    pub(crate) fn named(names: Names) -> Self {
        Self::setting(Settings { names, ..settings() }, |_| Ok(resource("{}")))
    }

    /// Calls are answered by `answers`, this long before the time of the others.
    pub(crate) fn earlier(
        by: Duration,
        answers: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::at(by, settings(), answers)
    }

    fn setting(
        settings: Settings,
        answers: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        Self::at(Duration::ZERO, settings, answers)
    }

    fn at(
        before: Duration,
        settings: Settings,
        answers: impl Fn(&Request) -> Result<Response, Error> + Send + Sync + 'static,
    ) -> Self {
        let service = Arc::new(Fake { calls: Mutex::default(), answers: Box::new(answers) });
        let records = Arc::new(Records::default());
        let clock = Arc::new(Stopped(before));
        let gateway = Gateway::new(service.clone(), settings, records.clone(), clock);
        Self { gateway, service, records }
    }

    /// Sends a call over plain HTTP.
    pub(crate) async fn send(&self, call: Call) -> Reply {
        let body = Full::new(call.body.clone());
        self.send_with(call, "http", body).await
    }

    /// Sends a call with a body of its own.
    pub(crate) async fn send_with<B>(&self, call: Call, scheme: &'static str, body: B) -> Reply
    where
        B: HttpBody<Data = Bytes> + Send + Unpin,
        B::Error: Into<BodyError>,
    {
        let (asked, body) = call.request(body).into_parts();
        let arrival = Arrival { scheme, peer: None };
        let (response, _) = self.gateway.handle(arrival, &asked, body).await;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("a body").to_bytes();
        Reply { status: parts.status.as_u16(), headers: parts.headers, body }
    }

    /// The one request that reached the service since the last time.
    pub(crate) fn one_call(&self) -> (Principal, Request) {
        let mut calls = self.calls();
        assert_eq!(calls.len(), 1, "{calls:?}");
        calls.remove(0)
    }

    /// The requests that reached the service since the last time.
    pub(crate) fn calls(&self) -> Vec<(Principal, Request)> {
        std::mem::take(&mut self.service.calls.lock().expect("calls"))
    }

    /// What the recorder was told since the last time.
    pub(crate) fn records(&self) -> Vec<(&'static str, u16, f64)> {
        std::mem::take(&mut self.records.0.lock().expect("records"))
    }
}

/// A gateway in front of any service.
pub(crate) fn gateway(service: Arc<dyn Service>, records: Arc<Records>) -> Gateway {
    Gateway::new(service, settings(), records, Arc::new(Stopped(Duration::ZERO)))
}

fn settings() -> Settings {
    let key = |text| Key::parse(text).expect("a key");
    let keys = Keys {
        read_write: vec![key(PUBLISHED_KEY), key(SECONDARY_KEY)],
        read_only: vec![key(READ_ONLY_KEY)],
    };
    Settings { keys, ..Settings::default() }
}

/// A successful answer with a resource.
pub(crate) fn resource(json: &'static str) -> Response {
    Response {
        outcome: Outcome::Ok,
        body: Body::Resource(Bytes::from_static(json.as_bytes())),
        etag: None,
        continuation: None,
        meta: Meta::default(),
    }
}

/// A request to make.
#[derive(Clone, Debug)]
pub(crate) struct Call {
    method: &'static str,
    path: String,
    headers: Vec<(String, Vec<u8>)>,
    body: Bytes,
    key: &'static str,
    link: Option<(String, String)>,
    is_signed: bool,
}

impl Call {
    pub(crate) fn new(method: &'static str, path: impl Into<String>) -> Self {
        Self {
            method,
            path: path.into(),
            headers: vec![("x-ms-date".to_owned(), DATE.into()), ("host".to_owned(), "h:1".into())],
            body: Bytes::new(),
            key: PUBLISHED_KEY,
            link: None,
            is_signed: true,
        }
    }

    pub(crate) fn get(path: impl Into<String>) -> Self {
        Self::new("GET", path)
    }

    /// A POST with a document in it.
    pub(crate) fn post(path: impl Into<String>) -> Self {
        Self::new("POST", path).body(r#"{"id":"a"}"#)
    }

    /// Replaces the header if it is there.
    pub(crate) fn header(mut self, name: &str, value: impl AsRef<[u8]>) -> Self {
        self = self.without(name);
        self.headers.push((name.to_owned(), value.as_ref().to_vec()));
        self
    }

    pub(crate) fn without(mut self, name: &str) -> Self {
        self.headers.retain(|(other, _)| other != name);
        self
    }

    pub(crate) fn body(mut self, body: impl Into<Bytes>) -> Self {
        self.body = body.into();
        self
    }

    pub(crate) fn key(mut self, key: &'static str) -> Self {
        self.key = key;
        self
    }

    /// Signs this type and link rather than those of the path.
    pub(crate) fn signing(mut self, kind: &str, link: &str) -> Self {
        self.link = Some((kind.to_owned(), link.to_owned()));
        self
    }

    pub(crate) fn unsigned(mut self) -> Self {
        self.is_signed = false;
        self
    }

    pub(crate) fn request<B>(&self, body: B) -> hyper::Request<B> {
        let mut builder = hyper::Request::builder().method(self.method).uri(&self.path);
        if self.is_signed {
            builder = builder.header("authorization", self.authorization());
        }
        for (name, value) in &self.headers {
            builder = builder.header(name, value.as_slice());
        }
        builder.body(body).expect("a request")
    }

    fn authorization(&self) -> String {
        let (kind, link) = self.link.clone().unwrap_or_else(|| signed_of(&self.path));
        let date = self.headers.iter().find(|(name, _)| name == "x-ms-date");
        let date = date.map_or("", |(_, value)| std::str::from_utf8(value).expect("a date"));
        let verb = self.method.to_lowercase();
        let payload = format!("{verb}\n{kind}\n{link}\n{}\n\n", date.to_lowercase());
        let key = STANDARD.decode(self.key).expect("a key");
        let mut mac = Hmac::<Sha256>::new_from_slice(&key).expect("any key");
        mac.update(payload.as_bytes());
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        format!("type=master&ver=1.0&sig={signature}").replace('=', "%3D").replace('&', "%26")
    }
}

/// The type and link that SDKs sign for a path made of names.
fn signed_of(path: &str) -> (String, String) {
    let path = path.split('?').next().unwrap_or_default().trim_matches('/');
    let path = percent_decode_str(path).decode_utf8_lossy().into_owned();
    let segments: Vec<&str> = path.split('/').collect();
    if segments.len() % 2 == 1 {
        let (kind, owner) = segments.split_last().expect("a segment");
        return ((*kind).to_owned(), owner.join("/"));
    }
    (segments[segments.len() - 2].to_owned(), path.clone())
}

/// What came back.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Bytes,
}

impl Reply {
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name).map(|value| value.to_str().expect("ASCII"))
    }

    pub(crate) fn text(&self) -> &str {
        std::str::from_utf8(&self.body).expect("UTF-8")
    }

    pub(crate) fn json(&self) -> Value {
        value::json::parse(&self.body).expect("JSON")
    }

    /// Checks that this is a well-formed error, and returns its message.
    pub(crate) fn error(&self) -> String {
        assert!(self.status >= 400, "{} {}", self.status, self.text());
        assert_eq!(self.header("content-type"), Some("application/json"));
        let activity_id = self.header("x-ms-activity-id").expect("an activity id");
        assert_eq!(activity_id.len(), 36);
        self.header("x-ms-request-charge").expect("a charge").parse::<f64>().expect("a number");
        let body = self.json();
        assert!(body.get("code").as_str().is_some_and(|code| !code.is_empty()));
        let message = body.get("message").as_str().expect("a message").to_owned();
        assert!(message.contains(&format!("\r\nActivityId: {activity_id}, ")), "{message}");
        message
    }
}
