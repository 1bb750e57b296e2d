//! Tests of filters as a whole: tables of documents and what matches them.

use bson::{Bson, Document, RawBson, RawDocumentBuf};

use super::{Filter, FilterOptions};
use crate::error::Result;

mod arrays;
mod comparison;
mod errors;
mod nulls;
mod operators;
mod planning;
mod properties;

pub(in crate::filter) fn raw(document: &Document) -> RawDocumentBuf {
    RawDocumentBuf::try_from(document).unwrap()
}

pub(in crate::filter) fn parse(filter: &Document) -> Result<Filter> {
    Filter::parse(&raw(filter), &FilterOptions::default())
}

pub(in crate::filter) fn matches(filter: &Document, document: &Document) -> bool {
    let parsed = parse(filter).unwrap_or_else(|error| panic!("{filter}: {error}"));
    parsed.matches(&raw(document)).unwrap_or_else(|error| panic!("{filter}: {error}"))
}

/// Checks which of the values, as field `a`, match a condition on that field.
pub(in crate::filter) fn check_values(condition: impl Into<Bson>, values: &[(Bson, bool)]) {
    let filter = bson::doc! {"a": condition.into()};
    for (value, expected) in values {
        let document = bson::doc! {"a": value.clone()};
        assert_eq!(matches(&filter, &document), *expected, "{filter} on {document}");
    }
}

/// The number and the text of the error that a filter is refused with.
pub(in crate::filter) fn refusal(filter: &Document) -> (i32, String) {
    match parse(filter) {
        Ok(parsed) => panic!("{filter} became {:?}", parsed.root()),
        Err(error) => (error.code.number(), error.message),
    }
}

pub(in crate::filter) fn value(value: impl Into<Bson>) -> RawBson {
    value.into().try_into().unwrap()
}
