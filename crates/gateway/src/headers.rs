//! Reads header values. A malformed value is refused by the header's name.

use hyper::{
    HeaderMap,
    header::{GetAll, HeaderValue, USER_AGENT},
};
use protocol::Error;

/// Longest part of a refused value that the message repeats.
const ECHO_CHARS_MAX: usize = 100;

/// A set of headers with lookup by name.
pub(crate) trait Lookup {
    /// Returns the first value of a header.
    fn value(&self, name: &str) -> Option<&HeaderValue>;

    /// Returns all values of a header; the result may be `None` if there are none.
    fn values(&self, name: &str) -> Option<GetAll<'_, HeaderValue>>;
}

impl Lookup for HeaderMap {
    fn value(&self, name: &str) -> Option<&HeaderValue> {
        self.get(name)
    }

    fn values(&self, name: &str) -> Option<GetAll<'_, HeaderValue>> {
        Some(self.get_all(name))
    }
}

/// The headers of a request, with a filter on their names. A request may have about fifty different
/// headers and has a dozen: for most of the others the filter answers without hashing the name.
pub(crate) struct Filtered<'a> {
    headers: &'a HeaderMap,
    /// The marks of all names that the request has.
    marks: u128,
}

impl<'a> Filtered<'a> {
    pub(crate) fn new(headers: &'a HeaderMap) -> Self {
        let marks = headers.keys().fold(0, |marks, name| marks | mark(name.as_str()));
        Self { headers, marks }
    }

    fn may_have(&self, name: &str) -> bool {
        self.marks & mark(name) != 0
    }
}

impl Lookup for Filtered<'_> {
    fn value(&self, name: &str) -> Option<&HeaderValue> {
        if self.may_have(name) { self.headers.get(name) } else { None }
    }

    fn values(&self, name: &str) -> Option<GetAll<'_, HeaderValue>> {
        self.may_have(name).then(|| self.headers.get_all(name))
    }
}

/// Maps a name to one of 128 bits, by its length and the letters in which names differ: the last
/// one, and one in the middle. Names must be in lower case.
fn mark(name: &str) -> u128 {
    let (bytes, length) = (name.as_bytes(), name.len());
    let letter = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
    1 << ((length * 37 + letter(length.wrapping_sub(1)) * 7 + letter(length / 2) * 11) % 128)
}

/// Returns a header's value, trimmed; `None` if it is absent or empty, since old SDKs send some
/// headers without a value. Refuses anything but visible ASCII.
pub(crate) fn text<'a>(headers: &'a impl Lookup, name: &str) -> Result<Option<&'a str>, Error> {
    let Some(value) = headers.value(name) else { return Ok(None) };
    let text = value.to_str().map_err(|_| {
        Error::bad_request(format!(
            "The value specified for the header '{name}' is not ASCII text."
        ))
    })?;
    let text = text.trim();
    Ok((!text.is_empty()).then_some(text))
}

/// Returns whether a boolean header is true, in any case of letters. A repeated header is true if
/// any of its values is, so that none is overlooked.
pub(crate) fn flag(headers: &impl Lookup, name: &str) -> Result<bool, Error> {
    Ok(optional_flag(headers, name)?.unwrap_or(false))
}

/// Reads a header that is `true` or `false`; `None` if it is absent or empty.
pub(crate) fn optional_flag(headers: &impl Lookup, name: &str) -> Result<Option<bool>, Error> {
    let mut found = None;
    for value in headers.values(name).into_iter().flatten() {
        let text = String::from_utf8_lossy(value.as_bytes());
        match text.trim() {
            "" => {}
            word if word.eq_ignore_ascii_case("true") => found = Some(true),
            word if word.eq_ignore_ascii_case("false") => found = Some(found.unwrap_or(false)),
            word => return Err(invalid(name, word)),
        }
    }
    Ok(found)
}

/// Reads an integer header.
pub(crate) fn integer(headers: &impl Lookup, name: &str) -> Result<Option<i64>, Error> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| invalid(name, text))
}

/// The client's user agent; empty if it sends none.
pub(crate) fn agent(headers: &impl Lookup) -> &str {
    headers.value(USER_AGENT.as_str()).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}

/// The error for an invalid header value, in the service's wording.
pub(crate) fn invalid(name: &str, value: &str) -> Error {
    let value: String = value.chars().take(ECHO_CHARS_MAX).collect();
    Error::bad_request(format!("The value '{value}' specified for the header '{name}' is invalid."))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(value: &[u8]) -> HeaderMap {
        let mut headers = HeaderMap::new();
        headers.insert("x", HeaderValue::from_bytes(value).expect("a header value"));
        headers
    }

    #[test]
    fn booleans_come_in_any_case() {
        for (value, expected) in [("True", true), ("TRUE", true), ("false", false), ("", false)] {
            assert_eq!(flag(&one(value.as_bytes()), "x").ok(), Some(expected), "{value}");
        }
        let error = flag(&one(b"1"), "x").expect_err("not a boolean");
        assert_eq!(error.message, "The value '1' specified for the header 'x' is invalid.");
        let mut both = one(b"false");
        both.append("x", HeaderValue::from_static("true"));
        assert_eq!(flag(&both, "x").ok(), Some(true));
    }

    #[test]
    fn the_filter_hides_nothing() {
        let mut headers = HeaderMap::new();
        let names = ["etag", "x-ms-date", "x-ms-continuation", "a", "user-agent"];
        for name in names {
            headers.append(name, HeaderValue::from_static("1"));
            headers.append(name, HeaderValue::from_static("2"));
        }
        let filtered = Filtered::new(&headers);
        for name in names {
            assert_eq!(filtered.value(name), headers.get(name));
            assert_eq!(filtered.values(name).into_iter().flatten().count(), 2);
        }
        assert_eq!(filtered.value("x-ms-version"), None);
        assert!(filtered.value("prefer").is_none());
    }

    #[test]
    fn texts_are_trimmed_and_ascii() {
        assert_eq!(text(&one(b"  a b "), "x").ok(), Some(Some("a b")));
        assert_eq!(text(&one(b" "), "x").ok(), Some(None));
        assert_eq!(text(&HeaderMap::new(), "x").ok(), Some(None));
        assert!(text(&one("é".as_bytes()), "x").is_err());
        assert_eq!(integer(&one(b"-1"), "x").ok(), Some(Some(-1)));
        assert!(integer(&one(b"1.0"), "x").is_err());
    }
}
