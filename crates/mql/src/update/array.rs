//! `$push`, `$addToSet`, `$pop`, `$pull` and `$pullAll`.

use std::collections::HashSet;

use bson::{RawArray, RawBson, RawBsonRef};

use super::matching::Condition;
use super::node::{Children, Node};
use super::sort::Sort;
use crate::class::type_name;
use crate::collation::Collation;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::writer::{Writer, identical};
use crate::{key, order, show};

/// `$push`
#[derive(Debug)]
pub(super) struct Push {
    values: Vec<RawBson>,
    position: Option<i64>,
    slice: Option<i64>,
    sort: Option<Sort>,
}

/// What became of an array.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Effect {
    /// Nothing.
    Unchanged,
    /// Elements were appended, the others are as they were.
    Appended,
    /// The array is another.
    Replaced,
}

fn each(array: RawBsonRef<'_>, wrong: impl FnOnce(&str) -> Error) -> Result<Vec<RawBson>> {
    let Some(array) = array.as_array() else { return Err(wrong(type_name(array))) };
    array.into_iter().map(|element| Ok(element?.into())).collect()
}

/// An integer, which may be written as a number of another kind.
fn integer(value: RawBsonRef<'_>, wrong: impl FnOnce(&str) -> String) -> Result<i64> {
    Number::of(value)
        .and_then(Number::exact_i64)
        .ok_or_else(|| Error::bad_value(wrong(type_name(value))))
}

impl Push {
    /// Reads a value to append, or `{$each: [..], $position: .., $slice: .., $sort: ..}`.
    pub(super) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        let mut push = Self { values: Vec::new(), position: None, slice: None, sort: None };
        let clauses = match value {
            RawBsonRef::Document(document) if document.get("$each")?.is_some() => document,
            value => {
                push.values.push(value.into());
                return Ok(push);
            }
        };
        for clause in clauses {
            let (name, value) = clause?;
            match name.as_str() {
                "$each" => {
                    push.values = each(value, |kind| {
                        Error::bad_value(format!(
                            "The argument to $each in $push must be an array but it was of type: \
                             {kind}"
                        ))
                    })?;
                }
                "$slice" => {
                    push.slice = Some(integer(value, |kind| {
                        format!(
                            "The value for $slice must be an integer value but was given type: \
                             {kind}"
                        )
                    })?);
                }
                "$position" => {
                    push.position = Some(integer(value, |kind| {
                        format!(
                            "The value for $position must be an integer value, not of type: {kind}"
                        )
                    })?);
                }
                "$sort" => push.sort = Some(Sort::parse(value)?),
                unknown => {
                    return Err(Error::bad_value(format!(
                        "Unrecognized clause in $push: {unknown}"
                    )));
                }
            }
        }
        Ok(push)
    }

    /// Where the values go in an array of a length.
    fn place(&self, length: usize) -> usize {
        let Some(position) = self.position else { return length };
        let distance = usize::try_from(position.unsigned_abs()).unwrap_or(usize::MAX);
        if position < 0 { length.saturating_sub(distance) } else { length.min(distance) }
    }

    /// Changes an array.
    pub(super) fn apply<'a>(
        &'a self,
        node: &mut Node<'a>,
        array: &'a RawArray,
        collation: Option<&Collation>,
    ) -> Result<Effect> {
        if self.values.is_empty() && self.slice.is_none() && self.sort.is_none() {
            return Ok(Effect::Unchanged);
        }
        if self.slice.is_none() && self.sort.is_none() {
            let length = array.into_iter().count();
            if self.place(length) == length {
                return append(node, self.values.iter());
            }
        }
        let mut elements = array.into_iter().collect::<Result<Vec<_>, _>>()?;
        let place = self.place(elements.len());
        let values = self.values.iter().map(RawBson::as_raw_bson_ref);
        elements.splice(place..place, values);
        if let Some(sort) = &self.sort {
            sort.apply(&mut elements, collation);
        }
        if let Some(slice) = self.slice {
            elements = sliced(elements, slice);
        }
        let made = array_of(&elements)?;
        if identical(made.as_raw_bson_ref(), RawBsonRef::Array(array)) {
            return Ok(Effect::Unchanged);
        }
        *node = Node::Made(made);
        Ok(Effect::Replaced)
    }

    /// The array where there was none.
    pub(super) fn create(&self, collation: Option<&Collation>) -> Result<RawBson> {
        let mut elements: Vec<_> = self.values.iter().map(RawBson::as_raw_bson_ref).collect();
        if let Some(sort) = &self.sort {
            sort.apply(&mut elements, collation);
        }
        if let Some(slice) = self.slice {
            elements = sliced(elements, slice);
        }
        array_of(&elements)
    }
}

/// The first or, if negative, the last elements.
fn sliced(mut elements: Vec<RawBsonRef<'_>>, slice: i64) -> Vec<RawBsonRef<'_>> {
    let count = usize::try_from(slice.unsigned_abs()).unwrap_or(usize::MAX);
    if slice < 0 {
        elements.drain(..elements.len().saturating_sub(count));
    } else {
        elements.truncate(count);
    }
    elements
}

/// An array of values.
pub(super) fn array_of(elements: &[RawBsonRef<'_>]) -> Result<RawBson> {
    let mut writer = Writer::with_capacity(64);
    let opened = writer.open_array("v");
    for (at, element) in elements.iter().enumerate() {
        writer.field(&at.to_string(), *element);
    }
    writer.close(opened);
    let document = writer.finish()?;
    Ok(document.get("v")?.unwrap_or(RawBsonRef::Null).into())
}

fn append<'a>(node: &mut Node<'a>, values: impl Iterator<Item = &'a RawBson>) -> Result<Effect> {
    node.enter()?;
    let Node::Array(children) = node else { return Err(super::node::changed_twice()) };
    let was_empty = children.items.is_empty();
    for value in values {
        children.push("".into(), Node::Given(value.as_raw_bson_ref()));
    }
    // Change streams show the first elements of an array as a new array.
    Ok(if was_empty { Effect::Replaced } else { Effect::Appended })
}

/// `$addToSet`
#[derive(Debug)]
pub(super) struct AddToSet {
    values: Vec<RawBson>,
}

impl AddToSet {
    /// Reads a value, or `{$each: [..]}`.
    pub(super) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        let first = match value {
            RawBsonRef::Document(document) => document.iter().next().transpose()?,
            _ => None,
        };
        let Some((_, list)) = first.filter(|(name, _)| *name == "$each") else {
            return Ok(Self { values: vec![value.into()] });
        };
        let values = each(list, |kind| {
            Error::type_mismatch(format!(
                "The argument to $each in $addToSet must be an array but it was of type {kind}"
            ))
        })?;
        if value.as_document().is_some_and(|document| document.iter().count() > 1) {
            return Err(Error::bad_value(format!(
                "Found unexpected fields after $each in $addToSet: {}",
                show::value(value)
            )));
        }
        Ok(Self { values })
    }

    /// Those values that differ from each other and from the elements of an array.
    fn missing<'a>(
        &'a self,
        elements: impl Iterator<Item = RawBsonRef<'a>>,
        collation: Option<&Collation>,
    ) -> Vec<&'a RawBson> {
        if let [value] = self.values.as_slice() {
            let mut elements = elements;
            let value_ref = value.as_raw_bson_ref();
            let is_known =
                elements.any(|element| order::compare(element, value_ref, collation).is_eq());
            return if is_known { Vec::new() } else { vec![value] };
        }
        let key = |value| key::of(Some(value), collation);
        let mut known: HashSet<Vec<u8>> = elements.map(key).collect();
        self.values.iter().filter(|value| known.insert(key(value.as_raw_bson_ref()))).collect()
    }

    /// Appends to an array what it lacks.
    pub(super) fn apply<'a>(
        &'a self,
        node: &mut Node<'a>,
        array: &'a RawArray,
        collation: Option<&Collation>,
    ) -> Result<Effect> {
        let missing = self.missing(array.into_iter().flatten(), collation);
        if missing.is_empty() {
            return Ok(Effect::Unchanged);
        }
        append(node, missing.into_iter())
    }

    /// The array where there was none.
    pub(super) fn create(&self, collation: Option<&Collation>) -> Result<RawBson> {
        let values = self.missing(std::iter::empty(), collation);
        array_of(&values.into_iter().map(RawBson::as_raw_bson_ref).collect::<Vec<_>>())
    }
}

/// Removes the first or the last element of an array.
pub(super) fn pop(node: &mut Node<'_>, is_first: bool) -> Result<Effect> {
    change(node, |children| {
        if children.items.is_empty() {
            return Ok(false);
        }
        if is_first {
            children.items.remove(0);
        } else {
            children.items.pop();
        }
        Ok(true)
    })
}

/// Removes the elements that a condition matches.
pub(super) fn pull(
    node: &mut Node<'_>,
    condition: &Condition,
    collation: Option<&Collation>,
) -> Result<Effect> {
    remove(node, |element| condition.matches(element, collation))
}

/// Removes the elements that equal one of the values.
pub(super) fn pull_all(
    node: &mut Node<'_>,
    values: &[RawBson],
    collation: Option<&Collation>,
) -> Result<Effect> {
    remove(node, |element| {
        Ok(values
            .iter()
            .any(|value| order::compare(element, value.as_raw_bson_ref(), collation).is_eq()))
    })
}

fn remove(
    node: &mut Node<'_>,
    mut is_removed: impl FnMut(RawBsonRef<'_>) -> Result<bool>,
) -> Result<Effect> {
    change(node, |children| {
        let mut kept = Vec::with_capacity(children.items.len());
        let before = children.items.len();
        for child in children.items.drain(..) {
            if !is_removed(child.node.value()?)? {
                kept.push(child);
            }
        }
        children.items = kept;
        Ok(children.items.len() < before)
    })
}

fn change(
    node: &mut Node<'_>,
    run: impl FnOnce(&mut Children<'_>) -> Result<bool>,
) -> Result<Effect> {
    let before = node.clone();
    node.enter()?;
    let Node::Array(children) = node else { return Err(super::node::changed_twice()) };
    if run(children)? {
        return Ok(Effect::Replaced);
    }
    *node = before;
    Ok(Effect::Unchanged)
}
