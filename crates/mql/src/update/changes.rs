//! What an update changed, as change streams tell it.

use std::collections::HashMap;

use bson::{RawArray, RawBsonRef, RawDocument, RawDocumentBuf};

use super::node::{Children, Node};
use crate::error::Result;
use crate::writer::{Element, Elements, Writer, identical};

/// The difference between the document before and after.
#[derive(Clone, Debug, PartialEq)]
pub struct Changes {
    /// `updatedFields`: new values by their dotted paths.
    pub updated: RawDocumentBuf,
    /// `removedFields`: dotted paths.
    pub removed: Vec<String>,
    /// `truncatedArrays`: dotted paths, and how many elements are left.
    pub truncated: Vec<(String, usize)>,
}

/// Collects changes, with the path so far.
struct Collector {
    path: String,
    updated: Writer,
    removed: Vec<String>,
    truncated: Vec<(String, usize)>,
}

impl Collector {
    fn new() -> Self {
        Self {
            path: String::new(),
            updated: Writer::with_capacity(128),
            removed: Vec::new(),
            truncated: Vec::new(),
        }
    }

    fn finish(self) -> Result<Changes> {
        let Self { updated, removed, truncated, .. } = self;
        Ok(Changes { updated: updated.finish()?, removed, truncated })
    }

    /// Runs with a name at the end of the path.
    fn below<T>(&mut self, name: &str, run: impl FnOnce(&mut Self) -> T) -> T {
        let length = self.path.len();
        if length > 0 {
            self.path.push('.');
        }
        self.path.push_str(name);
        let result = run(self);
        self.path.truncate(length);
        result
    }

    fn set(&mut self, value: RawBsonRef<'_>) {
        self.updated.field(&self.path, value);
    }
}

/// The changes that operators made.
pub(super) fn of_tree(root: &Children<'_>) -> Result<Changes> {
    let mut collector = Collector::new();
    collector.children(root, false)?;
    collector.finish()
}

impl Collector {
    fn children(&mut self, children: &Children<'_>, is_array: bool) -> Result<()> {
        for name in &children.removed {
            self.below(name, |at| at.removed.push(at.path.clone()));
        }
        for (at, child) in children.items.iter().enumerate() {
            if !child.is_set && !matches!(child.node, Node::Document(_) | Node::Array(_)) {
                continue;
            }
            let index = if is_array { at.to_string() } else { String::new() };
            let name = if is_array { index.as_str() } else { &child.name };
            self.below(name, |collector| match &child.node {
                Node::Document(children) if !child.is_set => collector.children(children, false),
                Node::Array(children) if !child.is_set => collector.children(children, true),
                node => node.write(&collector.path, 0, &mut collector.updated),
            })?;
        }
        Ok(())
    }
}

/// The changes between two documents, however they came about.
pub(super) fn between(old: &RawDocument, new: &RawDocument) -> Result<Changes> {
    let mut collector = Collector::new();
    let (old, new) = (collect(Elements::of(old))?, collect(Elements::of(new))?);
    collector.documents(&old, &new)?;
    collector.finish()
}

fn collect(elements: Elements<'_>) -> Result<Vec<Element<'_>>> {
    elements.collect()
}

impl Collector {
    fn documents(&mut self, old: &[Element<'_>], new: &[Element<'_>]) -> Result<()> {
        let (old_places, new_places) = (places(old), places(new));
        for field in old {
            if !new_places.contains_key(field.name) {
                self.below(field.name, |at| at.removed.push(at.path.clone()));
            }
        }
        for field in new {
            let before = old_places.get(field.name).map(|at| &old[*at]);
            self.below(field.name, |collector| collector.element(before, field))?;
        }
        Ok(())
    }

    fn element(&mut self, old: Option<&Element<'_>>, new: &Element<'_>) -> Result<()> {
        if let Some(old) = old {
            return self.values(old.value()?, new.value()?);
        }
        self.set(new.value()?);
        Ok(())
    }

    fn values(&mut self, old: RawBsonRef<'_>, new: RawBsonRef<'_>) -> Result<()> {
        if identical(old, new) {
            return Ok(());
        }
        match (old, new) {
            (RawBsonRef::Document(old), RawBsonRef::Document(new)) => {
                let whole = RawBsonRef::Document(new);
                let (old, new) = (collect(Elements::of(old))?, collect(Elements::of(new))?);
                if keeps_order(&old, &new) {
                    return self.documents(&old, &new);
                }
                self.set(whole);
            }
            (RawBsonRef::Array(old), RawBsonRef::Array(new)) => return self.arrays(old, new),
            (_, new) => self.set(new),
        }
        Ok(())
    }

    fn arrays(&mut self, old: &RawArray, new: &RawArray) -> Result<()> {
        let (old, new) = (collect(Elements::of_array(old))?, collect(Elements::of_array(new))?);
        if new.len() < old.len() {
            self.truncated.push((self.path.clone(), new.len()));
        }
        for (at, element) in new.iter().enumerate() {
            self.below(&at.to_string(), |collector| collector.element(old.get(at), element))?;
        }
        Ok(())
    }
}

/// Where each name is. Of fields that share a name the first counts.
fn places<'a>(fields: &[Element<'a>]) -> HashMap<&'a str, usize> {
    let mut places = HashMap::with_capacity(fields.len());
    for (at, field) in fields.iter().enumerate() {
        places.entry(field.name).or_insert(at);
    }
    places
}

/// Whether removing and setting single fields leads from one document to the other: the fields that
/// stay keep their order, and new ones are at the end.
fn keeps_order(old: &[Element<'_>], new: &[Element<'_>]) -> bool {
    let places = places(old);
    new.iter().map(|field| places.get(field.name).copied().unwrap_or(usize::MAX)).is_sorted()
}
