//! JSON pointers: `/tags/0`, `/a~1b` for a member called `a/b`, `/~0` for one called `~`.

/// Where in a document an operation works. It names a member of the document or something inside
/// one, never the document itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Pointer {
    text: String,
    /// At least one.
    segments: Vec<String>,
}

/// A place in an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Index {
    At(usize),
    /// Behind the last element, wherever that is: `-`.
    End,
}

impl Pointer {
    /// Reads a pointer; `None` if the text is none.
    pub(super) fn parse(text: &str) -> Option<Self> {
        let segments: Option<Vec<String>> =
            text.strip_prefix('/')?.split('/').map(unescape).collect();
        Some(Self { text: text.to_owned(), segments: segments? })
    }

    pub(super) fn text(&self) -> &str {
        &self.text
    }

    /// The member of the document that holds the place.
    pub(super) fn first(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }

    /// The way to what holds the place, and the place's own name in it.
    pub(super) fn split_last(&self) -> (&[String], &str) {
        self.segments.split_last().map_or((&[], ""), |(last, parents)| (parents, last))
    }

    /// Whether this is another place inside `outer`.
    pub(super) fn is_inside(&self, outer: &Self) -> bool {
        self.segments.len() > outer.segments.len() && self.segments.starts_with(&outer.segments)
    }

    /// Whether a change here can change what is at `path`, or the other way round: one leads to
    /// the other.
    pub(super) fn meets(&self, path: &[String]) -> bool {
        self.segments.iter().zip(path).all(|(ours, theirs)| ours == theirs)
    }
}

/// A segment as a place in an array: digits without leading zeros, or `-`.
pub(super) fn index(segment: &str) -> Option<Index> {
    if segment == "-" {
        return Some(Index::End);
    }
    let is_canonical =
        segment == "0" || !segment.starts_with('0') && segment.bytes().all(|b| b.is_ascii_digit());
    is_canonical.then(|| segment.parse().ok().map(Index::At)).flatten()
}

/// `~1` stands for a slash, `~0` for a tilde; a tilde stands for nothing else.
fn unescape(segment: &str) -> Option<String> {
    let mut parts = segment.split('~');
    let mut out = parts.next()?.to_owned();
    for part in parts {
        let (escaped, rest) = match part.as_bytes().first()? {
            b'0' => ('~', &part[1..]),
            b'1' => ('/', &part[1..]),
            _ => return None,
        };
        out.push(escaped);
        out.push_str(rest);
    }
    Some(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_unescaped() {
        for (text, segments) in [
            ("/a", &["a"][..]),
            ("/a/b c/0", &["a", "b c", "0"]),
            ("/a~1b/~0/m~01n", &["a/b", "~", "m~1n"]),
            ("/", &[""]),
            ("/a/", &["a", ""]),
            ("/é~1ü", &["é/ü"]),
        ] {
            assert_eq!(Pointer::parse(text).expect(text).segments, segments, "{text}");
        }
        for text in ["", "a", "a/b", "/~", "/a~", "/~2", "/a~/b", "/~é"] {
            assert_eq!(Pointer::parse(text), None, "{text}");
        }
    }

    #[test]
    fn indexes_are_canonical() {
        assert_eq!(index("0"), Some(Index::At(0)));
        assert_eq!(index("120"), Some(Index::At(120)));
        assert_eq!(index("-"), Some(Index::End));
        for text in ["", "01", "00", "-1", "+1", "1.0", " 1", "a", "99999999999999999999999"] {
            assert_eq!(index(text), None, "{text}");
        }
    }

    #[test]
    fn places_within_each_other() {
        let pointer = |text: &str| Pointer::parse(text).expect("a pointer");
        assert!(pointer("/a/b").is_inside(&pointer("/a")));
        assert!(!pointer("/a").is_inside(&pointer("/a")));
        assert!(!pointer("/ab").is_inside(&pointer("/a")));
        let key = ["a".to_owned(), "b".to_owned()];
        for (text, meets) in
            [("/a", true), ("/a/b", true), ("/a/b/c", true), ("/a/c", false), ("/b", false)]
        {
            assert_eq!(pointer(text).meets(&key), meets, "{text}");
        }
    }
}
