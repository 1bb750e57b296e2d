//! The requests of the REST API that the driver sends, signed as far as possible ahead of time.
//!
//! All creates of a collection share one signature, because it covers the collection and the date
//! only. Reads are signed one by one, before the clock starts.

use anyhow::Result;
use base64::{Engine as _, engine::general_purpose::STANDARD};
use bytes::Bytes;
use hmac::{Hmac, KeyInit as _, Mac as _};
use http_body_util::Full;
use hyper::{Method, Request, header::HeaderValue};
use sha2::Sha256;

/// The key that Microsoft publishes for its emulator.
const KEY: &str =
    "C2y6yDjf5/R+ob0N8A7Cgv30VRDJIWEHLM+4QDU5DE2nQ9nDuVTqobD4b8mGGyPMbIZnqyMsEcaGQy67XIw/Jw==";
pub(crate) const DATABASE: &str = "bench";
/// What today's SDKs send.
pub(crate) const VERSION: &str = "2020-07-15";
/// The size of a document.
pub(crate) const DOCUMENT_BYTES: usize = 1024;
/// Logical partition keys of the layout that has many.
const KEYS: usize = 1000;

/// How the documents of a collection are spread.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Layout {
    /// 1000 logical keys over three partitions.
    ManyKeys,
    /// Every document under the same logical key.
    OneKey,
}

impl Layout {
    /// The name of its collection, and its word in the table.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::ManyKeys => "many-keys",
            Self::OneKey => "one-key",
        }
    }

    fn key(self, number: usize) -> String {
        match self {
            Self::ManyKeys => format!("key{}", number % KEYS),
            Self::OneKey => "one".to_owned(),
        }
    }
}

/// A request, its body included.
pub(crate) type Prepared = Request<Full<Bytes>>;

/// Signs requests with the published key. Good for fifteen minutes: the date is part of a signature.
pub(crate) struct Signer {
    /// The value of the header `x-ms-date`.
    pub(crate) date: String,
    date_in_lower_case: String,
    /// Keyed once, cloned for each signature.
    keyed: Hmac<Sha256>,
}

impl Signer {
    pub(crate) fn new() -> Result<Self> {
        #[expect(clippy::disallowed_methods, reason = "the driver has no clock to be given")]
        let now = std::time::SystemTime::now();
        let date = httpdate::fmt_http_date(now);
        let keyed = Hmac::<Sha256>::new_from_slice(&STANDARD.decode(KEY)?)?;
        Ok(Self { date_in_lower_case: date.to_lowercase(), date, keyed })
    }

    /// The value of the header `authorization`; `verb` is in lower case.
    pub(crate) fn sign(&self, verb: &str, kind: &str, link: &str) -> String {
        let mut mac = self.keyed.clone();
        for part in [verb, "\n", kind, "\n", link, "\n", &self.date_in_lower_case, "\n\n"] {
            mac.update(part.as_bytes());
        }
        let signature = STANDARD.encode(mac.finalize().into_bytes());
        let mut text = String::with_capacity(96);
        text.push_str("type%3Dmaster%26ver%3D1.0%26sig%3D");
        for letter in signature.chars() {
            match letter {
                '+' => text.push_str("%2B"),
                '/' => text.push_str("%2F"),
                '=' => text.push_str("%3D"),
                _ => text.push(letter),
            }
        }
        text
    }
}

/// Makes the requests to one server.
pub(crate) struct Api {
    host: String,
    signer: Signer,
}

impl Api {
    pub(crate) fn new(host: &str) -> Self {
        let signer = Signer::new().expect("the published key can be decoded");
        Self { host: host.to_owned(), signer }
    }

    /// Creates the database.
    pub(crate) fn create_database(&self) -> Result<Prepared> {
        let body = format!(r#"{{"id":"{DATABASE}"}}"#);
        self.prepare(Method::POST, "dbs", "", "/dbs", VERSION, body)
    }

    /// Creates the collection of a layout.
    pub(crate) fn create_collection(&self, layout: Layout) -> Result<Prepared> {
        let name = layout.name();
        let key = r#""partitionKey":{"paths":["/pk"],"kind":"Hash","version":2}"#;
        let body = format!(r#"{{"id":"{name}",{key}}}"#);
        let (link, path) = (format!("dbs/{DATABASE}"), format!("/dbs/{DATABASE}/colls"));
        let mut request = self.prepare(Method::POST, "colls", &link, &path, VERSION, body)?;
        if layout == Layout::ManyKeys {
            let three_partitions = HeaderValue::from_static("25000");
            request.headers_mut().insert("x-ms-offer-throughput", three_partitions);
        }
        Ok(request)
    }

    /// A create request to be cloned; [`set_document`](Self::set_document) makes it another one.
    pub(crate) fn create_template(&self, layout: Layout) -> Result<Prepared> {
        let link = format!("dbs/{DATABASE}/colls/{}", layout.name());
        let path = format!("/{link}/docs");
        self.prepare(Method::POST, "docs", &link, &path, VERSION, String::new())
    }

    /// Puts document `number` into a create request.
    pub(crate) fn set_document(
        request: &mut Prepared,
        layout: Layout,
        number: usize,
    ) -> Result<()> {
        *request.body_mut() = Full::new(Bytes::from(document(layout, number)));
        set_partition_key(request, layout, number)
    }

    /// A point read of document `number`.
    pub(crate) fn read(&self, layout: Layout, number: usize) -> Result<Prepared> {
        let link = format!("dbs/{DATABASE}/colls/{}/docs/{}", layout.name(), id(number));
        let path = format!("/{link}");
        let mut request =
            self.prepare(Method::GET, "docs", &link, &path, VERSION, String::new())?;
        set_partition_key(&mut request, layout, number)?;
        Ok(request)
    }

    /// Any request: what is signed is the kind of resource and the link.
    pub(crate) fn prepare(
        &self,
        method: Method,
        kind: &str,
        link: &str,
        path: &str,
        version: &str,
        body: String,
    ) -> Result<Prepared> {
        let authorization = self.signer.sign(&method.as_str().to_lowercase(), kind, link);
        Ok(Request::builder()
            .method(method)
            .uri(path)
            .header("host", &self.host)
            .header("content-type", "application/json")
            .header("x-ms-version", version)
            .header("x-ms-date", &self.signer.date)
            .header("authorization", authorization)
            .body(Full::new(Bytes::from(body)))?)
    }
}

fn set_partition_key(request: &mut Prepared, layout: Layout, number: usize) -> Result<()> {
    let value = HeaderValue::try_from(format!(r#"["{}"]"#, layout.key(number)))?;
    request.headers_mut().insert("x-ms-documentdb-partitionkey", value);
    Ok(())
}

/// The id of document `number`.
pub(crate) fn id(number: usize) -> String {
    format!("document-{number:09}")
}

/// 1 KB of JSON with about twenty indexed values, filled up to size by one string.
pub(crate) fn document(layout: Layout, number: usize) -> String {
    let mut text = format!(
        concat!(
            r#"{{"id":"{id}","pk":"{key}","name":"customer {number}","rank":{rank},"#,
            r#""active":true,"score":{rank}.25,"city":"city {city}","country":"c{country}","#,
            r#""created":"2026-01-01T00:00:{seconds:02}Z","tags":["t{country}","u{city}"],"#,
            r#""address":{{"street":"street {city}","zip":"{number:05}"}},"#,
            r#""orders":[{{"sku":"s{rank}","count":{country}}},{{"sku":"s{city}","count":1}}],"#,
            r#""note":""#
        ),
        id = id(number),
        key = layout.key(number),
        number = number,
        rank = number % 977,
        city = number % 101,
        country = number % 13,
        seconds = number % 60,
    );
    let padding = DOCUMENT_BYTES.saturating_sub(text.len() + 2);
    text.extend(std::iter::repeat_n('x', padding));
    text.push_str("\"}");
    text
}
