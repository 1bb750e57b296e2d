//! Dates and spans of time: `$dateAdd`, `$dateSubtract`, `$dateDiff` and `$dateTrunc`.

use bson::DateTime;

use crate::error::{Code, Error, Result};
use crate::expression::calendar::{self, DAY, Parts};
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::zone::{Zone, millis_of};
use crate::expression::{Computed, Scope};
use crate::number::Number;

pub(in crate::expression) static OPERATORS: &[Operator] = &[
    Operator::new("$dateAdd", Form::Named(&ADD), |call, scope| add(call, scope, 1)),
    Operator::new("$dateSubtract", Form::Named(&SUBTRACT), |call, scope| add(call, scope, -1)),
    Operator::new("$dateDiff", Form::Named(&DIFF), difference),
    Operator::new("$dateTrunc", Form::Named(&TRUNC), truncate),
];

static ADD: Names = Names {
    not_object: (5_166_400, "$dateAdd expects an object as its argument"),
    unknown: (
        5_166_401,
        "Unrecognized argument to $dateAdd: {}. Expected arguments are startDate, unit, amount, \
         and optionally timezone.",
    ),
    fields: &[
        (
            "startDate",
            Some((5_166_402, "$dateAdd requires startDate, unit, and amount to be present")),
        ),
        ("unit", Some((5_166_402, "$dateAdd requires startDate, unit, and amount to be present"))),
        (
            "amount",
            Some((5_166_402, "$dateAdd requires startDate, unit, and amount to be present")),
        ),
        ("timezone", None),
    ],
};

const SUBTRACT_MISSING: (i32, &str) =
    (5_166_402, "$dateSubtract requires startDate, unit, and amount to be present");

static SUBTRACT: Names = Names {
    not_object: (5_166_400, "$dateSubtract expects an object as its argument"),
    unknown: (
        5_166_401,
        "Unrecognized argument to $dateSubtract: {}. Expected arguments are startDate, unit, \
         amount, and optionally timezone.",
    ),
    fields: &[
        ("startDate", Some(SUBTRACT_MISSING)),
        ("unit", Some(SUBTRACT_MISSING)),
        ("amount", Some(SUBTRACT_MISSING)),
        ("timezone", None),
    ],
};

static DIFF: Names = Names {
    not_object: (5_166_301, "$dateDiff only supports an object as its argument"),
    unknown: (5_166_302, "Unrecognized argument to $dateDiff: {}"),
    fields: &[
        ("startDate", Some((5_166_303, "Missing 'startDate' parameter to $dateDiff"))),
        ("endDate", Some((5_166_304, "Missing 'endDate' parameter to $dateDiff"))),
        ("unit", Some((5_166_305, "Missing 'unit' parameter to $dateDiff"))),
        ("timezone", None),
        ("startOfWeek", None),
    ],
};

static TRUNC: Names = Names {
    not_object: (5_439_007, "$dateTrunc only supports an object as its argument"),
    unknown: (5_439_008, "Unrecognized argument to $dateTrunc: {}"),
    fields: &[
        ("date", Some((5_439_009, "Missing 'date' parameter to $dateTrunc"))),
        ("unit", Some((5_439_010, "Missing 'unit' parameter to $dateTrunc"))),
        ("binSize", None),
        ("timezone", None),
        ("startOfWeek", None),
    ],
};

/// A unit of time: so many months, days or milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Unit {
    Months(i64),
    Days(i64),
    Millis(i64),
}

impl Unit {
    fn of(name: &str) -> Option<Self> {
        Some(match name {
            "year" => Self::Months(12),
            "quarter" => Self::Months(3),
            "month" => Self::Months(1),
            "week" => Self::Days(7),
            "day" => Self::Days(1),
            "hour" => Self::Millis(3_600_000),
            "minute" => Self::Millis(60_000),
            "second" => Self::Millis(1000),
            "millisecond" => Self::Millis(1),
            _ => return None,
        })
    }

    const WEEK: Self = Self::Days(7);
}

/// The unit of an argument; `None` if it is null.
fn unit_of(call: &Call, value: &Computed<'_>) -> Result<Option<Unit>> {
    if value.is_nullish() {
        return Ok(None);
    }
    let name = call.name();
    let Some(text) = value.as_text() else {
        let found = value.type_name();
        return Err(Error::location(
            5_439_013,
            format!("{name} requires 'unit' to be a string, but got {found}"),
        ));
    };
    Unit::of(text).map(Some).ok_or_else(|| {
        Error::location(
            5_439_014,
            format!("{name} parameter 'unit' value cannot be recognized as a time unit: {text}"),
        )
    })
}

/// The day that weeks begin with, from 1 for Monday: Sunday unless it was given, `None` if it is null.
/// It matters for weeks only.
fn start_of_week<'a>(
    call: &'a Call,
    at: usize,
    scope: &Scope<'a>,
    unit: Unit,
) -> Result<Option<i64>> {
    const DAYS: [&str; 7] =
        ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    if unit != Unit::WEEK || !call.is_given(at) {
        return Ok(Some(7));
    }
    let (name, value) = (call.name(), call.value(at, scope)?);
    if value.is_nullish() {
        return Ok(None);
    }
    let Some(text) = value.as_text() else {
        let found = value.type_name();
        return Err(Error::location(
            5_439_015,
            format!("{name} requires 'startOfWeek' to be a string, but got {found}"),
        ));
    };
    let lower = text.to_ascii_lowercase();
    let is_day = |day: &&str| *day == lower || day[..3] == lower;
    let position = DAYS.iter().position(is_day).ok_or_else(|| {
        Error::location(
            5_439_016,
            format!(
                "{name} parameter 'startOfWeek' value cannot be recognized as a day of a week: {text}"
            ),
        )
    })?;
    Ok(i64::try_from(position + 1).ok())
}

fn add<'a>(call: &'a Call, scope: &Scope<'a>, sign: i64) -> Result<Computed<'a>> {
    let (start, unit, amount) =
        (call.value(0, scope)?, call.value(1, scope)?, call.value(2, scope)?);
    let zone = Zone::of_argument(call, 3, scope)?;
    let Some(zone) = zone else { return Ok(Computed::NULL) };
    if start.is_nullish() || unit.is_nullish() || amount.is_nullish() {
        return Ok(Computed::NULL);
    }
    let name = call.name();
    let Some(start) = millis_of(&start) else {
        let text = format!("{name} requires startDate to be convertible to a date");
        return Err(Error::location(5_166_403, text));
    };
    let Some(text) = unit.as_text() else {
        let text = format!("{name} expects string defining the time unit");
        return Err(Error::location(5_166_404, text));
    };
    let Some(unit) = Unit::of(text) else {
        return Err(Error::failed_to_parse(format!("unknown time unit value: {text}")));
    };
    let Some(amount) = amount.as_number().and_then(Number::exact_i64) else {
        let text = format!("{name} expects integer amount of time units");
        return Err(Error::location(5_166_405, text));
    };
    let Some(amount) = amount.checked_mul(sign) else {
        return Err(Error::location(
            6_045_000,
            format!("invalid {name} 'amount' parameter value: {amount} {text}"),
        ));
    };
    added(start, unit, amount, &zone)
        .map(|millis| DateTime::from_millis(millis).into())
        .ok_or_else(|| Error::location(5_166_406, format!("{name} overflowed")))
}

/// The date after a span; `None` if there is none. Months and days are those of the zone: a day later
/// is the same hour, and a month later at most the last day of it.
fn added(start: i64, unit: Unit, amount: i64, zone: &Zone) -> Option<i64> {
    /// More months than a date can be away from another.
    const MONTHS_MAX: i64 = 10_000_000_000;
    match unit {
        Unit::Millis(size) => start.checked_add(amount.checked_mul(size)?),
        Unit::Days(size) => {
            let span = amount.checked_mul(size)?.checked_mul(DAY)?;
            Some(zone.to_utc(zone.to_local(start).checked_add(span)?))
        }
        Unit::Months(size) => {
            let months = amount.checked_mul(size).filter(|months| months.abs() < MONTHS_MAX)?;
            let local = zone.to_local(start);
            let parts = Parts::of(local);
            let total = parts.year * 12 + parts.month - 1 + months;
            let (year, month) = (total.div_euclid(12), total.rem_euclid(12) + 1);
            let day = parts.day.min(calendar::days_in_month(year, month));
            let days = calendar::days_of(year, month, day);
            let local = days.checked_mul(DAY)?.checked_add(local.rem_euclid(DAY))?;
            Some(zone.to_utc(local))
        }
    }
}

/// A date among the arguments; `None` if it is null.
fn date_of(call: &Call, what: &str, code: i32, value: &Computed<'_>) -> Result<Option<i64>> {
    if value.is_nullish() {
        return Ok(None);
    }
    millis_of(value).map(Some).ok_or_else(|| {
        let (name, found) = (call.name(), value.type_name());
        Error::location(code, format!("{name} requires '{what}' to be a date, but got {found}"))
    })
}

fn difference<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let start = date_of(call, "startDate", 5_166_307, &call.value(0, scope)?)?;
    let end = date_of(call, "endDate", 5_166_307, &call.value(1, scope)?)?;
    let unit = unit_of(call, &call.value(2, scope)?)?;
    let zone = Zone::of_argument(call, 3, scope)?;
    let (Some(start), Some(end), Some(unit), Some(zone)) = (start, end, unit, zone) else {
        return Ok(Computed::NULL);
    };
    let Some(week) = start_of_week(call, 4, scope, unit)? else { return Ok(Computed::NULL) };
    boundaries(end, unit, week, &zone)
        .checked_sub(boundaries(start, unit, week, &zone))
        .map(Computed::from)
        .ok_or_else(|| Error::new(Code::OVERFLOW, "$dateDiff overflowed"))
}

/// How many units have begun since some point in the past.
fn boundaries(utc: i64, unit: Unit, week: i64, zone: &Zone) -> i64 {
    let local = zone.to_local(utc);
    match unit {
        Unit::Months(size) => {
            let parts = Parts::of(local);
            (parts.year * 12 + parts.month - 1).div_euclid(size)
        }
        Unit::Days(1) => local.div_euclid(DAY),
        // 1970-01-01 is a Thursday.
        Unit::Days(size) => (local.div_euclid(DAY) + 4 - week).div_euclid(size),
        // Hours pass the same everywhere, but they do not begin everywhere with those of UTC.
        Unit::Millis(size) => {
            utc.saturating_add(zone.offset_at(utc).rem_euclid(size)).div_euclid(size)
        }
    }
}

fn truncate<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let date = date_of(call, "date", 5_439_012, &call.value(0, scope)?)?;
    let unit = unit_of(call, &call.value(1, scope)?)?;
    let size = bin_size(call, scope)?;
    let zone = Zone::of_argument(call, 3, scope)?;
    let (Some(date), Some(unit), Some(size), Some(zone)) = (date, unit, size, zone) else {
        return Ok(Computed::NULL);
    };
    let Some(week) = start_of_week(call, 4, scope, unit)? else { return Ok(Computed::NULL) };
    truncated(date, unit, size, week, &zone)
        .map(|millis| DateTime::from_millis(millis).into())
        .ok_or_else(|| Error::new(Code::OVERFLOW, "$dateTrunc overflowed"))
}

fn bin_size<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Option<i64>> {
    if !call.is_given(2) {
        return Ok(Some(1));
    }
    let value = call.value(2, scope)?;
    if value.is_nullish() {
        return Ok(None);
    }
    let (shown, found) = (value.shown(), value.type_name());
    match value.as_number().and_then(Number::exact_i64) {
        Some(size) if size > 0 => Ok(Some(size)),
        Some(_) => Err(Error::location(
            5_439_018,
            format!("$dateTrunc requires 'binSize' to be greater than 0, but got value {shown}"),
        )),
        None => Err(Error::location(
            5_439_017,
            format!(
                "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '{shown}' of \
                 type {found}"
            ),
        )),
    }
}

/// The start of the bin that a date is in. Bins are counted from the year 2000; those of weeks from its
/// first day that weeks begin with.
fn truncated(date: i64, unit: Unit, size: i64, week: i64, zone: &Zone) -> Option<i64> {
    let local = zone.to_local(date);
    let reference = calendar::days_of(2000, 1, 1);
    match unit {
        Unit::Millis(unit) => {
            let reference = zone.to_utc(reference * DAY);
            let bin = unit.checked_mul(size)?;
            let passed = date.checked_sub(reference)?.div_euclid(bin).checked_mul(bin)?;
            reference.checked_add(passed)
        }
        Unit::Days(unit) => {
            let start = if unit == 1 {
                reference
            } else {
                reference + (week - calendar::iso_weekday(reference)).rem_euclid(7)
            };
            let bin = unit.checked_mul(size)?;
            let passed = (local.div_euclid(DAY) - start).div_euclid(bin).checked_mul(bin)?;
            Some(zone.to_utc(start.checked_add(passed)?.checked_mul(DAY)?))
        }
        Unit::Months(unit) => {
            let parts = Parts::of(local);
            let bin = unit.checked_mul(size)?;
            let months = (parts.year - 2000) * 12 + parts.month - 1;
            let passed = months.div_euclid(bin).checked_mul(bin)?;
            let (years, month) = (passed.div_euclid(12), passed.rem_euclid(12));
            let year = years.checked_add(2000).filter(|year| year.abs() < 1_000_000_000)?;
            Some(zone.to_utc(calendar::days_of(year, month + 1, 1).checked_mul(DAY)?))
        }
    }
}
