//! Reading header values: present or not, well formed or refused by name.

use hyper::{
    HeaderMap,
    header::{GetAll, HeaderValue, USER_AGENT},
};
use protocol::Error;

/// How much of a refused value is repeated in the message.
const ECHO_CHARS_MAX: usize = 100;

/// Headers that can be looked up by name.
pub(crate) trait Lookup {
    /// The first value of a header.
    fn value(&self, name: &str) -> Option<&HeaderValue>;

    /// All values of a header; `None` if there is none.
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

/// The headers of a request, with a filter of their names. A request may have any of some fifty
/// headers and has a dozen: the filter answers for most of the others, without hashing their names.
pub(crate) struct Filtered<'a> {
    headers: &'a HeaderMap,
    /// A bit for the mark of each name that is there.
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

/// One of 128 bits, by the length of a name and the letters in which names differ: the last, and one
/// in the middle. Names are in lower case.
fn mark(name: &str) -> u128 {
    let (bytes, length) = (name.as_bytes(), name.len());
    let letter = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
    1 << ((length * 37 + letter(length.wrapping_sub(1)) * 7 + letter(length / 2) * 11) % 128)
}

/// The value of a header, trimmed; `None` if it is absent or empty (old SDKs send some headers
/// without a value). Refuses anything but visible ASCII.
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

/// Whether a boolean header is true, in any case of letters. A repeated header counts if any of
/// its values is true: none of the headers read here may be overlooked.
pub(crate) fn flag(headers: &impl Lookup, name: &str) -> Result<bool, Error> {
    Ok(optional_flag(headers, name)?.unwrap_or(false))
}

/// Reads a header that is `true` or `false`; `None` if the request does not have it.
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

/// An integer header.
pub(crate) fn integer(headers: &impl Lookup, name: &str) -> Result<Option<i64>, Error> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| invalid(name, text))
}

/// What the client calls itself; empty if it does not say.
pub(crate) fn agent(headers: &impl Lookup) -> &str {
    headers.value(USER_AGENT.as_str()).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}

/// The service's words for a header value it does not take.
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
