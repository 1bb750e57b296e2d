//! From a document to its terms, in one walk over the document and the policy's rules together.
//! A value gives one term under its place; an array or an object a term that says it is there, and
//! whatever its elements or members give.

use std::cmp::Ordering;

use value::{Object, Value};

use crate::definition::Directive;
use crate::encoding::encode_value;
use crate::key;
use crate::kind::Kind;
use crate::path::{Path, PathHash, Step, path_hash, value_at};
use crate::policy::Policy;
use crate::tree::Place;

/// Gives places their numbers in keys. Hashes could collide, so whoever stores terms keeps a
/// dictionary of the places it has met, and answers with another number (the hash of a further
/// attempt, [`path_hash`]) for a place whose hash is taken.
pub trait PathIds {
    /// The number of a place whose hash is `hash`; normally just that. Asked for the same place
    /// more than once, also for one document.
    fn id(&mut self, path: &[Step<'_>], hash: u64) -> u64;
}

/// The hash as it is, for whoever keeps no dictionary.
#[derive(Clone, Copy, Debug, Default)]
pub struct HashIds;

impl PathIds for HashIds {
    fn id(&mut self, _: &[Step<'_>], hash: u64) -> u64 {
        hash
    }
}

/// A term, and the value that the index stores under it: empty unless its [`Kind`] has values.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Term<'a> {
    /// The key without the document's number.
    pub key: &'a [u8],
    /// What is stored under the key.
    pub value: &'a [u8],
}

/// The terms of a document, sorted by key, each key once. They lie in one buffer.
#[derive(Clone, Debug, Default)]
pub struct Terms {
    bytes: Vec<u8>,
    spans: Vec<Span>,
}

/// Where a term lies in the buffer: its key, then its value.
#[derive(Clone, Copy, Debug)]
struct Span {
    start: usize,
    key_end: usize,
    end: usize,
}

impl Span {
    fn key(self, bytes: &[u8]) -> &[u8] {
        &bytes[self.start..self.key_end]
    }

    fn term(self, bytes: &[u8]) -> Term<'_> {
        Term { key: self.key(bytes), value: &bytes[self.key_end..self.end] }
    }
}

impl Terms {
    /// Every index key of the document without the number that ends it. `document` has its system
    /// properties. A document that is not [indexed](Policy::is_indexed) has only the terms of `id`,
    /// `_ts` and the partition key; under the mode `none` there are no terms at all.
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

    /// Whether there are none.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The terms that `other` lacks, or has with another value, in order: with the new version's
    /// terms as `self` what a write adds, the other way round what it removes. A term whose value
    /// changes is in both, so a writer removes before it adds.
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

    /// Adds a term of the caller's own, without a value; one that is there already stays one.
    pub fn insert(&mut self, key: &[u8]) {
        if let Err(at) = self.spans.binary_search_by(|span| span.key(&self.bytes).cmp(key)) {
            let start = self.bytes.len();
            self.bytes.extend_from_slice(key);
            let end = self.bytes.len();
            self.spans.insert(at, Span { start, key_end: end, end });
        }
    }

    /// Adds a term without a value, out of order: the prefix of its index and whatever `write`
    /// appends.
    fn push(&mut self, kind: Kind, id: u64, write: impl FnOnce(&mut Vec<u8>)) {
        debug_assert!(!kind.has_value(), "a {kind:?} entry without its value");
        let start = self.bytes.len();
        self.bytes.extend_from_slice(&key::prefix(kind, id));
        write(&mut self.bytes);
        let end = self.bytes.len();
        self.spans.push(Span { start, key_end: end, end });
    }

    fn sort(&mut self) {
        let bytes = &self.bytes;
        self.spans.sort_unstable_by(|a, b| a.key(bytes).cmp(b.key(bytes)));
        self.spans.dedup_by(|a, b| a.key(bytes) == b.key(bytes));
    }
}

/// A walk over a document. It goes no deeper than the document, so at most
/// [`value::json::DEPTH_MAX`] steps.
struct Walk<'a, 'i> {
    policy: &'a Policy,
    ids: &'i mut dyn PathIds,
    /// Where the walk stands.
    steps: Vec<Step<'a>>,
    terms: Terms,
}

impl<'a> Walk<'a, '_> {
    /// The term of one value, without what is below it.
    fn value_of(&mut self, path: &'a Path, hash: u64, value: &Value) {
        self.steps.clear();
        self.steps.extend(path.steps());
        let id = self.ids.id(&self.steps, hash);
        self.terms.push(Kind::Path, id, |out| encode_value(value, out));
    }

    /// The terms of an object's members. `place` and `hash` are the object's.
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

    /// The terms of a value and of what is below it. `id` is the number of its place, once it has
    /// been asked for: the elements of an array share it.
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

    /// The terms of an object that may be a geometry.
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
