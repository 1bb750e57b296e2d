//! Operators at work: down the tree of operators and the document at the same time.

use std::borrow::Cow;

use bson::{RawBsonRef, RawDocument};

use super::Context;
use super::matching::ArrayFilters;
use super::node::{Child, Children, Node};
use super::operator::Operator;
use super::rename;
use super::tree::{Fields, Tree};
use crate::collation::Collation;
use crate::error::{Code, Error, Result};
use crate::path::{Path, position};
use crate::show;

/// How many elements an update may add to reach a position of an array.
const PADDING_MAX: usize = 1_500_000;
/// What a null takes in an array, at a position of one digit.
const PADDING_BYTES: usize = 3;

/// What an operator, or all those below a place, did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing.
    Unchanged,
    /// Something within the value changed.
    Inside,
    /// The value is another.
    Replaced,
    /// The field has to go.
    Removed,
}

/// The trees of operators that meet at one place: more than one only where `$` and filtered elements
/// lead to the same element.
pub(super) type Trees<'a> = [&'a Tree];

/// One application of an update to one document.
pub(super) struct Applier<'a> {
    /// The document as it was.
    pub(super) original: &'a RawDocument,
    pub(super) context: &'a Context,
    /// Whether the document is about to be inserted.
    pub(super) is_insert: bool,
    pub(super) collation: Option<&'a Collation>,
    pub(super) filters: &'a ArrayFilters,
    /// Paths whose values must stay.
    pub(super) immutable: Vec<&'a Path>,
    /// The largest document, in bytes.
    pub(super) document_max: usize,
    /// How many bytes arrays were padded with.
    pub(super) padded: usize,
    /// Where it is.
    pub(super) path: Vec<Cow<'a, str>>,
}

impl<'a> Applier<'a> {
    /// Applies everything to a document.
    pub(super) fn run(&mut self, fields: &'a Fields, root: &mut Children<'a>) -> Result<bool> {
        let mut node = Node::Document(std::mem::take(root));
        let is_changed = self.each_field(&[fields], &mut node)?;
        if let Node::Document(children) = node {
            *root = children;
        }
        Ok(is_changed)
    }

    /// The path so far, with dots.
    pub(super) fn path_text(&self) -> String {
        self.path.join(".")
    }

    /// The last name of the path.
    pub(super) fn name(&self) -> &str {
        self.path.last().map_or("", |name| name)
    }

    /// The document's id as messages show it.
    pub(super) fn id(&self) -> String {
        rename::shown_id(self.original)
    }

    fn apply(&mut self, trees: &Trees<'a>, node: &mut Node<'a>) -> Result<Outcome> {
        match Below::of(trees) {
            Below::Operator(operator) => self.operate(operator, node),
            Below::Fields(fields) => self.fields(&fields, trees, node),
            Below::Elements => self.elements(trees, node),
            Below::Conflict => Err(self.conflict()),
        }
    }

    fn fields(
        &mut self,
        fields: &[&'a Fields],
        trees: &Trees<'a>,
        node: &mut Node<'a>,
    ) -> Result<Outcome> {
        let before = if let Node::Kept(element) = node { Some(element.clone()) } else { None };
        if !node.enter()? {
            self.check_blocked(trees, node)?;
            return Ok(Outcome::Unchanged);
        }
        if self.each_field(fields, node)? {
            return Ok(Outcome::Inside);
        }
        if let Some(element) = before {
            *node = Node::Kept(element);
        }
        Ok(Outcome::Unchanged)
    }

    fn each_field(&mut self, fields: &[&'a Fields], node: &mut Node<'a>) -> Result<bool> {
        let mut is_changed = false;
        if let [Fields { matched: None, named }] = fields {
            for (name, tree) in named {
                is_changed |= self.field(Cow::Borrowed(&name.0), &[tree], node)?;
            }
            return Ok(is_changed);
        }
        for (name, trees) in self.merged(fields)? {
            is_changed |= self.field(name, &trees, node)?;
        }
        Ok(is_changed)
    }

    /// Applies what is below a field or a position.
    fn field(
        &mut self,
        name: Cow<'a, str>,
        trees: &Trees<'a>,
        node: &mut Node<'a>,
    ) -> Result<bool> {
        let (children, at, is_array) = match node {
            Node::Document(children) => {
                let at = children.items.iter().position(|child| child.name == name);
                (children, at, false)
            }
            Node::Array(children) => {
                let Some(index) = position(&name) else {
                    self.path.push(name);
                    let result = self.refuse(trees, node, self.path.len() - 1);
                    self.path.pop();
                    return result.map(|()| false);
                };
                let at = Some(index).filter(|index| *index < children.items.len());
                (children, at, true)
            }
            _ => return Err(super::node::changed_twice()),
        };
        self.path.push(name.clone());
        let is_changed = match at {
            Some(at) => {
                let outcome = self.apply(trees, &mut children.items[at].node)?;
                settle(children, at, outcome, is_array)
            }
            None => match self.build(trees)? {
                None => false,
                Some(new) => {
                    if is_array {
                        self.pad(children, &name)?;
                    }
                    children.push(name, new);
                    true
                }
            },
        };
        self.path.pop();
        Ok(is_changed)
    }

    /// Applies what is below the elements that filters match.
    fn elements(&mut self, trees: &Trees<'a>, node: &mut Node<'a>) -> Result<Outcome> {
        let before = if let Node::Kept(element) = node { Some(element.clone()) } else { None };
        let is_array = match node {
            Node::Array(_) => true,
            Node::Document(_) | Node::Made(_) => false,
            Node::Kept(_) | Node::Given(_) => matches!(node.value()?, RawBsonRef::Array(_)),
        };
        if !is_array || !node.enter()? {
            let (name, value) = (self.name(), node.to_value()?);
            return Err(Error::bad_value(format!(
                "Cannot apply array updates to non-array element {name}: {}",
                show::value(value.as_raw_bson_ref())
            )));
        }
        let Node::Array(children) = node else { return Ok(Outcome::Unchanged) };
        let (mut matching, mut is_changed) = (0, false);
        for at in 0..children.items.len() {
            let below = self.matching(trees, &children.items[at])?;
            if below.is_empty() {
                continue;
            }
            matching += 1;
            self.path.push(Cow::Owned(at.to_string()));
            let outcome = self.apply(&below, &mut children.items[at].node)?;
            self.path.pop();
            is_changed |= settle(children, at, outcome, true);
        }
        if !is_changed {
            if let Some(element) = before {
                *node = Node::Kept(element);
            }
            return Ok(Outcome::Unchanged);
        }
        Ok(if matching > 1 { Outcome::Replaced } else { Outcome::Inside })
    }

    /// The trees below an element.
    fn matching(&self, trees: &Trees<'a>, element: &Child<'a>) -> Result<Vec<&'a Tree>> {
        let mut below = Vec::new();
        for tree in trees {
            let Tree::Elements(filtered) = tree else { continue };
            for (name, tree) in filtered {
                if name.is_empty() || self.filters.matches(name, element.node.value()?)? {
                    below.push(tree);
                }
            }
        }
        Ok(below)
    }

    /// What the operators make where nothing is.
    fn build(&mut self, trees: &Trees<'a>) -> Result<Option<Node<'a>>> {
        match Below::of(trees) {
            Below::Operator(operator) => self.create(operator),
            Below::Fields(fields) => {
                let mut node = Node::Document(Children::default());
                let is_changed = self.each_field(&fields, &mut node)?;
                Ok(is_changed.then_some(node))
            }
            Below::Elements => Err(self.no_array()),
            Below::Conflict => Err(self.conflict()),
        }
    }

    /// The names below fields in order, with `$` replaced.
    pub(super) fn merged(&self, all: &[&'a Fields]) -> Result<Vec<(Cow<'a, str>, Vec<&'a Tree>)>> {
        let mut merged = std::collections::BTreeMap::<_, Vec<&'a Tree>>::new();
        for fields in all {
            for (name, tree) in &fields.named {
                merged.entry(name.clone()).or_default().push(tree);
            }
            if let Some(tree) = &fields.matched {
                let matched = self.context.matched.ok_or_else(|| {
                    Error::bad_value(
                        "The positional operator did not find the match needed from the query.",
                    )
                })?;
                let name = super::path::Name(matched.to_string());
                merged.entry(name).or_default().push(tree);
            }
        }
        Ok(merged.into_iter().map(|(name, trees)| (Cow::Owned(name.0), trees)).collect())
    }
}

/// What trees that meet have in common.
enum Below<'a> {
    Operator(&'a Operator),
    Fields(Vec<&'a Fields>),
    Elements,
    Conflict,
}

impl<'a> Below<'a> {
    fn of(trees: &Trees<'a>) -> Self {
        if let [Tree::Leaf(operator)] = trees {
            return Self::Operator(operator);
        }
        if trees.iter().all(|tree| matches!(tree, Tree::Elements(_))) {
            return Self::Elements;
        }
        let fields: Option<Vec<_>> = trees
            .iter()
            .map(|tree| if let Tree::Fields(fields) = tree { Some(fields) } else { None })
            .collect();
        fields.map_or(Self::Conflict, Self::Fields)
    }
}

/// Takes what happened to a child over to its parent; whether anything did.
fn settle(children: &mut Children<'_>, at: usize, outcome: Outcome, is_array: bool) -> bool {
    match outcome {
        Outcome::Unchanged => return false,
        Outcome::Inside => {}
        Outcome::Replaced => children.items[at].is_set = true,
        Outcome::Removed if is_array => {
            children.items[at].node = Node::Given(RawBsonRef::Null);
            children.items[at].is_set = true;
        }
        Outcome::Removed => {
            let child = children.items.remove(at);
            children.removed.push(child.name.into_owned());
        }
    }
    true
}

impl Applier<'_> {
    /// Adds nulls up to a position.
    fn pad(&mut self, children: &mut Children<'_>, name: &str) -> Result<()> {
        let index = position(name).unwrap_or(usize::MAX);
        let present = children.items.len();
        if index.saturating_sub(present) > PADDING_MAX {
            return Err(Error::new(
                Code::CANNOT_BACKFILL_ARRAY,
                format!("can't backfill more than {PADDING_MAX} elements"),
            ));
        }
        for at in present..index {
            // Many long paddings would fill the memory before the size of the document is known.
            self.padded += PADDING_BYTES + at.checked_ilog10().unwrap_or(0) as usize;
            if self.padded > self.document_max {
                return Err(super::too_large(self.document_max));
            }
            let node = Node::Given(RawBsonRef::Null);
            children.items.push(Child { name: Cow::Borrowed(""), node, is_set: false });
        }
        Ok(())
    }
}
