//! Composite indexes: the values of several paths in one key, for `ORDER BY` with more than one
//! path and for filters that fix several paths at once.

use value::Value;
use value::key::KeyError;

use crate::encoding::{Decoded, decode_descending, decode_value, encode_descending, encode_value};
use crate::encoding::{MANY, invert};
use crate::key;
use crate::path::{Path, PathHash, Segment, Step, path_hash, value_at};

/// The most elements of an array for which a composite index has separate entries. More would
/// multiply the document's size, so such a document has a single entry with [`Decoded::Many`] in
/// place of the values inside elements. A search for elements must look there too.
pub const ELEMENTS_MAX: usize = 256;

/// A composite index. Every indexed document has an entry in it, or one per element if some members
/// lead into an array. A member without a value is encoded as undefined.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Composite {
    /// The id in its keys. It depends only on the members, and on the indexes of its policy that
    /// have taken its first one.
    pub id: u64,
    /// The paths, and whether each is descending. The first never is: reversing all directions
    /// gives the same index, read backward.
    pub members: Vec<(Path, bool)>,
    /// The array that members lead into, by its property names.
    array: Option<Vec<Segment>>,
}

impl Composite {
    /// Creates the index with these members.
    ///
    /// COMPAT: returns `None` for two arrays, which would need an entry for each pair of elements.
    /// No order can ask for it, and filters can use the index of each path.
    pub(crate) fn new(members: &[(Path, bool)]) -> Option<Composite> {
        let mut array: Option<&[Segment]> = None;
        for (path, _) in members {
            let mut parts = path.0.split(|segment| *segment == Segment::Element);
            let (Some(names), Some(_)) = (parts.next(), parts.next()) else { continue };
            if parts.next().is_some() || array.is_some_and(|other| other != names) {
                return None;
            }
            array = Some(names);
        }
        let flip = members.first()?.1;
        let members: Vec<_> =
            members.iter().map(|(path, descends)| (path.clone(), descends ^ flip)).collect();
        Some(Composite { id: id(&members, 0), array: array.map(<[_]>::to_vec), members })
    }

    /// Takes another id than these indexes, which have other members. An earlier policy may have
    /// given it to an index with other members still: a query uses no composite index until all
    /// documents follow one policy.
    pub(crate) fn set_apart(&mut self, others: &[Composite]) {
        for attempt in 1.. {
            if others.iter().all(|other| other.id != self.id) {
                break;
            }
            self.id = id(&self.members, attempt);
        }
    }

    /// Whether members lead into an array, so that a document may have several entries.
    pub fn has_elements(&self) -> bool {
        self.array.is_some()
    }

    /// Calls `add` with the values of each entry that the document has, encoded.
    pub(crate) fn entries(&self, document: &Value, mut add: impl FnMut(&Self, Element<'_>)) {
        let elements = self.array.as_ref().and_then(|names| value_at(document, names).as_array());
        match elements {
            None | Some([]) => add(self, Element::None),
            Some(elements) if elements.len() > ELEMENTS_MAX => add(self, Element::Many),
            Some(elements) => elements.iter().for_each(|value| add(self, Element::Of(value))),
        }
    }

    /// Appends the values of one entry.
    pub(crate) fn encode(&self, document: &Value, element: Element<'_>, out: &mut Vec<u8>) {
        for (path, descends) in &self.members {
            let inner = match &self.array {
                Some(names) if path.has_elements() => path.0.get(names.len() + 1..),
                _ => None,
            };
            let value = match (inner, element) {
                (None, _) => value_at(document, &path.0),
                (Some(inner), Element::Of(value)) => value_at(value, inner),
                (Some(_), Element::None) => &Value::Undefined,
                (Some(_), Element::Many) => {
                    out.push(if *descends { invert(MANY) } else { MANY });
                    continue;
                }
            };
            if *descends { encode_descending(value, out) } else { encode_value(value, out) }
        }
    }

    /// Reads the values of an entry, in the order of the members, and returns what follows.
    pub fn decode<'a>(&self, mut bytes: &'a [u8]) -> Result<(Vec<Decoded>, &'a [u8]), KeyError> {
        let mut values = Vec::with_capacity(self.members.len());
        for (_, descends) in &self.members {
            let (value, rest) =
                if *descends { decode_descending(bytes)? } else { decode_value(bytes)? };
            values.push(value);
            bytes = rest;
        }
        Ok((values, bytes))
    }

    /// Whether this index has this order; `Some(true)` if read backward.
    pub(crate) fn serves(&self, order: &[(Path, bool)]) -> Option<bool> {
        let is_backward = order.first()?.1;
        let is_same = self.members.len() == order.len()
            && self.members.iter().zip(order).all(|((path, descends), (wanted, is_descending))| {
                path == wanted && descends ^ is_backward == *is_descending
            });
        is_same.then_some(is_backward)
    }
}

/// What a member that leads into the array finds there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Element<'a> {
    /// This element.
    Of(&'a Value),
    /// No element.
    None,
    /// More than [`ELEMENTS_MAX`] elements.
    Many,
}

/// The id of an index with these members, from a hash of each path and its direction. If it is
/// taken, the index gets that of the next attempt.
fn id(members: &[(Path, bool)], attempt: u32) -> u64 {
    let hash = |hash: PathHash, (path, descends): &(Path, bool)| {
        let text = format!("{:016x}{}", path_hash(path.steps(), attempt), u8::from(*descends));
        hash.step(Step::Key(&text))
    };
    key::id(members.iter().fold(PathHash::ROOT, hash).0)
}
