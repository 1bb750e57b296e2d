//! Compiled regular expressions: the dialect, the limits that keep a hostile one from taking the
//! server's time, and the cache that makes a constant pattern cost one compilation per query.
//!
//! Patterns without look-around and back references run in time linear in the text. The others
//! backtrack; how often is bounded by the length of the text, since a single step may read all of
//! it.

use std::sync::{Arc, Mutex, PoisonError};

use fancy_regex::{Regex, RegexBuilder};

/// Longest pattern, in bytes.
const PATTERN_BYTES_MAX: usize = 16 * 1024;
/// Largest compiled pattern, in bytes: `\w{1000}{1000}` is short to write.
const COMPILED_BYTES_MAX: usize = 1024 * 1024;
/// How many instructions the backtracking machine may have.
const PROGRAM_STEPS_MAX: usize = 100_000;
/// What one search may cost, in bytes read: backtracks times the length of the text. A search that
/// fails backtracks once or twice per character, so that texts up to 16 KiB can be searched through
/// with any sane pattern, and longer ones with patterns that need no backtracking.
const SEARCH_COST_MAX: usize = 1 << 29;
/// Most backtracks, however short the text.
const BACKTRACKS_MAX: usize = 250_000;
/// Compiled patterns kept.
const CACHE_ENTRIES_MAX: usize = 16;

/// Patterns compiled lately, the latest last. Those that do not compile are kept too: they cost as
/// much to find out.
#[derive(Default)]
pub(super) struct Cache(Mutex<Vec<Entry>>);

struct Entry {
    pattern: String,
    modifiers: String,
    backtracks: usize,
    compiled: Option<Arc<Regex>>,
}

impl Cache {
    /// The compiled pattern, for a text of a length; `None` if it cannot be compiled.
    pub(super) fn get(
        &self,
        pattern: &str,
        modifiers: &str,
        text_bytes: usize,
    ) -> Option<Arc<Regex>> {
        if pattern.len() > PATTERN_BYTES_MAX || modifiers.len() > MODIFIERS_MAX {
            return None;
        }
        let backtracks = (SEARCH_COST_MAX / text_bytes.next_power_of_two()).min(BACKTRACKS_MAX);
        let mut entries = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let is_same = |entry: &Entry| {
            entry.pattern == pattern
                && entry.modifiers == modifiers
                && entry.backtracks == backtracks
        };
        if let Some(place) = entries.iter().rposition(is_same) {
            entries[place..].rotate_left(1);
            return entries.last().and_then(|entry| entry.compiled.clone());
        }
        if entries.len() == CACHE_ENTRIES_MAX {
            entries.remove(0);
        }
        let compiled = compile(pattern, modifiers, backtracks).map(Arc::new);
        let (pattern, modifiers) = (pattern.to_owned(), modifiers.to_owned());
        entries.push(Entry { pattern, modifiers, backtracks, compiled: compiled.clone() });
        compiled
    }
}

/// Longest string of modifiers: more than enough to give each of the four twice.
const MODIFIERS_MAX: usize = 8;

fn compile(pattern: &str, modifiers: &str, backtracks: usize) -> Option<Regex> {
    if !modifiers.chars().all(|modifier| "msix".contains(modifier)) {
        return None;
    }
    let is_verbose = modifiers.contains('x');
    RegexBuilder::new(&translate(pattern, is_verbose))
        .multi_line(modifiers.contains('m'))
        .dot_matches_new_line(modifiers.contains('s'))
        .case_insensitive(modifiers.contains('i'))
        .ignore_whitespace(is_verbose)
        .backtrack_limit(backtracks)
        .max_prog_size(PROGRAM_STEPS_MAX)
        .delegate_size_limit(COMPILED_BYTES_MAX)
        .delegate_dfa_size_limit(COMPILED_BYTES_MAX)
        .build()
        .ok()
}

/// From the service's dialect (Perl's) to that of the library. They differ within brackets: in
/// Perl `[[a&&b]` is a set of four characters, and white space counts even in verbose patterns.
// COMPAT: `$` does not match before a line feed that ends the text, as it does in Perl; the
// library could only do that by backtracking.
fn translate(pattern: &str, is_verbose: bool) -> String {
    let mut out = String::with_capacity(pattern.len());
    let mut rest = pattern.chars().peekable();
    while let Some(c) = rest.next() {
        out.push(c);
        match c {
            '\\' => out.extend(rest.next()),
            '#' if is_verbose => out.extend(rest.by_ref().take_while(|c| *c != '\n').chain(['\n'])),
            '[' => translate_set(&mut rest, &mut out),
            _ => {}
        }
    }
    out
}

/// The rest of a set, up to its closing bracket.
fn translate_set(rest: &mut std::iter::Peekable<std::str::Chars<'_>>, out: &mut String) {
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
            '\\' => {
                out.push(c);
                out.extend(rest.next());
            }
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

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::{CACHE_ENTRIES_MAX, Cache, translate};

    #[test]
    fn a_pattern_is_compiled_once() {
        let cache = Cache::default();
        let first = cache.get("a+", "", 3).unwrap();
        for number in 0..CACHE_ENTRIES_MAX - 1 {
            cache.get(&format!("x{number}"), "", 3).unwrap();
            assert!(Arc::ptr_eq(&first, &cache.get("a+", "", 4).unwrap()));
        }
        for number in 0..CACHE_ENTRIES_MAX {
            cache.get(&format!("y{number}"), "", 3).unwrap();
        }
        assert!(!Arc::ptr_eq(&first, &cache.get("a+", "", 3).unwrap()));
        assert_eq!(cache.0.lock().unwrap().len(), CACHE_ENTRIES_MAX);
    }

    #[test]
    fn sets_are_translated() {
        let cases = [
            (r"[[a]", r"[\[a]"),
            (r"[]a]b", r"[\]a]b"),
            (r"[^]a]", r"[^\]a]"),
            (r"[[:alpha:]_]", r"[[:alpha:]_]"),
            (r"[a&&b]", r"[a\&\&b]"),
            (r"\[[\]]", r"\[[\]]"),
            (r"[a", r"[a"),
        ];
        for (pattern, expected) in cases {
            assert_eq!(translate(pattern, false), expected);
        }
        assert_eq!(translate("a # [ b\n[ ]", true), "a # [ b\n[\\x20]");
    }

    #[test]
    fn limits_hold() {
        let cache = Cache::default();
        let long = "a".repeat(20_000);
        for pattern in
            [r"\w{1000}{1000}", "(", long.as_str(), &"(".repeat(9000), &"(?=".repeat(5000)]
        {
            assert!(cache.get(pattern, "", 1).is_none(), "{}", &pattern[..9.min(pattern.len())]);
        }
        assert!(cache.get("a", "q", 1).is_none());
        assert!(cache.get("a", "iiiiiiiii", 1).is_none());
    }
}
