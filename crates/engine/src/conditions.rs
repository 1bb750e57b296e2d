//! Conditions of requests: which version of a resource the caller has, or insists on.

use protocol::{
    Body, Error, Options, Outcome, Response,
    etag::{Etag, strip_quotes},
};

/// Whether the caller already has this version.
pub(crate) fn is_unchanged(options: &Options, etag: Etag) -> bool {
    options.if_none_match.as_deref().is_some_and(|known| names(known, etag))
}

/// The answer to a read of one resource: without it, for a caller who already has this version.
pub(crate) fn answer_read(
    options: &Options,
    etag: Etag,
    answer: impl FnOnce(Outcome) -> Response,
) -> Response {
    if is_unchanged(options, etag) {
        return Response { body: Body::Empty, ..answer(Outcome::NotModified) };
    }
    answer(Outcome::Ok)
}

/// Refuses a change when the caller knows another version.
pub(crate) fn require_match(options: &Options, etag: Etag) -> Result<(), Error> {
    match options.if_match.as_deref() {
        Some(expected) if !names(expected, etag) => Err(Error::precondition_failed()),
        _ => Ok(()),
    }
}

/// Whether a condition header names this version: `*` names any, and a list names each.
fn names(condition: &str, etag: Etag) -> bool {
    condition
        .split(',')
        .any(|part| part.trim() == "*" || Etag::parse(strip_quotes(part)) == Some(etag))
}
