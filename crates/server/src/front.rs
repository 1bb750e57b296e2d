//! Answers outside the database's resources that need no key: a page for people who open the
//! endpoint in a browser, and the certificate at the path that the emulators use.

use bytes::Bytes;
use http_body_util::Full;
use hyper::{
    HeaderMap, Method, Response, StatusCode,
    header::{
        ACCEPT, ALLOW, AUTHORIZATION, CACHE_CONTROL, CONTENT_SECURITY_POLICY, CONTENT_TYPE,
        HeaderName, HeaderValue, REFERRER_POLICY, VARY, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
    },
};

use crate::certificate::PublicCertificate;

/// The path of the emulators' certificate.
pub(crate) const CERTIFICATE_PATH: &str = "/_explorer/emulator.pem";

/// Headers that SDKs and other API clients send, and browsers do not.
const CLIENT_HEADERS: [HeaderName; 3] =
    [AUTHORIZATION, HeaderName::from_static("x-ms-version"), HeaderName::from_static("x-ms-date")];

/// The page, with a placeholder for the endpoint.
const PAGE: &str = include_str!("front.html");
const PLACE: &str = "{endpoint}";

/// Allows only the page itself; its style is allowed by its hash.
const POLICY: &str = "default-src 'none'; style-src \
    'sha256-UY6U0CX3nMGLekTwuhiy1CIwVGMUOr7zyEmCPkW+CwE='; base-uri 'none'; form-action 'none'; frame-ancestors 'none'";

/// Whether the endpoint was opened in a browser. SDKs get 401 for a missing signature instead.
pub(crate) fn is_browser(method: &Method, path: &str, headers: &HeaderMap) -> bool {
    path == "/"
        && matches!(*method, Method::GET | Method::HEAD)
        && !CLIENT_HEADERS.iter().any(|name| headers.contains_key(name))
        && prefers_html(headers)
}

/// The page that explains what this is and where to go.
pub(crate) fn page(endpoint: &str) -> Response<Full<Bytes>> {
    let body = PAGE.replace(PLACE, &escaped(endpoint));
    let mut response = respond(StatusCode::OK, "text/html; charset=utf-8", body);
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, POLICY),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (VARY, "accept, authorization"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

/// The answer to a request for [`CERTIFICATE_PATH`].
pub(crate) fn certificate(
    method: &Method,
    certificate: Option<&PublicCertificate>,
) -> Response<Full<Bytes>> {
    let problem = |status, message: &str| {
        respond(
            status,
            "application/json",
            format!(r#"{{"status":"error","message":"{message}"}}"#),
        )
    };
    if !matches!(*method, Method::GET | Method::HEAD) {
        let mut response = problem(StatusCode::METHOD_NOT_ALLOWED, "use GET");
        response.headers_mut().insert(ALLOW, HeaderValue::from_static("GET, HEAD"));
        return response;
    }
    match certificate {
        Some(certificate) => {
            respond(StatusCode::OK, "application/x-pem-file", certificate.pem().to_string())
        }
        None => problem(StatusCode::NOT_FOUND, "TLS is off: there is no certificate"),
    }
}

fn respond(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static(kind));
    response.headers_mut().insert(CACHE_CONTROL, HeaderValue::from_static("no-store"));
    response
}

/// Whether `Accept` includes HTML and prefers it to JSON.
fn prefers_html(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(ACCEPT).iter().filter_map(|line| line.to_str().ok());
    // The most specific matching range counts.
    let (mut html, mut json, mut application, mut any) = (None, None, None, None);
    for range in lines.flat_map(|line| line.split(',')) {
        let mut parts = range.split(';').map(str::trim);
        let kind = parts.next().unwrap_or_default().to_ascii_lowercase();
        let weight =
            parts.find_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")));
        let weight = weight.map_or(1.0, |text| text.parse::<f32>().unwrap_or(0.0));
        match kind.as_str() {
            "text/html" => html = Some(weight),
            "application/json" => json = Some(weight),
            "application/*" => application = Some(weight),
            "*/*" => any = Some(weight),
            _ => {}
        }
    }
    html.is_some_and(|html| html > json.or(application).or(any).unwrap_or(0.0))
}

/// Escapes text for HTML.
fn escaped(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for character in text.chars() {
        match character {
            '&' => escaped.push_str("&amp;"),
            '<' => escaped.push_str("&lt;"),
            '>' => escaped.push_str("&gt;"),
            '"' => escaped.push_str("&quot;"),
            '\'' => escaped.push_str("&#39;"),
            other => escaped.push(other),
        }
    }
    escaped
}

#[cfg(test)]
mod tests {
    use base64::{Engine as _, engine::general_purpose::STANDARD};
    use http_body_util::BodyExt as _;
    use sha2::{Digest as _, Sha256};

    use super::*;

    fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
        let pairs = pairs.iter();
        pairs
            .map(|(name, value)| (HeaderName::from_static(name), HeaderValue::from_static(value)))
            .collect()
    }

    #[test]
    fn browsers_are_told_from_clients() {
        const CHROME: &str =
            "text/html,application/xhtml+xml,application/xml;q=0.9,image/avif,*/*;q=0.8";
        let opens = |pairs: &[_]| is_browser(&Method::GET, "/", &headers(pairs));
        assert!(opens(&[("accept", CHROME)]) && opens(&[("accept", "text/html")]));
        assert!(opens(&[("accept", "text/html, application/json;q=0.5")]));
        for accept in [
            "",
            "*/*",
            "application/json",
            "text/html, application/json",
            "text/html;q=0, */*",
            "text/html;q=0.5, application/*",
            "text/html;q=high",
            "application/json, text/plain, */*",
        ] {
            assert!(!opens(&[("accept", accept)]), "{accept}");
        }
        assert!(!opens(&[]));
        for name in ["authorization", "x-ms-version", "x-ms-date"] {
            assert!(!opens(&[("accept", CHROME), (name, "")]), "{name}");
        }
        let html = headers(&[("accept", CHROME)]);
        assert!(is_browser(&Method::HEAD, "/", &html));
        assert!(!is_browser(&Method::POST, "/", &html) && !is_browser(&Method::GET, "/dbs", &html));
    }

    #[tokio::test]
    async fn the_page_shows_what_it_is_given_and_loads_nothing() {
        let response = page("http://<script>'\"&/");
        let policy = response.headers()[CONTENT_SECURITY_POLICY].to_str().unwrap().to_owned();
        let body = response.into_body().collect().await.unwrap().to_bytes();
        let body = String::from_utf8(body.to_vec()).unwrap();
        assert!(
            body.contains("http://&lt;script&gt;&#39;&quot;&amp;/") && !body.contains("<script")
        );
        assert!(!body.contains(PLACE) && !body.contains("src=") && !body.contains("url("));
        let style = body.split_once("<style>").unwrap().1.split_once("</style>").unwrap().0;
        let hash = STANDARD.encode(Sha256::digest(style));
        assert!(policy.contains(&format!("style-src 'sha256-{hash}'")), "{hash} in {policy}");
    }

    #[test]
    fn without_tls_there_is_no_certificate() {
        assert_eq!(certificate(&Method::GET, None).status(), 404);
        assert_eq!(certificate(&Method::POST, None).status(), 405);
    }
}
