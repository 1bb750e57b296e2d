//! `$mergeObjects`, `$objectToArray` and `$arrayToObject`.

use bson::raw::cstr;
use bson::{RawBsonRef, RawDocument};

use super::arrays::elements;
use crate::class::type_name;
use crate::error::{Error, Result};
use crate::expression::build::{Fields, List};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};
use crate::show;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::any("$mergeObjects", merge),
    Operator::exactly("$objectToArray", 1, to_array),
    Operator::exactly("$arrayToObject", 1, to_object),
];

/// Fields by name, each at the place of its first appearance, with its last value.
#[derive(Default)]
pub(super) struct Merged<'v> {
    fields: Vec<(&'v str, RawBsonRef<'v>)>,
    positions: std::collections::HashMap<&'v str, usize>,
}

impl<'v> Merged<'v> {
    pub(super) fn set(&mut self, name: &'v str, value: RawBsonRef<'v>) {
        let next = self.fields.len();
        let position = *self.positions.entry(name).or_insert(next);
        if position == next {
            self.fields.push((name, value));
        } else {
            self.fields[position].1 = value;
        }
    }

    pub(super) fn finish<'a>(self) -> Result<Computed<'a>> {
        let mut document = Fields::default();
        for (name, value) in self.fields {
            document.append_text(name, value)?;
        }
        Ok(document.finish().into())
    }
}

/// Merges documents; a single argument may be an array of them.
fn merge<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let values: Vec<Computed<'a>> =
        call.arguments.iter().map(|node| node.evaluate(scope)).collect::<Result<_>>()?;
    let documents = match values.as_slice() {
        [single] => match single.as_array() {
            Some(array) => elements(array),
            None => single.as_ref().into_iter().collect(),
        },
        several => several.iter().filter_map(Computed::as_ref).collect(),
    };
    let mut merged = Merged::default();
    for value in documents {
        match value {
            RawBsonRef::Null | RawBsonRef::Undefined => {}
            RawBsonRef::Document(document) => {
                for field in document {
                    let (name, value) = field?;
                    merged.set(name.as_str(), value);
                }
            }
            other => {
                let (shown, found) = (show::value(other), type_name(other));
                return Err(Error::location(
                    40_400,
                    format!(
                        "$mergeObjects requires object inputs, but input {shown} is of type {found}"
                    ),
                ));
            }
        }
    }
    merged.finish()
}

fn to_array<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    if value.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(document) = value.as_document() else {
        let found = value.type_name();
        return Err(Error::location(
            40_390,
            format!("$objectToArray requires a document input, found: {found}"),
        ));
    };
    let mut list = List::default();
    for field in document {
        let (name, value) = field?;
        let mut pair = Fields::default();
        pair.append(cstr!("k"), RawBsonRef::String(name.as_str()))?;
        pair.append(cstr!("v"), value)?;
        list.push(Some(pair.finish().as_raw_bson_ref()))?;
    }
    Ok(list.finish().into())
}

fn to_object<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    if value.is_nullish() {
        return Ok(Computed::NULL);
    }
    let Some(array) = value.as_array() else {
        let found = value.type_name();
        return Err(Error::location(
            40_386,
            format!("$arrayToObject requires an array input, found: {found}"),
        ));
    };
    let elements = elements(array);
    let mut merged = Merged::default();
    match elements.first() {
        None => {}
        Some(RawBsonRef::Array(_)) => {
            for element in elements {
                let (name, value) = pair_of_array(element)?;
                merged.set(name, value);
            }
        }
        Some(RawBsonRef::Document(_)) => {
            for element in elements {
                let (name, value) = pair_of_object(element)?;
                merged.set(name, value);
            }
        }
        Some(other) => {
            let found = type_name(*other);
            return Err(Error::location(
                40_398,
                format!("Unrecognised input type format for $arrayToObject: {found}"),
            ));
        }
    }
    merged.finish()
}

/// `[name, value]`
fn pair_of_array(element: RawBsonRef<'_>) -> Result<(&str, RawBsonRef<'_>)> {
    let Some(array) = element.as_array() else {
        let found = type_name(element);
        return Err(Error::location(
            40_396,
            format!(
                "$arrayToObject requires a consistent input format. Elements must\
                 all be arrays or all be objects. Array was detected, now found: {found}"
            ),
        ));
    };
    match elements(array).as_slice() {
        [RawBsonRef::String(name), value] => Ok((checked(name, 4_940_400)?, *value)),
        [other, _] => {
            let found = type_name(*other);
            Err(Error::location(
                40_395,
                format!(
                    "$arrayToObject requires an array of key-value pairs, where the key must be \
                     of type string. Found key type: {found}"
                ),
            ))
        }
        several => {
            let size = several.len();
            Err(Error::location(
                40_397,
                format!(
                    "$arrayToObject requires an array of size 2 arrays,found array of size: {size}"
                ),
            ))
        }
    }
}

/// `{k: name, v: value}`
fn pair_of_object(element: RawBsonRef<'_>) -> Result<(&str, RawBsonRef<'_>)> {
    let Some(document) = element.as_document() else {
        let found = type_name(element);
        return Err(Error::location(
            40_391,
            format!(
                "$arrayToObject requires a consistent input format. Elements must\
                 all be arrays or all be objects. Object was detected, now found: {found}"
            ),
        ));
    };
    let count = document.iter().count();
    if count != 2 {
        return Err(Error::location(
            40_392,
            format!(
                "$arrayToObject requires an object keys of 'k' and 'v'. Found incorrect number of \
                 keys:{count}"
            ),
        ));
    }
    let (name, value) = keys(document)?;
    match name {
        RawBsonRef::String(name) => Ok((checked(name, 4_940_401)?, value)),
        other => {
            let found = type_name(other);
            Err(Error::location(
                40_394,
                format!(
                    "$arrayToObject requires an object with keys 'k' and 'v', where the value of \
                     'k' must be of type string. Found type: {found}"
                ),
            ))
        }
    }
}

fn keys(document: &RawDocument) -> Result<(RawBsonRef<'_>, RawBsonRef<'_>)> {
    document.get("k")?.zip(document.get("v")?).ok_or_else(|| {
        let shown = show::document(document);
        Error::location(
            40_393,
            format!(
                "$arrayToObject requires an object with keys 'k' and 'v'. Missing either or both \
                 keys from: {shown}"
            ),
        )
    })
}

fn checked(name: &str, code: i32) -> Result<&str> {
    if name.contains('\0') {
        return Err(Error::location(code, "Key field cannot contain an embedded null byte"));
    }
    Ok(name)
}
