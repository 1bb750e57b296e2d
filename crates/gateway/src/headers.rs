//! Reading header values: present or not, well formed or refused by name.

use hyper::{HeaderMap, header::USER_AGENT};
use protocol::Error;

/// How much of a refused value is repeated in the message.
const ECHO_CHARS_MAX: usize = 100;

/// The value of a header, trimmed; `None` if it is absent or empty (old SDKs send some headers
/// without a value). Refuses anything but visible ASCII.
pub(crate) fn text<'a>(headers: &'a HeaderMap, name: &str) -> Result<Option<&'a str>, Error> {
    let Some(value) = headers.get(name) else { return Ok(None) };
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
pub(crate) fn flag(headers: &HeaderMap, name: &str) -> Result<bool, Error> {
    Ok(optional_flag(headers, name)?.unwrap_or(false))
}

/// Reads a header that is `true` or `false`; `None` if the request does not have it.
pub(crate) fn optional_flag(headers: &HeaderMap, name: &str) -> Result<Option<bool>, Error> {
    let mut found = None;
    for value in headers.get_all(name) {
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
pub(crate) fn integer(headers: &HeaderMap, name: &str) -> Result<Option<i64>, Error> {
    let Some(text) = text(headers, name)? else { return Ok(None) };
    text.parse().map(Some).map_err(|_| invalid(name, text))
}

/// What the client calls itself; empty if it does not say.
pub(crate) fn agent(headers: &HeaderMap) -> &str {
    headers.get(USER_AGENT).and_then(|agent| agent.to_str().ok()).unwrap_or_default()
}

/// The service's words for a header value it does not take.
pub(crate) fn invalid(name: &str, value: &str) -> Error {
    let value: String = value.chars().take(ECHO_CHARS_MAX).collect();
    Error::bad_request(format!("The value '{value}' specified for the header '{name}' is invalid."))
}

#[cfg(test)]
mod tests {
    use hyper::header::HeaderValue;

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
    fn texts_are_trimmed_and_ascii() {
        assert_eq!(text(&one(b"  a b "), "x").ok(), Some(Some("a b")));
        assert_eq!(text(&one(b" "), "x").ok(), Some(None));
        assert_eq!(text(&HeaderMap::new(), "x").ok(), Some(None));
        assert!(text(&one("é".as_bytes()), "x").is_err());
        assert_eq!(integer(&one(b"-1"), "x").ok(), Some(Some(-1)));
        assert!(integer(&one(b"1.0"), "x").is_err());
    }
}
