//! `$convert`, and its short forms `$toBool`, `$toDate`, `$toDecimal`, `$toDouble`, `$toInt`, `$toLong`,
//! `$toObjectId` and `$toString`.

use bson::oid::ObjectId;
use bson::{DateTime, RawBson, RawBsonRef};

use super::text::double_text;
use super::{date_parse, date_text, text};
use crate::class::type_name;
use crate::decimal::Decimal;
use crate::error::{Code, Error, Result};
use crate::expression::computed::is_truthy;
use crate::expression::node::Node;
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::parser::Parser;
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$convert", Form::Custom(parse_convert), convert),
    Operator::new("$toBool", Form::Custom(parse_short), |c, s| short(c, s, Target::Bool)),
    Operator::new("$toDate", Form::Custom(parse_short), |c, s| short(c, s, Target::Date)),
    Operator::new("$toDecimal", Form::Custom(parse_short), |c, s| short(c, s, Target::Decimal)),
    Operator::new("$toDouble", Form::Custom(parse_short), |c, s| short(c, s, Target::Double)),
    Operator::new("$toInt", Form::Custom(parse_short), |c, s| short(c, s, Target::Int)),
    Operator::new("$toLong", Form::Custom(parse_short), |c, s| short(c, s, Target::Long)),
    Operator::new("$toObjectId", Form::Custom(parse_short), |c, s| short(c, s, Target::ObjectId)),
    Operator::new("$toString", Form::Custom(parse_short), |c, s| short(c, s, Target::String)),
];

/// The types that something can be converted to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Target {
    Double,
    String,
    ObjectId,
    Bool,
    Date,
    Int,
    Long,
    Decimal,
}

/// All types that have a name, with their numbers; only some are targets.
const TYPES: [(&str, i32, Option<Target>); 21] = [
    ("double", 1, Some(Target::Double)),
    ("string", 2, Some(Target::String)),
    ("object", 3, None),
    ("array", 4, None),
    ("binData", 5, None),
    ("undefined", 6, None),
    ("objectId", 7, Some(Target::ObjectId)),
    ("bool", 8, Some(Target::Bool)),
    ("date", 9, Some(Target::Date)),
    ("null", 10, None),
    ("regex", 11, None),
    ("dbPointer", 12, None),
    ("javascript", 13, None),
    ("symbol", 14, None),
    ("javascriptWithScope", 15, None),
    ("int", 16, Some(Target::Int)),
    ("timestamp", 17, None),
    ("long", 18, Some(Target::Long)),
    ("decimal", 19, Some(Target::Decimal)),
    ("minKey", -1, None),
    ("maxKey", 127, None),
];

static NAMES: Names = Names {
    not_object: (9, "$convert expects an object of named arguments but found: {}"),
    unknown: (9, "$convert found an unknown argument: {}"),
    fields: &[
        ("input", Some((9, "Missing 'input' parameter to $convert"))),
        ("to", Some((9, "Missing 'to' parameter to $convert"))),
        ("onError", None),
        ("onNull", None),
    ],
};

fn parse_convert(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let arguments = NAMES.arguments(parser, value)?;
    if let Some(to) = arguments[1].constant() {
        target(&to)?;
    }
    operator.call(arguments)
}

fn parse_short(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let arguments = parser.arguments(value)?;
    if arguments.len() != 1 {
        let (name, found) = (operator.name, arguments.len());
        return Err(Error::location(
            50_723,
            format!("{name} requires a single argument, got {found}"),
        ));
    }
    operator.call(arguments)
}

fn short<'a>(call: &'a Call, scope: &Scope<'a>, target: Target) -> Result<Computed<'a>> {
    let input = call.value(0, scope)?;
    if input.is_nullish() {
        return Ok(Computed::NULL);
    }
    converted(input, Ok(target))
}

fn convert<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (to, input) = (call.value(1, scope)?, call.value(0, scope)?);
    if input.is_nullish() {
        return if call.is_given(3) { call.value(3, scope) } else { Ok(Computed::NULL) };
    }
    let Some(target) = target(&to)? else { return Ok(Computed::NULL) };
    match converted(input, target) {
        Err(error) if error.code == Code::CONVERSION_FAILURE && call.is_given(2) => {
            call.value(2, scope)
        }
        result => result,
    }
}

/// The type to convert to, or the name of one that nothing is converted to; `None` for null.
fn target(to: &Computed<'_>) -> Result<Option<Result<Target, &'static str>>> {
    if to.is_nullish() {
        return Ok(None);
    }
    let found = match (to.as_text(), to.as_number()) {
        (Some(name), _) => TYPES
            .iter()
            .find(|(known, _, _)| *known == name)
            .ok_or_else(|| Error::bad_value(format!("Unknown type name: {name}")))?,
        (None, Some(number)) => {
            let Some(code) = number.exact_i64() else {
                return Err(Error::failed_to_parse(
                    "In $convert, numeric 'to' argument is not an integer",
                ));
            };
            TYPES.iter().find(|(_, known, _)| i64::from(*known) == code).ok_or_else(|| {
                Error::failed_to_parse(format!(
                    "In $convert, numeric value for 'to' does not correspond to a BSON type: {code}"
                ))
            })?
        }
        (None, None) => {
            let found = to.type_name();
            return Err(Error::failed_to_parse(format!(
                "$convert's 'to' argument must be a string or number, but is {found}"
            )));
        }
    };
    Ok(Some(found.2.ok_or(found.0)))
}

/// A failure that `onError` catches. The message goes on after a part that all of them have.
fn failure(what: &str, more: &str) -> Error {
    Error::new(Code::CONVERSION_FAILURE, format!("{what} in $convert with no onError value{more}"))
}

fn converted<'a>(input: Computed<'a>, target: Result<Target, &str>) -> Result<Computed<'a>> {
    use RawBsonRef as V;
    let value = input.or_null();
    let unsupported = |name: &str| {
        let found = type_name(value);
        failure(&format!("Unsupported conversion from {found} to {name}"), "")
    };
    let target = target.map_err(unsupported)?;
    let name = TYPES.iter().find(|(_, _, known)| *known == Some(target));
    let name = name.map_or("", |(name, _, _)| name);
    let result: RawBson = match (target, value) {
        (Target::Bool, value) => is_truthy(value).into(),
        (Target::Double, V::Double(_))
        | (Target::String, V::String(_))
        | (Target::ObjectId, V::ObjectId(_))
        | (Target::Date, V::DateTime(_))
        | (Target::Int, V::Int32(_))
        | (Target::Long, V::Int64(_))
        | (Target::Decimal, V::Decimal128(_)) => return Ok(input),
        (Target::String, value) => to_string(value).unwrap_or_else(|| Err(unsupported(name)))?,
        (Target::ObjectId, V::String(text)) => to_object_id(text)?.into(),
        (Target::Date, value) => to_date(value).unwrap_or_else(|| Err(unsupported(name)))?.into(),
        (Target::Double | Target::Int | Target::Long | Target::Decimal, value) => {
            to_number(value, target).unwrap_or_else(|| Err(unsupported(name)))?.into()
        }
        (Target::ObjectId, _) => return Err(unsupported(name)),
    };
    Ok(Computed::Owned(result))
}

/// A text; `None` if there is none of this type.
fn to_string(value: RawBsonRef<'_>) -> Option<Result<RawBson>> {
    use RawBsonRef as V;
    let text = match value {
        V::Boolean(is_true) => is_true.to_string(),
        V::ObjectId(id) => id.to_hex(),
        V::DateTime(date) => match date_text::iso(date.timestamp_millis()) {
            Ok(text) => text,
            Err(error) => return Some(Err(error)),
        },
        V::Double(double) if double.is_nan() => "NaN".to_owned(),
        V::Double(double) if double.is_infinite() => {
            if double > 0.0 { "Infinity" } else { "-Infinity" }.to_owned()
        }
        other => text::number_text(Number::of(other)?),
    };
    Some(Ok(text.into()))
}

fn to_object_id(text: &str) -> Result<ObjectId> {
    let failed = |reason: &str| {
        failure(&format!("Failed to parse objectId '{text}'"), &format!(": {reason}"))
    };
    if text.len() != 24 {
        let length = text.len();
        return Err(failed(&format!(
            "Invalid string length for parsing to OID, expected 24 but found {length}"
        )));
    }
    ObjectId::parse_str(text).map_err(|_| {
        let wrong = text.chars().find(|character| !character.is_ascii_hexdigit());
        let wrong = wrong.unwrap_or_default();
        failed(&format!("Invalid character found in hex string: '{wrong}'"))
    })
}

/// A date; `None` if there is none of this type.
fn to_date(value: RawBsonRef<'_>) -> Option<Result<DateTime>> {
    use RawBsonRef as V;
    Some(match value {
        V::ObjectId(id) => Ok(id.timestamp()),
        V::Timestamp(timestamp) => {
            Ok(DateTime::from_millis(i64::from(timestamp.time).saturating_mul(1000)))
        }
        V::String(text) => date_parse::parse(text).map(DateTime::from_millis),
        V::Int64(_) | V::Double(_) | V::Decimal128(_) => {
            let number = Number::of(value)?;
            whole(number, i64::MIN, i64::MAX).map(DateTime::from_millis)
        }
        _ => return None,
    })
}

/// A number of the type; `None` if there is none.
fn to_number(value: RawBsonRef<'_>, target: Target) -> Option<Result<Number>> {
    let number = match value {
        RawBsonRef::Boolean(is_true) => Number::Int32(is_true.into()),
        RawBsonRef::DateTime(date) if target != Target::Int => {
            Number::Int64(date.timestamp_millis())
        }
        RawBsonRef::String(text) => return Some(parse_number(text, target)),
        other => Number::of(other)?,
    };
    Some(match target {
        Target::Double => to_double(number),
        Target::Int => whole(number, i32::MIN.into(), i32::MAX.into())
            .map(|whole| Number::Int32(i32::try_from(whole).unwrap_or(0))),
        Target::Long => whole(number, i64::MIN, i64::MAX).map(Number::Int64),
        _ => Ok(Number::Decimal(number.to_decimal())),
    })
}

/// Decimals that are too large for a double are refused.
fn to_double(number: Number) -> Result<Number> {
    let double = number.to_f64();
    if let Number::Decimal(decimal) = number
        && double.is_infinite()
        && !decimal.is_special()
    {
        return Err(failure("Conversion would overflow target type", &format!(": {decimal}")));
    }
    Ok(Number::Double(double))
}

/// The integer without the fraction, if it is within the bounds.
fn whole(number: Number, least: i64, most: i64) -> Result<i64> {
    if number.is_nan() {
        return Err(failure("Attempt to convert NaN value to integer type", ""));
    }
    if number.to_f64().is_infinite() && !matches!(number, Number::Decimal(d) if !d.is_special()) {
        return Err(failure("Attempt to convert infinity value to integer type", ""));
    }
    number.truncated_i64().filter(|whole| (least..=most).contains(whole)).ok_or_else(|| {
        let shown = match number {
            Number::Double(double) => double_text(double),
            other => text::number_text(other),
        };
        failure("Conversion would overflow target type", &format!(": {shown}"))
    })
}

fn parse_number(text: &str, target: Target) -> Result<Number> {
    let failed =
        |reason: &str| failure(&format!("Failed to parse number '{text}'"), &format!(": {reason}"));
    let is_blank = |character: Option<char>| character.is_some_and(char::is_whitespace);
    if text.is_empty() {
        return Err(failed("Empty string"));
    }
    if is_blank(text.chars().next()) {
        return Err(failed("Leading whitespace"));
    }
    match target {
        Target::Double => parse_double(text).map(Number::Double).map_err(failed),
        Target::Decimal => text
            .parse::<Decimal>()
            .map(Number::Decimal)
            .map_err(|_| failed("Failed to parse string to decimal")),
        _ => {
            let long = parse_integer(text).map_err(failed)?;
            match (target, i32::try_from(long)) {
                (Target::Int, Ok(short)) => Ok(Number::Int32(short)),
                (Target::Int, Err(_)) => Err(failed("Overflow")),
                _ => Ok(Number::Int64(long)),
            }
        }
    }
}

fn parse_integer(text: &str) -> Result<i64, &'static str> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = digits.find(|character: char| !character.is_ascii_digit());
    match end {
        Some(_) => Err("Did not consume whole string."),
        None if digits.is_empty() => Err("Did not consume any digits"),
        None => text.parse().map_err(|_| "Overflow"),
    }
}

fn parse_double(text: &str) -> Result<f64, &'static str> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    let is_hex = digits.get(..2).is_some_and(|start| start.eq_ignore_ascii_case("0x"));
    if is_hex {
        return Err("Did not consume whole string.");
    }
    let double: f64 = text.parse().map_err(|_| "Did not consume whole string.")?;
    let names_infinity = digits.starts_with(['i', 'I']);
    if double.is_infinite() && !names_infinity {
        return Err("Out of range");
    }
    Ok(double)
}
