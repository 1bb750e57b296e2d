//! Dates as text: `$dateToString`.

use std::fmt::Write as _;

use crate::error::{Error, Result};
use crate::expression::build::check_size;
use crate::expression::calendar::{self, DAY, Parts};
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::zone::{Zone, date_millis};
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] =
    &[Operator::new("$dateToString", Form::Named(&NAMES), to_string)];

static NAMES: Names = Names {
    not_object: (18_629, "$dateToString only supports an object as its argument"),
    unknown: (18_534, "Unrecognized argument to $dateToString: {}"),
    fields: &[
        ("date", Some((18_628, "Missing 'date' parameter to $dateToString"))),
        ("format", None),
        ("timezone", None),
        ("onNull", None),
    ],
};

/// The format of dates in UTC.
const ISO: &str = "%Y-%m-%dT%H:%M:%S.%LZ";

/// The format of dates in a zone, which it does not show.
const LOCAL: &str = "%Y-%m-%dT%H:%M:%S.%L";

/// The names of months.
pub(super) const MONTHS: [&str; 12] = [
    "January",
    "February",
    "March",
    "April",
    "May",
    "June",
    "July",
    "August",
    "September",
    "October",
    "November",
    "December",
];

/// A date as conversions to strings write it.
pub(super) fn iso(millis: i64) -> Result<String> {
    format(ISO, millis, &Zone::UTC)
}

fn to_string<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let date = call.value(0, scope)?;
    let pattern = call.value(1, scope)?;
    if call.is_given(1) && !pattern.is_nullish() && pattern.as_text().is_none() {
        let (found, shown) = (pattern.type_name(), pattern.shown());
        return Err(Error::location(
            18_533,
            format!(
                "$dateToString requires that 'format' be a string, found: {found} with value {shown}"
            ),
        ));
    }
    let zone = Zone::of_argument(call, 2, scope)?;
    if date.is_nullish() {
        return if call.is_given(3) { call.value(3, scope) } else { Ok(Computed::NULL) };
    }
    let Some(zone) = zone else { return Ok(Computed::NULL) };
    let pattern = match pattern.as_text() {
        Some(pattern) => pattern,
        None if call.is_given(1) => return Ok(Computed::NULL),
        None if call.is_given(2) => LOCAL,
        None => ISO,
    };
    Ok(format(pattern, date_millis(&date)?, &zone)?.into())
}

fn format(pattern: &str, millis: i64, zone: &Zone) -> Result<String> {
    let offset = zone.offset_at(millis);
    let local = millis.saturating_add(offset);
    let parts = Parts::of(local);
    let mut text = String::with_capacity(pattern.len() + 16);
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            text.push(character);
            continue;
        }
        let Some(specifier) = characters.next() else {
            return Err(Error::location(18_535, "Unmatched '%' at end of format string"));
        };
        write_part(&mut text, specifier, &parts, local, offset)?;
        check_size(text.len())?;
    }
    Ok(text)
}

fn write_part(
    text: &mut String,
    specifier: char,
    parts: &Parts,
    local: i64,
    offset: i64,
) -> Result<()> {
    let days = local.div_euclid(DAY);
    let (value, width) = match specifier {
        'Y' => (year(parts.year)?, 4),
        'm' => (parts.month, 2),
        'd' => (parts.day, 2),
        'H' => (parts.hour, 2),
        'M' => (parts.minute, 2),
        'S' => (parts.second, 2),
        'L' => (parts.millisecond, 3),
        'j' => (calendar::day_of_year(days), 3),
        'w' => (calendar::iso_weekday(days) % 7 + 1, 1),
        'u' => (calendar::iso_weekday(days), 1),
        'U' => (calendar::week(days), 2),
        'V' => (calendar::iso_week(days).1, 2),
        'G' => (year(calendar::iso_week(days).0)?, 4),
        _ => return write_other(text, specifier, parts, offset),
    };
    // Writing to a string cannot fail.
    let _ = write!(text, "{value:0width$}");
    Ok(())
}

fn write_other(text: &mut String, specifier: char, parts: &Parts, offset: i64) -> Result<()> {
    let month = usize::try_from(parts.month - 1).ok().and_then(|month| MONTHS.get(month));
    let (sign, minutes) = (if offset < 0 { '-' } else { '+' }, (offset / 60_000).abs());
    let _ = match specifier {
        '%' => write!(text, "%"),
        'z' => write!(text, "{sign}{:02}{:02}", minutes / 60, minutes % 60),
        'Z' => write!(text, "{sign}{minutes:03}"),
        'b' => write!(text, "{}", month.map_or("", |month| &month[..3])),
        'B' => write!(text, "{}", month.map_or("", |month| month)),
        unknown => {
            return Err(Error::location(
                18_536,
                format!("Invalid format character '%{unknown}' in format string"),
            ));
        }
    };
    Ok(())
}

fn year(year: i64) -> Result<i64> {
    if (0..=9999).contains(&year) {
        return Ok(year);
    }
    Err(Error::location(
        18_537,
        format!("Error: $dateToString is only defined on year 0-9999, tried to use year {year}"),
    ))
}
