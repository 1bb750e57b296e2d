//! Paths in expressions. Unlike those of filters they never take a number as the position in an
//! array; an array on the way becomes the array of what its documents have there.

use std::collections::BTreeSet;

use bson::{RawArray, RawArrayBuf, RawBsonRef, RawDocument};

use super::Computed;
use crate::error::{Error, Result};
use crate::path::PARTS_MAX;

/// The fields that an expression reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldPaths {
    /// Whether it reads the document as a whole.
    pub reads_all: bool,
    /// The dotted paths of fields it reads, each with whatever is below.
    pub paths: BTreeSet<String>,
}

impl FieldPaths {
    pub(super) fn add(&mut self, path: &FieldPath) {
        if path.is_empty() {
            self.reads_all = true;
        } else {
            self.paths.insert(path.text());
        }
    }
}

/// The parts of a path; none for the whole value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FieldPath(Vec<String>);

impl FieldPath {
    /// The path that leads nowhere further.
    pub(super) fn whole() -> Self {
        Self(Vec::new())
    }

    /// Checks and splits a path.
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.ends_with('.') {
            return Err(Error::location(40_353, "FieldPath must not end with a '.'."));
        }
        let parts: Vec<String> = text.split('.').map(str::to_owned).collect();
        for part in &parts {
            check_name(part)?;
        }
        if parts.len() > PARTS_MAX {
            return Err(Error::new(
                crate::Code::OVERFLOW,
                format!("FieldPath is too long, the maximum is {PARTS_MAX}"),
            ));
        }
        Ok(Self(parts))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The path with its dots.
    pub(super) fn text(&self) -> String {
        self.0.join(".")
    }

    /// What the path leads to.
    pub(super) fn of<'a>(&self, value: Computed<'a>) -> Computed<'a> {
        if self.0.is_empty() {
            return value;
        }
        match value {
            Computed::Missing => Computed::Missing,
            Computed::Borrowed(value) => at_value(value, &self.0),
            Computed::Owned(value) => at_value(value.as_raw_bson_ref(), &self.0).detach(),
        }
    }
}

/// Checks the name of a field in an expression.
pub(super) fn check_name(name: &str) -> Result<()> {
    if name.is_empty() {
        return Err(Error::location(15_998, "FieldPath field names may not be empty strings."));
    }
    if name.starts_with('$') {
        return Err(Error::location(
            16_410,
            "FieldPath field names may not start with '$'. Consider using $getField or $setField.",
        ));
    }
    if name.contains('\0') {
        return Err(Error::location(16_411, "FieldPath field names may not contain '\0'."));
    }
    if name.contains('.') {
        return Err(Error::location(
            16_412,
            "FieldPath field names may not contain '.'. Consider using $getField or $setField.",
        ));
    }
    Ok(())
}

fn at_value<'a>(value: RawBsonRef<'a>, parts: &[String]) -> Computed<'a> {
    match value {
        RawBsonRef::Document(document) => in_document(document, parts),
        RawBsonRef::Array(array) => in_array(array, parts),
        _ => Computed::Missing,
    }
}

fn in_document<'a>(document: &'a RawDocument, parts: &[String]) -> Computed<'a> {
    let Some((first, rest)) = parts.split_first() else { return Computed::Missing };
    match document.get(first) {
        Ok(Some(value)) if rest.is_empty() => Computed::Borrowed(value),
        Ok(Some(value)) => at_value(value, rest),
        _ => Computed::Missing,
    }
}

fn in_array<'a>(array: &'a RawArray, parts: &[String]) -> Computed<'a> {
    let mut found = RawArrayBuf::new();
    for element in array.into_iter().flatten() {
        if let RawBsonRef::Document(document) = element
            && let Some(value) = in_document(document, parts).as_ref()
        {
            found.push(value);
        }
    }
    found.into()
}
