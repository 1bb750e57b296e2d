//! The conditions of `$pull` and the array filters: the only place that knows of filters.

use bson::{RawBson, RawBsonRef, RawDocument, RawDocumentBuf};

use crate::collation::Collation;
use crate::error::{Error, Result};
use crate::filter::{Filter, FilterOptions};
use crate::order;

/// What `$pull` removes.
#[derive(Debug)]
pub(super) enum Condition {
    /// What equals a value.
    Equal(RawBson),
    /// Documents that a query matches.
    Document(Filter),
    /// Values that satisfy operators or a regular expression.
    Value(Filter),
}

/// Operators that stand for a whole query rather than for a condition on a value.
const OF_QUERIES: [&str; 8] =
    ["$and", "$or", "$nor", "$expr", "$where", "$text", "$comment", "$jsonSchema"];

impl Condition {
    /// Reads a value, a query on documents, or operators.
    pub(super) fn parse(value: RawBsonRef<'_>, options: &FilterOptions) -> Result<Self> {
        let options = without_expressions(options);
        Ok(match value {
            RawBsonRef::Document(document) if is_query(document)? => {
                Self::Document(Filter::parse(document, &options)?)
            }
            RawBsonRef::Document(_) | RawBsonRef::RegularExpression(_) => {
                Self::Value(Filter::parse_condition(value, &options)?)
            }
            value => Self::Equal(value.into()),
        })
    }

    /// Whether an element has to go.
    pub(super) fn matches(
        &self,
        element: RawBsonRef<'_>,
        collation: Option<&Collation>,
    ) -> Result<bool> {
        match (self, element) {
            (Self::Equal(value), element) => {
                Ok(order::compare(element, value.as_raw_bson_ref(), collation).is_eq())
            }
            (Self::Document(filter), RawBsonRef::Document(document)) => filter.matches(document),
            (Self::Document(_), _) => Ok(false),
            (Self::Value(filter), element) => filter.matches_value(element),
        }
    }
}

fn without_expressions(options: &FilterOptions) -> FilterOptions {
    FilterOptions { allows_expressions: false, ..options.clone() }
}

fn is_query(document: &RawDocument) -> Result<bool> {
    let first = document.iter().next().transpose()?;
    Ok(first.is_none_or(|(name, _)| {
        !name.as_str().starts_with('$') || OF_QUERIES.contains(&name.as_str())
    }))
}

/// Filters of elements, by the names that paths use for them.
#[derive(Debug)]
pub(super) struct ArrayFilters {
    filters: Vec<(String, Filter)>,
}

impl ArrayFilters {
    /// Reads the filters of a command.
    pub(super) fn parse(documents: &[RawDocumentBuf], options: &FilterOptions) -> Result<Self> {
        let options = without_expressions(options);
        let mut filters: Vec<(String, Filter)> = Vec::new();
        for document in documents {
            let (name, filter) = array_filter(document, &options)?;
            if filters.iter().any(|(known, _)| *known == name) {
                return Err(Error::failed_to_parse(format!(
                    "Found multiple array filters with the same top-level field name {name}"
                )));
            }
            filters.push((name, filter));
        }
        Ok(Self { filters })
    }

    /// All names.
    pub(super) fn names(&self) -> impl Iterator<Item = &str> {
        self.filters.iter().map(|(name, _)| name.as_str())
    }

    /// Whether the filter of a name matches an element.
    pub(super) fn matches(&self, name: &str, element: RawBsonRef<'_>) -> Result<bool> {
        match self.filters.iter().find(|(known, _)| known == name) {
            Some((_, filter)) => filter.matches_value(element),
            // Paths were checked against the filters.
            None => Ok(false),
        }
    }
}

fn array_filter(document: &RawDocument, options: &FilterOptions) -> Result<(String, Filter)> {
    let wrong = |error: Error| {
        let message = format!("Error parsing array filter :: caused by :: {}", error.message);
        Error { message, ..error }
    };
    let filter = Filter::parse(document, options).map_err(wrong)?;
    let path = filter.identifier().map_err(wrong)?.map(ToOwned::to_owned);
    let Some(name) = path else {
        return Err(Error::failed_to_parse(
            "Cannot use an expression without a top-level field name in arrayFilters",
        ));
    };
    let is_lower = name.starts_with(|first: char| first.is_ascii_lowercase());
    if !is_lower || !name.bytes().all(|byte| byte.is_ascii_alphanumeric()) {
        return Err(wrong(Error::bad_value(format!(
            "The top-level field name must be an alphanumeric string beginning with a lowercase \
             letter, found '{name}'"
        ))));
    }
    Ok((name, filter))
}
