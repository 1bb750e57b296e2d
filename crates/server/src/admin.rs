//! `/_sheaf/...`: pages for operators and their probes, outside the database's own protocol.
//!
//! They need no key, except `backup`, which has the same prefix. Health and readiness reveal
//! nothing that needs protection. The metrics reveal names of databases and collections, and the
//! partitions also keys, so by default only this machine may read them, under one of its own names.
//! Cosmos DB has no resource type that begins with an underscore, so this prefix hides no path of
//! its protocol.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Response, StatusCode, header};

use protocol::Operator;

use crate::{metrics::Metrics, partitions, settings::MetricsAccess};

/// The prefix of every path that is answered here.
pub(crate) const PREFIX: &str = "/_sheaf/";

/// The prefix of the paths below it that need a key, as the database's own paths do.
pub(crate) const SIGNED_PREFIX: &str = "/_sheaf/dbs/";

const JSON: &str = "application/json";
const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";

/// Answers operators.
pub(crate) struct Admin {
    pub(crate) operator: Arc<dyn Operator>,
    pub(crate) metrics: Metrics,
    pub(crate) metrics_access: MetricsAccess,
    /// The server is stopping and accepts no new work.
    pub(crate) is_draining: Arc<AtomicBool>,
}

impl Admin {
    /// Answers a request whose path begins with [`PREFIX`]. `is_local` says that it comes from this
    /// machine and uses one of its own names.
    pub(crate) fn answer(
        &self,
        is_local: bool,
        method: &Method,
        path: &str,
    ) -> Response<Full<Bytes>> {
        // Check this first, because a page costs work.
        if !matches!(*method, Method::GET | Method::HEAD) {
            let mut response = error(StatusCode::METHOD_NOT_ALLOWED, "use GET");
            response
                .headers_mut()
                .insert(header::ALLOW, header::HeaderValue::from_static("GET, HEAD"));
            return response;
        }
        self.page(is_local, path)
    }

    fn page(&self, is_local: bool, path: &str) -> Response<Full<Bytes>> {
        match &path[PREFIX.len()..] {
            "health" => health(self.operator.failure().as_deref(), is_local),
            "ready" if self.is_draining.load(Ordering::Relaxed) => {
                error(StatusCode::SERVICE_UNAVAILABLE, "the server is stopping")
            }
            "ready" => text(StatusCode::OK, JSON, r#"{"status":"ready"}"#.to_owned()),
            "metrics" | "partitions" if !self.may_read_figures(is_local) => error(
                StatusCode::FORBIDDEN,
                "the setting `metrics` does not allow you to read them",
            ),
            "metrics" => self.metrics_page(),
            "partitions" => {
                text(StatusCode::OK, JSON, partitions::page(&self.operator.partitions()))
            }
            _ => error(
                StatusCode::NOT_FOUND,
                "unknown page: use health, ready, metrics, partitions or backup",
            ),
        }
    }

    /// Metrics and partitions contain names of databases and collections, and keys.
    fn may_read_figures(&self, is_local: bool) -> bool {
        match self.metrics_access {
            MetricsAccess::Any => true,
            MetricsAccess::Loopback => is_local,
            MetricsAccess::Off => false,
        }
    }

    fn metrics_page(&self) -> Response<Full<Bytes>> {
        match self.metrics.page() {
            Ok(page) => text(StatusCode::OK, OPEN_METRICS, page),
            Err(_) => error(StatusCode::INTERNAL_SERVER_ERROR, "cannot format the metrics"),
        }
    }
}

/// The reason of a failure may contain file names and other details from the operating system, so
/// only this machine gets it.
fn health(failure: Option<&str>, is_local: bool) -> Response<Full<Bytes>> {
    match failure {
        None => text(StatusCode::OK, JSON, r#"{"status":"ok"}"#.to_owned()),
        Some(reason) if is_local => error(StatusCode::SERVICE_UNAVAILABLE, reason),
        Some(_) => error(StatusCode::SERVICE_UNAVAILABLE, "writes have stopped: see the log"),
    }
}

fn error(status: StatusCode, message: &str) -> Response<Full<Bytes>> {
    let body = format!(r#"{{"status":"error","message":{}}}"#, quoted(message));
    text(status, JSON, body)
}

/// The message as a JSON string.
fn quoted(message: &str) -> String {
    let mut text = String::from('"');
    for character in message.chars() {
        match character {
            '"' => text.push_str("\\\""),
            '\\' => text.push_str("\\\\"),
            c if c.is_control() => text.push(' '),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

fn text(status: StatusCode, kind: &'static str, body: String) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body)));
    *response.status_mut() = status;
    response.headers_mut().insert(header::CONTENT_TYPE, header::HeaderValue::from_static(kind));
    response
        .headers_mut()
        .insert(header::CACHE_CONTROL, header::HeaderValue::from_static("no-store"));
    response
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn reasons_are_for_this_machine() {
        use http_body_util::BodyExt as _;
        for (is_local, expected) in [(true, true), (false, false)] {
            let answer = health(Some("cannot write `/srv/sheaf`"), is_local);
            assert_eq!(answer.status(), StatusCode::SERVICE_UNAVAILABLE);
            let body = answer.into_body().collect().await.unwrap().to_bytes();
            let body = String::from_utf8(body.to_vec()).unwrap();
            assert_eq!(body.contains("/srv/sheaf"), expected, "{body}");
        }
        assert_eq!(health(None, false).status(), StatusCode::OK);
    }

    #[test]
    fn reasons_are_valid_json() {
        assert_eq!(quoted("disk \"sda\"\n\\full"), r#""disk \"sda\" \\full""#);
    }
}
