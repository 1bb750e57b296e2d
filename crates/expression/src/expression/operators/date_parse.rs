//! Dates from text: `$dateFromString`, with a format or in one of the usual forms.

use bson::DateTime;

use super::date_text::MONTHS;
use crate::error::{Code, Error, Result};
use crate::expression::calendar::{self, DAY};
use crate::expression::operator::{Call, Form, Names, Operator};
use crate::expression::zone::{self, Zone};
use crate::expression::{Computed, Scope};

pub(in crate::expression) static OPERATORS: &[Operator] =
    &[Operator::new("$dateFromString", Form::Named(&NAMES), from_string)];

static NAMES: Names = Names {
    not_object: (40_540, "$dateFromString only supports an object as an argument, found: {}"),
    unknown: (40_541, "Unrecognized argument to $dateFromString: {}"),
    fields: &[
        ("dateString", Some((40_542, "Missing 'dateString' parameter to $dateFromString"))),
        ("format", None),
        ("timezone", None),
        ("onError", None),
        ("onNull", None),
    ],
};

fn from_string<'a>(call: &'a Call, scope: &Scope<'a>) -> Result<Computed<'a>> {
    let (text, pattern) = (call.value(0, scope)?, call.value(1, scope)?);
    if call.is_given(1) && !pattern.is_nullish() && pattern.as_text().is_none() {
        let (found, shown) = (pattern.type_name(), pattern.shown());
        return Err(Error::location(
            40_684,
            format!(
                "$dateFromString requires that 'format' be a string, found: {found} with value {shown}"
            ),
        ));
    }
    let zone = Zone::of_argument(call, 2, scope)?;
    if text.is_nullish() {
        return if call.is_given(4) { call.value(4, scope) } else { Ok(Computed::NULL) };
    }
    let Some(zone) = zone else { return Ok(Computed::NULL) };
    let zone = call.is_given(2).then_some(&zone);
    let date = match text.as_text() {
        None => {
            let (found, shown) = (text.type_name(), text.shown());
            Err(failure(&format!(
                "$dateFromString requires that 'dateString' be a string, found: {found} with value \
                 {shown}"
            )))
        }
        Some(_) if call.is_given(1) && pattern.is_nullish() => return Ok(Computed::NULL),
        Some(text) => match pattern.as_text() {
            Some(pattern) => by_format(text, pattern).and_then(|read| read.millis(text, zone)),
            None => usual(text).and_then(|read| read.millis(text, zone)),
        },
    };
    match date {
        Ok(millis) => Ok(DateTime::from_millis(millis).into()),
        Err(error) if error.code == Code::CONVERSION_FAILURE && call.is_given(3) => {
            call.value(3, scope)
        }
        Err(error) => Err(error),
    }
}

/// Milliseconds of a text in one of the usual forms, in UTC unless it says otherwise.
pub(super) fn parse(text: &str) -> Result<i64> {
    usual(text)?.millis(text, None)
}

fn failure(text: &str) -> Error {
    Error::new(Code::CONVERSION_FAILURE, text)
}

/// What was found in a text.
#[derive(Debug, Default)]
struct Read {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    day_of_year: Option<i64>,
    iso_year: Option<i64>,
    iso_week: Option<i64>,
    iso_weekday: Option<i64>,
    hour: i64,
    minute: i64,
    second: i64,
    millisecond: i64,
    /// Seconds ahead of UTC.
    offset: Option<i64>,
}

impl Read {
    fn millis(&self, text: &str, zone: Option<&Zone>) -> Result<i64> {
        let is_time = self.hour <= 24 && self.minute < 60 && self.second <= 60;
        let days = match self.days() {
            Found::Day(days) if is_time => days,
            Found::Incomplete => {
                return Err(failure(&format!(
                    "an incomplete date/time string has been found, with elements missing: \"{text}\""
                )));
            }
            _ => {
                return Err(failure(&format!(
                    "Error parsing date string '{text}'; 0: The parsed date was invalid"
                )));
            }
        };
        let local = days * DAY
            + self.hour * 3_600_000
            + self.minute * 60_000
            + self.second * 1000
            + self.millisecond;
        match (self.offset, zone) {
            (Some(_), Some(_)) => Err(failure(&format!(
                "you cannot pass in a date/time string with time zone information ('{text}') \
                 together with a timezone argument"
            ))),
            (Some(offset), None) => Ok(local - offset * 1000),
            (None, Some(zone)) => Ok(zone.to_utc(local)),
            (None, None) => Ok(local),
        }
    }

    fn days(&self) -> Found {
        if let Some(year) = self.iso_year {
            let (week, weekday) = (self.iso_week.unwrap_or(1), self.iso_weekday.unwrap_or(1));
            let is_valid = (1..=53).contains(&week) && (1..=7).contains(&weekday);
            return Found::day(is_valid, || calendar::days_of_iso(year, week, weekday));
        }
        match (self.year, self.day_of_year, self.month, self.day) {
            (Some(year), Some(day), _, _) => {
                Found::day((1..=366).contains(&day), || calendar::days_of(year, 1, 1) + day - 1)
            }
            (Some(year), None, Some(month), Some(day)) => {
                let is_valid = (1..=12).contains(&month)
                    && (1..=calendar::days_in_month(year, month)).contains(&day);
                Found::day(is_valid, || calendar::days_of(year, month, day))
            }
            _ => Found::Incomplete,
        }
    }
}

/// The day that parts of a date make.
enum Found {
    Day(i64),
    /// There is no such day.
    Invalid,
    /// Parts are missing.
    Incomplete,
}

impl Found {
    fn day(is_valid: bool, days: impl FnOnce() -> i64) -> Self {
        if is_valid { Self::Day(days()) } else { Self::Invalid }
    }
}

/// A text that is read from front to back.
struct Reader<'t> {
    text: &'t str,
    at: usize,
}

impl<'t> Reader<'t> {
    fn rest(&self) -> &'t str {
        &self.text[self.at..]
    }

    fn peek(&self) -> Option<char> {
        self.rest().chars().next()
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_there = self.peek() == Some(wanted);
        if is_there {
            self.at += wanted.len_utf8();
        }
        is_there
    }

    fn skip_spaces(&mut self) {
        while self.take(' ') {}
    }

    /// From one to `most` digits.
    fn number(&mut self, most: usize) -> Option<i64> {
        let digits = self.rest().bytes().take(most).take_while(u8::is_ascii_digit).count();
        let number = self.rest()[..digits].parse().ok()?;
        self.at += digits;
        Some(number)
    }

    /// Exactly so many digits.
    fn digits(&mut self, count: usize) -> Option<i64> {
        let start = self.at;
        let number = self.number(count)?;
        if self.at - start == count {
            return Some(number);
        }
        self.at = start;
        None
    }

    /// Letters.
    fn word(&mut self) -> &'t str {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_alphabetic()).unwrap_or(rest.len());
        self.at += end;
        &rest[..end]
    }

    /// The digits of a second's fraction, as milliseconds.
    fn fraction(&mut self) -> Option<i64> {
        let rest = self.rest();
        let end = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let padded = format!("{:0<3}", &rest[..end]);
        self.at += end;
        if end == 0 { None } else { padded[..3].parse().ok() }
    }

    /// `+02:00`, `+0200` or `+02`, in seconds.
    fn offset(&mut self) -> Option<i64> {
        let rest = self.rest();
        let end = rest
            .char_indices()
            .skip(1)
            .find(|(_, c)| !c.is_ascii_digit() && *c != ':')
            .map_or(rest.len(), |(at, _)| at);
        let offset = zone::offset(&rest[..end])?;
        self.at += end;
        Some(offset)
    }

    /// An offset, or an abbreviation that stands for one.
    fn zone(&mut self) -> Option<i64> {
        if matches!(self.peek(), Some('+' | '-')) {
            return self.offset();
        }
        let word = self.word();
        let known = ABBREVIATIONS.iter().find(|(name, _)| name.eq_ignore_ascii_case(word));
        known.map(|(_, hours)| hours * 3600)
    }

    fn unexpected(&self) -> Error {
        let (text, at) = (self.text, self.at);
        match self.peek() {
            Some(character) => failure(&format!(
                "Error parsing date string '{text}'; {at}: Unexpected character '{character}'"
            )),
            None => failure(&format!(
                "an incomplete date/time string has been found, with elements missing: \"{text}\""
            )),
        }
    }
}

/// Abbreviations of zones, with the hours that they are ahead of UTC.
const ABBREVIATIONS: [(&str, i64); 14] = [
    ("Z", 0),
    ("UTC", 0),
    ("GMT", 0),
    ("WET", 0),
    ("BST", 1),
    ("CET", 1),
    ("CEST", 2),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("PST", -8),
    ("PDT", -7),
];

/// The number of a month by its name, or by its first three letters.
fn month(word: &str) -> Option<i64> {
    let is_name = |name: &&str| {
        name.eq_ignore_ascii_case(word) || word.len() == 3 && name[..3].eq_ignore_ascii_case(word)
    };
    let position = MONTHS.iter().position(is_name)?;
    i64::try_from(position + 1).ok()
}

/// Reads one of the usual forms.
fn usual(text: &str) -> Result<Read> {
    let mut reader = Reader { text, at: 0 };
    let mut read = Read::default();
    reader.skip_spaces();
    if date(&mut reader, &mut read).is_none() {
        return Err(reader.unexpected());
    }
    let has_mark = reader.take('T') || reader.take('t');
    if !has_mark {
        reader.skip_spaces();
    }
    let is_time = reader.peek().is_some_and(|character| character.is_ascii_digit());
    if is_time && time(&mut reader, &mut read).is_none() || has_mark && !is_time {
        return Err(reader.unexpected());
    }
    reader.skip_spaces();
    if reader.peek().is_some() {
        let start = reader.at;
        read.offset = reader.zone();
        if read.offset.is_none() {
            reader.at = start;
            return Err(reader.unexpected());
        }
        reader.skip_spaces();
    }
    if reader.peek().is_some() { Err(reader.unexpected()) } else { Ok(read) }
}

/// `2024-07-04`, `2024/7/4`, `20240704`, `7/4/2024`, `4 July 2024` or `July 4th, 2024`.
fn date(reader: &mut Reader<'_>, read: &mut Read) -> Option<()> {
    if reader.peek()?.is_ascii_alphabetic() {
        read.month = Some(month(reader.word())?);
        reader.skip_spaces();
        read.day = Some(reader.number(2)?);
        let suffix = reader.word();
        if !["", "st", "nd", "rd", "th"].contains(&suffix) {
            return None;
        }
        reader.take(',');
        reader.skip_spaces();
        // A text may end without its year, which is then found missing.
        read.year = reader.digits(4);
        return Some(());
    }
    if let Some(year) = reader.digits(4) {
        read.year = Some(year);
        let Some(separator) = reader.peek().filter(|c| matches!(c, '-' | '/')) else {
            read.month = Some(reader.digits(2)?);
            read.day = Some(reader.digits(2)?);
            return Some(());
        };
        reader.take(separator);
        read.month = Some(reader.number(2)?);
        if reader.take(separator) {
            read.day = Some(reader.number(2)?);
        }
        return Some(());
    }
    let first = reader.number(2)?;
    if reader.take('/') {
        read.month = Some(first);
        read.day = Some(reader.number(2)?);
        if reader.take('/') {
            read.year = Some(reader.digits(4)?);
        }
        return Some(());
    }
    if reader.take('-') {
        (read.day, read.month) = (Some(first), Some(reader.number(2)?));
        reader.take('-');
        read.year = Some(reader.digits(4)?);
        return Some(());
    }
    reader.skip_spaces();
    (read.day, read.month) = (Some(first), Some(month(reader.word())?));
    reader.skip_spaces();
    read.year = Some(reader.digits(4)?);
    Some(())
}

/// `12:34`, `12:34:56`, `12:34:56.789` or `123456`, perhaps with `am` or `pm`.
fn time(reader: &mut Reader<'_>, read: &mut Read) -> Option<()> {
    read.hour = reader.number(2)?;
    let has_colon = reader.take(':');
    if has_colon || reader.peek().is_some_and(|c| c.is_ascii_digit()) {
        read.minute = reader.digits(2)?;
        let has_second = if has_colon {
            reader.take(':')
        } else {
            reader.peek().is_some_and(|c| c.is_ascii_digit())
        };
        if has_second {
            read.second = reader.digits(2)?;
            if reader.take('.') || reader.take(',') {
                read.millisecond = reader.fraction()?;
            }
        }
    }
    let start = reader.at;
    reader.skip_spaces();
    let word = reader.word();
    if word.eq_ignore_ascii_case("am") && read.hour == 12 {
        read.hour = 0;
    } else if word.eq_ignore_ascii_case("pm") && read.hour < 12 {
        read.hour += 12;
    } else if !word.eq_ignore_ascii_case("am") && !word.eq_ignore_ascii_case("pm") {
        reader.at = start;
    }
    Some(())
}

/// Reads a text by a format.
fn by_format(text: &str, pattern: &str) -> Result<Read> {
    let mut reader = Reader { text, at: 0 };
    let mut read = Read::default();
    let mut characters = pattern.chars();
    check_format(pattern)?;
    while let Some(character) = characters.next() {
        let is_read = if character == '%' {
            let specifier = characters.next().unwrap_or('%');
            specified(&mut reader, &mut read, specifier).is_some()
        } else {
            reader.take(character)
        };
        if !is_read {
            let at = reader.at;
            return Err(failure(&format!(
                "Error parsing date string '{text}'; {at}: Format literal not found or trailing data"
            )));
        }
    }
    if reader.peek().is_some() {
        let at = reader.at;
        return Err(failure(&format!("Error parsing date string '{text}'; {at}: Trailing data")));
    }
    Ok(read)
}

fn check_format(pattern: &str) -> Result<()> {
    let mut characters = pattern.chars();
    while let Some(character) = characters.next() {
        if character != '%' {
            continue;
        }
        match characters.next() {
            None => {
                return Err(Error::location(18_535, "Unmatched '%' at end of format string"));
            }
            Some(specifier) if !"YmdHMSLjuVGzZbB%".contains(specifier) => {
                return Err(Error::location(
                    18_536,
                    format!("Invalid format character '%{specifier}' in format string"),
                ));
            }
            Some(_) => {}
        }
    }
    Ok(())
}

fn specified(reader: &mut Reader<'_>, read: &mut Read, specifier: char) -> Option<()> {
    match specifier {
        'Y' => read.year = Some(reader.digits(4)?),
        'm' => read.month = Some(reader.number(2)?),
        'd' => read.day = Some(reader.number(2)?),
        'H' => read.hour = reader.number(2)?,
        'M' => read.minute = reader.number(2)?,
        'S' => read.second = reader.number(2)?,
        'L' => read.millisecond = reader.number(3)?,
        'j' => read.day_of_year = Some(reader.number(3)?),
        'u' => read.iso_weekday = Some(reader.number(1)?),
        'V' => read.iso_week = Some(reader.number(2)?),
        'G' => read.iso_year = Some(reader.digits(4)?),
        'b' | 'B' => read.month = Some(month(reader.word())?),
        'z' => read.offset = Some(reader.zone()?),
        'Z' => {
            let sign = if reader.take('-') { -1 } else { 1 };
            reader.take('+');
            read.offset = Some(sign * reader.number(4)? * 60);
        }
        literal => return reader.take(literal).then_some(()),
    }
    Some(())
}
