//! Computes a document's terms, in one walk over the document together with the policy's rules. A
//! scalar gives one term under its place; an array or object gives a term for its existence, plus
//! those of its elements or members.

use std::cmp::Ordering;

use value::{Object, Value};

use crate::definition::Directive;
use crate::encoding::encode_value;
use crate::key;
use crate::kind::Kind;
use crate::path::{Path, PathHash, Step, path_hash, value_at};
use crate::policy::Policy;
use crate::tree::Place;

/// Maps places to the ids in keys. Ids of different places may collide, so the caller that stores
/// terms keeps a dictionary of known places, and gives a place whose id is taken another one (that
/// of the hash of a later attempt, [`path_hash`]).
pub trait PathIds {
    /// The id of a place whose hash is `hash`, normally [`key::id`] of it. May be called repeatedly
    /// for the same place, even for one document.
    fn id(&mut self, path: &[Step<'_>], hash: u64) -> u64;
}

/// Gives every place the first id of its hash, for callers without a dictionary.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashIds;

impl PathIds for HashIds {
    fn id(&mut self, _: &[Step<'_>], hash: u64) -> u64 {
        key::id(hash)
    }
}

/// A term, and the value stored with it: empty unless its [`Kind`] has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term<'a> {
    /// The key without the document's number.
    pub key: &'a [u8],
    /// The value stored with the key.
    pub value: &'a [u8],
}

/// The terms of a document, sorted by key and without duplicates, in one buffer.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// The location of a term in the buffer: its key, then its value.
#[derive(Clone, Copy, Debug)]
struct Span {
    /// The first bytes of the key as a big-endian number, with zeros behind a shorter key. They
    /// decide most comparisons.
    head: u64,
    start: usize,
    key_end: usize,
    end: usize,
}

impl Span {
    /// A term without a value, whose key is all of the buffer from `start` on.
    fn new(bytes: &[u8], start: usize) -> Self {
        let key = &bytes[start..];
        let mut first = [0; size_of::<u64>()];
        let length = key.len().min(first.len());
        first[..length].copy_from_slice(&key[..length]);
        Self { head: u64::from_be_bytes(first), start, key_end: bytes.len(), end: bytes.len() }
    }

    /// The order of keys.
    fn order(&self, other: &Self, bytes: &[u8]) -> Ordering {
        let heads = self.head.cmp(&other.head);
        heads.then_with(|| self.key(bytes).cmp(other.key(bytes)))
    }

    fn key(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.key_end]
    }

    fn term(self, bytes: &[u8]) -> Term<'_> {
        Term { key: self.key(bytes), value: &bytes[self.key_end..self.end] }
    }
}

impl Terms {
    /// The index keys of the document, without the document number at the end. `document` includes
    /// its system properties. A document that is not [indexed](Policy::is_indexed) has only the
    /// terms of `id`, `_ts` and the partition key; with the mode `none` there are no terms at all.
    pub fn of(
        policy: &Policy,
        document: &Value,
        directive: Directive,
        ids: &mut dyn PathIds,
    ) -> Terms {
        if policy.is_none() {
            return Terms::default();
        }
        let terms = Terms { bytes: Vec::with_capacity(1024), spans: Vec::with_capacity(32) };
        let mut walk = Walk { policy, ids, steps: Vec::new(), terms };
        if policy.is_indexed(directive) {
            if let Value::Object(object) = document {
                walk.members(object, policy.tree.root(), PathHash::ROOT);
            }
            for (path, hash) in &policy.explicit {
                if value_at(document, &path.0).is_undefined() {
                    walk.value_of(path, *hash, &Value::Undefined);
                }
            }
            for composite in policy.composites() {
                composite.entries(document, |composite, element| {
                    let write = |out: &mut Vec<u8>| composite.encode(document, element, out);
                    walk.terms.push(Kind::Composite, composite.id, write);
                });
            }
        } else {
            for path in &policy.always {
                let value = value_at(document, &path.0);
                if !value.is_undefined() {
                    walk.value_of(path, path_hash(path.steps(), 0), value);
                }
            }
        }
        walk.terms.sort();
        walk.terms
    }

    /// The terms in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Term<'_>> {
        self.spans.iter().map(|span| span.term(&self.bytes))
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Bytes of their keys and values, or a little more.
    pub fn size_bytes(&self) -> usize {
        self.bytes.len()
    }

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The terms that `other` lacks or has with another value, in order. With the new version's
    /// terms as `self` these are the terms to add; the other way round, those to remove. A term
    /// whose value changes is in both, so writers must remove before they add.
    pub fn difference<'a>(&'a self, other: &'a Terms) -> impl Iterator<Item = Term<'a>> {
        let mut others = other.iter().peekable();
        self.iter().filter(move |term| {
            loop {
                match others.peek().map(|other| other.cmp(term)) {
                    Some(Ordering::Less) => others.next(),
                    Some(Ordering::Equal) => return false,
                    Some(Ordering::Greater) | None => return true,
                };
            }
        })
    }

    /// Inserts a custom term without a value, unless it is already there.
    pub fn insert(&mut self, key: &[u8]) {
        if let Err(at) = self.spans.binary_search_by(|span| span.key(&self.bytes).cmp(key)) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(key);
            self.spans.insert(at, Span::new(&self.bytes, start));
        }
    }

    /// Appends an unsorted term without a value: the prefix of its index and whatever `write`
    /// appends.
    fn push(&mut self, kind: Kind, id: u64, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(!kind.has_value(), "a {kind:?} entry without its value");
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&key::prefix(kind, id));
        write(&mut self.bytes);
        self.spans.push(Span::new(&self.bytes, start));
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.spans.sort_unstable_by(|a, b| a.order(b, bytes));
        self.spans.dedup_by(|a, b| a.order(b, bytes).is_eq());
    }
}

/// A walk over a document. It goes no deeper than the document, so at most
/// [`value::json::DEPTH_MAX`] steps.
struct Walk<'a, 'i> {
    policy: &'a Policy,
    ids: &'i mut dyn PathIds,
    /// The current place of the walk.
    steps: Vec<Step<'a>>,
    terms: Terms,
}

impl<'a> Walk<'a, '_> {
    /// Adds the term of one value, without anything below it.
    fn value_of(&mut self, path: &'a Path, hash: u64, value: &Value) {
        self.steps.clear();
        self.steps.extend(path.steps());
        let id = self.ids.id(&self.steps, hash);
        self.terms.push(Kind::Path, id, |out| encode_value(value, out));
    }

    /// Adds the terms of an object's members. `place` and `hash` are the object's.
    fn members(&mut self, object: &'a Object, place: Place<'a>, hash: PathHash) {
        for (name, value) in object.iter() {
            let step = Step::Key(name);
            let place = place.step(step);
            if !place.is_bare() {
                self.steps.push(step);
                self.value(value, place, hash.step(step), &mut None);
                self.steps.pop();
            }
        }
    }

    /// Adds the terms of a value and everything below it. `id` caches the id of its place, which
    /// array elements share.
    fn value(&mut self, value: &'a Value, place: Place<'a>, hash: PathHash, id: &mut Option<u64>) {
        if value.is_undefined() {
            return;
        }
        if place.is_indexed() {
            let id = *id.get_or_insert_with(|| self.ids.id(&self.steps, hash.0));
            self.terms.push(Kind::Path, id, |out| encode_value(value, out));
        }
        match value {
            Value::Array(elements) => {
                let place = place.step(Step::Element);
                if !place.is_bare() {
                    let hash = hash.step(Step::Element);
                    let mut id = None;
                    self.steps.push(Step::Element);
                    for element in elements {
                        self.value(element, place, hash, &mut id);
                    }
                    self.steps.pop();
                }
            }
            Value::Object(object) => {
                if let Some(number) = place.spatial() {
                    self.shape(value, number, hash, id);
                }
                self.members(object, place, hash);
            }
            _ => {}
        }
    }

    /// Adds the terms of an object that may be a geometry.
    fn shape(&mut self, value: &Value, number: usize, hash: PathHash, id: &mut Option<u64>) {
        let Some(grid) = self.policy.grids.get(number) else { return };
        let cells = grid.cover(value);
        if cells.is_empty() {
            return;
        }
        let id = *id.get_or_insert_with(|| self.ids.id(&self.steps, hash.0));
        for cell in cells {
            let cell = cell.to_be_bytes();
            self.terms.push(Kind::Spatial, id, |out| out.extend_from_slice(&cell));
        }
    }
}

#[cfg(test)]
mod tests;
