//! Batches: reads their headers and writes their results.

mod rows;

use bytes::Bytes;
use hyper::{HeaderMap, StatusCode};
use protocol::{Code, Error, Operation, Outcome, request::BatchMode, response::BatchResult};
use value::json::quote;

use crate::{
    headers::{flag, optional_flag},
    hybrid_row,
    route::Resource,
    status::Status,
};

/// The format of a batch's operations and of its results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    Json,
    /// COMPAT: .NET sends HybridRow, and treats an answer in any other format as broken.
    HybridRow,
}

impl Form {
    /// Detects the format of a request's body; no header says it.
    pub(crate) fn of(body: &[u8]) -> Self {
        if hybrid_row::is_stream(body) { Self::HybridRow } else { Self::Json }
    }

    pub(crate) fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::HybridRow => "application/octet-stream",
        }
    }
}

/// The batch operation that a request asks for, without its body.
pub(crate) fn operation(resource: Resource, headers: &HeaderMap) -> Result<Operation, Error> {
    match resource {
        Resource::Documents(collection) => {
            let operations = Vec::new();
            Ok(Operation::ExecuteBatch { collection, operations, mode: mode(headers)? })
        }
        _ => Err(Error::bad_request("A batch request can only contain documents.")),
    }
}

/// Reads the mode of a batch.
///
/// COMPAT: JavaScript says in its bulk requests whether to continue after a failure; if not, it
/// expects 424 for the rest. Without that header the operations are independent of each other.
fn mode(headers: &HeaderMap) -> Result<BatchMode, Error> {
    if flag(headers, "x-ms-cosmos-batch-atomic")? {
        return Ok(BatchMode::Atomic);
    }
    let goes_on = optional_flag(headers, "x-ms-cosmos-batch-continue-on-error")?.unwrap_or(true);
    Ok(BatchMode::Independent { stops_at_failure: !goes_on })
}

/// Builds the status and body of the answer to a batch.
pub(crate) fn answer(results: &[BatchResult], form: Form) -> (StatusCode, Bytes) {
    let is_plain = |result: &BatchResult| {
        matches!(result.answer, Ok(Outcome::Ok | Outcome::Created | Outcome::Deleted))
    };
    let is_ok = results.iter().all(is_plain);
    let status = if is_ok { StatusCode::OK } else { StatusCode::MULTI_STATUS };
    let documents: usize =
        results.iter().filter_map(|result| result.document.as_ref()).map(Bytes::len).sum();
    let capacity = documents + 128 * results.len();
    let body = match form {
        Form::Json => json(results, capacity),
        Form::HybridRow => rows::stream(results, capacity),
    };
    (status, Bytes::from(body))
}

/// Whether a batch failed because one document was not found.
pub(crate) fn found_nothing(results: &[BatchResult]) -> bool {
    let is_left_out = |result: &BatchResult| result.answer == Err(Code::FailedDependency);
    let mut others = results.iter().filter(|result| !is_left_out(result));
    let is_missing = |result: &BatchResult| result.answer == Err(Code::NotFound);
    others.next().is_some_and(is_missing) && others.next().is_none()
}

fn json(results: &[BatchResult], capacity: usize) -> Vec<u8> {
    let mut body = Vec::with_capacity(capacity + 2);
    body.push(b'[');
    for (at, result) in results.iter().enumerate() {
        if at > 0 {
            body.push(b',');
        }
        write(result, &mut body);
    }
    body.push(b']');
    body
}

/// The status and substatus of an operation.
fn codes(result: &BatchResult) -> (u16, u16) {
    match result.answer {
        Ok(Outcome::Ok) => (200, 0),
        Ok(Outcome::Created) => (201, 0),
        Ok(Outcome::Deleted) => (204, 0),
        Ok(Outcome::NotModified) => (304, 0),
        Err(code) => {
            let Status { http, sub, .. } = Status::of(code);
            (http, sub)
        }
    }
}

/// How long the client should wait before it retries the operation, in milliseconds.
fn wait(result: &BatchResult) -> Option<u64> {
    let codes = [Code::TooManyRequests, Code::NotNow, Code::NotHere];
    let is_retried = |code: &Code| codes.contains(code);
    result.retry_after_ms.filter(|_| result.answer.as_ref().is_err_and(is_retried))
}

fn write(result: &BatchResult, body: &mut Vec<u8>) {
    let (status, sub) = codes(result);
    body.extend_from_slice(format!(r#"{{"statusCode":{status}"#).as_bytes());
    if sub != 0 {
        body.extend_from_slice(format!(r#","subStatusCode":{sub}"#).as_bytes());
    }
    // The service rounds charges when it adds them up, so that the sum equals the header's.
    body.extend_from_slice(format!(r#","requestCharge":{}"#, result.charge).as_bytes());
    if let Some(etag) = &result.etag {
        body.extend_from_slice(br#","eTag":"#);
        quote(&format!("\"{etag}\""), body);
    }
    if let Some(document) = &result.document {
        body.extend_from_slice(br#","resourceBody":"#);
        body.extend_from_slice(document);
    }
    if let Some(wait) = wait(result) {
        body.extend_from_slice(format!(r#","retryAfterMilliseconds":{wait}"#).as_bytes());
    }
    if let Some(message) = &result.message {
        body.extend_from_slice(br#","message":"#);
        quote(message, body);
    }
    body.push(b'}');
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answer(results: &[BatchResult]) -> (StatusCode, Bytes) {
        super::answer(results, Form::Json)
    }

    fn done(outcome: Outcome) -> BatchResult {
        BatchResult {
            answer: Ok(outcome),
            charge: 6.1,
            etag: Some("e".to_owned()),
            document: Some(Bytes::from_static(br#"{"n":1.0}"#)),
            retry_after_ms: None,
            message: None,
        }
    }

    fn failed(code: Code) -> BatchResult {
        let message = Some("no \"x\"".to_owned());
        let retry_after_ms = Some(7);
        let answer = Err(code);
        BatchResult { answer, charge: 0.0, etag: None, document: None, retry_after_ms, message }
    }

    #[test]
    fn all_is_well() {
        let deleted =
            BatchResult { etag: None, document: None, charge: 1.0, ..done(Outcome::Deleted) };
        let (status, body) = answer(&[done(Outcome::Created), deleted]);
        assert_eq!(status, StatusCode::OK);
        let expected = r#"[{"statusCode":201,"requestCharge":6.1,"eTag":"\"e\"","resourceBody":{"n":1.0}},{"statusCode":204,"requestCharge":1}]"#;
        assert_eq!(str::from_utf8(&body), Ok(expected));
        assert_eq!(answer(&[]), (StatusCode::OK, Bytes::from_static(b"[]")));
    }

    #[test]
    fn one_failure_makes_it_a_multi_status() {
        let results =
            [failed(Code::TooManyRequests), failed(Code::FailedDependency), done(Outcome::Ok)];
        let (status, body) = answer(&results);
        assert_eq!(status, StatusCode::MULTI_STATUS);
        let text = str::from_utf8(&body).expect("text");
        let expected = r#"[{"statusCode":429,"subStatusCode":3200,"requestCharge":0,"retryAfterMilliseconds":7,"message":"no \"x\""},{"statusCode":424,"#;
        assert!(text.starts_with(expected), "{text}");
        assert!(value::json::parse(&body).is_ok());
    }

    #[test]
    fn what_is_unchanged_makes_it_a_multi_status_too() {
        let unchanged = BatchResult { document: None, ..done(Outcome::NotModified) };
        let (status, _) = answer(&[done(Outcome::Created), unchanged]);
        assert_eq!(status, StatusCode::MULTI_STATUS);
    }

    #[test]
    fn one_missing_document_is_told_from_other_failures() {
        let (missing, rest) = (failed(Code::NotFound), failed(Code::FailedDependency));
        assert!(found_nothing(&[rest.clone(), missing.clone(), rest.clone()]));
        assert!(found_nothing(std::slice::from_ref(&missing)));
        assert!(!found_nothing(&[missing, done(Outcome::Ok)]));
        assert!(!found_nothing(&[failed(Code::Conflict), rest]));
        assert!(!found_nothing(&[]));
    }
}
