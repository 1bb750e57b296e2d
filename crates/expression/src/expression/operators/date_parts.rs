//! Parts of dates: `$year` to `$millisecond`, `$dateToParts` and `$dateFromParts`.

use bson::raw::cstr;
use bson::{DateTime, RawBsonRef};

use crate::error::{Code, Error, Result};
use crate::expression::build::Fields;
use crate::expression::calendar::{self, DAY, Parts};
use crate::expression::node::Node;
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::parser::Parser;
use crate::expression::zone::{Zone, date_millis};
use crate::expression::{Computed, Scope};
use crate::number::Number;
use crate::show;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    part("$year", |c, s| short(c, s, |local| Parts::of(local).year)),
    part("$month", |c, s| short(c, s, |local| Parts::of(local).month)),
    part("$dayOfMonth", |c, s| short(c, s, |local| Parts::of(local).day)),
    part("$hour", |c, s| short(c, s, |local| Parts::of(local).hour)),
    part("$minute", |c, s| short(c, s, |local| Parts::of(local).minute)),
    part("$second", |c, s| short(c, s, |local| Parts::of(local).second)),
    part("$millisecond", |c, s| short(c, s, |local| Parts::of(local).millisecond)),
    part("$dayOfYear", |c, s| short(c, s, |local| calendar::day_of_year(days(local)))),
    part("$dayOfWeek", |c, s| short(c, s, |local| calendar::iso_weekday(days(local)) % 7 + 1)),
    part("$isoDayOfWeek", |c, s| short(c, s, |local| calendar::iso_weekday(days(local)))),
    part("$week", |c, s| short(c, s, |local| calendar::week(days(local)))),
    part("$isoWeek", |c, s| short(c, s, |local| calendar::iso_week(days(local)).1)),
    part("$isoWeekYear", |c, s| {
        let local = local(c, s)?;
        Ok(local.map_or(Computed::NULL, |local| calendar::iso_week(days(local)).0.into()))
    }),
    Operator::new("$dateToParts", Form::Named(&TO_PARTS), to_parts),
    Operator::new("$dateFromParts", Form::Custom(parse_from_parts), from_parts),
];

const fn part(
    name: &'static str,
    evaluate: for<'a> fn(&'a Call, &Scope<'a>) -> Result<Computed<'a>>,
) -> Operator {
    Operator::new(name, Form::Custom(parse_part), evaluate)
}

fn days(local: i64) -> i64 {
    local.div_euclid(DAY)
}

/// A date, `[date]` or `{date, timezone}`.
fn parse_part(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let name = operator.name;
    let arguments = match value {
        RawBsonRef::Array(_) => {
            let arguments = parser.arguments(value)?;
            let found = arguments.len();
            if found != 1 {
                return Err(Error::location(
                    40_536,
                    format!(
                        "{name} accepts exactly one argument if given an array, but was given {found}"
                    ),
                ));
            }
            arguments
        }
        RawBsonRef::Document(document)
            if document
                .iter()
                .flatten()
                .next()
                .is_none_or(|(first, _)| !first.as_str().starts_with('$')) =>
        {
            let (mut date, mut zone) = (None, Node::Absent);
            for field in document {
                let (option, value) = field?;
                match option.as_str() {
                    "date" => date = Some(parser.operand(value)?),
                    "timezone" => zone = parser.operand(value)?,
                    unknown => {
                        return Err(Error::location(
                            40_535,
                            format!("unrecognized option to {name}: \"{unknown}\""),
                        ));
                    }
                }
            }
            let date = date.ok_or_else(|| {
                let shown = show::document(document);
                Error::location(
                    40_539,
                    format!("missing 'date' argument to {name}, provided: {name}: {shown}"),
                )
            })?;
            vec![date, zone]
        }
        single => vec![parser.operand(single)?],
    };
    operator.call(arguments)
}

/// The local time; `None` if the date or the zone is null.
fn local<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Option<i64>> {
    let date = call.value(0, scope)?;
    if date.is_nullish() {
        return Ok(None);
    }
    if call.is_given(1) {
        let zone = call.value(1, scope)?;
        if !zone.is_nullish() && zone.as_text().is_none() {
            let (name, found) = (call.name(), zone.type_name());
            return Err(Error::location(
                40_533,
                format!(
                    "{name} requires a string for the timezone argument, but was given a {found}"
                ),
            ));
        }
    }
    let Some(zone) = Zone::of_argument(call, 1, scope)? else { return Ok(None) };
    Ok(Some(zone.to_local(date_millis(&date)?)))
}

fn short<'a>(call: &'a Call, scope: &Scope<'a>, part: impl Fn(i64) -> i64) -> Result<Computed<'a>> {
    Ok(match local(call, scope)? {
        Some(local) => int(part(local)).into(),
        None => Computed::NULL,
    })
}

/// A part of a date. All of them are small but the year, which cannot exceed three hundred million.
fn int(part: i64) -> i32 {
    i32::try_from(part).unwrap_or(i32::MAX)
}

static TO_PARTS: Names = Names {
    not_object: (40_524, "$dateToParts only supports an object as its argument"),
    unknown: (40_520, "Unrecognized argument to $dateToParts: {}"),
    fields: &[
        ("date", Some((40_522, "Missing 'date' parameter to $dateToParts"))),
        ("timezone", None),
        ("iso8601", None),
    ],
};

fn to_parts<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let date = call.value(0, scope)?;
    let Some(zone) = Zone::of_argument(call, 1, scope)? else { return Ok(Computed::NULL) };
    let iso = call.value(2, scope)?;
    let is_iso = match iso.as_ref() {
        _ if !call.is_given(2) => false,
        None | Some(RawBsonRef::Null | RawBsonRef::Undefined) => return Ok(Computed::NULL),
        Some(RawBsonRef::Boolean(is_iso)) => is_iso,
        Some(_) => {
            let found = iso.type_name();
            return Err(Error::location(
                40_521,
                format!("iso8601 must evaluate to a bool, found {found}"),
            ));
        }
    };
    if date.is_nullish() {
        return Ok(Computed::NULL);
    }
    let local = zone.to_local(date_millis(&date)?);
    let parts = Parts::of(local);
    let mut fields = Fields::default();
    let of = |part: i64| RawBsonRef::Int32(int(part));
    if is_iso {
        let (year, week) = calendar::iso_week(days(local));
        fields.append(cstr!("isoWeekYear"), of(year))?;
        fields.append(cstr!("isoWeek"), of(week))?;
        fields.append(cstr!("isoDayOfWeek"), of(calendar::iso_weekday(days(local))))?;
    } else {
        fields.append(cstr!("year"), of(parts.year))?;
        fields.append(cstr!("month"), of(parts.month))?;
        fields.append(cstr!("day"), of(parts.day))?;
    }
    fields.append(cstr!("hour"), of(parts.hour))?;
    fields.append(cstr!("minute"), of(parts.minute))?;
    fields.append(cstr!("second"), of(parts.second))?;
    fields.append(cstr!("millisecond"), of(parts.millisecond))?;
    Ok(fields.finish().into())
}

static FROM_PARTS: Names = Names {
    not_object: (40_519, "$dateFromParts only supports an object as its argument"),
    unknown: (40_518, "Unrecognized argument to $dateFromParts: {}"),
    fields: &[
        ("year", None),
        ("month", None),
        ("day", None),
        ("hour", None),
        ("minute", None),
        ("second", None),
        ("millisecond", None),
        ("isoWeekYear", None),
        ("isoWeek", None),
        ("isoDayOfWeek", None),
        ("timezone", None),
    ],
};

const YEAR: usize = 0;
const ISO_YEAR: usize = 7;
const ZONE: usize = 10;

fn parse_from_parts(
    parser: &mut Parser,
    operator: &'static Operator,
    value: RawBsonRef<'_>,
) -> Result<Node> {
    let arguments = FROM_PARTS.arguments(parser, value)?;
    let is_given = |at: usize| !matches!(arguments[at], Node::Absent);
    if !is_given(YEAR) && !is_given(ISO_YEAR) {
        return Err(Error::location(
            40_516,
            "$dateFromParts requires either 'year' or 'isoWeekYear' to be present",
        ));
    }
    if is_given(YEAR) && (ISO_YEAR..ZONE).any(is_given) {
        return Err(Error::location(
            40_489,
            "$dateFromParts does not allow mixing natural dates with ISO dates",
        ));
    }
    if is_given(ISO_YEAR) && (YEAR..3).any(is_given) {
        return Err(Error::location(
            40_525,
            "$dateFromParts does not allow mixing ISO dates with natural dates",
        ));
    }
    operator.call(arguments)
}

/// What a part must lie within.
#[derive(Clone, Copy)]
enum Within {
    /// All integers.
    Any,
    /// What MongoDB allows for months, days and hours.
    Short,
    /// Years of four digits, and the error for others.
    Years(i32),
}

fn from_parts<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let part = |at: usize, default: i64, within: Within| number(call, scope, at, default, within);
    let time = [
        part(3, 0, Within::Short)?,
        part(4, 0, Within::Short)?,
        part(5, 0, Within::Any)?,
        part(6, 0, Within::Any)?,
    ];
    let Some(zone) = Zone::of_argument(call, ZONE, scope)? else { return Ok(Computed::NULL) };
    let date = if call.is_given(YEAR) {
        [
            part(0, 1970, Within::Years(40_523))?,
            part(1, 1, Within::Short)?,
            part(2, 1, Within::Short)?,
        ]
    } else {
        [
            part(7, 1970, Within::Years(31_095))?,
            part(8, 1, Within::Short)?,
            part(9, 1, Within::Short)?,
        ]
    };
    let ([Some(year), Some(a), Some(b)], [Some(hour), Some(minute), Some(second), Some(milli)]) =
        (date, time)
    else {
        return Ok(Computed::NULL);
    };
    let days = if call.is_given(YEAR) {
        calendar::days_of(year, a, 1) + b - 1
    } else {
        calendar::days_of_iso(year, a, b)
    };
    let local = i128::from(days) * i128::from(DAY)
        + i128::from(hour) * 3_600_000
        + i128::from(minute) * 60_000
        + i128::from(second) * 1000
        + i128::from(milli);
    let local = i64::try_from(local).map_err(|_| {
        Error::new(Code::OVERFLOW, "$dateFromParts resulted in a date out of range")
    })?;
    Ok(DateTime::from_millis(zone.to_utc(local)).into())
}

/// An integer; `None` if it is null.
fn number<'a>(
    call: &'a Call,
    scope: &Scope<'a>,
    at: usize,
    default: i64,
    within: Within,
) -> Result<Option<i64>> {
    if !call.is_given(at) {
        return Ok(Some(default));
    }
    let (name, value) = (FROM_PARTS.fields[at].0, call.value(at, scope)?);
    if value.is_nullish() {
        return Ok(None);
    }
    let Some(whole) = value.as_number().and_then(Number::exact_i64) else {
        let (found, shown) = (value.type_name(), value.shown());
        return Err(Error::location(
            40_515,
            format!("'{name}' must evaluate to an integer, found {found} with value {shown}"),
        ));
    };
    match within {
        Within::Short if i16::try_from(whole).is_err() => Err(Error::location(
            31_034,
            format!(
                "'{name}' must evaluate to a value in the range [-32768, 32767]; value {whole} is \
                 not in range"
            ),
        )),
        Within::Years(code) if !(1..=9999).contains(&whole) => Err(Error::location(
            code,
            format!("'{name}' must evaluate to an integer in the range 1 to 9999, found {whole}"),
        )),
        _ => Ok(Some(whole)),
    }
}
