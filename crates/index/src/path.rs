//! Places in a document: `/a/b` by property names, `/a/[]` for all elements of an array. Stored as
//! the first bits of a 64-bit hash.

use std::fmt;

use value::Value;

/// One step down a document.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Segment {
    /// To a property of an object.
    Key(String),
    /// To every element of an array.
    Element,
}

/// A place in a document, from the root down. The empty path is the document itself.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Path(pub Vec<Segment>);

/// A [`Segment`] that borrows its name, so that walking a document allocates no paths.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step<'a> {
    /// To a property of an object.
    Key(&'a str),
    /// To every element of an array.
    Element,
}

impl Path {
    /// The path through these properties.
    pub fn of_keys<S: AsRef<str>>(names: &[S]) -> Path {
        Path(names.iter().map(|name| Segment::Key(name.as_ref().to_owned())).collect())
    }

    /// The path that these steps take.
    pub fn of_steps(steps: &[Step<'_>]) -> Path {
        let segment = |step: &Step<'_>| match *step {
            Step::Key(name) => Segment::Key(name.to_owned()),
            Step::Element => Segment::Element,
        };
        Path(steps.iter().map(segment).collect())
    }

    /// The steps of this path.
    pub fn steps(&self) -> impl Iterator<Item = Step<'_>> {
        self.0.iter().map(Segment::step)
    }

    /// Whether the path leads into an array, so that a document may hold several values there.
    pub fn has_elements(&self) -> bool {
        self.0.contains(&Segment::Element)
    }

    /// Whether this path takes exactly these steps.
    pub fn takes(&self, steps: &[Step<'_>]) -> bool {
        self.0.len() == steps.len() && self.steps().eq(steps.iter().copied())
    }
}

impl Segment {
    /// This step, borrowed.
    pub fn step(&self) -> Step<'_> {
        match self {
            Segment::Key(name) => Step::Key(name),
            Segment::Element => Step::Element,
        }
    }
}

/// Formats the path as indexing policies and index metrics do: names are quoted unless they are
/// plain.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for step in self.steps() {
            match step {
                Step::Element => f.write_str("/[]")?,
                Step::Key(name) if is_plain(name) => write!(f, "/{name}")?,
                Step::Key(name) => {
                    let mut text = Vec::new();
                    value::json::quote(name, &mut text);
                    write!(f, "/{}", String::from_utf8_lossy(&text))?;
                }
            }
        }
        Ok(())
    }
}

/// Whether a policy may contain the name without quotes: letters, digits and `_` only.
pub(crate) fn is_plain(name: &str) -> bool {
    !name.is_empty() && name.chars().all(|char| char.is_alphanumeric() || char == '_')
}

/// The value at a path of property names; undefined if a segment leads into an array.
pub fn value_at<'a>(mut value: &'a Value, segments: &[Segment]) -> &'a Value {
    for segment in segments {
        match segment {
            Segment::Key(name) => value = value.get(name),
            Segment::Element => return &Value::Undefined,
        }
    }
    value
}

/// The hash of a place, a stored format: 64-bit FNV-1a over `FF` and the UTF-8 name for each
/// property, and `FE` for each element. Neither byte occurs in UTF-8, so different places never
/// hash the same bytes. For later attempts the bytes begin with `FD` and the attempt (4 bytes,
/// big-endian): if the [id](crate::key::id) of a place's hash is taken, the place gets that of the
/// next attempt, on which the two are unlikely to collide again.
pub fn path_hash<'a>(steps: impl IntoIterator<Item = Step<'a>>, attempt: u32) -> u64 {
    let mut hash = PathHash::ROOT;
    if attempt > 0 {
        hash = hash.byte(0xfd);
        for byte in attempt.to_be_bytes() {
            hash = hash.byte(byte);
        }
    }
    steps.into_iter().fold(hash, PathHash::step).0
}

/// The first attempt of [`path_hash`], one step at a time, so that a walk over a document hashes no
/// prefix twice.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PathHash(pub(crate) u64);

impl PathHash {
    /// The offset basis of FNV: the document itself.
    pub(crate) const ROOT: PathHash = PathHash(0xcbf2_9ce4_8422_2325);

    /// The place one step further down.
    pub(crate) fn step(self, step: Step<'_>) -> PathHash {
        match step {
            Step::Key(name) => name.bytes().fold(self.byte(0xff), PathHash::byte),
            Step::Element => self.byte(0xfe),
        }
    }

    fn byte(self, byte: u8) -> PathHash {
        PathHash((self.0 ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_are_a_stored_format() {
        let hash = |steps: &[Step<'_>], attempt| path_hash(steps.iter().copied(), attempt);
        assert_eq!(hash(&[], 0), 0xcbf2_9ce4_8422_2325);
        assert_eq!(hash(&[Step::Element], 0), 0xaf64_734c_8602_ed21);
        assert_eq!(hash(&[Step::Key("id")], 0), 0xf7c2_9b1b_e2ec_2f33);
        assert_ne!(hash(&[Step::Key("id")], 1), hash(&[Step::Key("id")], 0));
        assert_ne!(hash(&[Step::Key("id")], 1), hash(&[Step::Key("id")], 2));
        assert_ne!(hash(&[Step::Key("ab")], 0), hash(&[Step::Key("a"), Step::Key("b")], 0));
    }

    #[test]
    fn paths_print_as_policies_write_them() {
        let path = Path::of_steps(&[
            Step::Key("a"),
            Step::Element,
            Step::Key("b c"),
            Step::Key("é"),
            Step::Key("\""),
        ]);
        assert_eq!(path.to_string(), r#"/a/[]/"b c"/é/"\"""#);
        assert_eq!(Path::default().to_string(), "");
        assert!(path.has_elements() && path.takes(&path.steps().collect::<Vec<_>>()));
    }

    #[test]
    fn values_lie_behind_names_only() {
        let value = value::json::parse(br#"{"a":{"b":[1]}}"#).unwrap();
        let at = |names: &[&str]| value_at(&value, &Path::of_keys(names).0).clone();
        assert_eq!(at(&["a", "b"]), vec![Value::from(1)].into());
        assert!(at(&["a", "c"]).is_undefined());
        assert!(value_at(&value, &[Segment::Element]).is_undefined());
    }
}
