//! Conditions of requests: the version of a resource that the caller has or requires.

use protocol::{
    Body, Error, Options, Outcome, Response,
    etag::{Etag, strip_quotes},
};

/// Whether the caller already has this version.
pub(crate) fn is_unchanged(options: &Options, etag: Etag) -> bool {
    options.if_none_match.as_deref().is_some_and(|known| names(known, etag))
}

/// The answer to a read of one resource, without a body if the caller already has this version.
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

/// Refuses a change if the caller expects another version.
pub(crate) fn require_match(options: &Options, etag: Etag) -> Result<(), Error> {
    match options.if_match.as_deref() {
        Some(expected) if !names(expected, etag) => Err(Error::precondition_failed()),
        _ => Ok(()),
    }
}

/// Whether a condition header includes this version: it lists versions, and `*` stands for any.
fn names(condition: &str, etag: Etag) -> bool {
    condition
        .split(',')
        .any(|part| part.trim() == "*" || Etag::parse(strip_quotes(part)) == Some(etag))
}
