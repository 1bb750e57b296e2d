//! The values that a path leads to, with their positions in arrays.
//!
//! As [`path::visit`](crate::path::visit), with the elements of an array at the end of the path
//! before the array itself. The position is that of the outermost array that was entered without
//! the path naming an element, because `$` in updates and projections means that one.

use bson::{RawArray, RawBsonRef, RawDocument};

use crate::error::Result;
use crate::path::Part;

/// What is done with a value that was found, and its position. True ends the search.
pub(super) trait Visit<'a>:
    FnMut(Option<RawBsonRef<'a>>, Option<usize>) -> Result<bool>
{
}

impl<'a, F: FnMut(Option<RawBsonRef<'a>>, Option<usize>) -> Result<bool>> Visit<'a> for F {}

/// How to walk.
#[derive(Clone, Copy)]
pub(super) struct Walk {
    /// Whether to enter an array at the end of the path.
    pub(super) enters_leaves: bool,
}

impl Walk {
    /// What a path leads to from a document.
    pub(super) fn document<'a>(
        self,
        document: &'a RawDocument,
        parts: &[Part],
        position: Option<usize>,
        visit: &mut impl Visit<'a>,
    ) -> Result<bool> {
        let Some((first, rest)) = parts.split_first() else { return Ok(false) };
        match document.get(&first.name) {
            Ok(Some(value)) => self.value(value, rest, position, visit),
            _ => visit(None, position),
        }
    }

    /// What the rest of a path leads to from a value.
    pub(super) fn value<'a>(
        self,
        value: RawBsonRef<'a>,
        rest: &[Part],
        position: Option<usize>,
        visit: &mut impl Visit<'a>,
    ) -> Result<bool> {
        match (rest.first(), value) {
            (None, RawBsonRef::Array(array)) if self.enters_leaves => {
                for (at, element) in elements(array) {
                    if visit(Some(element), position.or(Some(at)))? {
                        return Ok(true);
                    }
                }
                visit(Some(value), position)
            }
            (None, value) => visit(Some(value), position),
            (Some(_), RawBsonRef::Document(document)) => {
                self.document(document, rest, position, visit)
            }
            (Some(next), RawBsonRef::Array(array)) => {
                self.array(array, next, rest, position, visit)
            }
            _ => visit(None, position),
        }
    }

    /// What a path leads to through the elements of an array: those that are documents, and the one
    /// that the next part names.
    fn array<'a>(
        self,
        array: &'a RawArray,
        next: &Part,
        rest: &[Part],
        position: Option<usize>,
        visit: &mut impl Visit<'a>,
    ) -> Result<bool> {
        for (at, element) in elements(array) {
            if let RawBsonRef::Document(document) = element
                && self.document(document, rest, position.or(Some(at)), visit)?
            {
                return Ok(true);
            }
            if next.index != Some(at) {
                continue;
            }
            let is_done = match (&rest[1..], element) {
                ([], _) => visit(Some(element), position.or(Some(at)))?,
                (rest, RawBsonRef::Document(_) | RawBsonRef::Array(_)) => {
                    self.value(element, rest, position, visit)?
                }
                _ => false,
            };
            if is_done {
                return Ok(true);
            }
        }
        Ok(false)
    }
}

/// The elements of an array with their positions.
pub(super) fn elements(array: &RawArray) -> impl Iterator<Item = (usize, RawBsonRef<'_>)> {
    array.into_iter().enumerate().filter_map(|(at, element)| Some((at, element.ok()?)))
}
