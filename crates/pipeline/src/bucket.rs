//! `$sortByCount` and `$bucket`, which are made of `$group` and `$sort`.

use bson::raw::cstr;
use bson::{RawArrayBuf, RawBson, RawBsonRef, RawDocumentBuf, rawdoc};
use expression::class::{Class, type_name};
use expression::{Computed, Error, Expression, Result, order, show};

use crate::group::Group;
use crate::options::PipelineOptions;
use crate::sort::Sort;

/// Reads `$sortByCount`.
pub(crate) fn sort_by_count(
    value: RawBsonRef<'_>,
    options: &PipelineOptions,
) -> Result<(Group, Sort)> {
    if let Err(location) = check_expression(value, [40_147, 40_148, 40_149]) {
        return Err(Error::location(
            location,
            "the sortByCount field must be defined as a $-prefixed path or an expression inside an \
             object",
        ));
    }
    let mut group = RawDocumentBuf::new();
    group.append(cstr!("_id"), value);
    group.append(cstr!("count"), rawdoc! {"$sum": 1});
    let sort = rawdoc! {"count": -1};
    Ok((Group::parse(RawBsonRef::Document(&group), options)?, parse_sort(&sort)?))
}

fn parse_sort(sort: &RawDocumentBuf) -> Result<Sort> {
    Sort::parse(RawBsonRef::Document(sort))
}

/// Checks that a value is a path or an expression; the error is one of three numbers: for an object
/// that is none, for a string that is none, for another type.
pub(crate) fn check_expression(value: RawBsonRef<'_>, locations: [i32; 3]) -> Result<(), i32> {
    match value {
        RawBsonRef::Document(document) => {
            let first = document.iter().next().and_then(std::result::Result::ok);
            let is_operator = first.is_some_and(|(name, _)| name.as_str().starts_with('$'));
            if is_operator { Ok(()) } else { Err(locations[0]) }
        }
        RawBsonRef::String(text) if text.starts_with('$') => Ok(()),
        RawBsonRef::String(_) => Err(locations[1]),
        _ => Err(locations[2]),
    }
}

/// The fields of `$bucket`.
#[derive(Default)]
struct Fields<'f> {
    group_by: Option<RawBsonRef<'f>>,
    boundaries: Option<Vec<RawBson>>,
    default: Option<RawBson>,
    output: Option<RawBsonRef<'f>>,
}

/// Reads `$bucket`.
pub(crate) fn bucket(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<(Group, Sort)> {
    let Some(document) = value.as_document() else {
        return Err(Error::location(
            40_201,
            format!(
                "Argument to $bucket stage must be an object, but found type: {}.",
                type_name(value)
            ),
        ));
    };
    let mut fields = Fields::default();
    for field in document {
        let (name, value) = field?;
        fields.read(name.as_str(), value, options)?;
    }
    let (Some(group_by), Some(boundaries)) = (fields.group_by, &fields.boundaries) else {
        return Err(Error::location(
            40_198,
            "$bucket requires 'groupBy' and 'boundaries' to be specified.",
        ));
    };
    check_default(fields.default.as_ref(), boundaries, options)?;
    let mut group = RawDocumentBuf::new();
    group.append(cstr!("_id"), choice(group_by, boundaries, fields.default.as_ref()));
    match fields.output {
        None => group.append(cstr!("count"), rawdoc! {"$sum": 1}),
        Some(output) => {
            for field in output.as_document().into_iter().flatten() {
                let (name, value) = field?;
                group.append(name, value);
            }
        }
    }
    let sort = rawdoc! {"_id": 1};
    Ok((Group::parse(RawBsonRef::Document(&group), options)?, parse_sort(&sort)?))
}

impl<'f> Fields<'f> {
    fn read(&mut self, name: &str, value: RawBsonRef<'f>, options: &PipelineOptions) -> Result<()> {
        match name {
            "groupBy" => {
                if check_expression(value, [0; 3]).is_err() {
                    return Err(Error::location(
                        40_202,
                        format!(
                            "The $bucket 'groupBy' field must be defined as a $-prefixed path or \
                             an expression, but found: {}.",
                            show::value(value)
                        ),
                    ));
                }
                self.group_by = Some(value);
            }
            "boundaries" => self.boundaries = Some(boundaries(value, options)?),
            "default" => {
                let default = constant(value, options).ok_or_else(|| {
                    Error::location(
                        40_195,
                        format!(
                            "The $bucket 'default' field must be a constant, but found: {}.",
                            show::value(value)
                        ),
                    )
                })?;
                self.default = Some(default);
            }
            "output" => {
                if value.as_document().is_none() {
                    return Err(Error::location(
                        40_196,
                        format!(
                            "The $bucket 'output' field must be an object, but found type: {}.",
                            type_name(value)
                        ),
                    ));
                }
                self.output = Some(value);
            }
            other => {
                return Err(Error::location(
                    40_197,
                    format!("Unrecognized option to $bucket: {other}."),
                ));
            }
        }
        Ok(())
    }
}

/// The value of an expression that is always the same.
fn constant(value: RawBsonRef<'_>, options: &PipelineOptions) -> Option<RawBson> {
    let expression = Expression::parse(value, &options.filter.names).ok()?;
    expression.constant().and_then(Computed::into_owned)
}

fn boundaries(value: RawBsonRef<'_>, options: &PipelineOptions) -> Result<Vec<RawBson>> {
    let Some(array) = value.as_array() else {
        return Err(Error::location(
            40_200,
            format!(
                "The $bucket 'boundaries' field must be an array, but found type: {}.",
                type_name(value)
            ),
        ));
    };
    let mut found: Vec<RawBson> = Vec::new();
    for element in array {
        let element = element?;
        found.push(constant(element, options).ok_or_else(|| {
            Error::location(
                40_191,
                format!(
                    "The $bucket 'boundaries' field must be an array of constant values, but found \
                     value: {}.",
                    show::value(element)
                ),
            )
        })?);
    }
    if found.len() < 2 {
        return Err(Error::location(
            40_192,
            format!(
                "The $bucket 'boundaries' field must have at least 2 values, but found {} value(s).",
                found.len()
            ),
        ));
    }
    for (at, pair) in found.windows(2).enumerate() {
        let (lower, upper) = (pair[0].as_raw_bson_ref(), pair[1].as_raw_bson_ref());
        if Class::of(lower) != Class::of(upper) {
            return Err(Error::location(
                40_193,
                format!(
                    "All values in the the 'boundaries' option to $bucket must have the same type. \
                     Found conflicting types {} and {}.",
                    type_name(lower),
                    type_name(upper)
                ),
            ));
        }
        if order::compare(lower, upper, options.filter.collation.as_deref()).is_ge() {
            return Err(Error::location(
                40_194,
                format!(
                    "The 'boundaries' option to $bucket must be sorted, but elements {at} and {} \
                     are not in ascending order ({} is not less than {}).",
                    at + 1,
                    show::value(lower),
                    show::value(upper)
                ),
            ));
        }
    }
    Ok(found)
}

fn check_default(
    default: Option<&RawBson>,
    boundaries: &[RawBson],
    options: &PipelineOptions,
) -> Result<()> {
    let (Some(default), [lowest, .., highest]) = (default, boundaries) else { return Ok(()) };
    let collation = options.filter.collation.as_deref();
    let compare = |other: &RawBson| {
        order::compare(default.as_raw_bson_ref(), other.as_raw_bson_ref(), collation)
    };
    if compare(lowest).is_lt() || compare(highest).is_ge() {
        return Ok(());
    }
    Err(Error::location(
        40_199,
        "The $bucket 'default' field must be less than the lowest boundary or greater than or \
         equal to the highest boundary.",
    ))
}

/// `{$switch: ..}` that gives the lower boundary of a value.
fn choice(
    group_by: RawBsonRef<'_>,
    boundaries: &[RawBson],
    default: Option<&RawBson>,
) -> RawDocumentBuf {
    let literal = |value: &RawBson| {
        let mut literal = RawDocumentBuf::new();
        literal.append(cstr!("$literal"), value.as_raw_bson_ref());
        literal
    };
    let comparison = |operator, value: &RawBson| {
        let mut arguments = RawArrayBuf::new();
        arguments.push(group_by);
        arguments.push(literal(value));
        let mut comparison = RawDocumentBuf::new();
        comparison.append(operator, arguments);
        comparison
    };
    let mut branches = RawArrayBuf::new();
    for pair in boundaries.windows(2) {
        let mut both = RawArrayBuf::new();
        both.push(comparison(cstr!("$gte"), &pair[0]));
        both.push(comparison(cstr!("$lt"), &pair[1]));
        branches.push(rawdoc! {"case": {"$and": both}, "then": literal(&pair[0])});
    }
    let mut choice = RawDocumentBuf::new();
    choice.append(cstr!("branches"), branches);
    if let Some(default) = default {
        choice.append(cstr!("default"), literal(default));
    }
    rawdoc! {"$switch": choice}
}
