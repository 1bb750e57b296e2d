//! Tokens and keywords.

use crate::error::{Error, Span};

/// A token and its place.
#[derive(Clone, Debug)]
pub struct Token {
    /// Its kind.
    pub kind: TokenKind,
    /// Its place in the text.
    pub span: Span,
}

/// The kind of token. The spelling of names stays in the text; only decoded contents are held here.
#[derive(Clone, Debug)]
pub enum TokenKind {
    /// A name that is not a keyword.
    Name,
    /// A keyword, in any case.
    Keyword(Keyword),
    /// A parameter such as `@id`.
    Parameter,
    /// A number, without sign.
    Number(value::Number),
    /// A string, unescaped.
    String(String),
    /// An operator or a bracket, by its spelling; `!=` also represents `<>`.
    Sign(&'static str),
    /// The end of the text.
    End,
    /// Where the text stops being tokens. Kept as a token so that an error of the grammar before
    /// it is reported first, as the service does.
    Invalid(Box<Error>),
}

macro_rules! keywords {
    ($($variant:ident $text:literal $reserved:literal,)*) => {
        /// The keywords that the grammar uses; `Unused` are those that are reserved only.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Keyword {
            $(#[doc = concat!("`", $text, "`")] $variant,)*
            /// Reserved without a meaning, such as `HAVING`.
            Unused,
        }

        impl Keyword {
            /// The keyword that `word` spells, in any case.
            pub fn parse(word: &str) -> Option<Keyword> {
                $(if word.eq_ignore_ascii_case($text) { return Some(Keyword::$variant); })*
                UNUSED.iter().any(|text| word.eq_ignore_ascii_case(text)).then_some(Keyword::Unused)
            }

            /// Whether the word cannot be a name.
            pub fn is_reserved(self) -> bool {
                match self {
                    $(Keyword::$variant => $reserved,)*
                    Keyword::Unused => true,
                }
            }
        }
    };
}

keywords! {
    And "AND" true,
    Array "ARRAY" true,
    As "AS" true,
    Asc "ASC" true,
    Between "BETWEEN" true,
    By "BY" true,
    Desc "DESC" true,
    Distinct "DISTINCT" true,
    Escape "ESCAPE" true,
    Exists "EXISTS" true,
    False "FALSE" true,
    From "FROM" true,
    Group "GROUP" true,
    In "IN" true,
    Join "JOIN" true,
    Left "LEFT" true,
    Let "LET" false,
    Like "LIKE" true,
    Limit "LIMIT" true,
    Not "NOT" true,
    Null "NULL" true,
    Offset "OFFSET" true,
    Or "OR" true,
    Order "ORDER" true,
    Rank "RANK" false,
    Right "RIGHT" true,
    Select "SELECT" true,
    Top "TOP" true,
    True "TRUE" true,
    Udf "UDF" true,
    Undefined "UNDEFINED" true,
    Value "VALUE" true,
    Where "WHERE" true,
}

/// Words that no query can use, yet no name may be.
const UNUSED: [&str; 20] = [
    "CASE", "CAST", "CONVERT", "CROSS", "ELSE", "END", "FOR", "HAVING", "INNER", "INSERT", "INTO",
    "IS", "ON", "OUTER", "OVER", "SET", "THEN", "UPDATE", "WHEN", "WITH",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keywords_are_found_in_any_case() {
        for (word, expected) in [
            ("select", Some(Keyword::Select)),
            ("SeLeCt", Some(Keyword::Select)),
            ("having", Some(Keyword::Unused)),
            ("selectttt", None),
            ("first", None),
        ] {
            assert_eq!(Keyword::parse(word), expected, "{word}");
        }
        assert!(!Keyword::Let.is_reserved() && !Keyword::Rank.is_reserved());
        assert!(Keyword::Left.is_reserved() && Keyword::Unused.is_reserved());
    }
}
