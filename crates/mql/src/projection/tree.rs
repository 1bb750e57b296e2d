//! What a projection is made of: a tree of the names in its paths.

use std::collections::BTreeMap;

use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::filter::Filter;

/// What happens to fields that a projection does not name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// They are left out.
    Inclusion,
    /// They stay.
    Exclusion,
}

/// What happens to a field that it does name.
#[derive(Debug)]
pub(super) enum Spec {
    /// It stays.
    Keep,
    /// It is left out.
    Drop,
    /// Something happens to fields below.
    Branch(Branch),
    /// Of an array, only some elements stay.
    Slice(Slice),
    /// Of an array, only the element that the query matched stays.
    Matched,
    /// Of an array, only the first element that satisfies a condition stays.
    ElemMatch(Filter),
    /// It has a computed value.
    Computed(Expression),
}

/// Which elements of an array stay.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Slice {
    /// From which one on; if negative, counted from the end.
    pub(super) skip: i64,
    /// How many.
    pub(super) limit: usize,
}

/// What happens to the fields of a document.
#[derive(Debug, Default)]
pub(super) struct Branch {
    pub(super) specs: BTreeMap<String, Spec>,
    /// The names whose values come after the document's own fields, in this order: they are computed,
    /// or something below them is.
    pub(super) appended: Vec<String>,
    /// Whether the way to the element that the query matched leads here.
    pub(super) has_match: bool,
}

impl Branch {
    /// Adds what happens at a path, of which `parts` are left.
    pub(super) fn insert(&mut self, path: &str, parts: &[&str], spec: Spec) -> Result<()> {
        let Some((first, rest)) = parts.split_first() else { return Ok(()) };
        let is_computed = matches!(spec, Spec::Computed(_) | Spec::ElemMatch(_));
        if is_computed && !self.appended.iter().any(|name| name == first) {
            self.appended.push((*first).to_owned());
        }
        self.has_match |= matches!(spec, Spec::Matched);
        if rest.is_empty() {
            return match self.specs.insert((*first).to_owned(), spec) {
                None => Ok(()),
                Some(_) => Err(Error::location(31_250, format!("Path collision at {path}"))),
            };
        }
        let empty = || Spec::Branch(Self::default());
        if let Spec::Branch(branch) = self.specs.entry((*first).to_owned()).or_insert_with(empty) {
            return branch.insert(path, rest, spec);
        }
        let remaining = path.split_once('.').map_or(path, |(_, rest)| rest);
        Err(Error::location(
            31_249,
            format!("Path collision at {path} remaining portion {remaining}"),
        ))
    }
}
