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
    /// The byte after the last.
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

/// The kind of error. Clients show its number, and programs match on it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Code {
    /// A token that is not allowed in its place.
    Syntax,
    /// The text ends too early.
    UnexpectedEnd,
    /// A character that begins no token.
    InvalidToken,
    /// A malformed number. The number of this error is a guess.
    InvalidNumber,
    /// A string without its end, or with an escape that does not exist.
    InvalidString,
    /// A name that no source binds.
    UnresolvedIdentifier,
    /// A user-defined function that does not exist. The number of this error is a guess.
    UnknownUdf,
    /// A function that does not exist.
    UnknownFunction,
    /// A `*` without FROM. The number is a guess.
    StarWithoutFrom,
    /// A `*` with GROUP BY.
    StarWithGroupBy,
    /// A `*` over several sources. The number is a guess.
    StarOverSeveral,
    /// A function with too few or too many arguments.
    ArgumentCount,
    /// TOP with something else than a whole number of 32 bits.
    TopCount,
    /// LIMIT beyond 32 bits.
    LimitCount,
    /// OFFSET beyond 32 bits.
    OffsetCount,
    /// An aggregate over an aggregate or a subquery.
    NestedAggregate,
    /// A property that differs within a group.
    NotGrouped,
    /// ORDER BY in a subquery.
    OrderByInSubquery,
    /// TOP in a subquery.
    TopInSubquery,
    /// OFFSET and LIMIT in a subquery.
    OffsetLimitInSubquery,
    /// ORDER BY over something that no index holds. The service prints a bare number.
    OrderByWithoutPath,
    /// An option of VectorDistance out of its range.
    VectorOption,
    /// ORDER BY RANK by something that is not a score.
    RankWithoutScore,
    /// ORDER BY RANK over the elements of an array.
    RankOverElements,
    /// ORDER BY RANK with JOIN.
    RankOverJoin,
    /// ORDER BY RANK over a subquery.
    RankOverSubquery,
    /// ORDER BY RANK in a subquery.
    RankInSubquery,
    /// Weights of RRF that are not a number for each score.
    RankWeights,
    /// FullTextScore outside of ORDER BY RANK.
    MisplacedScore,
    /// A computed index on a value that the query makes.
    MemberIndexer,
    /// The text is longer than [`crate::TEXT_UNITS_MAX`]. The number of this error is a guess.
    TooLong,
    /// The query nests deeper than the limits of this crate. Our own: the service has no number
    /// for it that we know.
    TooDeep,
    /// More joins than [`crate::program::JOINS_MAX`]. The number of this error is a guess.
    TooManyJoins,
    /// More calls of user-defined functions than the account allows.
    TooManyUdfCalls,
    /// ORDER BY over the elements of an array.
    OrderByCorrelated,
    /// A subquery in place of a value that may have several.
    ScalarCardinality,
    /// An aggregate outside of SELECT.
    MisplacedAggregate,
    /// A parameter without a value.
    MissingParameter,
    /// Two sources of one name.
    DuplicateAlias,
    /// Two properties of one name.
    DuplicateProperty,
    /// ESCAPE with a backslash, or with other than one character.
    InvalidEscape,
    /// Something this database does not do.
    Unsupported,
    /// The query was ended while it ran.
    Halted,
}

impl Code {
    /// The number that the service gives it, where we know or guess one.
    pub fn number(self) -> Option<u16> {
        Some(match self {
            Code::Syntax => 1001,
            Code::UnexpectedEnd => 1002,
            Code::InvalidToken => 1010,
            Code::InvalidNumber => 1011,
            Code::InvalidString => 1012,
            Code::UnresolvedIdentifier => 2001,
            Code::UnknownUdf => 2004,
            Code::UnknownFunction => 2005,
            Code::StarWithoutFrom => 2040,
            Code::StarWithGroupBy => 2041,
            Code::StarOverSeveral => 2043,
            Code::ArgumentCount => 2050,
            Code::TopCount => 2060,
            Code::LimitCount => 2061,
            Code::OffsetCount => 2062,
            Code::NestedAggregate => 2101,
            Code::NotGrouped => 2102,
            Code::OrderByInSubquery => 2202,
            Code::TopInSubquery => 2203,
            Code::OffsetLimitInSubquery => 2204,
            Code::OrderByWithoutPath => 2206,
            Code::VectorOption => 2213,
            Code::RankWithoutScore => 2221,
            Code::RankOverElements => 2223,
            Code::RankOverJoin => 2224,
            Code::RankOverSubquery => 2225,
            Code::RankInSubquery => 2228,
            Code::RankWeights => 2229,
            Code::MisplacedScore => 2240,
            Code::MemberIndexer => 2990,
            Code::TooLong => 3001,
            Code::TooDeep => 3002,
            Code::TooManyJoins => 3003,
            Code::TooManyUdfCalls => 3005,
            Code::OrderByCorrelated
            | Code::ScalarCardinality
            | Code::MisplacedAggregate
            | Code::MissingParameter
            | Code::DuplicateAlias
            | Code::DuplicateProperty
            | Code::InvalidEscape
            | Code::Unsupported
            | Code::Halted => return None,
        })
    }

    /// The number as the JSON of an error holds it: a string with letters, but for the one that
    /// the service prints bare.
    fn json(self) -> Option<String> {
        let number = self.number()?;
        let is_bare = self == Code::OrderByWithoutPath;
        Some(if is_bare { number.to_string() } else { format!("\"SC{number}\"") })
    }
}

impl std::fmt::Display for Code {
    /// The number and its letters; nothing for a complaint without one.
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        self.number().map_or(Ok(()), |number| write!(formatter, "SC{number}"))
    }
}

/// One complaint about a query.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{message}")]
pub struct Error {
    /// The kind of error.
    pub code: Code,
    /// The service's sentence.
    pub message: String,
    /// The text it is about; `None` for errors about the whole query.
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
        self.span.map(|span| Units { text, byte: 0, unit: 0 }.location(span))
    }
}

/// Counts UTF-16 code units, going on from the last place for the next: there may be thousands of
/// errors in a long text.
struct Units<'t> {
    text: &'t str,
    byte: usize,
    unit: usize,
}

impl Units<'_> {
    fn location(&mut self, span: Span) -> (usize, usize) {
        if span.start < self.byte {
            (self.byte, self.unit) = (0, 0);
        }
        self.unit += self.between(self.byte, span.start);
        self.byte = span.start;
        (self.unit, self.unit + self.between(span.start, span.end))
    }

    fn between(&self, start: usize, end: usize) -> usize {
        Span::new(start, end).of(self.text).encode_utf16().count()
    }
}

/// The document that the service answers with: every error, in the order of the text.
pub fn to_json(errors: &[Error], text: &str) -> String {
    let mut out = String::from("{\"errors\":[");
    let mut units = Units { text, byte: 0, unit: 0 };
    for (index, error) in errors.iter().enumerate() {
        out.push_str(if index == 0 { "" } else { "," });
        out.push_str("{\"severity\":\"Error\",");
        if let Some(span) = error.span {
            let (start, end) = units.location(span);
            write!(out, "\"location\":{{\"start\":{start},\"end\":{end}}},").expect("a string");
        }
        if let Some(code) = error.code.json() {
            write!(out, "\"code\":{code},").expect("a string grows");
        }
        out.push_str("\"message\":");
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
        let places = [(2, 7), (6, 7), (0, 2), (6, 6)];
        let errors =
            places.map(|(start, end)| Error::new(Code::Syntax, "m", Span::new(start, end)));
        let document = to_json(&errors, text);
        let found = document.match_indices("location").map(|(at, _)| &document[at + 10..]);
        let found: Vec<_> = found.map(|rest| &rest[..rest.find('}').unwrap_or_default()]).collect();
        let expected = [(1, 4), (3, 4), (0, 1), (3, 3)];
        assert_eq!(
            found,
            expected.map(|(start, end)| format!("{{\"start\":{start},\"end\":{end}"))
        );
    }

    #[test]
    fn the_document_is_that_of_the_service() {
        let errors = [
            Error::new(Code::Syntax, "near '\"'.", Span::new(0, 1)),
            Error::without_span(Code::TooLong, "long"),
            Error::without_span(Code::OrderByWithoutPath, "bare"),
            Error::new(Code::InvalidEscape, "none", Span::new(1, 1)),
        ];
        let expected = concat!(
            r#"{"errors":[{"severity":"Error","location":{"start":0,"end":1},"#,
            r#""code":"SC1001","message":"near '\"'."},"#,
            r#"{"severity":"Error","code":"SC3001","message":"long"},"#,
            r#"{"severity":"Error","code":2206,"message":"bare"},"#,
            r#"{"severity":"Error","location":{"start":1,"end":1},"message":"none"}]}"#,
        );
        assert_eq!(to_json(&errors, "\""), expected);
    }
}
