//! The document while it changes: a tree that goes only as deep as the operators reach. What they do
//! not reach stays as bytes.

use std::borrow::Cow;

use bson::raw::RawIter;
use bson::{RawBson, RawBsonRef, RawDocumentBuf};

use crate::error::{Code, Error, Result};
use crate::path::position;
use crate::writer::{Element, Elements, Writer, is_nested_within};

/// The deepest nesting of documents and arrays.
pub(super) const DEPTH_MAX: usize = 200;

/// A value of the document.
#[derive(Clone, Debug)]
pub(super) enum Node<'a> {
    /// As it was.
    Kept(Element<'a>),
    /// A value of the update or from elsewhere in the document.
    Given(RawBsonRef<'a>),
    /// A computed value.
    Made(RawBson),
    /// A document in which something changes.
    Document(Children<'a>),
    /// An array in which something changes.
    Array(Children<'a>),
}

/// What is in a document or an array.
#[derive(Clone, Debug, Default)]
pub(super) struct Children<'a> {
    /// The fields or elements.
    pub(super) items: Vec<Child<'a>>,
    /// The names of fields that were removed.
    pub(super) removed: Vec<String>,
}

/// A field or an element.
#[derive(Clone, Debug)]
pub(super) struct Child<'a> {
    /// The name of the field; of no meaning for an element.
    pub(super) name: Cow<'a, str>,
    /// Its value.
    pub(super) node: Node<'a>,
    /// Whether it is described as a whole, being new or replaced.
    pub(super) is_set: bool,
}

impl<'a> Children<'a> {
    /// All elements, as they are.
    pub(super) fn of(elements: Elements<'a>) -> Result<Self> {
        let mut items = Vec::new();
        for element in elements {
            let element = element?;
            let (name, node) = (Cow::Borrowed(element.name), Node::Kept(element));
            items.push(Child { name, node, is_set: false });
        }
        Ok(Self { items, removed: Vec::new() })
    }

    /// Adds what was not there.
    pub(super) fn push(&mut self, name: Cow<'a, str>, node: Node<'a>) {
        self.items.push(Child { name, node, is_set: true });
    }

    /// Writes them as fields.
    pub(super) fn write_fields(&self, depth: usize, writer: &mut Writer) -> Result<()> {
        self.items.iter().try_for_each(|child| child.node.write(&child.name, depth, writer))
    }

    fn write_elements(&self, depth: usize, writer: &mut Writer) -> Result<()> {
        for (at, child) in self.items.iter().enumerate() {
            match &child.node {
                Node::Kept(element) if position(element.name) == Some(at) => writer.copy(element),
                node => node.write(&at.to_string(), depth, writer)?,
            }
        }
        Ok(())
    }
}

impl<'a> Node<'a> {
    /// The value, unless something in it changes.
    pub(super) fn value(&self) -> Result<RawBsonRef<'a>> {
        match self {
            Self::Kept(element) => element.value(),
            Self::Given(value) => Ok(*value),
            _ => Err(changed_twice()),
        }
    }

    /// Takes a document or an array apart; `false` if it is neither.
    pub(super) fn enter(&mut self) -> Result<bool> {
        *self = match self {
            Self::Document(_) | Self::Array(_) => return Ok(true),
            _ => match self.value()? {
                RawBsonRef::Document(document) => {
                    Self::Document(Children::of(Elements::of(document))?)
                }
                RawBsonRef::Array(array) => Self::Array(Children::of(Elements::of_array(array))?),
                _ => return Ok(false),
            },
        };
        Ok(true)
    }

    /// A copy of the value, for messages.
    pub(super) fn to_value(&self) -> Result<RawBson> {
        Ok(match self {
            Self::Kept(element) => element.value()?.into(),
            Self::Given(value) => (*value).into(),
            Self::Made(value) => value.clone(),
            Self::Document(_) | Self::Array(_) => {
                let mut writer = Writer::with_capacity(64);
                self.write("v", 0, &mut writer)?;
                let document = writer.finish()?;
                document.get("v")?.unwrap_or(RawBsonRef::Null).into()
            }
        })
    }

    /// Writes the value as a field of a document that is nested in `depth` others.
    pub(super) fn write(&self, name: &str, depth: usize, writer: &mut Writer) -> Result<()> {
        match self {
            Self::Kept(element) if element.name == name => writer.copy(element),
            Self::Kept(element) => writer.copy_as(name, element),
            Self::Given(value) => {
                check_depth(*value, depth)?;
                writer.field(name, *value);
            }
            Self::Made(value) => {
                check_depth(value.as_raw_bson_ref(), depth)?;
                writer.field(name, value.as_raw_bson_ref());
            }
            Self::Document(children) => {
                check_level(depth + 1)?;
                let opened = writer.open_document(name);
                children.write_fields(depth + 1, writer)?;
                writer.close(opened);
            }
            Self::Array(children) => {
                check_level(depth + 1)?;
                let opened = writer.open_array(name);
                children.write_elements(depth + 1, writer)?;
                writer.close(opened);
            }
        }
        Ok(())
    }
}

/// Operators that change the same place conflict, so this is never met.
pub(super) fn changed_twice() -> Error {
    Error::new(Code::INTERNAL_ERROR, "an update changed the same value twice")
}

fn too_deep() -> Error {
    let message = format!("Document exceeds maximum nesting depth of {DEPTH_MAX}");
    Error::new(Code::OVERFLOW, message)
}

fn check_level(depth: usize) -> Result<()> {
    if depth < DEPTH_MAX { Ok(()) } else { Err(too_deep()) }
}

/// Refuses a value that is nested too deep in a document that is itself nested in `depth` others.
fn check_depth(value: RawBsonRef<'_>, depth: usize) -> Result<()> {
    match value {
        RawBsonRef::Document(document) => check_elements(document.iter_elements(), depth + 1),
        RawBsonRef::Array(array) => check_elements(array.iter_elements(), depth + 1),
        _ => Ok(()),
    }
}

/// Refuses the content of a document that is nested in `depth` others if it is too deep.
pub(super) fn check_elements(elements: RawIter<'_>, depth: usize) -> Result<()> {
    let levels = DEPTH_MAX.saturating_sub(depth);
    if is_nested_within(elements, levels)? { Ok(()) } else { Err(too_deep()) }
}

/// Writes a whole document.
pub(super) fn write_document(root: &Children<'_>, capacity: usize) -> Result<RawDocumentBuf> {
    let mut writer = Writer::with_capacity(capacity);
    root.write_fields(0, &mut writer)?;
    writer.finish()
}
