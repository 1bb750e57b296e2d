//! Continuations as clients see them: the text of a token, or JSON around it.

use std::borrow::Cow;

use protocol::{Error, Options};
use value::json;

use crate::{
    execution::{prepared::Prepared, token::Token},
    served::Served,
};

/// The text of a query's token; refused if it exceeds the client's limit.
///
/// A request that names neither key nor range lets the server go from partition to partition. For
/// such requests the service returns JSON that says which partition is next, and so does this
/// server.
pub(crate) fn of(
    token: &Token,
    prepared: &Prepared,
    collection: &Served,
    options: &Options,
) -> Result<String, Error> {
    let text = token.encode(&prepared.identity);
    let is_named = options.partition_key.is_some()
        || options.range_id.is_some()
        || options.epk_range.is_some();
    let text = match token.place.slot().filter(|_| !is_named) {
        Some(slot) if prepared.program.shape().is_plain() => wrapped(&text, collection, slot),
        _ => text,
    };
    let limit = options.query.continuation_kb_max.map(|limit| limit as usize * 1024);
    if limit.is_some_and(|limit| text.len() > limit) {
        return Err(Error::bad_request(
            "The continuation token limit specified is not large enough for this query to make \
             progress.",
        ));
    }
    Ok(text)
}

/// A token with the range of the partition where it continues.
fn wrapped(token: &str, collection: &Served, slot: u32) -> String {
    let range = collection.ranges.iter().find(|range| range.slots.contains(&slot));
    let Some(range) = range.or_else(|| collection.ranges.last()) else {
        return token.to_owned();
    };
    let (min, max) = collection.epk_bounds(range);
    format!(r#"{{"token":"{token}","range":{{"min":"{min}","max":"{max}"}}}}"#)
}

/// Extracts the token from a client's continuation: JSON, as this server returned it, or the token
/// alone.
pub(crate) fn unwrapped(text: &str) -> Cow<'_, str> {
    if !text.trim_start().starts_with('{') {
        return Cow::Borrowed(text);
    }
    let token = json::parse(text.as_bytes()).ok();
    let token = token.and_then(|token| token.get("token").as_str().map(str::to_owned));
    token.map_or(Cow::Borrowed(text), Cow::Owned)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_found_in_its_json() {
        for (sent, expected) in [
            ("abc", "abc"),
            (r#"{"token":"abc","range":{"min":"","max":"FF"}}"#, "abc"),
            (r#" {"range":{"min":"","max":"FF"},"token":"abc"} "#, "abc"),
            (r#"{"token":null}"#, r#"{"token":null}"#),
            ("{", "{"),
        ] {
            assert_eq!(unwrapped(sent), expected);
        }
    }
}
