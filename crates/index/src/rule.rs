//! The paths of indexing policies. Unlike document paths they name sets of values: `/a/?` is the
//! value at `a`, `/a/*` everything at and below it, `/a/[]/?` the elements of an array, and
//! `/a/[]/{x, y}/?` pairs of values within each element. Old clients write `/` for `/*` and `/a/`
//! for `/a/*`.

use value::json::DEPTH_MAX;

use crate::path::{Path, Segment, is_plain};

/// A parsed path of a policy. Rules are equal if they select the same values, however quoted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Rule {
    /// The place; empty for the root.
    pub path: Path,
    /// The property names of each tuple member's path; empty if this is not a tuple.
    pub tuple: Vec<Vec<String>>,
    /// What the path selects at its end.
    pub ending: Ending,
}

/// What a path selects at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Ending {
    /// `/?`: the value there.
    Scalar,
    /// `/*`: the value there and everything below.
    Subtree,
}

/// Why a text is not a path of a policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a path of an indexing policy, at offset {position}")]
pub struct RuleError {
    /// The byte offset of the error.
    pub position: usize,
}

impl Rule {
    /// Parses an entry of `includedPaths`, `excludedPaths` or `spatialIndexes`.
    pub fn parse(text: &str) -> Result<Rule, RuleError> {
        parse_rule(text).map_err(|position| RuleError { position })
    }

    /// Whether this is `/*`, which every policy must include or exclude.
    pub fn is_root(&self) -> bool {
        self.path.0.is_empty()
    }

    /// Whether the path leads through the property `name` of the document.
    pub fn starts_at(&self, name: &str) -> bool {
        matches!(self.path.0.first(), Some(Segment::Key(property)) if property == name)
    }
}

/// Parses a member of a composite index: a path without an ending, through at most one array.
pub fn parse_composite_path(text: &str) -> Result<Path, RuleError> {
    let parse = || {
        let segments: Vec<_> =
            split(text)?.into_iter().map(|(at, raw)| segment(at, raw)).collect::<Result<_, _>>()?;
        let arrays = segments.iter().filter(|segment| **segment == Segment::Element).count();
        if arrays > 1 { Err(text.len()) } else { Ok(Path(segments)) }
    };
    parse().map_err(|position| RuleError { position })
}

/// Like [`Rule::parse`]; the error is the offset of what is wrong, as in all functions below.
fn parse_rule(text: &str) -> Result<Rule, usize> {
    let mut parts = split(text)?;
    let ending = match parts.pop() {
        Some((_, "" | "*")) => Ending::Subtree,
        // The document itself is never a scalar, so `/?` is rejected.
        Some((_, "?")) if !parts.is_empty() => Ending::Scalar,
        Some((at, _)) => return Err(at),
        None => return Err(0),
    };
    let tuple = match parts.last() {
        Some(&(at, raw)) if raw.starts_with('{') => {
            parts.pop();
            Some((at, parse_tuple(at, raw)?))
        }
        _ => None,
    };
    let segments: Vec<_> =
        parts.into_iter().map(|(at, raw)| segment(at, raw)).collect::<Result<_, _>>()?;
    if let Some((at, _)) = tuple {
        let arrays = segments.iter().filter(|segment| **segment == Segment::Element).count();
        if ending != Ending::Scalar || arrays != 1 || segments.last() != Some(&Segment::Element) {
            return Err(at);
        }
    }
    let tuple = tuple.map(|(_, members)| members).unwrap_or_default();
    Ok(Rule { path: Path(segments), tuple, ending })
}

/// Splits the text at its slashes, with the offset of each part. Only the last part may be empty.
fn split(text: &str) -> Result<Vec<(usize, &str)>, usize> {
    let mut parts = Vec::new();
    let mut at = 0;
    while at < text.len() || at == 0 {
        if text.as_bytes().get(at) != Some(&b'/') {
            return Err(at);
        }
        let end = part_end(text, at + 1)?;
        // Deeper than any document. The limit also bounds recursion in the path tree.
        if (end == at + 1 && end < text.len()) || parts.len() > DEPTH_MAX {
            return Err(end);
        }
        parts.push((at + 1, &text[at + 1..end]));
        at = end;
    }
    Ok(parts)
}

/// The end of the part that starts at `start`. A slash within quotes or braces does not end it.
fn part_end(text: &str, start: usize) -> Result<usize, usize> {
    let closing = match text.as_bytes().get(start) {
        Some(&quote @ (b'"' | b'\'')) => return quote_end(text, start, quote),
        Some(b'{') => b'}',
        _ => b'/',
    };
    let mut at = start;
    while let Some(&byte) = text.as_bytes().get(at) {
        if byte == closing {
            return Ok(if closing == b'}' { at + 1 } else { at });
        }
        at = match byte {
            b'"' | b'\'' if closing == b'}' => quote_end(text, at, byte)?,
            _ => at + 1,
        };
    }
    if closing == b'/' { Ok(at) } else { Err(start) }
}

/// The offset after the closing quote of the quoted text that starts at `start`.
fn quote_end(text: &str, start: usize, quote: u8) -> Result<usize, usize> {
    let mut at = start + 1;
    while let Some(&byte) = text.as_bytes().get(at) {
        match byte {
            b'\\' => at += 2,
            _ if byte == quote => return Ok(at + 1),
            _ => at += 1,
        }
    }
    Err(start)
}

fn segment(at: usize, raw: &str) -> Result<Segment, usize> {
    if raw == "[]" { Ok(Segment::Element) } else { label(at, raw).map(Segment::Key) }
}

/// A property name. Needs quotes unless it has only letters, digits and `_`.
fn label(at: usize, raw: &str) -> Result<String, usize> {
    if raw.starts_with(['"', '\'']) {
        // Document paths use the same quoting.
        let path = value::path::Path::parse(&format!("/{raw}")).map_err(|_| at)?;
        return path.segments().first().cloned().ok_or(at);
    }
    if is_plain(raw) { Ok(raw.to_owned()) } else { Err(at) }
}

/// The members of `{name, "a b"/c}`: relative paths of property names.
fn parse_tuple(at: usize, raw: &str) -> Result<Vec<Vec<String>>, usize> {
    let inner = raw.strip_prefix('{').and_then(|raw| raw.strip_suffix('}')).ok_or(at)?;
    let mut members = Vec::new();
    let mut start = 0;
    let mut next = 0;
    while let Some(&byte) = inner.as_bytes().get(next) {
        match byte {
            b'"' | b'\'' => next = quote_end(inner, next, byte).map_err(|_| at)?,
            b',' => {
                members.push(&inner[start..next]);
                next += 1;
                start = next;
            }
            _ => next += 1,
        }
    }
    members.push(&inner[start..]);
    let names = |member: &&str| {
        let path = format!("/{}", member.trim());
        let parts = split(&path).map_err(|_| at)?;
        parts.into_iter().map(|(_, raw)| label(at, raw)).collect::<Result<Vec<_>, _>>()
    };
    members.iter().map(names).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn path(segments: &[&str], ending: Ending) -> Rule {
        let segment = |name: &&str| match *name {
            "[]" => Segment::Element,
            name => Segment::Key(name.to_owned()),
        };
        let path = Path(segments.iter().map(segment).collect());
        Rule { path, tuple: Vec::new(), ending }
    }

    #[test]
    fn good_paths() {
        use Ending::{Scalar, Subtree};
        for (text, expected) in [
            ("/", path(&[], Subtree)),
            ("/*", path(&[], Subtree)),
            ("/a/?", path(&["a"], Scalar)),
            ("/a/*", path(&["a"], Subtree)),
            ("/a/", path(&["a"], Subtree)),
            ("/a_1/B/?", path(&["a_1", "B"], Scalar)),
            ("/é/?", path(&["é"], Scalar)),
            ("/a/[]/?", path(&["a", "[]"], Scalar)),
            ("/a/[]/b/[]/*", path(&["a", "[]", "b", "[]"], Subtree)),
            ("/\"_etag\"/?", path(&["_etag"], Scalar)),
            ("/'a/b'/\"c\\\"d\"/*", path(&["a/b", "c\"d"], Subtree)),
            ("/\"?\"/?", path(&["?"], Scalar)),
        ] {
            assert_eq!(Rule::parse(text).unwrap(), expected, "{text}");
        }
        assert!(Rule::parse("/").unwrap().is_root());
        assert!(Rule::parse("/\"_etag\"/x/*").unwrap().starts_at("_etag"));
    }

    #[test]
    fn tuples() {
        let parsed = Rule::parse("/events/[]/{name, \"a, b\"/c}/?").unwrap();
        assert_eq!(
            parsed.tuple,
            [vec!["name".to_owned()], vec!["a, b".to_owned(), "c".to_owned()]]
        );
        assert_eq!(parsed.path.0.len(), 2);
        for bad in [
            "/a/[]/{b}/*",
            "/a/{b}/?",
            "/a/[]/b/[]/{c}/?",
            "/a/[]/b/{c}/?",
            "/a/[]/{}/?",
            "/a/[]/{b,}/?",
            "/a/[]/{/b}/?",
            "/a/[]/{b/?}/?",
            "/a/[]/{[]}/?",
            "/a/[]/{b/?",
            "/a/[]/{{b}}/?",
            "/a/[]/{\"b}/?",
            "/{a}/[]/?",
        ] {
            assert!(Rule::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn bad_paths() {
        for bad in [
            "",
            "a",
            "*",
            "/?",
            "/a",
            "a/?",
            "/a/b",
            "//",
            "//*",
            "/a//?",
            "/a/?/b",
            "/*/a/?",
            "/a/**",
            "/a-b/?",
            "/a b/?",
            "/\"a/?",
            "/\"a\"b/?",
            "/\"\\x\"/?",
            "/[0]/?",
            "/a/[]",
            "/$type/?",
            "/\"a\\",
            "/'",
        ] {
            assert!(Rule::parse(bad).is_err(), "{bad}");
        }
        assert_eq!(Rule::parse("/a/first-name/?").unwrap_err(), RuleError { position: 3 });
        assert!(Rule::parse(&format!("{}/?", "/a".repeat(128))).is_ok());
        assert!(Rule::parse(&format!("{}/?", "/a".repeat(100_000))).is_err());
    }

    #[test]
    fn composite_paths_have_no_ending_and_one_array_at_most() {
        for good in ["/a", "/a/\"b c\"", "/a/[]/b"] {
            assert!(parse_composite_path(good).is_ok(), "{good}");
        }
        for bad in ["", "/", "a", "/a/?", "/a/*", "/a/", "/a/[]/b/[]/c", "/a/[]/{b}"] {
            assert!(parse_composite_path(bad).is_err(), "{bad}");
        }
    }
}
