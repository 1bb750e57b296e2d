//! Regular expressions: `$regex`, and literals where a value could be. Strings and symbols are
//! searched, and a stored regular expression equals itself.

use std::fmt;

use bson::{RawBsonRef, RawDocument};
use fancy_regex::{Regex, RegexBuilder};

use crate::error::{Code, Error, Result};

mod dialect;

/// The longest pattern, in bytes, as in MongoDB.
const PATTERN_BYTES_MAX: usize = 32_764;
/// The largest compiled pattern, in bytes: `(\w{1000}){1000}` is short to write.
const COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// How many instructions the backtracking machine may have.
const PROGRAM_STEPS_MAX: usize = 100_000;
/// How often one search may backtrack. Patterns without look-around and back references never do.
const BACKTRACKS_MAX: usize = 250_000;

/// `Location51091`
const INVALID: Code = Code::location(51_091);
/// `Location51156`
const FAILED: Code = Code::location(51_156);

/// A compiled regular expression.
pub struct Pattern {
    text: String,
    options: String,
    regex: Regex,
    /// Whether `$` stands for the end of the text, which a line feed may follow.
    has_end: bool,
}

impl fmt::Debug for Pattern {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "/{}/{}", self.text, self.options)
    }
}

impl Pattern {
    /// Compiles a regular expression with its options.
    pub fn new(text: &str, options: &str) -> Result<Self> {
        if let Some(unknown) = options.chars().find(|option| !"imsxu".contains(*option)) {
            let text = format!(" invalid flag in regex options: {unknown}");
            return Err(Error::location(51_108, text));
        }
        if text.contains('\0') {
            let text = "Regular expression cannot contain an embedded null byte";
            return Err(Error::bad_value(text));
        }
        let invalid =
            |why: &str| Error::new(INVALID, format!("Regular expression is invalid: {why}"));
        if text.len() > PATTERN_BYTES_MAX {
            return Err(invalid("regular expression is too large"));
        }
        let has = |option: char| options.contains(option);
        let translated = dialect::translate(text, has('x'));
        let regex = RegexBuilder::new(&translated)
            .multi_line(has('m'))
            .dot_matches_new_line(has('s'))
            .case_insensitive(has('i'))
            .ignore_whitespace(has('x'))
            .backtrack_limit(BACKTRACKS_MAX)
            .max_prog_size(PROGRAM_STEPS_MAX)
            .delegate_size_limit(COMPILED_BYTES_MAX)
            .delegate_dfa_size_limit(COMPILED_BYTES_MAX)
            .build();
        let regex = regex.map_err(|error| invalid(&error.to_string()))?;
        let has_end = text.contains('$') && !has('m');
        Ok(Self { text: text.to_owned(), options: options.to_owned(), regex, has_end })
    }

    /// Compiles a regular expression that stands where a value could be.
    pub(super) fn literal(value: RawBsonRef<'_>) -> Result<Self> {
        match value {
            RawBsonRef::RegularExpression(regex) => {
                Self::new(regex.pattern.as_str(), regex.options.as_str())
            }
            _ => Err(Error::bad_value("$regex has to be a string")),
        }
    }

    /// As it was written.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// Its options.
    pub fn options(&self) -> &str {
        &self.options
    }

    /// What every string that matches begins with: `abc` of `/^abc/`. It may be empty.
    pub fn prefix(&self) -> &str {
        let Some(rest) = self.text.strip_prefix('^').or_else(|| self.text.strip_prefix("\\A"))
        else {
            return "";
        };
        let is_special = |c: char| !(c.is_alphanumeric() || " _-/:@,;=!~'\"%&<>".contains(c));
        if self.options.contains(['i', 'm', 'x']) || rest.contains('|') {
            return "";
        }
        let end = rest.find(is_special).unwrap_or(rest.len());
        let literal = &rest[..end];
        // A quantifier may make the last character optional.
        if rest[end..].starts_with(['?', '*', '{']) {
            let last = literal.char_indices().next_back();
            return last.map_or("", |(at, _)| &literal[..at]);
        }
        literal
    }

    /// Whether a string contains what is looked for, or a regular expression is this one.
    pub(super) fn matches(&self, value: RawBsonRef<'_>) -> Result<bool> {
        match value {
            RawBsonRef::String(text) | RawBsonRef::Symbol(text) => self.is_found_in(text),
            RawBsonRef::RegularExpression(regex) => {
                let (pattern, options) = (regex.pattern.as_str(), regex.options.as_str());
                Ok(pattern == self.text && has_same_options(options, &self.options))
            }
            _ => Ok(false),
        }
    }

    /// Whether a string contains what is looked for.
    pub fn is_found_in(&self, text: &str) -> Result<bool> {
        let search = |text: &str| {
            self.regex.is_match(text).map_err(|_| {
                let text = "Error occurred while executing regular expression. \
                            Result code: -47 (match limit exceeded)";
                Error::new(FAILED, text)
            })
        };
        if search(text)? {
            return Ok(true);
        }
        match text.strip_suffix('\n') {
            Some(line) if self.has_end => search(line),
            _ => Ok(false),
        }
    }
}

fn has_same_options(a: &str, b: &str) -> bool {
    a.chars().all(|option| b.contains(option)) && b.chars().all(|option| a.contains(option))
}

/// Reads `$regex` and `$options` of a document of operators.
pub(super) fn parse(document: &RawDocument) -> Result<Pattern> {
    let given = match document.get("$options")? {
        None => None,
        Some(RawBsonRef::String(options)) => Some(options),
        Some(_) => return Err(Error::bad_value("$options has to be a string")),
    };
    match document.get("$regex")? {
        Some(RawBsonRef::String(text)) => Pattern::new(text, given.unwrap_or_default()),
        Some(RawBsonRef::RegularExpression(regex)) => {
            let own = regex.options.as_str();
            if !own.is_empty() && given.is_some_and(|given| !given.is_empty()) {
                let text = "options set in both $regex and $options";
                return Err(Error::location(options_code(document), text));
            }
            let options = given.filter(|given| !given.is_empty()).unwrap_or(own);
            Pattern::new(regex.pattern.as_str(), options)
        }
        _ => Err(Error::bad_value("$regex has to be a string")),
    }
}

/// The code of giving options twice depends on what comes first.
fn options_code(document: &RawDocument) -> i32 {
    let mut names = document.iter().flatten().map(|(name, _)| name.as_str());
    let first = names.find(|name| matches!(*name, "$regex" | "$options"));
    if first == Some("$options") { 51_074 } else { 51_075 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn prefixes_are_what_all_matches_begin_with() {
        let cases = [
            ("^abc", "", "abc"),
            ("^abc.*", "", "abc"),
            ("\\Aab-c d$", "", "ab-c d"),
            ("^abc?", "", "ab"),
            ("^abc*d", "", "ab"),
            ("^abc{0,2}", "", "ab"),
            ("^abc+", "", "abc"),
            ("^é?", "", ""),
            ("^a|b", "", ""),
            ("^(a)", "", ""),
            ("abc", "", ""),
            ("^abc", "i", ""),
            ("^abc", "m", ""),
            ("^ab c", "x", ""),
            ("^abc", "s", "abc"),
        ];
        for (text, options, expected) in cases {
            assert_eq!(
                Pattern::new(text, options).unwrap().prefix(),
                expected,
                "/{text}/{options}"
            );
        }
    }

    #[test]
    fn limits_hold() {
        let long = "a".repeat(40_000);
        let deep = "(?=".repeat(5000);
        for text in [r"(\w{1000}){1000}", "(", &long, &"(".repeat(9000), &deep] {
            let error = Pattern::new(text, "").unwrap_err();
            assert_eq!(error.code, INVALID, "{}", &text[..9.min(text.len())]);
        }
        let slow = Pattern::new(r"^(a|a)+\1c$", "").unwrap();
        assert_eq!(slow.is_found_in("aaac"), Ok(true));
        let error = slow.is_found_in(&format!("{}b", "a".repeat(40))).unwrap_err();
        assert_eq!(error.code, FAILED);
    }
}
