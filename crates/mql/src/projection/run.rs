//! A projection at work.

use bson::{RawArray, RawBsonRef, RawDocument};

use super::tree::{Branch, Kind, Slice, Spec};
use crate::error::{Error, Result};
use crate::expression::Scope;
use crate::filter::Filter;
use crate::writer::{Element, Elements, Writer};

/// One application of a projection to one document.
pub(super) struct Run<'r> {
    pub(super) kind: Kind,
    pub(super) document: &'r RawDocument,
    pub(super) scope: &'r Scope<'r>,
    pub(super) matched: Option<usize>,
}

impl Run<'_> {
    /// Writes the fields of a document. `is_open` says that the next array on the way to the matched
    /// element is the one that was matched in.
    pub(super) fn fields(
        &self,
        branch: &Branch,
        elements: Elements<'_>,
        is_open: bool,
        writer: &mut Writer,
    ) -> Result<()> {
        let mut written: Vec<&str> = Vec::new();
        for element in elements {
            let element = element?;
            match branch.specs.get_key_value(element.name) {
                None if self.kind == Kind::Exclusion => writer.copy(&element),
                None => {}
                Some((name, Spec::Branch(below))) => {
                    let is_written = self.below(name, below, &element, is_open, writer)?;
                    if is_written && !branch.appended.is_empty() {
                        written.push(name);
                    }
                }
                Some((name, spec)) => self.field(name, spec, &element, is_open, writer)?,
            }
        }
        for name in &branch.appended {
            match branch.specs.get(name) {
                Some(Spec::Computed(expression)) => {
                    if let Some(value) = expression.evaluate(self.scope)?.as_ref() {
                        writer.field(name, value);
                    }
                }
                Some(Spec::ElemMatch(filter)) => self.elem_match(name, filter, writer)?,
                Some(Spec::Branch(below)) if !written.contains(&name.as_str()) => {
                    let opened = writer.open_document(name);
                    let nothing = RawDocument::from_bytes(EMPTY)?;
                    self.fields(below, Elements::of(nothing), false, writer)?;
                    writer.close(opened);
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Writes a field that is named itself.
    fn field(
        &self,
        name: &str,
        spec: &Spec,
        element: &Element<'_>,
        is_open: bool,
        writer: &mut Writer,
    ) -> Result<()> {
        match spec {
            Spec::Keep => writer.copy(element),
            Spec::Slice(slice) => match element.value()? {
                RawBsonRef::Array(array) => write_slice(name, *slice, array, writer)?,
                _ => writer.copy(element),
            },
            Spec::Matched => match element.value()? {
                RawBsonRef::Array(array) if is_open => {
                    let matched = self.matched(array)?;
                    let opened = writer.open_array(name);
                    writer.copy_as("0", &matched);
                    writer.close(opened);
                }
                _ => writer.copy(element),
            },
            Spec::Drop | Spec::Branch(_) | Spec::ElemMatch(_) | Spec::Computed(_) => {}
        }
        Ok(())
    }

    /// Writes what is left of a field of which something below is named; whether there is anything
    /// left.
    fn below(
        &self,
        name: &str,
        branch: &Branch,
        element: &Element<'_>,
        is_open: bool,
        writer: &mut Writer,
    ) -> Result<bool> {
        if !element.is_container() {
            if self.kind == Kind::Exclusion {
                writer.copy_as(name, element);
            }
            return Ok(self.kind == Kind::Exclusion);
        }
        match element.value()? {
            RawBsonRef::Document(document) => {
                let opened = writer.open_document(name);
                self.fields(branch, Elements::of(document), is_open, writer)?;
                writer.close(opened);
            }
            RawBsonRef::Array(array) => {
                let opened = writer.open_array(name);
                self.elements(branch, array, is_open, writer)?;
                writer.close(opened);
            }
            _ => {}
        }
        Ok(true)
    }

    fn elements(
        &self,
        branch: &Branch,
        array: &RawArray,
        is_open: bool,
        writer: &mut Writer,
    ) -> Result<()> {
        if is_open && branch.has_match {
            self.below("0", branch, &self.matched(array)?, false, writer)?;
            return Ok(());
        }
        let mut at = 0;
        for element in Elements::of_array(array) {
            if self.below(&at.to_string(), branch, &element?, is_open, writer)? {
                at += 1;
            }
        }
        Ok(())
    }

    /// The element that the query matched.
    fn matched<'a>(&self, array: &'a RawArray) -> Result<Element<'a>> {
        let index = self.matched.ok_or_else(|| {
            Error::location(
                51_246,
                "positional operator '.$' couldn't find a matching element in the array",
            )
        })?;
        Elements::of_array(array).nth(index).unwrap_or_else(|| {
            Err(Error::location(51_247, "positional operator '.$' element mismatch"))
        })
    }

    fn elem_match(&self, name: &str, filter: &Filter, writer: &mut Writer) -> Result<()> {
        let Some(RawBsonRef::Array(array)) = self.document.get(name)? else { return Ok(()) };
        let found = filter.find(self.document)?.and_then(|found| found.position);
        let element = found.and_then(|index| Elements::of_array(array).nth(index));
        if let Some(element) = element {
            let opened = writer.open_array(name);
            writer.copy_as("0", &element?);
            writer.close(opened);
        }
        Ok(())
    }
}

/// The document without fields.
const EMPTY: &[u8] = &[5, 0, 0, 0, 0];

fn write_slice(name: &str, slice: Slice, array: &RawArray, writer: &mut Writer) -> Result<()> {
    let distance = usize::try_from(slice.skip.unsigned_abs()).unwrap_or(usize::MAX);
    let skip = if slice.skip < 0 {
        Elements::of_array(array).count().saturating_sub(distance)
    } else {
        distance
    };
    let opened = writer.open_array(name);
    for (at, element) in Elements::of_array(array).skip(skip).take(slice.limit).enumerate() {
        writer.copy_as(&at.to_string(), &element?);
    }
    writer.close(opened);
    Ok(())
}
