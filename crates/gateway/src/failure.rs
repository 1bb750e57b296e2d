//! The body of an error: `{"code":…,"message":…}`, with what a person needs to report it.

use protocol::{Code, Error, error::QueryFailure};
use value::json::quote;

use crate::{activity, handled, status::Status};

/// What the message names as the speaker.
const SDK: &str = concat!("sheaf/", env!("CARGO_PKG_VERSION"));

/// What the service's own gateway calls itself in the errors that it finds alone.
///
/// COMPAT: people and tools match on the whole text of these errors.
const FRONT_DOOR: &str = "Microsoft.Azure.Documents.Common/2.14.0";

/// The longest path repeated in a message.
const PATH_CHARS_MAX: usize = 4096;

/// What an error's body needs to know of its request.
pub(crate) struct Failed<'a> {
    pub(crate) activity_id: u128,
    pub(crate) path: &'a str,
    /// Whether the plan of a query was asked for.
    pub(crate) is_plan: bool,
}

/// The body for an error in answer to a request.
pub(crate) fn body(error: &Error, failed: &Failed<'_>) -> Vec<u8> {
    let query = error.query.as_deref();
    let message = match query.and_then(|query| query.document.as_deref()) {
        Some(document) => query_message(document, failed),
        None => message(error, failed),
    };
    let mut body = format!(r#"{{"code":"{}","message":"#, Status::of(error.code).name).into_bytes();
    quote(&message, &mut body);
    // Old SDKs have no other way to the plan: they parse this text.
    if let Some(QueryFailure { plan: Some(plan), .. }) = query {
        body.extend_from_slice(br#","additionalErrorInfo":"#);
        quote(plan, &mut body);
    }
    body.push(b'}');
    body
}

/// A query's errors are a document of their own, and who asked for a plan reads that it failed.
fn query_message(document: &str, failed: &Failed<'_>) -> String {
    let activity_id = activity::text(failed.activity_id);
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
    let activity_id = activity::text(failed.activity_id);
    if error.code == Code::CrossPartitionQuery {
        return format!("{}\r\nActivityId: {activity_id}, {FRONT_DOOR}", error.message);
    }
    let path: String = failed.path.chars().take(PATH_CHARS_MAX).collect();
    format!(
        "{}\r\nActivityId: {activity_id}, Request URI: {path}, RequestStats: , SDK: {SDK}",
        inner(error)
    )
}

/// Errors of the database are JSON inside the message; those of the front door are plain text.
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
