//! What the REST API has and this version of Sheaf does not.

use protocol::Error;

/// Refuses a feature by name. A plain 400: no SDK retries it, and none takes it for "not found".
pub(crate) fn not_yet(feature: &str) -> Error {
    Error::bad_request(format!("{feature} is not supported by this version of Sheaf yet."))
}
