//! LIKE: its pattern determines how a string begins.

use value::Value;

use super::interval;
use super::scope::Analysis;
use super::{Filter, IndexUse, check};
use crate::ast::Expr;

impl Analysis<'_> {
    /// `operand LIKE pattern`, which is to be `holds`; the whole predicate is to be `wanted`.
    pub(super) fn like(
        &self,
        expr: &Expr,
        operand: &Expr,
        pattern: &Expr,
        escape: Option<char>,
        holds: bool,
        wanted: bool,
    ) -> Option<Filter> {
        let path = self.reference(operand)?.path;
        let Value::String(pattern) = self.constant(pattern)? else {
            return Some(Filter::Nothing);
        };
        let (start, rest) = head(&pattern, escape);
        let (matching, use_) = match rest {
            Rest::Nothing => (vec![interval::point(&Value::from(start))], IndexUse::Seek),
            Rest::Anything => (interval::prefix(&start), IndexUse::Precise),
            Rest::Pattern if holds && !start.is_empty() => {
                let within = interval::prefix(&start);
                return check::filter_within(self, expr, wanted, &within, IndexUse::Expanded);
            }
            Rest::Pattern => return None,
        };
        Some(self.strings(expr, wanted, holds, path, matching, use_))
    }
}

/// The rest of a pattern after its literal prefix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rest {
    /// No rest: the pattern is a plain string.
    Nothing,
    /// A single `%`.
    Anything,
    /// Anything else.
    Pattern,
}

/// The beginning of every string that matches, and what follows.
fn head(pattern: &str, escape: Option<char>) -> (String, Rest) {
    let mut head = String::new();
    let mut rest = pattern.chars();
    loop {
        let before = rest.as_str();
        let Some(c) = rest.next() else { return (head, Rest::Nothing) };
        if Some(c) == escape {
            // At the end it escapes nothing and is taken literally.
            if let Some(escaped) = rest.next() {
                head.push(escaped);
                continue;
            }
        }
        match c {
            '%' if before == "%" => return (head, Rest::Anything),
            '%' | '_' | '[' => return (head, Rest::Pattern),
            _ => head.push(c),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn heads() {
        for (pattern, escape, expected, rest) in [
            ("", None, "", Rest::Nothing),
            ("abc", None, "abc", Rest::Nothing),
            ("ab%", None, "ab", Rest::Anything),
            ("%", None, "", Rest::Anything),
            ("ab%%", None, "ab", Rest::Pattern),
            ("%b", None, "", Rest::Pattern),
            ("a_", None, "a", Rest::Pattern),
            ("a[b]", None, "a", Rest::Pattern),
            ("50!%", Some('!'), "50%", Rest::Nothing),
            ("50!%%", Some('!'), "50%", Rest::Anything),
            ("a!", Some('!'), "a!", Rest::Nothing),
            ("a%", Some('%'), "a", Rest::Anything),
            ("a%%", Some('%'), "a%", Rest::Nothing),
        ] {
            assert_eq!(head(pattern, escape), (expected.to_owned(), rest), "{pattern}");
        }
    }
}
