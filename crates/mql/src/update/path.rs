//! Paths of updates: dotted names, with `$`, `$[]` and `$[id]` for elements of arrays.

use std::cmp::Ordering;

use crate::error::{Code, Error, Result};
use crate::path::PARTS_MAX;

/// A part of a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// A field, or a position in an array.
    Name(Name),
    /// `$`: the element that the query matched.
    Matched,
    /// `$[id]`: the elements that an array filter matches; without a name, all of them.
    Every(String),
}

/// The name of a field. Names that are numbers are ordered as numbers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Name(pub(super) String);

impl Name {
    fn is_number(&self) -> bool {
        self.0.bytes().all(|byte| byte.is_ascii_digit())
    }
}

impl Ord for Name {
    fn cmp(&self, other: &Self) -> Ordering {
        if self.is_number() && other.is_number() {
            let (a, b) = (self.0.trim_start_matches('0'), other.0.trim_start_matches('0'));
            return a.len().cmp(&b.len()).then(a.cmp(b)).then(self.0.cmp(&other.0));
        }
        self.0.cmp(&other.0)
    }
}

impl PartialOrd for Name {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// A path of an update, taken apart.
#[derive(Clone, Debug)]
pub(super) struct UpdatePath {
    pub(super) text: String,
    pub(super) parts: Vec<Part>,
}

impl UpdatePath {
    /// Splits and checks a path.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.is_empty() {
            return Err(Error::new(Code::EMPTY_FIELD_NAME, "An empty update path is not valid."));
        }
        let parts: Vec<Part> = text.split('.').map(part).collect();
        if parts.len() > PARTS_MAX {
            return Err(Error::new(Code::OVERFLOW, "FieldPath is too long"));
        }
        if text.split('.').any(str::is_empty) {
            return Err(Error::new(
                Code::EMPTY_FIELD_NAME,
                format!(
                    "The update path '{text}' contains an empty field name, which is not allowed."
                ),
            ));
        }
        let path = Self { text: text.to_owned(), parts };
        path.check_positions()?;
        Ok(path)
    }

    fn check_positions(&self) -> Result<()> {
        let text = &self.text;
        let wrong = |message: String| Err(Error::bad_value(message));
        match &self.parts[0] {
            Part::Name(_) => {}
            Part::Matched => {
                return wrong(format!(
                    "Cannot have positional (i.e. '$') element in the first position in path \
                     '{text}'"
                ));
            }
            Part::Every(_) => {
                return wrong(format!(
                    "Cannot have array filter identifier (i.e. '$[<id>]') element in the first \
                     position in path '{text}'"
                ));
            }
        }
        if self.parts.iter().filter(|part| **part == Part::Matched).count() > 1 {
            return wrong(format!(
                "Too many positional (i.e. '$') elements found in path '{text}'"
            ));
        }
        Ok(())
    }

    /// The first parts, with dots again.
    pub(super) fn prefix(&self, parts: usize) -> String {
        let names: Vec<&str> = self.text.split('.').take(parts).collect();
        names.join(".")
    }

    /// Whether a part depends on the query or an array filter.
    pub(super) fn is_dynamic(&self) -> bool {
        self.parts.iter().any(|part| !matches!(part, Part::Name(_)))
    }
}

fn part(text: &str) -> Part {
    if text == "$" {
        return Part::Matched;
    }
    match text.strip_prefix("$[").and_then(|rest| rest.strip_suffix(']')) {
        Some(identifier) => Part::Every(identifier.to_owned()),
        None => Part::Name(Name(text.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_numbers_are_ordered_as_numbers() {
        let mut names = ["b", "10", "9", "a", "009", "1a"].map(|name| Name(name.to_owned()));
        names.sort();
        assert_eq!(names.map(|name| name.0), ["009", "9", "10", "1a", "a", "b"]);
    }

    #[test]
    fn paths_that_lead_nowhere_are_refused() {
        let cases = [
            ("", 56, "An empty update path is not valid."),
            (
                "a..b",
                56,
                "The update path 'a..b' contains an empty field name, which is not allowed.",
            ),
            ("a.", 56, "The update path 'a.' contains an empty field name, which is not allowed."),
            (
                "$.a",
                2,
                "Cannot have positional (i.e. '$') element in the first position in path '$.a'",
            ),
            (
                "$[].a",
                2,
                "Cannot have array filter identifier (i.e. '$[<id>]') element in the first \
                 position in path '$[].a'",
            ),
            ("a.$.b.$", 2, "Too many positional (i.e. '$') elements found in path 'a.$.b.$'"),
        ];
        for (path, code, message) in cases {
            let error = UpdatePath::parse(path).unwrap_err();
            assert_eq!((error.code.number(), error.message.as_str()), (code, message));
        }
        let deep = vec!["a"; 201].join(".");
        assert_eq!(UpdatePath::parse(&deep).unwrap_err().code, Code::OVERFLOW);
        let path = UpdatePath::parse("a.$[x].b.$[]").unwrap();
        assert!(path.is_dynamic());
        assert_eq!(path.parts[1], Part::Every("x".to_owned()));
        assert_eq!(path.prefix(2), "a.$[x]");
    }
}
