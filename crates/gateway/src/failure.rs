//! The body of an error, `{"code":…,"message":…}`, with the details that a person needs to report
//! it.

use protocol::{Code, Error, error::QueryFailure, guid};
use value::json::quote;

use crate::{handled, status::Status};

/// The SDK that the message names.
const SDK: &str = concat!("sheaf/", env!("CARGO_PKG_VERSION"));

/// The name that the service's own gateway uses in the errors that it detects itself.
///
/// COMPAT: people and tools match on the whole text of these errors.
const FRONT_DOOR: &str = "Microsoft.Azure.Documents.Common/2.14.0";

/// Longest path that a message repeats.
const PATH_CHARS_MAX: usize = 4096;

/// The parts of a request that its error body needs.
pub(crate) struct Failed<'a> {
    pub(crate) activity_id: u128,
    pub(crate) path: &'a str,
    /// Whether the request asked for a query plan.
    pub(crate) is_plan: bool,
}

/// Builds the body of an error.
pub(crate) fn body(error: &Error, failed: &Failed<'_>) -> Vec<u8> {
    let query = error.query.as_deref();
    let message = match query.and_then(|query| query.document.as_deref()) {
        Some(document) => query_message(document, failed),
        None => message(error, failed),
    };
    let mut body = format!(r#"{{"code":"{}","message":"#, Status::of(error.code).name).into_bytes();
    quote(&message, &mut body);
    // Old SDKs get the plan only by parsing this text.
    if let Some(QueryFailure { plan: Some(plan), .. }) = query {
        body.extend_from_slice(br#","additionalErrorInfo":"#);
        quote(plan, &mut body);
    }
    body.push(b'}');
    body
}

/// The message of a query error, which is a JSON document of its own. A request for a plan gets
/// another prefix.
fn query_message(document: &str, failed: &Failed<'_>) -> String {
    let activity_id = guid::text(failed.activity_id);
    if failed.is_plan {
        format!(
            "Gateway Failed to Retrieve Query Plan: Message: {document}\r\n\
             ActivityId: {activity_id}, {FRONT_DOOR}, {FRONT_DOOR}"
        )
    } else {
        format!("Message: {document}\r\nActivityId: {activity_id}, {FRONT_DOOR}")
    }
}

fn message(error: &Error, failed: &Failed<'_>) -> String {
    let activity_id = guid::text(failed.activity_id);
    if error.code == Code::CrossPartitionQuery {
        return format!("{}\r\nActivityId: {activity_id}, {FRONT_DOOR}", error.message);
    }
    let path: String = failed.path.chars().take(PATH_CHARS_MAX).collect();
    format!(
        "{}\r\nActivityId: {activity_id}, Request URI: {path}, RequestStats: , SDK: {SDK}",
        inner(error)
    )
}

/// Wraps the message as the service does: errors from the database are JSON inside the message,
/// errors from the front door are plain text.
/// COMPAT: people and tools match on both forms.
fn inner(error: &Error) -> String {
    if handled::is_refusal(error.code) {
        return error.message.clone();
    }
    let mut errors = br#"Message: {"Errors":["#.to_vec();
    quote(&error.message, &mut errors);
    errors.extend_from_slice(b"]}");
    String::from_utf8_lossy(&errors).into_owned()
}
