//! Encodes an answer or an error as a response.

mod document;
mod query;

use std::time::Duration;

use bytes::{Bytes, BytesMut};
use http_body_util::Full;
use hyper::{HeaderMap, StatusCode, header::HeaderValue};
use percent_encoding::{AsciiSet, utf8_percent_encode};
use protocol::{
    Body, Code, Error, Meta, Outcome, PartitionPoint, Response, guid,
    request::ScriptKind,
    response::{FeedKind, QuotaLists},
};
use value::json::quote;

use crate::{
    account, batch,
    failure::{self, Failed},
    form::Form,
    status::Status,
    version::Version,
};

/// Headers of every response.
const CONSTANT: [(&str, &str); 6] = [
    ("cache-control", "no-store, no-cache"),
    ("pragma", "no-cache"),
    ("x-ms-gatewayversion", "version=2.14.0"),
    ("x-ms-schemaversion", "1.19"),
    ("x-ms-serviceversion", "version=2.14.0.0"),
    ("x-ms-version", "2020-07-15"),
];

/// Headers of every successful write. There is one replica, so each write is written once.
const WRITTEN: [(&str, &str); 2] =
    [("x-ms-current-replica-set-size", "1"), ("x-ms-current-write-quorum", "1")];

/// How long a throttled client waits if the engine does not say. Without the header Python would
/// not wait at all.
const RETRY_AFTER_MS_DEFAULT: u64 = 100;

/// Longest script log in a header, encoded. Node refuses an answer whose head has more than 16 KB.
const SCRIPT_LOG_BYTES_MAX: usize = 8 << 10;

/// The header with the client's own id for the request.
pub(crate) const CLIENT_REQUEST_ID: &str = "x-ms-client-request-id";

/// The header with the owner's rid. COMPAT: a 404 must not have it; .NET tests for that.
const CONTENT_PATH: &str = "x-ms-content-path";

/// Characters to escape in a path. Slashes separate names, so they stay.
const PATH: &AsciiSet = &query::COMPONENT.remove(b'/');

/// The answer to a successful request.
pub(crate) enum Answer {
    /// The account, as JSON.
    Account(Vec<u8>),
    /// A response from the service.
    Service(Response),
    /// A response about a single offer, which needs an extra header.
    Offer(Response),
    /// A response to a batch, in the format of the batch.
    Batch(Response, batch::Form),
}

/// The parts of a request that its response depends on.
pub(crate) struct Asked<'a> {
    pub(crate) activity_id: u128,
    pub(crate) version: Version,
    /// The client's user agent.
    pub(crate) agent: &'a str,
    pub(crate) path: &'a str,
    pub(crate) is_https: bool,
    pub(crate) is_head: bool,
    /// Whether the request asked for a query plan.
    pub(crate) is_plan: bool,
    /// The form in which the client wants documents.
    pub(crate) form: Form,
    /// Whether the operation writes.
    pub(crate) is_write: bool,
    /// The client's own id for the request. The response repeats it, so that the client can match
    /// the two.
    pub(crate) client_request_id: Option<&'a HeaderValue>,
    pub(crate) elapsed: Duration,
}

/// Builds the complete response for an answer or an error.
pub(crate) fn response(
    asked: &Asked<'_>,
    result: Result<Answer, Error>,
) -> hyper::Response<Full<Bytes>> {
    let mut headers = match document_head(asked, &result) {
        Some(headers) => headers,
        None => other_head(asked, &result),
    };
    let (status, body) = match result {
        Ok(Answer::Account(body)) => {
            put_all(&mut headers, &account::HEADERS);
            (StatusCode::OK, Bytes::from(body))
        }
        Ok(Answer::Service(answer)) => success(&mut headers, asked, answer),
        Ok(Answer::Batch(answer, form)) => results(&mut headers, &answer, form),
        Ok(Answer::Offer(answer)) => {
            put(&mut headers, "x-ms-offer-replace-pending", "false");
            success(&mut headers, asked, answer)
        }
        Err(error) => failed(&mut headers, asked, &error),
    };
    if let Some(id) = asked.client_request_id {
        headers.insert(CLIENT_REQUEST_ID, id.clone());
    }
    if asked.is_https {
        put(&mut headers, "strict-transport-security", "max-age=31536000");
    }
    finish(status, headers, body, asked.is_head)
}

/// The headers of a usual answer about a document that follow from the service's metadata; `None`
/// for any other answer.
fn document_head(asked: &Asked<'_>, result: &Result<Answer, Error>) -> Option<HeaderMap> {
    let Ok(Answer::Service(answer)) = result else { return None };
    let document = document::Parts::of(&answer.meta, answer.etag.as_deref())?;
    let mut headers = document.head(asked)?;
    if matches!(answer.body, Body::Empty) {
        headers.remove("content-type");
    }
    put_rare(&mut headers, &answer.meta);
    Some(headers)
}

/// The headers of any other answer that follow from the service's metadata.
fn other_head(asked: &Asked<'_>, result: &Result<Answer, Error>) -> HeaderMap {
    let mut headers = HeaderMap::with_capacity(32);
    let (meta, etag) = match result {
        Ok(Answer::Account(_)) => (&Meta::default(), None),
        Ok(Answer::Service(answer) | Answer::Offer(answer)) => (&answer.meta, answer.etag.as_ref()),
        Ok(Answer::Batch(answer, _)) => (&answer.meta, None),
        Err(error) => (&*error.meta, None),
    };
    if asked.is_write && result.is_ok() {
        put_all(&mut headers, &WRITTEN);
    }
    put(&mut headers, "x-ms-activity-id", &guid::text(asked.activity_id));
    let mut duration = BytesMut::new();
    write_millis(&mut duration, asked.elapsed);
    put(&mut headers, "x-ms-request-duration-ms", &String::from_utf8_lossy(&duration));
    put_meta(&mut headers, meta, asked.version);
    if let Some(etag) = etag {
        put(&mut headers, "etag", &format!("\"{etag}\""));
    }
    put_all(&mut headers, &CONSTANT);
    headers
}

fn finish(
    status: StatusCode,
    mut headers: HeaderMap,
    body: Bytes,
    is_head: bool,
) -> hyper::Response<Full<Bytes>> {
    if !body.is_empty() && !headers.contains_key("content-type") {
        put(&mut headers, "content-type", "application/json");
    }
    let body = if is_head {
        put(&mut headers, "content-length", &body.len().to_string());
        Bytes::new()
    } else {
        body
    };
    let mut response = hyper::Response::new(Full::new(body));
    *response.status_mut() = status;
    *response.headers_mut() = headers;
    response
}

fn success(headers: &mut HeaderMap, asked: &Asked<'_>, answer: Response) -> (StatusCode, Bytes) {
    if let Some(query) = &answer.meta.query {
        query::put_query(headers, query, asked.agent);
    }
    if let Some(continuation) = &answer.continuation {
        put(headers, "x-ms-continuation", continuation);
    }
    let status = match answer.outcome {
        Outcome::Ok => StatusCode::OK,
        Outcome::Created => StatusCode::CREATED,
        Outcome::Deleted => StatusCode::NO_CONTENT,
        Outcome::NotModified => StatusCode::NOT_MODIFIED,
    };
    let has_body = matches!(answer.outcome, Outcome::Ok | Outcome::Created);
    let body = match answer.body {
        Body::Resource(json) if has_body => asked.form.encode(json),
        Body::Media { content_type, content } if has_body => {
            put(headers, "content-type", &content_type);
            content
        }
        Body::Feed { owner_rid, kind, items } => {
            // COMPAT: .NET reads the item count from a 304 of the change feed, too.
            put(headers, "x-ms-item-count", &items.len().to_string());
            if !has_body {
                return (status, Bytes::new());
            }
            let explain = answer.meta.query.as_ref().and_then(|query| query.explain.as_deref());
            asked.form.encode(feed(&owner_rid, kind, &items, explain))
        }
        _ => Bytes::new(),
    };
    (status, body)
}

fn results(headers: &mut HeaderMap, answer: &Response, form: batch::Form) -> (StatusCode, Bytes) {
    put(headers, "content-type", form.content_type());
    let results = if let Body::Batch(results) = &answer.body { results.as_slice() } else { &[] };
    if batch::found_nothing(results) {
        headers.remove(CONTENT_PATH);
    }
    batch::answer(results, form)
}

fn failed(headers: &mut HeaderMap, asked: &Asked<'_>, error: &Error) -> (StatusCode, Bytes) {
    let status = Status::of(error.code);
    let sub_status = error.meta.sub_status.unwrap_or_else(|| u32::from(status.sub));
    if sub_status != 0 {
        put(headers, "x-ms-substatus", &sub_status.to_string());
    }
    if error.code == Code::TooManyRequests && error.meta.retry_after_ms.is_none() {
        put(headers, "x-ms-retry-after-ms", &RETRY_AFTER_MS_DEFAULT.to_string());
    }
    if error.code == Code::NotFound {
        headers.remove(CONTENT_PATH);
    }
    let Asked { activity_id, path, is_plan, .. } = *asked;
    let body = failure::body(error, &Failed { activity_id, path, is_plan });
    (status.http(), Bytes::from(body))
}

/// Builds the body of a page. `explain` describes how the query ran: it is too long for a header,
/// and useful only to clients that ask for it.
fn feed(owner_rid: &str, kind: FeedKind, items: &[Bytes], explain: Option<&str>) -> Bytes {
    let key = match kind {
        FeedKind::Databases => "Databases",
        FeedKind::Collections => "DocumentCollections",
        FeedKind::Documents => "Documents",
        FeedKind::PartitionKeyRanges => "PartitionKeyRanges",
        FeedKind::Offers => "Offers",
        FeedKind::ClientEncryptionKeys => "ClientEncryptionKeys",
        FeedKind::Users => "Users",
        FeedKind::Permissions => "Permissions",
        FeedKind::Attachments => "Attachments",
        FeedKind::Conflicts => "Conflicts",
        FeedKind::Scripts(ScriptKind::StoredProcedure) => "StoredProcedures",
        FeedKind::Scripts(ScriptKind::Trigger) => "Triggers",
        FeedKind::Scripts(ScriptKind::Function) => "UserDefinedFunctions",
    };
    let content: usize = items.iter().map(|item| item.len() + 1).sum();
    let mut body = Vec::with_capacity(content + 100);
    body.extend_from_slice(br#"{"_rid":"#);
    quote(owner_rid, &mut body);
    body.extend_from_slice(format!(r#","{key}":["#).as_bytes());
    for (at, item) in items.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        body.extend_from_slice(item);
    }
    body.extend_from_slice(format!(r#"],"_count":{}"#, items.len()).as_bytes());
    if let Some(explain) = explain {
        body.extend_from_slice(br#","_explain":"#);
        body.extend_from_slice(explain.as_bytes());
    }
    body.push(b'}');
    Bytes::from(body)
}

/// Adds the headers that answers and errors share.
fn put_meta(headers: &mut HeaderMap, meta: &Meta, version: Version) {
    put(headers, "x-ms-request-charge", &charge(meta.charge));
    put_partition(headers, &meta.partitions, version);
    if let Some(lsn) = meta.item_lsn {
        put(headers, "x-ms-item-lsn", &lsn.to_string());
        put(headers, "x-ms-cosmos-item-llsn", &lsn.to_string());
    }
    if let Some(owner) = &meta.owner {
        let path = utf8_percent_encode(&owner.name_path, PATH).to_string();
        put(headers, "x-ms-alt-content-path", &path);
        put(headers, CONTENT_PATH, &owner.rid);
    }
    if let Some(quota) = &meta.quota {
        put_quota(headers, &quota.lists());
    } else if let Some(lists) = &meta.quota_lists {
        put_quota(headers, lists);
    }
    put_rare(headers, meta);
}

/// Adds those headers of [`put_meta`] that answers about documents seldom have.
fn put_rare(headers: &mut HeaderMap, meta: &Meta) {
    if meta.shares_throughput {
        put_all(headers, &[("x-ms-share-throughput", "true")]);
    }
    if let Some(percent) = meta.index_progress {
        put(
            headers,
            "x-ms-documentdb-collection-index-transformation-progress",
            &percent.to_string(),
        );
    }
    // COMPAT: SDKs test that only these collections have the header. Their index is as consistent
    // as any other here, so it never lags.
    if meta.is_lazy {
        put(headers, "x-ms-documentdb-collection-lazy-indexing-progress", "100");
    }
    if let Some(throughput) = meta.min_throughput {
        put(headers, "x-ms-cosmos-min-throughput", &throughput.to_string());
    }
    if let Some(wait) = meta.retry_after_ms {
        put(headers, "x-ms-retry-after-ms", &wait.to_string());
    }
    if let Some(log) = &meta.script_log {
        put(headers, "x-ms-documentdb-script-log-results", &script_log(log));
    }
}

/// Encodes a script log as in URLs: SDKs decode it, and a space must not become a plus. Cuts off
/// what does not fit, between characters.
fn script_log(log: &str) -> String {
    let mut encoded = String::new();
    let mut buffer = [0; 4];
    for char in log.chars() {
        let part = utf8_percent_encode(char.encode_utf8(&mut buffer), PATH).to_string();
        if encoded.len() + part.len() > SCRIPT_LOG_BYTES_MAX {
            break;
        }
        encoded.push_str(&part);
    }
    encoded
}

/// Adds the session token and the LSNs of one partition: the last of those that served the request.
/// COMPAT: clients of 2015 to 2019 read a list of tokens as one token, with an LSN that no
/// partition ever reaches.
fn put_partition(headers: &mut HeaderMap, partitions: &[PartitionPoint], version: Version) {
    // An empty header would make SDKs forget the tokens that they have.
    let Some(PartitionPoint { range_id, lsn }) = partitions.last() else { return };
    let separator = session_separator(version);
    put(headers, "x-ms-session-token", &format!("{range_id}{separator}{lsn}"));
    put(headers, "x-ms-documentdb-partitionkeyrangeid", &range_id.to_string());
    let lsn = lsn.to_string();
    for name in [
        "lsn",
        "x-ms-cosmos-llsn",
        "x-ms-quorum-acked-lsn",
        "x-ms-cosmos-quorum-acked-llsn",
        "x-ms-global-committed-lsn",
    ] {
        put(headers, name, &lsn);
    }
}

/// What stands between range and LSN in a session token.
fn session_separator(version: Version) -> &'static str {
    if version.has_vector_tokens() { ":-1#" } else { ":" }
}

fn put_quota(headers: &mut HeaderMap, lists: &QuotaLists) {
    let texts = [("x-ms-resource-quota", &lists.quota), ("x-ms-resource-usage", &lists.usage)];
    for (name, text) in texts {
        if let Ok(text) = HeaderValue::from_maybe_shared(text.clone()) {
            headers.insert(name, text);
        }
    }
}

/// Formats request units with at most two decimals. SDKs add them up, so the text must be a number.
fn charge(units: f64) -> String {
    let mut text = BytesMut::with_capacity(16);
    write_charge(&mut text, units);
    String::from_utf8_lossy(&text).into_owned()
}

fn write_charge(text: &mut BytesMut, units: f64) {
    if !units.is_finite() || units <= 0.0 {
        text.extend_from_slice(b"0");
        return;
    }
    match whole_hundredths(units) {
        Some(hundredths) => {
            write_number(text, u64::from(hundredths / 100), 1);
            text.extend_from_slice(b".");
            write_number(text, u64::from(hundredths % 100), 2);
        }
        None => text.extend_from_slice(format!("{units:.2}").as_bytes()),
    }
    // The text has a decimal point, so trailing zeros are redundant.
    while text.ends_with(b"0") {
        text.truncate(text.len() - 1);
    }
    if text.ends_with(b".") {
        text.truncate(text.len() - 1);
    }
}

/// The hundredths of a charge, if it has no smaller parts. Most have none, and printing an integer
/// takes a fraction of the time that printing a double takes.
#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "checked before")]
fn whole_hundredths(units: f64) -> Option<u32> {
    let hundredths = units * 100.0;
    let whole = hundredths.round();
    let is_whole = (0.0..1e9).contains(&whole) && (hundredths - whole).abs() < 1e-6;
    is_whole.then_some(whole as u32)
}

/// Writes a duration in milliseconds.
fn write_millis(text: &mut BytesMut, duration: Duration) {
    let micros = u64::try_from(duration.as_micros()).unwrap_or(u64::MAX);
    write_number(text, micros / 1000, 1);
    text.extend_from_slice(b".");
    write_number(text, micros % 1000, 3);
}

/// Writes a number with at least so many digits. The formatter of the library takes several times as
/// long, and an answer has seven numbers in its head.
fn write_number(text: &mut BytesMut, mut number: u64, digits_min: usize) {
    let mut digits = [b'0'; 20];
    let mut start = digits.len();
    while number > 0 || digits.len() - start < digits_min {
        start -= 1;
        digits[start] = b"0123456789"[(number % 10) as usize];
        number /= 10;
    }
    text.extend_from_slice(&digits[start..]);
}

fn put_all(headers: &mut HeaderMap, pairs: &[(&'static str, &'static str)]) {
    for (name, value) in pairs {
        headers.insert(*name, HeaderValue::from_static(value));
    }
}

/// Adds a header, or leaves it out if the text is not a valid value; no important header has such a
/// text.
fn put(headers: &mut HeaderMap, name: &'static str, value: &str) {
    if let Ok(value) = HeaderValue::from_str(value) {
        headers.insert(name, value);
    }
}

#[cfg(test)]
mod tests;
