//! LIKE: `%` any run, `_` one character, `[a-f]` and `[^a-f]` one character of a set.

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
                ranges.iter().any(|(low, high)| (*low..=*high).contains(&c)) != *is_negated
            }
        }
    }
}

/// Whether the whole of `text` matches. Takes time by the product of both lengths at most: after
/// a failure only the last `%` is tried again, one character further.
pub(super) fn matches(text: &str, pattern: &str, escape: Option<char>) -> bool {
    let (text, pattern): (Vec<char>, _) = (text.chars().collect(), parse(pattern, escape));
    let (mut at, mut part) = (0, 0);
    // Behind the last `%` seen, and where its run ends for now.
    let mut retry: Option<(usize, usize)> = None;
    while at < text.len() {
        if let Some(Part::Run) = pattern.get(part) {
            part += 1;
            retry = Some((part, at));
        } else if pattern.get(part).is_some_and(|part| part.matches(text[at])) {
            (at, part) = (at + 1, part + 1);
        } else if let Some((after_run, run_end)) = retry {
            retry = Some((after_run, run_end + 1));
            (at, part) = (run_end + 1, after_run);
        } else {
            return false;
        }
    }
    pattern[part..].iter().all(|part| matches!(part, Part::Run))
}

fn parse(pattern: &str, escape: Option<char>) -> Vec<Part> {
    let pattern: Vec<char> = pattern.chars().collect();
    let mut parts = Vec::new();
    let mut at = 0;
    while let Some(&c) = pattern.get(at) {
        at += 1;
        let part = match c {
            _ if Some(c) == escape && at < pattern.len() => {
                at += 1;
                Part::Exactly(pattern[at - 1])
            }
            '%' => Part::Run,
            '_' => Part::Any,
            '[' => match parse_set(&pattern[at..], escape) {
                Some((set, length)) => {
                    at += length;
                    set
                }
                None => Part::Exactly('['),
            },
            _ => Part::Exactly(c),
        };
        parts.push(part);
    }
    parts
}

/// A set and its length, from behind its `[`. None without a `]` or without anything before it:
/// the `[` stands for itself then.
fn parse_set(pattern: &[char], escape: Option<char>) -> Option<(Part, usize)> {
    let is_negated = pattern.first() == Some(&'^');
    let mut at = usize::from(is_negated);
    let mut ranges = Vec::new();
    loop {
        let mut low = *pattern.get(at)?;
        if low == ']' {
            let part = Part::Set { ranges, is_negated };
            let is_empty = matches!(&part, Part::Set { ranges, .. } if ranges.is_empty());
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
    use super::matches;

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
