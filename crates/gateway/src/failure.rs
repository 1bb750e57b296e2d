//! The body of an error: `{"code":…,"message":…}`, with what a person needs to report it.

use protocol::{Code, Error};
use value::json::quote;

use crate::{activity, status::Status};

/// What the message names as the speaker.
const SDK: &str = concat!("sheaf/", env!("CARGO_PKG_VERSION"));

/// The longest path repeated in a message.
const PATH_CHARS_MAX: usize = 4096;

/// The body for an error in answer to a request for `path`.
pub(crate) fn body(error: &Error, activity_id: u128, path: &str) -> Vec<u8> {
    let path: String = path.chars().take(PATH_CHARS_MAX).collect();
    let message = format!(
        "{}\r\nActivityId: {}, Request URI: {path}, RequestStats: , SDK: {SDK}",
        inner(error),
        activity::text(activity_id)
    );
    let mut body = format!(r#"{{"code":"{}","message":"#, Status::of(error.code).name).into_bytes();
    quote(&message, &mut body);
    body.push(b'}');
    body
}

/// Errors of the database are JSON inside the message; those of the front door are plain text.
/// COMPAT: people and tools match on both forms.
fn inner(error: &Error) -> String {
    if matches!(error.code, Code::Unauthorized | Code::Forbidden) {
        return error.message.clone();
    }
    let mut errors = br#"Message: {"Errors":["#.to_vec();
    quote(&error.message, &mut errors);
    errors.extend_from_slice(b"]}");
    String::from_utf8_lossy(&errors).into_owned()
}
