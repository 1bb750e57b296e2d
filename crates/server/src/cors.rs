//! CORS: which web pages of other origins may use the database in a browser.
//!
//! A preflight needs no key: it is answered before authentication, and reveals only the setting
//! itself.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Response, StatusCode,
    header::{
        ACCESS_CONTROL_ALLOW_HEADERS, ACCESS_CONTROL_ALLOW_METHODS, ACCESS_CONTROL_ALLOW_ORIGIN,
        ACCESS_CONTROL_EXPOSE_HEADERS, ACCESS_CONTROL_MAX_AGE, ACCESS_CONTROL_REQUEST_HEADERS,
        ACCESS_CONTROL_REQUEST_METHOD, HeaderValue, ORIGIN, VARY,
    },
};

/// The verbs of the protocol.
const METHODS: &str = "GET, HEAD, POST, PUT, PATCH, DELETE";
/// How long a browser may cache the answer to a preflight, in seconds: the maximum of any browser.
const MAX_AGE: &str = "7200";
/// Most bytes of header names in a preflight. SDKs send about 600.
const NAMES_BYTES_MAX: usize = 8192;

/// Origins whose pages are allowed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Origin {
    /// All origins.
    Any,
    /// One site: scheme, host and port, as browsers write them.
    Site(String),
}

impl Origin {
    /// Parses `*` or `https://host:port`. The error says what is expected.
    pub(crate) fn parse(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text == "*" {
            return Ok(Self::Any);
        }
        let rest = text.split_once("://").filter(|(scheme, _)| matches!(*scheme, "http" | "https"));
        let is_host = |byte: u8| {
            byte.is_ascii_alphanumeric() || matches!(byte, b'.' | b'-' | b':' | b'[' | b']')
        };
        match rest {
            Some((_, host)) if !host.is_empty() && host.bytes().all(is_host) => {
                Ok(Self::Site(text.to_ascii_lowercase()))
            }
            _ => {
                let text: String = text.chars().take(100).collect();
                Err(format!(
                    "`cors-origins`: `{text}` is not an origin: write https://app.example, without \
                     a path, or *"
                ))
            }
        }
    }
}

/// The allowed origins; none by default.
#[derive(Clone, Debug)]
pub(crate) struct Cors {
    origins: Vec<Origin>,
}

impl Cors {
    pub(crate) fn new(origins: Vec<Origin>) -> Self {
        Self { origins }
    }

    /// The answer to a preflight; `None` if the request is not one, or no origin is allowed.
    pub(crate) fn preflight(
        &self,
        method: &Method,
        headers: &HeaderMap,
    ) -> Option<Response<Full<Bytes>>> {
        let is_preflight = *method == Method::OPTIONS
            && headers.contains_key(ORIGIN)
            && headers.contains_key(ACCESS_CONTROL_REQUEST_METHOD);
        if self.origins.is_empty() || !is_preflight {
            return None;
        }
        let mut response = Response::new(Full::default());
        *response.status_mut() = StatusCode::NO_CONTENT;
        let Some(origin) = self.allowed(headers) else {
            // Without a CORS header the browser blocks the page.
            *response.status_mut() = StatusCode::FORBIDDEN;
            return Some(response);
        };
        let answer = response.headers_mut();
        answer.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        answer.insert(VARY, HeaderValue::from_static("origin"));
        answer.insert(ACCESS_CONTROL_ALLOW_METHODS, HeaderValue::from_static(METHODS));
        answer.insert(ACCESS_CONTROL_MAX_AGE, HeaderValue::from_static(MAX_AGE));
        // A star would not include `authorization`, which every request needs.
        let names = headers.get(ACCESS_CONTROL_REQUEST_HEADERS).filter(|names| are_names(names));
        if let Some(names) = names {
            answer.insert(ACCESS_CONTROL_ALLOW_HEADERS, names.clone());
        }
        Some(response)
    }

    /// Allows the page to read the answer, if its origin is allowed. `asked` is the request's
    /// `Origin` header.
    pub(crate) fn dress(&self, asked: Option<&HeaderValue>, response: &mut Response<Full<Bytes>>) {
        let Some(origin) = asked.and_then(|origin| self.matching(origin)) else { return };
        let headers = response.headers_mut();
        let names: Vec<&str> = headers.keys().map(hyper::header::HeaderName::as_str).collect();
        let names = HeaderValue::from_str(&names.join(", "));
        headers.insert(ACCESS_CONTROL_ALLOW_ORIGIN, origin);
        headers.insert(VARY, HeaderValue::from_static("origin"));
        if let Ok(names) = names {
            headers.insert(ACCESS_CONTROL_EXPOSE_HEADERS, names);
        }
    }

    /// Whether any origin is allowed.
    pub(crate) fn is_on(&self) -> bool {
        !self.origins.is_empty()
    }

    fn allowed(&self, headers: &HeaderMap) -> Option<HeaderValue> {
        self.matching(headers.get(ORIGIN)?)
    }

    /// The value of the response header for this origin, if it is allowed.
    fn matching(&self, origin: &HeaderValue) -> Option<HeaderValue> {
        let text = origin.to_str().ok()?.to_ascii_lowercase();
        let is_let_in = |allowed: &Origin| match allowed {
            Origin::Any => true,
            Origin::Site(site) => *site == text,
        };
        self.origins.iter().any(is_let_in).then(|| origin.clone())
    }
}

/// Whether the text is a list of header names, which is safe to send back.
fn are_names(value: &HeaderValue) -> bool {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-_, ".contains(&byte);
    value.len() <= NAMES_BYTES_MAX && value.as_bytes().iter().all(|byte| is_plain(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cors(origins: &[&str]) -> Cors {
        Cors::new(origins.iter().map(|text| Origin::parse(text).unwrap()).collect())
    }

    fn asking(origin: &'static str, names: &'static str) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert(ORIGIN, HeaderValue::from_static(origin));
        headers.insert(ACCESS_CONTROL_REQUEST_METHOD, HeaderValue::from_static("POST"));
        headers.insert(ACCESS_CONTROL_REQUEST_HEADERS, HeaderValue::from_static(names));
        headers
    }

    #[test]
    fn a_preflight_names_what_was_asked_for() {
        let names = "authorization, x-ms-date, x-ms-version";
        let headers = asking("https://app.example", names);
        let answer = cors(&["https://App.example"]).preflight(&Method::OPTIONS, &headers).unwrap();
        assert_eq!(answer.status(), 204);
        let header = |name| answer.headers().get(name).unwrap().to_str().unwrap();
        assert_eq!(header(ACCESS_CONTROL_ALLOW_ORIGIN), "https://app.example");
        assert_eq!(header(ACCESS_CONTROL_ALLOW_HEADERS), names);
        assert!(header(ACCESS_CONTROL_ALLOW_METHODS).contains("PATCH"));
    }

    #[test]
    fn other_pages_stay_out() {
        for origin in
            ["https://evil.example", "http://app.example", "https://app.example:1", "null"]
        {
            let headers = asking(origin, "authorization");
            let cors = cors(&["https://app.example"]);
            let answer = cors.preflight(&Method::OPTIONS, &headers).unwrap();
            assert_eq!(answer.status(), 403, "{origin}");
            assert!(!answer.headers().contains_key(ACCESS_CONTROL_ALLOW_ORIGIN), "{origin}");
            let mut response = Response::new(Full::default());
            cors.dress(headers.get(ORIGIN), &mut response);
            assert!(response.headers().is_empty());
        }
    }

    #[test]
    fn what_is_no_preflight_is_left_alone() {
        let headers = asking("https://app.example", "x");
        assert!(cors(&[]).preflight(&Method::OPTIONS, &headers).is_none());
        assert!(cors(&["*"]).preflight(&Method::POST, &headers).is_none());
        assert!(cors(&["*"]).preflight(&Method::OPTIONS, &HeaderMap::new()).is_none());
        let odd = asking("https://app.example", "a: b");
        let answer = cors(&["*"]).preflight(&Method::OPTIONS, &odd).unwrap();
        assert!(!answer.headers().contains_key(ACCESS_CONTROL_ALLOW_HEADERS));
    }

    #[test]
    fn answers_may_be_read_whole() {
        let mut response = Response::new(Full::default());
        response.headers_mut().insert("x-ms-request-charge", HeaderValue::from_static("1"));
        let origin = HeaderValue::from_static("https://app.example");
        cors(&["*"]).dress(Some(&origin), &mut response);
        assert_eq!(response.headers()[ACCESS_CONTROL_EXPOSE_HEADERS], "x-ms-request-charge");
        assert_eq!(response.headers()[ACCESS_CONTROL_ALLOW_ORIGIN], "https://app.example");
    }

    #[test]
    fn origins_have_no_path() {
        for bad in ["", "app.example", "https://", "https://a/b", "ftp://a", "https://a b"] {
            assert!(Origin::parse(bad).unwrap_err().contains("is not an origin"), "{bad}");
        }
    }
}
