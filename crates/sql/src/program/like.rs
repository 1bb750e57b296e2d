//! LIKE: `%` any run, `_` one character, `[a-f]` and `[^a-f]` one character of a set.

use super::run::{Halt, Run};

/// Characters that are tried for one step of a run.
const TRIES_PER_STEP: usize = 64;

/// One part of a pattern.
enum Part {
    /// `%`.
    Run,
    /// `_`.
    Any,
    /// A character.
    Exactly(char),
    /// `[...]`: ranges, and whether they are what must not match.
    Set { ranges: Vec<(char, char)>, is_negated: bool },
}

impl Part {
    fn matches(&self, c: char) -> bool {
        match self {
            Part::Run => false,
            Part::Any => true,
            Part::Exactly(expected) => c == *expected,
            Part::Set { ranges, is_negated } => {
                // Sorted and apart: only the last that begins at or before the character can hold
                // it.
                let behind = ranges.partition_point(|(low, _)| *low <= c);
                let is_within = behind > 0 && c <= ranges[behind - 1].1;
                is_within != *is_negated
            }
        }
    }
}

/// Ranges of characters sorted and apart; those that are the wrong way round hold nothing.
fn merged(mut ranges: Vec<(char, char)>) -> Vec<(char, char)> {
    ranges.retain(|(low, high)| low <= high);
    ranges.sort_unstable();
    let mut merged: Vec<(char, char)> = Vec::with_capacity(ranges.len());
    for (low, high) in ranges {
        match merged.last_mut() {
            Some(last) if low <= last.1 => last.1 = last.1.max(high),
            _ => merged.push((low, high)),
        }
    }
    merged
}

/// A pattern, taken apart once for all texts.
pub(super) struct Pattern(Vec<Part>);

impl Pattern {
    /// Creates a pattern; after the `escape` character others are literal.
    pub(super) fn new(pattern: &str, escape: Option<char>) -> Pattern {
        Pattern(parse(pattern, escape))
    }

    /// Whether the whole of `text` matches. Takes time by the product of both lengths at most:
    /// after a failure only the last `%` is tried again, one character further.
    pub(super) fn matches(&self, text: &str, run: &mut Run<'_>) -> Result<bool, Halt> {
        let Pattern(pattern) = self;
        let (mut rest, mut part) = (text.chars(), 0);
        // The place after the last `%`, and the text after its current run.
        let mut retry: Option<(usize, std::str::Chars<'_>)> = None;
        for tried in 0_usize.. {
            if tried.is_multiple_of(TRIES_PER_STEP) {
                run.step()?;
            }
            let mut behind = rest.clone();
            let Some(c) = behind.next() else { break };
            if let Some(Part::Run) = pattern.get(part) {
                part += 1;
                retry = Some((part, rest.clone()));
            } else if pattern.get(part).is_some_and(|part| part.matches(c)) {
                (rest, part) = (behind, part + 1);
            } else if let Some((after_run, run_end)) = &mut retry {
                run_end.next();
                (rest, part) = (run_end.clone(), *after_run);
            } else {
                return Ok(false);
            }
        }
        Ok(pattern[part..].iter().all(|part| matches!(part, Part::Run)))
    }
}

fn parse(pattern: &str, escape: Option<char>) -> Vec<Part> {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    // If one set has no end, later ones have none either: searching from every `[` would take
    // forever.
    let mut has_ends = true;
    while let Some(&c) = pattern.get(at) {
        at += 1;
        let part = match c {
            _ if Some(c) == escape && at < pattern.len() => {
                at += 1;
                Part::Exactly(pattern[at - 1])
            }
            '%' => Part::Run,
            '_' => Part::Any,
            '[' if !has_ends => Part::Exactly('['),
            '[' => {
                let set = parse_set(&pattern[at..], escape);
                let is_empty = matches!(pattern.get(at..), Some([']', ..] | ['^', ']', ..]));
                has_ends = set.is_some() || is_empty;
                set.map_or(Part::Exactly('['), |(set, length)| {
                    at += length;
                    set
                })
            }
            _ => Part::Exactly(c),
        };
        parts.push(part);
    }
    parts
}

/// Parses a set after its `[`; returns it with its length. `None` if there is no `]` or nothing
/// before it: then the `[` is literal.
fn parse_set(pattern: &[char], escape: Option<char>) -> Option<(Part, usize)> {
    let is_negated = pattern.first() == Some(&'^');
    let mut at = usize::from(is_negated);
    let mut ranges = Vec::new();
    loop {
        let mut low = *pattern.get(at)?;
        if low == ']' {
            let is_empty = ranges.is_empty();
            let part = Part::Set { ranges: merged(ranges), is_negated };
            return (!is_empty).then_some((part, at + 1));
        }
        if Some(low) == escape {
            at += 1;
            low = *pattern.get(at)?;
        }
        at += 1;
        let high = match pattern.get(at..at + 2) {
            Some(&['-', high]) if high != ']' => {
                at += 2;
                high
            }
            _ => low,
        };
        ranges.push((low, high));
    }
}

#[cfg(test)]
mod tests {
    use super::{Pattern, Run};

    fn matches(text: &str, pattern: &str, escape: Option<char>) -> bool {
        Pattern::new(pattern, escape).matches(text, &mut Run::new(0, 0)).unwrap()
    }

    #[test]
    fn patterns() {
        for (text, pattern, expected) in [
            ("", "", true),
            ("", "%", true),
            ("a", "", false),
            ("abc", "a%", true),
            ("abc", "%c", true),
            ("abc", "%b%", true),
            ("abc", "a_c", true),
            ("abc", "a_", false),
            ("abc", "ABC", false),
            ("a\nb", "a%b", true),
            ("aab", "%ab", true),
            ("abcabd", "%ab_", true),
            ("b", "[abc]", true),
            ("d", "[a-f]", true),
            ("d", "[^a-f]", false),
            ("z", "[^a-f]", true),
            ("100%", "100[%]", true),
            ("a_b", "a[_]b", true),
            ("[", "[[]", true),
            ("a]", "a]", true),
            ("[a", "[a", true),
            ("-", "[a-]", true),
        ] {
            assert_eq!(matches(text, pattern, None), expected, "{text} LIKE {pattern}");
        }
    }

    #[test]
    fn escapes() {
        assert!(matches("50%", "50!%", Some('!')));
        assert!(!matches("500", "50!%", Some('!')));
        assert!(matches("a!", "a!!", Some('!')));
        assert!(matches("a!", "a!", Some('!')));
    }
}
