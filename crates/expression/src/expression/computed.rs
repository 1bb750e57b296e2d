//! The value of an expression, borrowed where possible.

use bson::{RawArray, RawBson, RawBsonRef, RawDocument};

use crate::number::Number;
use crate::{class, show};

/// What an expression comes to.
#[derive(Clone, Debug, PartialEq)]
pub enum Computed<'a> {
    /// Nothing: a field that is missing. An object leaves such a field out.
    Missing,
    /// A part of a document, of a variable or of the expression itself.
    Borrowed(RawBsonRef<'a>),
    /// A new value.
    Owned(RawBson),
}

impl<'a> Computed<'a> {
    /// Null.
    pub const NULL: Self = Self::Borrowed(RawBsonRef::Null);

    /// The value, unless it is missing.
    pub fn as_ref(&self) -> Option<RawBsonRef<'_>> {
        match self {
            Self::Missing => None,
            Self::Borrowed(value) => Some(*value),
            Self::Owned(value) => Some(value.as_raw_bson_ref()),
        }
    }

    /// The value, with null for what is missing.
    pub fn or_null(&self) -> RawBsonRef<'_> {
        self.as_ref().unwrap_or(RawBsonRef::Null)
    }

    /// A copy that lives on its own; `None` if it is missing.
    pub fn into_owned(self) -> Option<RawBson> {
        match self {
            Self::Missing => None,
            Self::Borrowed(value) => Some(value.into()),
            Self::Owned(value) => Some(value),
        }
    }

    /// The value without what it borrows from.
    pub fn detach<'b>(self) -> Computed<'b> {
        self.into_owned().map_or(Computed::Missing, Computed::Owned)
    }

    /// Whether it is missing, null or undefined.
    pub fn is_nullish(&self) -> bool {
        matches!(self.as_ref(), None | Some(RawBsonRef::Null | RawBsonRef::Undefined))
    }

    /// Whether it counts as true: everything but false, zeros and what is missing, null or undefined.
    pub fn is_truthy(&self) -> bool {
        self.as_ref().is_some_and(is_truthy)
    }

    /// The name of its type, as error messages have it.
    pub fn type_name(&self) -> &'static str {
        self.as_ref().map_or("missing", class::type_name)
    }

    /// The value as error messages show it.
    pub fn shown(&self) -> String {
        self.as_ref().map_or_else(|| "MISSING".to_owned(), show::value)
    }

    /// The number that it is.
    pub fn as_number(&self) -> Option<Number> {
        self.as_ref().and_then(Number::of)
    }

    /// The string that it is. A symbol is none.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Missing => None,
            Self::Borrowed(value) => value.as_str(),
            Self::Owned(value) => value.as_str(),
        }
    }

    /// The array that it is.
    pub fn as_array(&self) -> Option<&RawArray> {
        match self {
            Self::Missing => None,
            Self::Borrowed(value) => value.as_array(),
            Self::Owned(value) => value.as_array(),
        }
    }

    /// The document that it is.
    pub fn as_document(&self) -> Option<&RawDocument> {
        match self {
            Self::Missing => None,
            Self::Borrowed(value) => value.as_document(),
            Self::Owned(value) => value.as_document(),
        }
    }

    /// A part of the value, borrowed if the whole is.
    #[must_use]
    pub fn part(
        self,
        pick: impl for<'v> FnOnce(RawBsonRef<'v>) -> Option<RawBsonRef<'v>>,
    ) -> Computed<'a> {
        match self {
            Self::Missing => Self::Missing,
            Self::Borrowed(value) => pick(value).map_or(Self::Missing, Self::Borrowed),
            Self::Owned(value) => match pick(value.as_raw_bson_ref()) {
                Some(part) => Self::Owned(part.into()),
                None => Self::Missing,
            },
        }
    }
}

/// Whether a value counts as true.
pub(crate) fn is_truthy(value: RawBsonRef<'_>) -> bool {
    match value {
        RawBsonRef::Boolean(is_true) => is_true,
        RawBsonRef::Null | RawBsonRef::Undefined => false,
        other => Number::of(other).is_none_or(|number| !number.compare(Number::Int32(0)).is_eq()),
    }
}

impl<T: Into<RawBson>> From<T> for Computed<'_> {
    fn from(value: T) -> Self {
        Self::Owned(value.into())
    }
}
