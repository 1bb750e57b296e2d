//! Patches: a few changes to one document, all or none of them.

use value::{Number, Value};

/// Changes to one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// What is to be changed, one after the other.
    pub operations: Vec<PatchOperation>,
    /// Only if this holds for the document: `FROM ... WHERE ...` of the SQL dialect.
    pub condition: Option<String>,
    /// About how many bytes of text its values have: as much as a document can grow by it.
    pub bytes: usize,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names of the fields say what they are")]
pub enum PatchOperation {
    /// Inserts into an array; sets a member of an object.
    Add { path: Pointer, value: Value },
    /// As `Add`, but an element of an array that is there is overwritten.
    Set { path: Pointer, value: Value },
    /// As `Set`, of what is there.
    Replace { path: Pointer, value: Value },
    /// Takes out what is there.
    Remove { path: Pointer },
    /// Adds to a number; what is absent counts as zero.
    Increment { path: Pointer, value: Number },
    /// Takes out what is at `from`, and adds it at `path`.
    Move { from: Pointer, path: Pointer },
}

impl PatchOperation {
    /// Every place that it changes.
    pub fn pointers(&self) -> impl Iterator<Item = &Pointer> {
        let (path, from) = match self {
            Self::Add { path, .. }
            | Self::Set { path, .. }
            | Self::Replace { path, .. }
            | Self::Remove { path }
            | Self::Increment { path, .. } => (path, None),
            Self::Move { from, path } => (path, Some(from)),
        };
        std::iter::once(path).chain(from)
    }
}

/// Where in a document an operation works, as a JSON pointer: `/tags/0`, `/a~1b` for a member called
/// `a/b`, `/~0` for one called `~`. It names a member of the document or something inside one, never the
/// document itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    /// At least one.
    segments: Vec<String>,
}

impl Pointer {
    /// Reads a pointer; `None` if the text is not a pointer.
    pub fn parse(text: &str) -> Option<Self> {
        let segments: Option<Vec<String>> =
            text.strip_prefix('/')?.split('/').map(unescape).collect();
        Some(Self { text: text.to_owned(), segments: segments? })
    }

    /// The pointer as its author wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The member of the document that holds the place.
    pub fn first(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }

    /// The way to what holds the place, and the place's own name in it.
    pub fn split_last(&self) -> (&[String], &str) {
        self.segments.split_last().map_or((&[], ""), |(last, parents)| (parents, last))
    }

    /// Whether this is another place inside `outer`.
    pub fn is_inside(&self, outer: &Self) -> bool {
        self.segments.len() > outer.segments.len() && self.segments.starts_with(&outer.segments)
    }

    /// Whether a change here can change what is at `path`, or the other way round: one leads to
    /// the other.
    pub fn meets(&self, path: &[String]) -> bool {
        self.segments.iter().zip(path).all(|(ours, theirs)| ours == theirs)
    }
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
