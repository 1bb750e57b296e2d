//! Regular expressions: matching, extracting, replacing. A pattern that does not compile, an
//! unknown modifier and a search that exceeds its limits all give undefined.

use fancy_regex::{Captures, Regex};
use value::Value;

use super::{Context, Function, TEXT_BYTES_MAX, text};

/// The cost limit for finding all matches, in bytes read: every match may read the whole text.
const MATCHES_COST_MAX: usize = 1 << 32;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("REGEXMATCH", 2..=3, |args, context| {
        let found = search(args, 2, context, |regex, text| regex.is_match(text).ok());
        found.map(Value::from).unwrap_or_default()
    }),
    Function::new("REGEXEXTRACT", 2..=4, |args, context| {
        extract(args, context).unwrap_or_default()
    }),
    Function::new("REGEXEXTRACTALL", 2..=4, |args, context| {
        extract_all(args, context).unwrap_or_default()
    }),
    Function::new("REGEXREPLACE", 3..=4, |args, context| {
        replace(args, context, 1).unwrap_or_default()
    }),
    Function::new("REGEXREPLACEALL", 3..=4, |args, context| {
        replace(args, context, usize::MAX).unwrap_or_default()
    }),
];

/// Runs a search of the second argument, with the modifiers at `modifiers`, in the first.
fn search<'a, T>(
    args: &'a [Value],
    modifiers: usize,
    context: &Context,
    run: impl FnOnce(&Regex, &'a str) -> Option<T>,
) -> Option<T> {
    let (subject, pattern) = (text(args, 0)?, text(args, 1)?);
    let modifiers = if modifiers < args.len() { text(args, modifiers)? } else { "" };
    run(&*context.patterns.get(pattern, modifiers, subject.len())?, subject)
}

/// The group that an optional argument names by its number: the whole match unless given.
fn group(args: &[Value], regex: &Regex) -> Option<usize> {
    let number = if args.len() > 3 { super::integer(args, 3)? } else { 0 };
    usize::try_from(number).ok().filter(|number| *number < regex.captures_len())
}

/// The first match, or a group of it; undefined when the group has no part in the match.
fn extract(args: &[Value], context: &Context) -> Option<Value> {
    search(args, 2, context, |regex, subject| {
        let group = group(args, regex)?;
        let found = regex.captures(subject).ok()??;
        Some(Value::from(found.get(group)?.as_str()))
    })
}

/// Every match, or a group of every match; those in which the group has no part are left out.
fn extract_all(args: &[Value], context: &Context) -> Option<Value> {
    search(args, 2, context, |regex, subject| {
        let group = group(args, regex)?;
        let mut all = Vec::new();
        for (count, found) in regex.captures_iter(subject).enumerate() {
            let found = found.ok().filter(|_| count < matches_max(subject))?;
            all.extend(found.get(group).map(|part| Value::from(part.as_str())));
        }
        Some(Value::from(all))
    })
}

fn matches_max(subject: &str) -> usize {
    MATCHES_COST_MAX / subject.len().max(1)
}

/// Replaces the first matches, at most `limit`.
fn replace(args: &[Value], context: &Context, limit: usize) -> Option<Value> {
    let by = text(args, 2)?;
    search(args, 3, context, |regex, subject| {
        let mut out = String::with_capacity(subject.len());
        let mut kept_to = 0;
        for (count, found) in regex.captures_iter(subject).take(limit).enumerate() {
            let found = found.ok().filter(|_| count < matches_max(subject))?;
            let whole = found.get(0)?;
            out.push_str(&subject[kept_to..whole.start()]);
            expand(by, &found, &mut out);
            kept_to = whole.end();
            if out.len() > TEXT_BYTES_MAX {
                return None;
            }
        }
        out.push_str(&subject[kept_to..]);
        Some(Value::from(out))
    })
}

/// Expands a replacement: `$1` and `${1}` are groups, `$0` the match, `$$` a dollar. A dollar
/// before anything else, or before the number of a missing group, is literal.
// COMPAT: Perl's notation; the service documents replacements only by an example without dollars.
fn expand(by: &str, found: &Captures<'_, str>, out: &mut String) {
    let mut rest = by;
    while let Some((before, after)) = rest.split_once('$') {
        out.push_str(before);
        rest = after;
        if let Some(after) = rest.strip_prefix('$') {
            out.push('$');
            rest = after;
        } else if let Some((number, after)) = group_number(rest).filter(|(n, _)| *n < found.len()) {
            out.push_str(found.get(number).map_or("", |part| part.as_str()));
            rest = after;
        } else {
            out.push('$');
        }
    }
    out.push_str(rest);
}

/// The number of a group, plain or in braces, and what follows it.
fn group_number(text: &str) -> Option<(usize, &str)> {
    let split = |text: &str| text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len());
    if let Some(inner) = text.strip_prefix('{') {
        let (digits, after) = inner.split_at(split(inner));
        return Some((digits.parse().ok()?, after.strip_prefix('}')?));
    }
    let (digits, after) = text.split_at(split(text));
    Some((digits.parse().ok()?, after))
}

#[cfg(test)]
mod tests {
    use value::Value;

    use crate::functions::{Context, lookup};

    /// Searches that backtrack without end, and those with matches without number.
    #[test]
    fn hostile_searches_end() {
        let context = Context::new(0);
        let cases = [
            ("REGEXMATCH", r"^(?:(a+)+\1?)+$", "a".repeat(50) + "!", Value::Undefined),
            ("REGEXMATCH", r"^(a|a)*\1$", "a".repeat(5000) + "!", Value::Undefined),
            ("REGEXMATCH", r"(a+)+$", "a".repeat(1 << 20) + "!", Value::from(false)),
            ("REGEXMATCH", r"foo(?=bar)", "fob ".repeat(1 << 16) + "foobar", Value::from(true)),
            ("REGEXMATCH", r"(?=[xyz])\w", "ab ".repeat(5_000), Value::from(false)),
            ("REGEXEXTRACTALL", "", "a".repeat(1 << 20), Value::Undefined),
        ];
        for (name, pattern, subject, expected) in cases {
            let args = [Value::from(subject), Value::from(pattern)];
            let function = lookup(name).unwrap();
            assert_eq!((function.call)(&args, &context), expected, "{pattern}");
        }
    }

    #[test]
    fn results_are_bounded() {
        let args = ["a".repeat(5000), "a".to_owned(), "b".repeat(5000)].map(Value::from);
        let function = lookup("REGEXREPLACEALL").unwrap();
        assert!((function.call)(&args, &Context::new(0)).is_undefined());
    }
}
