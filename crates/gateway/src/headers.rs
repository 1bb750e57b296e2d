//! Reads header values. A malformed value is refused by the header's name.

use hyper::{
    HeaderMap,
    header::{HeaderName, HeaderValue, USER_AGENT, ValueIter},
};
use protocol::Error;

/// Longest part of a refused value that the message repeats.
const ECHO_CHARS_MAX: usize = 100;

/// A set of headers with lookup by name.
pub(crate) trait Lookup {
    /// Returns the first value of a header.
    fn value(&self, name: &str) -> Option<&HeaderValue>;

    /// Returns all values of a header.
    fn values(&self, name: &str) -> Values<'_>;
}

impl Lookup for HeaderMap {
    fn value(&self, name: &str) -> Option<&HeaderValue> {
        self.get(name)
    }

    fn values(&self, name: &str) -> Values<'_> {
        Values::All(self.get_all(name).into_iter())
    }
}

/// The values of one header.
pub(crate) enum Values<'a> {
    /// At most one.
    One(Option<&'a HeaderValue>),
    /// As many as there are.
    All(ValueIter<'a, HeaderValue>),
}

impl<'a> Iterator for Values<'a> {
    type Item = &'a HeaderValue;

    fn next(&mut self) -> Option<&'a HeaderValue> {
        match self {
            Self::One(value) => value.take(),
            Self::All(values) => values.next(),
        }
    }
}

/// The number of marks that a name may have.
const MARKS: usize = 128;
/// How many headers are found by their marks. Clients send about fifteen.
const PLACES: usize = 24;
/// Stands for a header that has no place.
const ELSEWHERE: u8 = u8::MAX;

/// The headers of a request, found by marks that their names have. The gateway asks for about fifty
/// different headers and a request has a dozen: most questions are answered without hashing a name.
pub(crate) struct Filtered<'a> {
    headers: &'a HeaderMap,
    /// For each mark, the number of the place of a header that has it: from 1 on, 0 if none has it.
    marks: [u8; MARKS],
    places: [Option<(&'a HeaderName, &'a HeaderValue)>; PLACES],
    /// Whether a header occurs more than once.
    has_repeated: bool,
}

impl<'a> Filtered<'a> {
    pub(crate) fn new(headers: &'a HeaderMap) -> Self {
        let has_repeated = headers.len() != headers.keys_len();
        let (mut marks, mut places) = ([0; MARKS], [None; PLACES]);
        // A repeated header comes with its first value first.
        for (number, header) in (1..).zip(headers) {
            let place = &mut marks[mark(header.0.as_str())];
            if *place != 0 {
                continue;
            }
            *place = match places.get_mut(number - 1) {
                Some(free) => {
                    *free = Some(header);
                    u8::try_from(number).unwrap_or(ELSEWHERE)
                }
                None => ELSEWHERE,
            };
        }
        Self { headers, marks, places, has_repeated }
    }
}

impl Lookup for Filtered<'_> {
    fn value(&self, name: &str) -> Option<&HeaderValue> {
        let number = self.marks[mark(name)];
        if number == 0 {
            return None;
        }
        match self.places.get(usize::from(number) - 1) {
            Some(Some((known, value))) if known.as_str() == name => Some(value),
            // Another header has the same mark.
            _ => self.headers.get(name),
        }
    }

    fn values(&self, name: &str) -> Values<'_> {
        if self.has_repeated {
            return Lookup::values(self.headers, name);
        }
        Values::One(self.value(name))
    }
}

/// Maps a name to a mark, by its length and the letters in which names differ: the last one, and one
/// in the middle. Names must be in lower case.
fn mark(name: &str) -> usize {
    let (bytes, length) = (name.as_bytes(), name.len());
    let letter = |at: usize| bytes.get(at).copied().map_or(0, usize::from);
    (length * 37 + letter(length.wrapping_sub(1)) * 7 + letter(length / 2) * 11) % MARKS
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
    for value in headers.values(name) {
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
        for (count, is_repeated) in [(1, false), (2, true)] {
            for name in names {
                headers.append(name, HeaderValue::from(count));
            }
            let filtered = Filtered::new(&headers);
            for name in names {
                assert_eq!(filtered.value(name), Some(&HeaderValue::from(1)));
                let values: Vec<_> = filtered.values(name).collect();
                assert_eq!(values, headers.get_all(name).iter().collect::<Vec<_>>());
                assert_eq!(values.len() > 1, is_repeated);
            }
            assert_eq!(filtered.value("x-ms-version"), None);
            assert!(filtered.value("prefer").is_none());
            assert_eq!(filtered.values("prefer").count(), 0);
        }
    }

    #[test]
    fn headers_with_the_same_mark_and_those_without_a_place_are_found() {
        // More names than marks: many share one, and most have no place.
        let names: Vec<String> = (0..2 * MARKS).map(|number| format!("x-{number}")).collect();
        let mut headers = HeaderMap::new();
        for name in &names {
            let name = HeaderName::from_bytes(name.as_bytes()).expect("a name");
            let value = HeaderValue::from_str(name.as_str()).expect("a value");
            headers.insert(name, value);
        }
        let filtered = Filtered::new(&headers);
        for name in &names {
            assert_eq!(filtered.value(name).map(HeaderValue::as_bytes), Some(name.as_bytes()));
            assert_eq!(filtered.values(name).count(), 1);
        }
        assert_eq!(filtered.value("x-1000"), None);
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
