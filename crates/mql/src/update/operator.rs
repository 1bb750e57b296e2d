//! The operators of updates, and how they are read.

use bson::{RawBson, RawBsonRef, RawDocument};

use super::arithmetic::Bits;
use super::array::{AddToSet, Push};
use super::matching::Condition;
use super::path::UpdatePath;
use crate::class::type_name;
use crate::error::{Error, Result};
use crate::filter::FilterOptions;
use crate::number::Number;
use crate::show;

/// What happens to one field.
#[derive(Debug)]
pub(super) enum Operator {
    /// `$set`
    Set(RawBson),
    /// `$setOnInsert`
    SetOnInsert(RawBson),
    /// `$unset`
    Unset,
    /// `$inc`
    Inc(Number),
    /// `$mul`
    Mul(Number),
    /// `$min`
    Min(RawBson),
    /// `$max`
    Max(RawBson),
    /// `$currentDate`
    CurrentDate {
        /// Whether it is a timestamp rather than a date.
        is_timestamp: bool,
    },
    /// `$bit`
    Bit(Vec<Bits>),
    /// `$push`
    Push(Push),
    /// `$addToSet`
    AddToSet(AddToSet),
    /// `$pop`
    Pop {
        /// Whether the first element goes rather than the last.
        is_first: bool,
    },
    /// `$pull`
    Pull(Condition),
    /// `$pullAll`
    PullAll(Vec<RawBson>),
    /// `$rename`, at the old name: the field goes.
    RenameFrom,
    /// `$rename`, at the new name.
    RenameTo {
        /// The old one.
        from: UpdatePath,
    },
}

impl Operator {
    /// Reads the operand of an operator for a path. `$rename` stands for two operators and is read by
    /// [`rename`].
    pub(super) fn parse(
        name: &str,
        path: &str,
        value: RawBsonRef<'_>,
        options: &FilterOptions,
    ) -> Result<Self> {
        Ok(match name {
            "$set" => Self::Set(value.into()),
            "$setOnInsert" => Self::SetOnInsert(value.into()),
            "$unset" => Self::Unset,
            "$inc" => Self::Inc(number(path, value, "increment")?),
            "$mul" => Self::Mul(number(path, value, "multiply")?),
            "$min" => Self::Min(value.into()),
            "$max" => Self::Max(value.into()),
            "$currentDate" => Self::CurrentDate { is_timestamp: is_timestamp(value)? },
            "$bit" => Self::Bit(Bits::parse(value)?),
            "$push" => Self::Push(Push::parse(value)?),
            "$addToSet" => Self::AddToSet(AddToSet::parse(value)?),
            "$pop" => Self::Pop { is_first: is_first(path, value)? },
            "$pull" => Self::Pull(Condition::parse(value, options)?),
            "$pullAll" => Self::PullAll(list(value)?),
            unknown => return Err(unknown_modifier(unknown)),
        })
    }

    /// Whether the operator creates its field where it is missing.
    pub(super) fn creates(&self, is_insert: bool) -> bool {
        match self {
            Self::SetOnInsert(_) => is_insert,
            Self::Unset
            | Self::Pop { .. }
            | Self::Pull(_)
            | Self::PullAll(_)
            | Self::RenameFrom => false,
            _ => true,
        }
    }

    /// Whether the operator, which does not create its field, minds if there cannot be one.
    pub(super) fn needs_viable_path(&self) -> bool {
        matches!(self, Self::Pop { .. } | Self::Pull(_) | Self::PullAll(_))
    }
}

/// The error for what is no operator.
pub(super) fn unknown_modifier(name: &str) -> Error {
    Error::failed_to_parse(format!(
        "Unknown modifier: {name}. Expected a valid update modifier or pipeline-style update \
         specified as an array"
    ))
}

fn number(path: &str, value: RawBsonRef<'_>, verb: &str) -> Result<Number> {
    Number::of(value).ok_or_else(|| {
        Error::type_mismatch(format!(
            "Cannot {verb} with non-numeric argument: {{{path}: {}}}",
            show::value(value)
        ))
    })
}

fn is_timestamp(value: RawBsonRef<'_>) -> Result<bool> {
    let document = match value {
        RawBsonRef::Boolean(_) => return Ok(false),
        RawBsonRef::Document(document) => document,
        other => {
            return Err(Error::bad_value(format!(
                "{} is not valid type for $currentDate. Please use a boolean ('true') or a $type \
                 expression ({{$type: 'timestamp/date'}}).",
                type_name(other)
            )));
        }
    };
    let mut kind = None;
    for field in document {
        match field? {
            (name, RawBsonRef::String("date")) if name == "$type" => kind = Some(false),
            (name, RawBsonRef::String("timestamp")) if name == "$type" => kind = Some(true),
            (name, _) if name == "$type" => {
                kind = None;
                break;
            }
            (name, _) => {
                return Err(Error::bad_value(format!(
                    "Unrecognized $currentDate option: {}",
                    name.as_str()
                )));
            }
        }
    }
    kind.ok_or_else(|| {
        Error::bad_value(
            "The '$type' string field is required to be 'date' or 'timestamp': {$currentDate: \
             {field : {$type: 'date'}}}",
        )
    })
}

fn is_first(path: &str, value: RawBsonRef<'_>) -> Result<bool> {
    let Some(number) = Number::of(value) else {
        let shown = show::value(value);
        return Err(Error::failed_to_parse(format!("Expected a number in: {path}: {shown}")));
    };
    match number.exact_i64() {
        Some(1) => Ok(false),
        Some(-1) => Ok(true),
        _ => {
            let shown = show::value(value);
            Err(Error::failed_to_parse(format!("$pop expects 1 or -1, found: {shown}")))
        }
    }
}

fn list(value: RawBsonRef<'_>) -> Result<Vec<RawBson>> {
    let RawBsonRef::Array(array) = value else {
        return Err(Error::bad_value(format!(
            "$pullAll requires an array argument but was given a {}",
            type_name(value)
        )));
    };
    array.into_iter().map(|element| Ok(element?.into())).collect()
}

/// Reads one field of `$rename`: the old and the new path.
pub(super) fn rename(path: &str, value: RawBsonRef<'_>) -> Result<(UpdatePath, UpdatePath)> {
    let shown = || format!("{path}: {}", show::value(value));
    let RawBsonRef::String(to) = value else {
        return Err(Error::bad_value(format!(
            "The 'to' field for $rename must be a string: {}",
            shown()
        )));
    };
    let (from, to) = (UpdatePath::parse(path)?, UpdatePath::parse(to)?);
    if from.parts == to.parts {
        return Err(Error::bad_value(format!(
            "The source and target field for $rename must differ: {}",
            shown()
        )));
    }
    if from.parts.starts_with(&to.parts) || to.parts.starts_with(&from.parts) {
        return Err(Error::bad_value(format!(
            "The source and target field for $rename must not be on the same path: {}",
            shown()
        )));
    }
    for (path, which) in [(&from, "source"), (&to, "destination")] {
        if path.is_dynamic() {
            return Err(Error::bad_value(format!(
                "The {which} field for $rename may not be dynamic: {}",
                path.text
            )));
        }
    }
    Ok((from, to))
}

/// The fields that an operator works on.
pub(super) fn operands<'a>(name: &str, value: RawBsonRef<'a>) -> Result<&'a RawDocument> {
    value.as_document().ok_or_else(|| {
        Error::failed_to_parse(format!(
            "Modifiers operate on fields but we found type {} instead. For example: {{$mod: \
             {{<field>: ...}}}} not {{{name}: {}}}",
            type_name(value),
            show::value(value)
        ))
    })
}
