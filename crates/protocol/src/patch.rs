//! Patches: changes to one document that are applied together or not at all.

use value::{Number, Value};

/// Changes to one document.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Patch {
    /// The operations, applied in order.
    pub operations: Vec<PatchOperation>,
    /// Apply only if this condition holds for the document: `FROM ... WHERE ...` in SQL.
    pub condition: Option<String>,
    /// The approximate size of its values as text, which is the most that a document can grow.
    pub bytes: usize,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
#[expect(missing_docs, reason = "the names of the fields say what they are")]
pub enum PatchOperation {
    /// Inserts into an array; sets a member of an object.
    Add { path: Pointer, value: Value },
    /// Like `Add`, but overwrites an existing array element.
    Set { path: Pointer, value: Value },
    /// Like `Set`, but only if there is a value.
    Replace { path: Pointer, value: Value },
    /// Removes a value, which must exist.
    Remove { path: Pointer },
    /// Adds to a number; a missing one counts as zero.
    Increment { path: Pointer, value: Number },
    /// Removes the value at `from` and adds it at `path`.
    Move { from: Pointer, path: Pointer },
}

impl PatchOperation {
    /// The places that it changes.
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

/// A place in a document, as a JSON pointer: `/tags/0`, `/a~1b` for a member called `a/b`, `/~0`
/// for one called `~`. It names a member of the document or something inside one, never the
/// document itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Pointer {
    text: String,
    /// Not empty.
    segments: Vec<String>,
}

impl Pointer {
    /// Parses a pointer; `None` if the text is not a pointer.
    pub fn parse(text: &str) -> Option<Self> {
        let segments: Option<Vec<String>> =
            text.strip_prefix('/')?.split('/').map(unescape).collect();
        Some(Self { text: text.to_owned(), segments: segments? })
    }

    /// The pointer as the client wrote it.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The top-level member that contains the place.
    pub fn first(&self) -> &str {
        self.segments.first().map_or("", String::as_str)
    }

    /// The path of the parent, and the name of the place within it.
    pub fn split_last(&self) -> (&[String], &str) {
        self.segments.split_last().map_or((&[], ""), |(last, parents)| (parents, last))
    }

    /// Whether this is a place inside `outer`, but not `outer` itself.
    pub fn is_inside(&self, outer: &Self) -> bool {
        self.segments.len() > outer.segments.len() && self.segments.starts_with(&outer.segments)
    }

    /// Whether a change here can affect `path` or vice versa, because one is an ancestor of the
    /// other.
    pub fn meets(&self, path: &[String]) -> bool {
        self.segments.iter().zip(path).all(|(ours, theirs)| ours == theirs)
    }
}

/// Unescapes `~1` to a slash and `~0` to a tilde; any other use of a tilde is invalid.
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
