//! The operators that only projections of `find` have.

use bson::raw::CString;
use bson::{RawArray, RawBsonRef, RawDocument, RawDocumentBuf};

use super::ProjectionOptions;
use super::tree::Slice;
use crate::class::type_name;
use crate::error::{Error, Result};
use crate::expression::Expression;
use crate::filter::Filter;
use crate::number::Number;
use crate::show;

/// What an object whose first field begins with `$` stands for.
pub(super) enum Operator {
    /// An aggregation expression.
    Expression,
    /// `$slice` of an array at the same path.
    Slice(Slice),
    /// `$elemMatch`
    ElemMatch(Filter),
}

/// What is known besides [`textScore`](parse) of documents in a search.
const METADATA: [&str; 8] = [
    "textScore",
    "geoNearDistance",
    "geoNearPoint",
    "indexKey",
    "recordId",
    "searchScore",
    "searchHighlights",
    "sortKey",
];

/// Reads an operator at a path.
pub(super) fn parse(
    path: &str,
    document: &RawDocument,
    options: &ProjectionOptions,
) -> Result<Operator> {
    let mut fields = document.iter();
    let (Some(first), None) = (fields.next().transpose()?, fields.next()) else {
        return Ok(Operator::Expression);
    };
    match (first.0.as_str(), first.1) {
        ("$slice", value) => slice(document, value, options),
        ("$elemMatch", value) => elem_match(path, value, options).map(Operator::ElemMatch),
        ("$meta", value) => Err(no_metadata(value)),
        _ => Ok(Operator::Expression),
    }
}

/// Nothing that a document matched by leaves such data.
fn no_metadata(value: RawBsonRef<'_>) -> Error {
    match value {
        RawBsonRef::String("textScore") => {
            Error::location(40_218, "query requires text score metadata, but it is not available")
        }
        RawBsonRef::String(kind) if METADATA.contains(&kind) => Error::location(
            40_218,
            format!("query requires {kind} metadata, but it is not available"),
        ),
        RawBsonRef::String(kind) => {
            Error::location(17_308, format!("Unsupported argument to $meta: {kind}"))
        }
        other => Error::location(
            17_307,
            format!("$meta only supports string arguments, but found {}", type_name(other)),
        ),
    }
}

fn elem_match(path: &str, value: RawBsonRef<'_>, options: &ProjectionOptions) -> Result<Filter> {
    if !matches!(value, RawBsonRef::Document(_)) {
        return Err(Error::location(
            31_274,
            format!("elemMatch: Invalid argument, object required, but got {}", type_name(value)),
        ));
    }
    if path.contains('.') {
        return Err(Error::location(31_275, "Cannot use $elemMatch projection on a nested field."));
    }
    let name = CString::try_from(path)?;
    let mut condition = RawDocumentBuf::new();
    condition.append(bson::raw::cstr!("$elemMatch"), value);
    let mut filter = RawDocumentBuf::new();
    filter.append(name, condition);
    Filter::parse(&filter, &options.filter)
}

/// `$slice` is also an expression; whatever is neither is refused with both reasons.
fn slice(
    document: &RawDocument,
    value: RawBsonRef<'_>,
    options: &ProjectionOptions,
) -> Result<Operator> {
    let reason = match slice_of(value) {
        Ok(slice) => return Ok(Operator::Slice(slice)),
        Err(reason) => reason,
    };
    let Err(error) = Expression::parse(RawBsonRef::Document(document), &options.variables) else {
        return Ok(Operator::Expression);
    };
    Err(Error::location(
        28_667,
        format!(
            "Invalid $slice syntax. The given syntax {} did not match the find() syntax because :: \
             {}: {reason} :: The given syntax did not match the expression $slice syntax. :: caused \
             by :: {error}",
            show::document(document),
            reason.code.name(),
        ),
    ))
}

fn slice_of(value: RawBsonRef<'_>) -> Result<Slice> {
    if let RawBsonRef::Array(array) = value {
        return skip_and_limit(array);
    }
    let Some(count) = Number::of(value).map(integer) else {
        return Err(Error::location(
            31_273,
            "$slice only supports numbers and [skip, limit] arrays",
        ));
    };
    let limit = usize::try_from(count.unsigned_abs()).unwrap_or(usize::MAX);
    Ok(Slice { skip: count.min(0), limit })
}

fn skip_and_limit(array: &RawArray) -> Result<Slice> {
    let values = array.into_iter().collect::<Result<Vec<_>, _>>()?;
    let [skip, limit] = values[..] else {
        return Err(Error::location(
            31_272,
            "$slice array argument should be of form [skip, limit]",
        ));
    };
    let number = |value, name: &str, location| {
        Number::of(value).map(integer).ok_or_else(|| {
            let kind = type_name(value);
            Error::location(
                location,
                format!("$slice expects the {name} argument to be a number, got {kind}"),
            )
        })
    };
    let (skip, limit) = (number(skip, "skip", 31_257)?, number(limit, "limit", 31_258)?);
    if limit <= 0 {
        return Err(Error::location(31_259, format!("$slice limit must be positive, got {limit}")));
    }
    Ok(Slice { skip, limit: usize::try_from(limit).unwrap_or(usize::MAX) })
}

/// The number without its fraction, or the nearest that an `i64` holds.
fn integer(number: Number) -> i64 {
    match number.truncated_i64() {
        Some(integer) => integer,
        None if number.is_nan() => 0,
        None if number.compare(Number::Int32(0)).is_lt() => i64::MIN,
        None => i64::MAX,
    }
}
