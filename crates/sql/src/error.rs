//! Why a query is refused, in the words of the service.
//!
//! Spans count bytes, as everything in Rust does; the service counts UTF-16 code units, so the
//! JSON is made with the text at hand.

use std::fmt::Write;

/// The bytes of the query text that something was read from: `start..end`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Span {
    /// The first byte.
    pub start: usize,
    /// The byte behind the last.
    pub end: usize,
}

impl Span {
    /// The span from `start` up to `end`.
    pub fn new(start: usize, end: usize) -> Span {
        Span { start, end }
    }

    /// The text it covers; empty when it lies outside.
    pub fn of(self, text: &str) -> &str {
        text.get(self.start..self.end).unwrap_or_default()
    }
}

/// The number of an error. Clients show it, and programs match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// A token that cannot stand where it does.
    Syntax,
    /// The text ends too early.
    UnexpectedEnd,
    /// A character that begins no token.
    InvalidToken,
    /// A malformed number. The number of this error is a guess.
    InvalidNumber,
    /// A string without its end, or with an escape that does not exist.
    InvalidString,
    /// TOP with something else than a whole number of 32 bits.
    TopCount,
    /// LIMIT beyond 32 bits.
    LimitCount,
    /// OFFSET beyond 32 bits.
    OffsetCount,
    /// The text is longer than [`crate::TEXT_UNITS_MAX`]. The number of this error is a guess.
    TooLong,
    /// The query nests deeper than the limits of this crate. Our own: the service has no number
    /// for it that we know.
    TooDeep,
}

impl Code {
    /// The number behind the letters.
    pub fn number(self) -> u16 {
        match self {
            Code::Syntax => 1001,
            Code::UnexpectedEnd => 1002,
            Code::InvalidToken => 1010,
            Code::InvalidNumber => 1011,
            Code::InvalidString => 1012,
            Code::TopCount => 2060,
            Code::LimitCount => 2061,
            Code::OffsetCount => 2062,
            Code::TooLong => 3001,
            Code::TooDeep => 3002,
        }
    }
}

impl std::fmt::Display for Code {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(formatter, "SC{}", self.number())
    }
}

/// One complaint about a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{code}: {message}")]
pub struct Error {
    /// Which complaint.
    pub code: Code,
    /// The service's sentence.
    pub message: String,
    /// What it is about; a few errors are about the query as a whole.
    pub span: Option<Span>,
}

impl Error {
    /// A complaint about the text at `span`.
    pub fn new(code: Code, message: impl Into<String>, span: Span) -> Error {
        Error { code, message: message.into(), span: Some(span) }
    }

    /// A complaint about the query as a whole.
    pub fn without_span(code: Code, message: impl Into<String>) -> Error {
        Error { code, message: message.into(), span: None }
    }

    /// Where the complaint points, in UTF-16 code units of `text`, as clients read it.
    pub fn location(&self, text: &str) -> Option<(usize, usize)> {
        let units = |offset: usize| {
            text.get(..offset).map_or(text.len(), |head| head.encode_utf16().count())
        };
        self.span.map(|span| (units(span.start), units(span.end)))
    }
}

/// The document that the service answers with: every error, in the order of the text.
pub fn to_json(errors: &[Error], text: &str) -> String {
    let mut out = String::from("{\"errors\":[");
    for (index, error) in errors.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        out.push_str("{\"severity\":\"Error\",");
        if let Some((start, end)) = error.location(text) {
            write!(out, "\"location\":{{\"start\":{start},\"end\":{end}}},").expect("a string");
        }
        write!(out, "\"code\":\"{}\",\"message\":", error.code).expect("a string grows");
        quote(&error.message, &mut out);
        out.push('}');
    }
    out.push_str("]}");
    out
}

/// Appends `text` as a JSON string, which is also how the service quotes strings in queries.
pub(crate) fn quote(text: &str, out: &mut String) {
    let mut bytes = Vec::with_capacity(text.len() + 2);
    value::json::quote(text, &mut bytes);
    out.push_str(&String::from_utf8(bytes).expect("quoting keeps UTF-8"));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn locations_count_utf16_units() {
        let text = "é😀x";
        let error = Error::new(Code::Syntax, "m", Span::new(6, 7));
        assert_eq!(error.location(text), Some((3, 4)));
    }

    #[test]
    fn the_document_is_that_of_the_service() {
        let errors = [
            Error::new(Code::Syntax, "near '\"'.", Span::new(0, 1)),
            Error::without_span(Code::TooLong, "long"),
        ];
        let expected = concat!(
            r#"{"errors":[{"severity":"Error","location":{"start":0,"end":1},"#,
            r#""code":"SC1001","message":"near '\"'."},"#,
            r#"{"severity":"Error","code":"SC3001","message":"long"}]}"#,
        );
        assert_eq!(to_json(&errors, "\""), expected);
    }
}
