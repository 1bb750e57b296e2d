//! All operators of an update, by their paths: operators on the same or on nested paths conflict.

use std::collections::BTreeMap;

use super::operator::Operator;
use super::path::{Name, Part, UpdatePath};
use crate::error::{Code, Error, Result};

/// What happens at a place of the document and below.
#[derive(Debug)]
pub(super) enum Tree {
    /// An operator.
    Leaf(Operator),
    /// More below some fields, or positions of an array.
    Fields(Fields),
    /// More below the elements that array filters match, by the filters' names. No name: all.
    Elements(BTreeMap<String, Self>),
}

/// What happens below fields, in the order in which it happens.
#[derive(Debug, Default)]
pub(super) struct Fields {
    /// Below the element that the query matched.
    pub(super) matched: Option<Box<Tree>>,
    /// Below names.
    pub(super) named: BTreeMap<Name, Tree>,
}

impl Tree {
    /// Nothing yet, for a path that goes on with `next`.
    fn empty(next: &Part) -> Self {
        match next {
            Part::Every(_) => Self::Elements(BTreeMap::new()),
            _ => Self::Fields(Fields::default()),
        }
    }
}

impl Fields {
    /// Adds an operator.
    pub(super) fn insert(&mut self, path: &UpdatePath, operator: Operator) -> Result<()> {
        insert_field(self, path, 0, operator)
    }
}

fn conflict(path: &UpdatePath, parts: usize) -> Error {
    let (text, prefix) = (&path.text, path.prefix(parts));
    Error::new(
        Code::CONFLICTING_UPDATE_OPERATORS,
        format!("Updating the path '{text}' would create a conflict at '{prefix}'"),
    )
}

fn insert_field(
    fields: &mut Fields,
    path: &UpdatePath,
    at: usize,
    operator: Operator,
) -> Result<()> {
    let is_last = at + 1 == path.parts.len();
    match &path.parts[at] {
        Part::Name(name) => {
            if let Some(tree) = fields.named.get_mut(name) {
                return below(tree, path, at, operator);
            }
            let tree = new_tree(path, at, is_last, operator)?;
            fields.named.insert(name.clone(), tree);
        }
        Part::Matched => {
            if let Some(tree) = &mut fields.matched {
                return below(tree, path, at, operator);
            }
            fields.matched = Some(Box::new(new_tree(path, at, is_last, operator)?));
        }
        Part::Every(_) => return Err(conflict(path, at)),
    }
    Ok(())
}

/// Adds to what is already at `parts[at]`.
fn below(tree: &mut Tree, path: &UpdatePath, at: usize, operator: Operator) -> Result<()> {
    let is_last = at + 1 == path.parts.len();
    match tree {
        _ if is_last => Err(conflict(path, at + 1)),
        Tree::Leaf(_) => Err(conflict(path, at + 1)),
        Tree::Fields(fields) => insert_field(fields, path, at + 1, operator),
        Tree::Elements(filtered) => {
            let Part::Every(identifier) = &path.parts[at + 1] else {
                return Err(conflict(path, at + 1));
            };
            if let Some(tree) = filtered.get_mut(identifier) {
                return below(tree, path, at + 1, operator);
            }
            let is_last = at + 2 == path.parts.len();
            let tree = new_tree(path, at + 1, is_last, operator)?;
            filtered.insert(identifier.clone(), tree);
            Ok(())
        }
    }
}

/// What is at `parts[at]` if nothing was there.
fn new_tree(path: &UpdatePath, at: usize, is_last: bool, operator: Operator) -> Result<Tree> {
    if is_last {
        return Ok(Tree::Leaf(operator));
    }
    let mut tree = Tree::empty(&path.parts[at + 1]);
    below(&mut tree, path, at, operator)?;
    Ok(tree)
}

impl Fields {
    /// Whether `$` occurs anywhere.
    pub(super) fn needs_match(&self) -> bool {
        self.matched.is_some() || self.named.values().any(Tree::needs_match)
    }
}

impl Tree {
    fn needs_match(&self) -> bool {
        match self {
            Self::Leaf(_) => false,
            Self::Fields(fields) => fields.needs_match(),
            Self::Elements(filtered) => filtered.values().any(Self::needs_match),
        }
    }
}
