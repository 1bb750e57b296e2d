//! Document paths, as written in partition keys and index policies: `/address/city`, `/"first
//! name"`, `/'x'`. Here a path always names one property; the wildcards of index policies (`*`,
//! `?`, `[]`) are rejected and handled by the index.

use std::fmt;
use std::str::FromStr;

use crate::json;

/// A path to one property of a document. Paths are equal if their segments are, however quoted.
#[derive(Clone, Debug)]
pub struct Path {
    text: String,
    segments: Vec<String>,
}

/// Why a text is not a path, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("invalid path `{text}`: {reason} at offset {offset}")]
pub struct PathError {
    /// The text.
    pub text: String,
    /// The offset in bytes.
    pub offset: usize,
    /// The kind of error.
    pub reason: PathErrorReason,
}

/// The kind of error in a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum PathErrorReason {
    /// A segment does not begin with `/`.
    #[error("expected `/`")]
    MissingSlash,
    /// There is nothing between two slashes, or after the last.
    #[error("empty segment")]
    EmptySegment,
    /// A quoted segment has no closing quote.
    #[error("unbalanced quote")]
    UnbalancedQuote,
    /// A backslash in a quoted segment is followed by something that cannot be escaped.
    #[error("invalid escape")]
    InvalidEscape,
    /// A wildcard in place of a property name.
    #[error("wildcard")]
    Wildcard,
    /// It has more segments than a document has levels.
    #[error("more than {} segments", json::DEPTH_MAX)]
    TooDeep,
}

impl Path {
    /// Parses a path. A segment that contains a slash or begins with a quote must be quoted; within
    /// quotes a backslash escapes the quote, itself, and everything it escapes in JSON. Paths
    /// deeper than any document are rejected, so that code may walk a path recursively.
    pub fn parse(text: &str) -> Result<Path, PathError> {
        let error = |(offset, reason)| PathError { text: text.to_owned(), offset, reason };
        let mut segments = Vec::new();
        let mut at = 0;
        while at < text.len() || at == 0 {
            if !text[at..].starts_with('/') {
                return Err(error((at, PathErrorReason::MissingSlash)));
            }
            if segments.len() == json::DEPTH_MAX {
                return Err(error((at, PathErrorReason::TooDeep)));
            }
            let (segment, end) = read_segment(text, at + 1).map_err(error)?;
            segments.push(segment);
            at = end;
        }
        Ok(Path { text: text.to_owned(), segments })
    }

    /// The property names from the root down, unquoted. Never empty.
    pub fn segments(&self) -> &[String] {
        &self.segments
    }

    /// The path as it was written.
    pub fn as_str(&self) -> &str {
        &self.text
    }
}

/// Reads the segment that starts at `at`, after its slash; returns the offset after it.
fn read_segment(text: &str, at: usize) -> Result<(String, usize), (usize, PathErrorReason)> {
    let rest = &text[at..];
    if let Some(quote @ ('"' | '\'')) = rest.chars().next() {
        return read_quoted(text, at, quote);
    }
    match rest.split('/').next().unwrap_or_default() {
        "" => Err((at, PathErrorReason::EmptySegment)),
        "*" | "?" | "[]" => Err((at, PathErrorReason::Wildcard)),
        segment => Ok((segment.to_owned(), at + segment.len())),
    }
}

/// Reads a quoted segment, which may be empty, because JSON keys may be.
fn read_quoted(
    text: &str,
    at: usize,
    quote: char,
) -> Result<(String, usize), (usize, PathErrorReason)> {
    let mut segment = String::new();
    let mut next = at + quote.len_utf8();
    while let Some(char) = text[next..].chars().next() {
        if char == quote {
            return Ok((segment, next + 1));
        }
        if char == '\\' {
            let (escaped, end) = read_escape(text, next)?;
            segment.push(escaped);
            next = end;
        } else {
            segment.push(char);
            next += char.len_utf8();
        }
    }
    Err((at, PathErrorReason::UnbalancedQuote))
}

/// Reads the escape whose backslash is at `at`.
fn read_escape(text: &str, at: usize) -> Result<(char, usize), (usize, PathErrorReason)> {
    if text.as_bytes().get(at + 1) == Some(&b'\'') {
        return Ok(('\'', at + 2));
    }
    json::read_escape(text.as_bytes(), at).map_err(|_| (at, PathErrorReason::InvalidEscape))
}

impl fmt::Display for Path {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(&self.text)
    }
}

impl FromStr for Path {
    type Err = PathError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Path::parse(text)
    }
}

impl PartialEq for Path {
    fn eq(&self, other: &Self) -> bool {
        self.segments == other.segments
    }
}

impl Eq for Path {}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn segments(text: &str) -> Vec<String> {
        Path::parse(text).unwrap().segments().to_vec()
    }

    fn reason(text: &str) -> (usize, PathErrorReason) {
        let error = Path::parse(text).unwrap_err();
        (error.offset, error.reason)
    }

    #[test]
    fn plain_and_quoted_segments() {
        assert_eq!(segments("/a"), ["a"]);
        assert_eq!(segments("/a/b c/é"), ["a", "b c", "é"]);
        assert_eq!(segments(r#"/"a/b"/'c'/d"#), ["a/b", "c", "d"]);
        assert_eq!(segments(r#"/"a\"b"/'it\'s'/"\\\u0041\n""#), ["a\"b", "it's", "\\A\n"]);
        assert_eq!(segments(r#"/"*"/'?'/"[]"/"""#), ["*", "?", "[]", ""]);
        // A quote inside a plain segment is part of the name.
        assert_eq!(segments("/it's/a*"), ["it's", "a*"]);
    }

    #[test]
    fn the_text_is_kept_as_written() {
        let path = Path::parse(r#"/"a"/b"#).unwrap();
        assert_eq!(path.to_string(), r#"/"a"/b"#);
        assert_eq!(path, Path::parse("/a/'b'").unwrap());
    }

    #[test]
    fn no_path_is_deeper_than_a_document() {
        assert_eq!(segments(&"/a".repeat(json::DEPTH_MAX)).len(), json::DEPTH_MAX);
        assert_eq!(reason(&"/a".repeat(json::DEPTH_MAX + 1)), (256, PathErrorReason::TooDeep));
        assert_eq!(reason(&"/a".repeat(1_000_000)), (256, PathErrorReason::TooDeep));
    }

    #[test]
    fn what_is_no_path_is_refused() {
        assert_eq!(reason(""), (0, PathErrorReason::MissingSlash));
        assert_eq!(reason("a/b"), (0, PathErrorReason::MissingSlash));
        assert_eq!(reason("/"), (1, PathErrorReason::EmptySegment));
        assert_eq!(reason("/a/"), (3, PathErrorReason::EmptySegment));
        assert_eq!(reason("/a//b"), (3, PathErrorReason::EmptySegment));
        assert_eq!(reason("/\"a"), (1, PathErrorReason::UnbalancedQuote));
        assert_eq!(reason("/a/'b\""), (3, PathErrorReason::UnbalancedQuote));
        assert_eq!(reason("/\"a\\\""), (1, PathErrorReason::UnbalancedQuote));
        assert_eq!(reason("/\"a\\x\""), (3, PathErrorReason::InvalidEscape));
        assert_eq!(reason("/\"a\"b"), (4, PathErrorReason::MissingSlash));
        for wildcard in ["/a/*", "/a/?", "/a/[]", "/a/[]/b"] {
            assert_eq!(reason(wildcard), (3, PathErrorReason::Wildcard));
        }
        assert_eq!(
            Path::parse("/a/*").unwrap_err().to_string(),
            "invalid path `/a/*`: wildcard at offset 3"
        );
    }

    proptest! {
        #[test]
        fn any_text_is_answered_without_a_panic(text in ".*") {
            let _ = Path::parse(&text);
            let _ = Path::parse(&format!("/{text}"));
        }

        #[test]
        fn texts_that_look_like_paths_round_trip(text in r#"(/[a*'"\\é/]{0,6}){1,3}"#) {
            if let Ok(path) = Path::parse(&text) {
                prop_assert_eq!(path.to_string(), text);
                prop_assert!(!path.segments().is_empty());
            }
        }
    }
}
