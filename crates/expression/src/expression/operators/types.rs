//! What a value is, and how large: `$type`, `$isNumber`, `$bsonSize`, `$binarySize`, `$tsSecond` and
//! `$tsIncrement`.

use bson::{RawBsonRef, Timestamp};

use super::strings::count;
use crate::error::{Error, Result};
use crate::expression::operator::{Call, Operator};
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::exactly("$type", 1, |call, scope| Ok(call.value(0, scope)?.type_name().into())),
    Operator::exactly("$isNumber", 1, |call, scope| {
        Ok(call.value(0, scope)?.as_number().is_some().into())
    }),
    Operator::exactly("$bsonSize", 1, |call, scope| {
        let value = call.value(0, scope)?;
        match value.as_document() {
            Some(document) => Ok(count(document.as_bytes().len())),
            None if value.is_nullish() => Ok(Computed::NULL),
            None => {
                let found = value.type_name();
                Err(Error::location(
                    31_393,
                    format!("$bsonSize requires a document input, found: {found}"),
                ))
            }
        }
    }),
    Operator::exactly("$binarySize", 1, |call, scope| {
        let value = call.value(0, scope)?;
        match value.as_ref() {
            Some(RawBsonRef::String(text)) => Ok(count(text.len())),
            Some(RawBsonRef::Binary(binary)) => Ok(count(binary.bytes.len())),
            _ if value.is_nullish() => Ok(Computed::NULL),
            _ => {
                let found = value.type_name();
                Err(Error::location(
                    51_276,
                    format!("$binarySize requires a string or BinData argument, found: {found}"),
                ))
            }
        }
    }),
    Operator::exactly("$tsSecond", 1, |call, scope| {
        of_timestamp(call, scope, 5_687_301, |timestamp| timestamp.time)
    }),
    Operator::exactly("$tsIncrement", 1, |call, scope| {
        of_timestamp(call, scope, 5_687_302, |timestamp| timestamp.increment)
    }),
];

fn of_timestamp<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    code: i32,
    part: impl Fn(Timestamp) -> u32,
) -> Result<Computed<'a>> {
    let value = call.value(0, scope)?;
    match value.as_ref() {
        Some(RawBsonRef::Timestamp(timestamp)) => Ok(i64::from(part(timestamp)).into()),
        _ if value.is_nullish() => Ok(Computed::NULL),
        _ => {
            let (name, found) = (call.name(), value.type_name());
            Err(Error::location(
                code,
                format!("Argument to {name} must be a timestamp, but is {found}"),
            ))
        }
    }
}
