//! Functions over a path and constants: checks of types, comparison of strings, search in arrays.

use value::Value;

use super::interval::{self, ARRAY, FALSE, NULL, NUMBER, OBJECT, STRING, TRUE};
use super::path::{Path, Segment};
use super::scope::{Analysis, function_key};
use super::simplify::{and, or};
use super::{Filter, IndexUse, check, spatial};
use crate::ast::{Call, Expr, ExprKind};

impl Analysis<'_> {
    /// A predicate that is a function with an index of its own.
    pub(super) fn call(&self, expr: &Expr, wanted: bool) -> Option<Filter> {
        let ExprKind::Call(call) = &expr.kind else { return None };
        if call.is_udf {
            return None;
        }
        let name = function_key(&call.name.text);
        match name.as_str() {
            "STARTSWITH" => self.starts_with(expr, call, wanted),
            "STRINGEQUALS" => self.string_equals(expr, call, wanted),
            "REGEXMATCH" => self.regex_match(expr, call, wanted),
            "ARRAYCONTAINS" | "_TRYARRAYCONTAINS" => self.array_contains(expr, call, wanted),
            "ARRAYCONTAINSANY" | "ARRAYCONTAINSALL" => {
                self.array_contains_each(expr, call, name.ends_with("ANY"), wanted)
            }
            "STWITHIN" | "STINTERSECTS" if wanted => spatial::touching(self, expr, call),
            _ => self.type_check(expr, call, &name, wanted),
        }
    }

    /// These are never undefined, so that they are false where there is nothing.
    fn type_check(&self, expr: &Expr, call: &Call, name: &str, wanted: bool) -> Option<Filter> {
        let [argument] = call.args.as_slice() else { return None };
        let intervals = match name {
            "ISDEFINED" => interval::defined(),
            "ISNULL" => interval::of_type(NULL),
            "ISBOOL" | "ISBOOLEAN" => interval::of_types(FALSE, TRUE),
            "ISNUMBER" => interval::of_type(NUMBER),
            "ISSTRING" => interval::of_type(STRING),
            "ISARRAY" => interval::of_type(ARRAY),
            "ISOBJECT" => interval::of_type(OBJECT),
            "ISPRIMITIVE" => interval::of_types(NULL, STRING),
            "ISINTEGER" | "ISFINITENUMBER" if wanted => {
                self.reference(argument)?;
                let numbers = interval::of_type(NUMBER);
                return check::filter_within(self, expr, wanted, &numbers, IndexUse::Precise);
            }
            "ISDATETIME" if wanted => {
                self.reference(argument)?;
                let strings = interval::of_type(STRING);
                return check::filter_within(self, expr, wanted, &strings, IndexUse::Full);
            }
            _ => return None,
        };
        let path = self.reference(argument)?.path;
        if !wanted {
            let others = interval::difference(&interval::anything(), &intervals);
            return Some(self.test(expr, wanted, path, others, true, IndexUse::Full));
        }
        let use_ = if name == "ISNULL" { IndexUse::Seek } else { IndexUse::Precise };
        Some(self.test(expr, wanted, path, intervals, true, use_))
    }

    fn starts_with(&self, expr: &Expr, call: &Call, wanted: bool) -> Option<Filter> {
        let (argument, prefix, ignores_case) = self.text_arguments(call)?;
        if ignores_case {
            let strings = interval::of_type(STRING);
            return check::filter_within(self, expr, wanted, &strings, IndexUse::Expanded);
        }
        let path = self.reference(argument)?.path;
        let matching = interval::prefix(&prefix);
        Some(self.strings(expr, wanted, wanted, path, matching, IndexUse::Precise))
    }

    fn string_equals(&self, expr: &Expr, call: &Call, wanted: bool) -> Option<Filter> {
        let exchanged = || {
            let mut call = call.clone();
            if call.args.len() > 1 {
                call.args.swap(0, 1);
            }
            call
        };
        let exchanged = if self.text_arguments(call).is_none() { Some(exchanged()) } else { None };
        let (argument, text, ignores_case) =
            self.text_arguments(exchanged.as_ref().unwrap_or(call))?;
        if ignores_case {
            let strings = interval::of_type(STRING);
            return check::filter_within(self, expr, wanted, &strings, IndexUse::Expanded);
        }
        let path = self.reference(argument)?.path;
        let matching = vec![interval::point(&Value::from(text))];
        Some(self.strings(expr, wanted, wanted, path, matching, IndexUse::Seek))
    }

    /// The test for strings that match, or for the other strings.
    pub(super) fn strings(
        &self,
        expr: &Expr,
        wanted: bool,
        holds: bool,
        path: Path,
        matching: Vec<interval::Interval>,
        use_: IndexUse,
    ) -> Filter {
        if holds {
            return self.test(expr, wanted, path, matching, true, use_);
        }
        let others = interval::difference(&interval::of_type(STRING), &matching);
        self.test(expr, wanted, path, others, true, IndexUse::Full)
    }

    /// The arguments of a function over a path, a constant string and whether to ignore case.
    fn text_arguments<'e>(&self, call: &'e Call) -> Option<(&'e Expr, String, bool)> {
        let (argument, text, flag) = match call.args.as_slice() {
            [argument, text] => (argument, text, None),
            [argument, text, flag] => (argument, text, Some(flag)),
            _ => return None,
        };
        self.reference(argument)?;
        let Value::String(text) = self.constant(text)? else { return None };
        let ignores_case = match flag {
            Some(flag) => self.constant(flag)?.as_bool()?,
            None => false,
        };
        Some((argument, text, ignores_case))
    }

    /// A pattern anchored at the start determines how the string begins.
    fn regex_match(&self, expr: &Expr, call: &Call, wanted: bool) -> Option<Filter> {
        let (argument, pattern) = match call.args.as_slice() {
            [argument, pattern] if wanted => (argument, pattern),
            _ => return None,
        };
        self.reference(argument)?;
        let Value::String(pattern) = self.constant(pattern)? else { return None };
        let head = regex_head(&pattern)?;
        let within = interval::prefix(&head);
        check::filter_within(self, expr, wanted, &within, IndexUse::Expanded)
    }

    fn array_contains(&self, expr: &Expr, call: &Call, wanted: bool) -> Option<Filter> {
        let (array, needle) = match call.args.as_slice() {
            [array, needle] => (array, needle),
            // Whether a partial match is enough; if the flag is not a boolean, the result is
            // undefined.
            [array, needle, flag] if self.constant(flag)?.as_bool().is_some() => (array, needle),
            _ => return None,
        };
        if let (Some(reference), Some(needle)) = (self.reference(array), self.constant(needle)) {
            return Some(self.contains(expr, wanted, &reference.path, &needle));
        }
        let (Value::Array(constants), Some(reference)) =
            (self.constant(array)?, self.reference(needle))
        else {
            return None;
        };
        // A partial match differs only for arrays and objects, of which the index only has the
        // type.
        Some(self.among(expr, wanted, reference.path, &constants, wanted))
    }

    fn array_contains_each(
        &self,
        expr: &Expr,
        call: &Call,
        is_any: bool,
        wanted: bool,
    ) -> Option<Filter> {
        let (array, needles) = call.args.split_first()?;
        let path = self.reference(array)?.path;
        let needles = needles.iter().map(|needle| self.constant(needle));
        let needles = needles.collect::<Option<Vec<_>>>()?;
        let each = needles.iter().map(|needle| self.contains(expr, wanted, &path, needle));
        Some(if is_any == wanted { or(each) } else { and(each) })
    }

    /// True if the array at the path contains a value, or one that has all of its parts; or that it
    /// does not.
    fn contains(&self, expr: &Expr, wanted: bool, path: &Path, needle: &Value) -> Filter {
        if needle.is_undefined() {
            return Filter::Nothing;
        }
        if wanted {
            return self.has_parts(expr, wanted, &path.then(Segment::Element), needle);
        }
        let arrays = interval::of_type(ARRAY);
        self.test(expr, wanted, path.clone(), arrays, false, IndexUse::Full)
    }
}

/// The letters and digits that every match begins with, if a pattern is anchored and has no
/// alternatives.
fn regex_head(pattern: &str) -> Option<String> {
    let rest = pattern.strip_prefix('^')?;
    if pattern.contains('|') {
        return None;
    }
    let length = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
    let (mut head, rest) = rest.split_at(length);
    // The last one belongs to what repeats it.
    if rest.starts_with(['*', '?', '{', '+']) {
        head = &head[..head.len().saturating_sub(1)];
    }
    (!head.is_empty()).then(|| head.to_owned())
}

#[cfg(test)]
mod tests {
    use super::regex_head;

    #[test]
    fn heads_of_regular_expressions() {
        for (pattern, expected) in [
            ("^abc", Some("abc")),
            ("^ab*", Some("a")),
            ("^ab{0}", Some("a")),
            ("^a1.*z$", Some("a1")),
            ("^a?", None),
            ("^a|b", None),
            ("abc", None),
            ("^(?i)abc", None),
            ("^", None),
        ] {
            assert_eq!(regex_head(pattern).as_deref(), expected, "{pattern}");
        }
    }
}
