//! Dotted paths, and what they lead to. An array on the way is entered: by its position if the next
//! part is a number, and through each of its elements that is a document.

use std::ops::ControlFlow;

use bson::{RawArray, RawBsonRef, RawDocument};

/// The most parts of a path: documents cannot be deeper.
pub const PARTS_MAX: usize = 200;

/// A path such as `a.b.0.c`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Path {
    parts: Vec<Part>,
}

/// A part between two dots.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Part {
    /// Its text.
    pub name: String,
    /// The position in an array that it can also mean.
    pub index: Option<usize>,
}

impl Part {
    fn of(name: &str) -> Self {
        Self { name: name.to_owned(), index: position(name) }
    }
}

/// The position that a part of a path means in an array: digits without leading zeros.
pub fn position(name: &str) -> Option<usize> {
    let is_canonical = name == "0" || !name.starts_with('0');
    let is_number = is_canonical && name.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { name.parse().ok() } else { None }
}

impl Path {
    /// Splits a path at its dots. Parts may be empty; whoever minds has to check.
    pub fn new(text: &str) -> Self {
        Self { parts: text.split('.').map(Part::of).collect() }
    }

    /// Its parts, of which there is at least one.
    pub fn parts(&self) -> &[Part] {
        &self.parts
    }

    /// The path with dots again.
    pub fn text(&self) -> String {
        let names: Vec<&str> = self.parts.iter().map(|part| part.name.as_str()).collect();
        names.join(".")
    }

    /// Whether this path leads to `other` or to something that contains it.
    pub fn is_prefix_of(&self, other: &Self) -> bool {
        other.parts.starts_with(&self.parts)
    }
}

/// Calls `visit` with each value that a path leads to, in document order: `None` where a document
/// lacks the next part, or where something other than a document or an array is in the way. An array
/// at the end of the path is given as a whole. An array on the way whose elements are no documents
/// gives nothing.
pub fn visit<'a>(
    document: &'a RawDocument,
    path: &Path,
    visit: &mut dyn FnMut(Option<RawBsonRef<'a>>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    in_document(document, &path.parts, visit)
}

type Visit<'v, 'a> = dyn FnMut(Option<RawBsonRef<'a>>) -> ControlFlow<()> + 'v;

fn in_document<'a>(
    document: &'a RawDocument,
    parts: &[Part],
    visit: &mut Visit<'_, 'a>,
) -> ControlFlow<()> {
    let Some((first, rest)) = parts.split_first() else { return ControlFlow::Continue(()) };
    match document.get(&first.name) {
        Ok(Some(value)) => at_value(value, rest, visit),
        _ => visit(None),
    }
}

fn at_value<'a>(
    value: RawBsonRef<'a>,
    rest: &[Part],
    visit: &mut Visit<'_, 'a>,
) -> ControlFlow<()> {
    match (rest.first(), value) {
        (None, value) => visit(Some(value)),
        (_, RawBsonRef::Document(document)) => in_document(document, rest, visit),
        (Some(next), RawBsonRef::Array(array)) => {
            if let Some(element) = next.index.and_then(|index| element(array, index)) {
                at_value(element, &rest[1..], visit)?;
            }
            for element in array.into_iter().flatten() {
                if let RawBsonRef::Document(document) = element {
                    in_document(document, rest, visit)?;
                }
            }
            ControlFlow::Continue(())
        }
        _ => visit(None),
    }
}

/// An element of an array by its position.
pub fn element(array: &RawArray, index: usize) -> Option<RawBsonRef<'_>> {
    array.get(index).ok().flatten()
}

/// Calls `visit` with each value that a path leads to for sorting, indexing and `distinct`: as
/// [`visit`](fn@visit), but with the elements of an array at the end of the path instead of the
/// array. An empty array gives undefined, which sorts before null.
pub fn visit_keys<'a>(
    document: &'a RawDocument,
    path: &Path,
    found: &mut dyn FnMut(Option<RawBsonRef<'a>>) -> ControlFlow<()>,
) -> ControlFlow<()> {
    visit(document, path, &mut |value| match value {
        Some(RawBsonRef::Array(array)) => {
            let mut elements = array.into_iter().flatten().peekable();
            if elements.peek().is_none() {
                return found(Some(RawBsonRef::Undefined));
            }
            for element in elements {
                found(Some(element))?;
            }
            ControlFlow::Continue(())
        }
        other => found(other),
    })
}

#[cfg(test)]
mod tests {
    use bson::{Bson, RawDocumentBuf, doc};

    use super::*;

    fn found(document: bson::Document, path: &str) -> Vec<Option<Bson>> {
        let raw = RawDocumentBuf::try_from(&document).unwrap();
        let mut found = Vec::new();
        let _ = visit(&raw, &Path::new(path), &mut |value| {
            found.push(value.map(|value| value.try_into().unwrap()));
            ControlFlow::Continue(())
        });
        found
    }

    #[test]
    fn paths_go_through_documents_and_arrays() {
        let document = doc! {
            "a": {"b": 1}, "list": [{"b": 2}, 3, {"b": [4, 5]}, {"c": 6}, [{"b": 7}]],
            "n": {"0": 8}, "scalar": 9, "scalars": [1, 2],
        };
        let of = |path: &str| found(document.clone(), path);
        assert_eq!(of("a.b"), [Some(Bson::Int32(1))]);
        assert_eq!(of("missing"), [None]);
        assert_eq!(of("a.b.c"), [None]);
        assert_eq!(of("scalar.x"), [None]);
        let list = [Some(Bson::Int32(2)), Some(Bson::from(vec![4, 5])), None];
        assert_eq!(of("list.b"), list);
        assert_eq!(of("list.1"), [Some(Bson::Int32(3)), None, None, None]);
        assert_eq!(of("list.0.b"), [Some(Bson::Int32(2)), None, None, None]);
        assert_eq!(of("list.4.b")[0], Some(Bson::Int32(7)));
        assert_eq!(of("n.0"), [Some(Bson::Int32(8))]);
        assert_eq!(of("scalars.b"), []);
        assert_eq!(of("scalars.1"), [Some(Bson::Int32(2))]);
        assert_eq!(of("scalars.5"), []);
    }

    #[test]
    fn keys_are_the_elements_of_arrays() {
        let raw = |document: bson::Document| RawDocumentBuf::try_from(&document).unwrap();
        let keys = |document: bson::Document| {
            let (raw, mut keys) = (raw(document), Vec::new());
            let _ = visit_keys(&raw, &Path::new("a"), &mut |value| {
                keys.push(value.map(|value| Bson::try_from(value).unwrap()));
                ControlFlow::Continue(())
            });
            keys
        };
        assert_eq!(keys(doc! {"a": [1, 2]}), [Some(Bson::Int32(1)), Some(Bson::Int32(2))]);
        assert_eq!(keys(doc! {"a": []}), [Some(Bson::Undefined)]);
        assert_eq!(keys(doc! {"b": 1}), [None]);
    }

    #[test]
    fn only_canonical_numbers_are_positions() {
        for (name, index) in
            [("0", Some(0)), ("12", Some(12)), ("01", None), ("-1", None), ("", None)]
        {
            assert_eq!(position(name), index, "{name}");
        }
    }
}
