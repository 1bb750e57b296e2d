//! `$sort` of `$push`.

use std::cmp::Ordering;

use bson::{RawBsonRef, RawDocument};

use crate::collation::Collation;
use crate::error::{Error, Result};
use crate::number::Number;
use crate::order;
use crate::path::{Path, element};

/// How the elements of an array are sorted.
#[derive(Debug)]
pub(super) enum Sort {
    /// By their values.
    Whole(Direction),
    /// By their fields.
    Fields(Vec<(Path, Direction)>),
}

/// From which end it sorts.
#[derive(Clone, Copy, Debug)]
pub(super) enum Direction {
    Ascending,
    Descending,
}

impl Direction {
    fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        match Number::of(value).and_then(Number::exact_i64) {
            Some(1) => Ok(Self::Ascending),
            Some(-1) => Ok(Self::Descending),
            _ => Err(Error::bad_value("The $sort element value must be either 1 or -1")),
        }
    }

    fn of(self, order: Ordering) -> Ordering {
        match self {
            Self::Ascending => order,
            Self::Descending => order.reverse(),
        }
    }
}

impl Sort {
    /// Reads `1`, `-1` or `{field: 1, ..}`.
    pub(super) fn parse(value: RawBsonRef<'_>) -> Result<Self> {
        match value {
            RawBsonRef::Document(document) => Ok(Self::Fields(fields(document)?)),
            value if Number::of(value).is_some() => Ok(Self::Whole(Direction::parse(value)?)),
            _ => Err(Error::bad_value(
                "The $sort is invalid: use 1/-1 to sort the whole element, or {field:1/-1} to \
                 sort embedded fields",
            )),
        }
    }

    /// Sorts elements; those that compare equal keep their order.
    pub(super) fn apply(&self, elements: &mut Vec<RawBsonRef<'_>>, collation: Option<&Collation>) {
        match self {
            Self::Whole(direction) => {
                elements.sort_by(|a, b| direction.of(order::compare(*a, *b, collation)));
            }
            Self::Fields(fields) => {
                let mut keyed: Vec<_> = elements
                    .iter()
                    .map(|element| {
                        (fields.iter().map(|(path, _)| find(*element, path)).collect(), *element)
                    })
                    .collect();
                keyed.sort_by(|(a, _): &(Vec<_>, _), (b, _)| {
                    let orders = a.iter().zip(b).zip(fields);
                    orders
                        .map(|((a, b), (_, direction))| {
                            direction.of(order::compare_optional(*a, *b, collation))
                        })
                        .find(|order| order.is_ne())
                        .unwrap_or(Ordering::Equal)
                });
                *elements = keyed.into_iter().map(|(_, element)| element).collect();
            }
        }
    }
}

fn fields(document: &RawDocument) -> Result<Vec<(Path, Direction)>> {
    let mut fields = Vec::new();
    for field in document {
        let (name, value) = field?;
        let direction = Direction::parse(value)?;
        let path = Path::new(name.as_str());
        if name.is_empty() {
            return Err(Error::bad_value("The $sort field cannot be empty"));
        }
        if path.parts().iter().any(|part| part.name.is_empty()) {
            return Err(Error::bad_value(format!(
                "The $sort field is a dotted field but has an empty part: {}",
                name.as_str()
            )));
        }
        fields.push((path, direction));
    }
    if fields.is_empty() {
        return Err(Error::bad_value(
            "The $sort pattern is empty when it should be a set of fields.",
        ));
    }
    Ok(fields)
}

/// The value at a path, which does not spread over the elements of arrays.
pub(super) fn find<'a>(value: RawBsonRef<'a>, path: &Path) -> Option<RawBsonRef<'a>> {
    path.parts().iter().try_fold(value, |value, part| match value {
        RawBsonRef::Document(document) => document.get(&part.name).ok().flatten(),
        RawBsonRef::Array(array) => part.index.and_then(|index| element(array, index)),
        _ => None,
    })
}
