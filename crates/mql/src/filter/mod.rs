//! Filters: which documents a query matches, as `find`, `$match`, updates and deletes say it.
//!
//! [`Filter::parse`] checks the whole filter and compiles it; [`Filter::matches`] then tells for one
//! document after another. What it was compiled to can be read as a [tree](Node), from which a
//! planner takes ranges of an index. A filter needs no index to be right.
//!
//! In reading order:
//! - `tree`: what a filter is made of,
//! - `parse`: from a document to the tree, `operators` of a field, `operand`: whole numbers,
//! - `set`, `types`, `modulus`, `bits`, `pattern`: the operands that need more than a value,
//! - `walk`: the values that a path leads to, and their positions,
//! - `matching`: whether a document matches,
//! - `equalities`: what an upsert begins with,
//! - `schema`: `$jsonSchema`,
//! - `geo`: shapes, and what lies within them.

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use bson::{DateTime, RawBson, RawBsonRef, RawDocument, Timestamp};

use crate::collation::Collation;
use crate::error::{Error, Result};
use crate::expression::{Computed, Context, Random, Scope, Variables};
use crate::path::Path;

mod bits;
mod equalities;
mod geo;
mod matching;
mod modulus;
mod operand;
mod operators;
mod parse;
mod pattern;
mod schema;
mod set;
#[cfg(test)]
pub(in crate::filter) mod tests;
mod tree;
mod types;
mod walk;

pub use bits::{Bits, BitsKind};
pub use geo::{Near, Region, Shape, Surface};
pub use modulus::Modulus;
pub use pattern::Pattern;
pub use schema::Schema;
pub use set::Set;
pub use tree::{Comparison, Field, Node, Test};
pub use types::Types;

use matching::Matcher;
use parse::Parser;

/// The deepest nesting of a filter, as of documents.
pub const DEPTH_MAX: usize = 200;

/// What a filter needs besides its document.
#[derive(Clone, Debug)]
pub struct FilterOptions {
    /// How strings are compared; by their bytes if there is none.
    pub collation: Option<Arc<Collation>>,
    /// `$$NOW` in `$expr`.
    pub now: DateTime,
    /// `$$CLUSTER_TIME` in `$expr`.
    pub cluster_time: Timestamp,
    /// Variables of `$expr` whose values are given with each document: see [`Filter::matches_in`].
    pub names: Variables,
    /// The variables that the `let` of a command defines, with their values.
    pub variables: Vec<(String, RawBson)>,
    /// What random numbers begin with. Without it, `$sampleRate` is refused, and `$rand` gives the
    /// numbers of a seed of zero.
    pub seed: Option<u64>,
    /// Whether `$expr` may occur; array filters refuse it.
    pub allows_expressions: bool,
}

impl Default for FilterOptions {
    fn default() -> Self {
        Self {
            collation: None,
            now: DateTime::from_millis(0),
            cluster_time: Timestamp { time: 0, increment: 0 },
            names: Variables::new(),
            variables: Vec::new(),
            seed: None,
            allows_expressions: true,
        }
    }
}

/// A compiled filter.
#[derive(Debug)]
pub struct Filter {
    root: Node,
    collation: Option<Arc<Collation>>,
    now: DateTime,
    cluster_time: Timestamp,
    variables: Vec<Computed<'static>>,
    seed: AtomicU64,
}

/// How a document matched.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Found {
    /// The position of the array element that satisfied the last condition on an array: what `$`
    /// stands for in updates and projections. `None` if no condition was satisfied by an element.
    pub position: Option<usize>,
}

impl Filter {
    /// Compiles a filter.
    pub fn parse(document: &RawDocument, options: &FilterOptions) -> Result<Self> {
        let root = Parser::new(options)?.filter(document)?;
        geo::near::check_place(&root)?;
        Ok(Self::new(root, options))
    }

    /// Compiles a condition on a value, such as `{$gte: 5}`, a regular expression or a value that it
    /// has to equal. Only [`Filter::matches_value`] makes sense of it.
    pub fn parse_condition(condition: RawBsonRef<'_>, options: &FilterOptions) -> Result<Self> {
        let root = Parser::new(options)?.field(Path::new(""), "", condition)?;
        Ok(Self::new(root, options))
    }

    fn new(root: Node, options: &FilterOptions) -> Self {
        let values = options.variables.iter().map(|(_, value)| Computed::Owned(value.clone()));
        Self {
            root,
            collation: options.collation.clone(),
            now: options.now,
            cluster_time: options.cluster_time,
            variables: values.collect(),
            seed: AtomicU64::new(options.seed.unwrap_or_default()),
        }
    }

    /// Whether a document matches.
    pub fn matches(&self, document: &RawDocument) -> Result<bool> {
        self.matcher(None, None).document(&self.root, document)
    }

    /// Whether a document matches, where `$expr` sees the variables of a scope, too: those that
    /// [`FilterOptions::names`] named.
    pub fn matches_in(&self, document: &RawDocument, scope: &Scope<'_>) -> Result<bool> {
        self.matcher(Some(scope), None).document(&self.root, document)
    }

    /// As [`Filter::matches`], but also says where.
    pub fn find(&self, document: &RawDocument) -> Result<Option<Found>> {
        let position = Cell::new(None);
        let is_match = self.matcher(None, Some(&position)).document(&self.root, document)?;
        Ok(is_match.then(|| Found { position: position.get() }))
    }

    /// Whether a value matches, when the first part of every path means the value itself: `x.a` its
    /// field `a`. So do array filters and `$pull` choose elements.
    pub fn matches_value(&self, value: RawBsonRef<'_>) -> Result<bool> {
        self.matcher(None, None).value(&self.root, value)
    }

    /// What the filter was compiled to.
    pub fn root(&self) -> &Node {
        &self.root
    }

    /// How it compares strings.
    pub fn collation(&self) -> Option<&Arc<Collation>> {
        self.collation.as_ref()
    }

    /// What the documents are to be sorted by, if the filter asks for those near a place, and the
    /// path of their positions.
    pub fn near(&self) -> Option<(&Path, &Near)> {
        self.root.conjuncts().into_iter().find_map(|node| match node {
            Node::Field(Field { path, test: Test::Near(near) }) => Some((path, near.as_ref())),
            _ => None,
        })
    }

    /// The first part of the filter's paths, which array filters use as the name of an element;
    /// `None` if it has no paths.
    pub fn identifier(&self) -> Result<Option<&str>> {
        let mut found: Option<&str> = None;
        let mut open = vec![&self.root];
        while let Some(node) = open.pop() {
            match node {
                Node::And(nodes) | Node::Or(nodes) | Node::Nor(nodes) => {
                    open.extend(nodes.iter().rev());
                }
                Node::Not(node) => open.push(node),
                Node::Field(Field { path, .. }) => {
                    let name = path.parts().first().map_or("", |part| part.name.as_str());
                    if let Some(other) = found.filter(|other| *other != name) {
                        return Err(Error::failed_to_parse(format!(
                            "Expected a single top-level field name, found '{other}' and '{name}'"
                        )));
                    }
                    found = Some(name);
                }
                Node::Constant(_) | Node::Expression(_) | Node::Schema(_) | Node::Sample(_) => {}
            }
        }
        Ok(found)
    }

    fn matcher<'m>(
        &'m self,
        scope: Option<&'m Scope<'m>>,
        position: Option<&'m Cell<Option<usize>>>,
    ) -> Matcher<'m> {
        Matcher { filter: self, collation: self.collation.as_deref(), scope, position }
    }

    /// Random numbers for one document.
    fn random(&self) -> Random {
        Random::new(self.seed.fetch_add(0x9E37_79B9, Ordering::Relaxed))
    }

    /// Calls `run` with the scope in which an expression sees a document.
    fn in_scope<T>(
        &self,
        document: &RawDocument,
        outer: Option<&Scope<'_>>,
        run: impl FnOnce(&Scope<'_>) -> T,
    ) -> T {
        let random = self.random();
        let context = Context {
            now: self.now,
            cluster_time: self.cluster_time,
            user_roles: None,
            collation: self.collation.as_deref(),
            random: &random,
        };
        let own = Scope::new(document, &context);
        let root = RawBsonRef::Document(document);
        let scope = outer.map_or(own, |outer| Scope { root, current: root, ..*outer });
        if self.variables.is_empty() {
            return run(&scope);
        }
        let frame = scope.frame(&self.variables);
        run(&scope.within(&frame))
    }
}
