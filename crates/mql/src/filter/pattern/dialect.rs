//! From PCRE's dialect, which MongoDB's clients write, to that of the library.
//!
//! The differences that are mended: `\d`, `\w`, `\s` and `\h` mean ASCII; `[` and `&&` in a set are
//! characters, and so is `{` where it begins no quantifier; `\<` and `\>` are characters; `\Q..\E`
//! quotes; white space in a set counts even in verbose patterns; `(*UTF)` at the start says nothing
//! new.
// COMPAT: word boundaries know all letters, not only those of ASCII; a quantifier of a quantifier
// (`a{2}{3}`) needs a group around the inner one.

use std::iter::Peekable;
use std::str::Chars;

/// Translates a pattern. `is_verbose` is its option `x`.
pub(super) fn translate(pattern: &str, is_verbose: bool) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = without_verbs(pattern).chars().peekable();
    while let Some(c) = rest.next() {
        match c {
            '\\' => escape(&mut rest, &mut out),
            '#' if is_verbose => {
                out.push(c);
                out.extend(rest.by_ref().take_while(|c| *c != '\n').chain(['\n']));
            }
            '[' => {
                out.push(c);
                set(&mut rest, &mut out);
            }
            '{' if !begins_quantifier(&rest) => out.push_str("\\{"),
            _ => out.push(c),
        }
    }
    out
}

/// Leaves out verbs such as `(*UTF8)`.
fn without_verbs(mut pattern: &str) -> &str {
    const VERBS: [&str; 4] = ["(*UTF8)", "(*UTF)", "(*UCP)", "(*NO_START_OPT)"];
    while let Some(rest) = VERBS.iter().find_map(|verb| pattern.strip_prefix(verb)) {
        pattern = rest;
    }
    pattern
}

/// Whether digits, perhaps a comma and more digits, and a closing brace follow.
fn begins_quantifier(rest: &Peekable<Chars<'_>>) -> bool {
    let mut ahead = rest.clone();
    let mut digits = 0;
    while ahead.next_if(char::is_ascii_digit).is_some() {
        digits += 1;
    }
    if ahead.next_if_eq(&',').is_some() {
        while ahead.next_if(char::is_ascii_digit).is_some() {}
    }
    digits > 0 && ahead.next() == Some('}')
}

/// What follows a backslash outside of sets.
fn escape(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    match rest.next() {
        Some('Q') => quoted(rest, out),
        Some('E') => {}
        Some(c) => match class(c) {
            Some((is_negated, members)) => {
                out.push_str(if is_negated { "[^" } else { "[" });
                out.push_str(members);
                out.push(']');
            }
            None if matches!(c, '<' | '>') => out.push(c),
            None => out.extend(['\\', c]),
        },
        None => out.push('\\'),
    }
}

/// The characters up to `\E`, none of which is special.
fn quoted(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    while let Some(c) = rest.next() {
        if c == '\\' && rest.next_if_eq(&'E').is_some() {
            return;
        }
        if c.is_ascii_punctuation() && !matches!(c, '<' | '>') || c == ' ' {
            out.push('\\');
        }
        out.push(c);
    }
}

/// The members of a class of characters, and whether the class is all others.
fn class(c: char) -> Option<(bool, &'static str)> {
    let members = match c.to_ascii_lowercase() {
        'd' => "0-9",
        'w' => "0-9A-Za-z_",
        's' => "\\x20\\t\\n\\x0B\\x0C\\r",
        'h' => "\\t\\x20",
        _ => return None,
    };
    Some((c.is_ascii_uppercase(), members))
}

/// The rest of a set, up to its closing bracket.
fn set(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.extend(rest.next_if_eq(&'^'));
    if rest.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    while let Some(c) = rest.next() {
        match c {
            ']' => {
                out.push(c);
                return;
            }
            '\\' => escape_in_set(rest, out),
            // A class like `[:alpha:]`.
            '[' if rest.peek() == Some(&':') => {
                out.push(c);
                for c in rest.by_ref() {
                    out.push(c);
                    if c == ']' {
                        break;
                    }
                }
            }
            '[' | '&' | '~' | '#' => out.extend(['\\', c]),
            ' ' => out.push_str("\\x20"),
            '\t' => out.push_str("\\t"),
            '\n' => out.push_str("\\n"),
            _ => out.push(c),
        }
    }
}

fn escape_in_set(rest: &mut Peekable<Chars<'_>>, out: &mut String) {
    let Some(c) = rest.next() else { return out.push('\\') };
    match class(c) {
        Some((false, members)) => out.push_str(members),
        Some((true, members)) => {
            out.push_str("[^");
            out.push_str(members);
            out.push(']');
        }
        None if c == 'b' => out.push_str("\\x08"),
        None if matches!(c, '<' | '>') => out.push(c),
        None => out.extend(['\\', c]),
    }
}

#[cfg(test)]
mod tests {
    use super::super::Pattern;
    use super::translate;

    #[test]
    fn sets_and_braces_are_translated() {
        let cases = [
            (r"[[a]", r"[\[a]"),
            (r"[]a]b", r"[\]a]b"),
            (r"[^]a]", r"[^\]a]"),
            (r"[[:alpha:]_]", r"[[:alpha:]_]"),
            (r"[a&&b]", r"[a\&\&b]"),
            (r"\[[\]]", r"\[[\]]"),
            (r"[a", r"[a"),
            (r"a{2}{x}{,3}{4,}", r"a{2}\{x}\{,3}{4,}"),
            (r"\d[\d-]\<", r"[0-9][0-9-]<"),
            (r"\Qa.b\E.", r"a\.b."),
            (r"(*UTF8)a", "a"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(translate(pattern, false), expected, "{pattern}");
        }
        assert_eq!(translate("a # [ b\n[ ]", true), "a # [ b\n[\\x20]");
    }

    #[test]
    fn patterns_mean_what_they_mean_in_pcre() {
        let cases = [
            (r"^\d+$", "", "123", true),
            (r"^\d+$", "", "١٢٣", false),
            (r"^\w+$", "", "é", false),
            (r"[\D]", "", "1", false),
            (r"[\S ]", "", " ", true),
            (r"\H", "", " \t", false),
            (r"a{1", "", "a{1", true),
            (r"{a}", "", "{a}", true),
            (r"end$", "", "end\n", true),
            (r"end$", "", "end\n\n", false),
            (r"end\z", "", "end\n", false),
            (r"^b", "", "a\nb", false),
            (r"^b", "m", "a\nb", true),
            (r"a.b", "", "a\nb", false),
            (r"a.b", "s", "a\nb", true),
            (r"É", "i", "é", true),
            (r"a b # c", "x", "ab", true),
            (r"(?i)abc", "", "ABC", true),
            (r"(?<!x)y", "", "xy", false),
            (r"(a)\1", "", "aa", true),
            (r"(?>a+)a", "", "aaa", false),
            (r"\Q(a)\E", "", "(a)", true),
            (r"\/\-\@\_", "", "/-@_", true),
            (r"[\w\-\.]+@x\.org", "u", "a.b@x.org", true),
            (r"[\b]", "", "\u{8}", true),
            (r"\<a\>", "", "<a>", true),
            (r"^(?:a{2}){3}$", "", "aaaaaa", true),
        ];
        for (pattern, options, text, expected) in cases {
            let found = Pattern::new(pattern, options).unwrap().is_found_in(text);
            assert_eq!(found, Ok(expected), "/{pattern}/{options} in {text:?}");
        }
    }
}
