//! Dates and times: ISO 8601 strings in, the same with seven digits of fraction out, always UTC.

use value::Value;

use super::calendar::{self, Fields, MILLISECOND, SECOND};
use super::{Context, Function, date_format, integer, text};

/// 1601-01-01 in ticks: where the clock of the service begins.
const TICKS_MIN: i64 = -11_644_473_600 * SECOND;

pub(super) static FUNCTIONS: &[Function] = &[
    Function::new("DATETIMEADD", 3..=3, |args, _| {
        add_args(args).and_then(moment).unwrap_or_default()
    }),
    Function::new("DATETIMEBIN", 2..=4, |args, _| bin(args).and_then(moment).unwrap_or_default()),
    Function::new("DATETIMEDIFF", 3..=3, |args, _| {
        difference(args).map(Value::from).unwrap_or_default()
    }),
    Function::new("DATETIMEFORMAT", 2..=2, |args, _| {
        let fields = ticks(args, 0).and_then(Fields::from_ticks);
        let text =
            fields.zip(text(args, 1)).map(|(fields, text)| date_format::format(&fields, text));
        text.map(Value::from).unwrap_or_default()
    }),
    Function::new("DATETIMEFROMPARTS", 3..=7, |args, _| {
        from_parts(args).and_then(moment).unwrap_or_default()
    }),
    Function::new("DATETIMEPART", 2..=2, |args, _| {
        part(args, 0).and_then(|part| part_of(part, args, 1)).unwrap_or_default()
    }),
    Function::new("YEAR", 1..=1, |args, _| part_of(Part::Year, args, 0).unwrap_or_default()),
    Function::new("MONTH", 1..=1, |args, _| part_of(Part::Month, args, 0).unwrap_or_default()),
    Function::new("DAY", 1..=1, |args, _| part_of(Part::DAY, args, 0).unwrap_or_default()),
    Function::new("DATETIMETOTICKS", 1..=1, |args, _| {
        ticks(args, 0).map(Value::from).unwrap_or_default()
    }),
    Function::new("DATETIMETOTIMESTAMP", 1..=1, |args, _| {
        let millis = ticks(args, 0).map(|ticks| ticks.div_euclid(MILLISECOND));
        millis.map(Value::from).unwrap_or_default()
    }),
    Function::new("TICKSTODATETIME", 1..=1, |args, _| {
        let ticks = integer(args, 0).filter(|ticks| *ticks >= TICKS_MIN);
        ticks.and_then(moment).unwrap_or_default()
    }),
    Function::new("TIMESTAMPTODATETIME", 1..=1, |args, _| {
        let ticks = integer(args, 0).and_then(|millis| millis.checked_mul(MILLISECOND));
        ticks.filter(|ticks| *ticks >= TICKS_MIN).and_then(moment).unwrap_or_default()
    }),
    Function::new("GETCURRENTDATETIME", 0..=0, |_, context| now(context)),
    Function::new("GETCURRENTDATETIMESTATIC", 0..=0, |_, context| now(context)),
    Function::new("GETCURRENTTICKS", 0..=0, |_, context| Value::from(now_ticks(context))),
    Function::new("GETCURRENTTICKSSTATIC", 0..=0, |_, context| Value::from(now_ticks(context))),
    Function::new("GETCURRENTTIMESTAMP", 0..=0, |_, context| Value::from(context.now_millis)),
    Function::new("GETCURRENTTIMESTAMPSTATIC", 0..=0, |_, context| Value::from(context.now_millis)),
    Function::new("NOW", 0..=2, |args, context| match args.len() {
        0 => now(context),
        _ => from_now(args, context, 1).unwrap_or_default(),
    }),
    Function::new("AGO", 2..=2, |args, context| from_now(args, context, -1).unwrap_or_default()),
];

/// A part of a moment. All but the first two have a fixed length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Year,
    Month,
    /// The nanoseconds in a day, hour and so on.
    Nanos(i128),
}

impl Part {
    const DAY: Part = Part::Nanos(86_400_000_000_000);
    const HOUR: Part = Part::Nanos(3_600_000_000_000);
    const MINUTE: Part = Part::Nanos(60_000_000_000);
    const SECOND: Part = Part::Nanos(1_000_000_000);
    const MILLISECOND: Part = Part::Nanos(1_000_000);
    const MICROSECOND: Part = Part::Nanos(1_000);
    const NANOSECOND: Part = Part::Nanos(1);

    fn parse(name: &str) -> Option<Part> {
        Some(match name.to_ascii_lowercase().as_str() {
            "year" | "yyyy" | "yy" => Part::Year,
            "month" | "mm" | "m" => Part::Month,
            "day" | "dd" | "d" => Part::DAY,
            "hour" | "hh" => Part::HOUR,
            "minute" | "mi" | "n" => Part::MINUTE,
            "second" | "ss" | "s" => Part::SECOND,
            "millisecond" | "ms" => Part::MILLISECOND,
            "microsecond" | "mcs" => Part::MICROSECOND,
            "nanosecond" | "ns" => Part::NANOSECOND,
            _ => return None,
        })
    }
}

/// Nanoseconds in a tick.
const TICK_NANOS: i128 = 100;

fn part(args: &[Value], index: usize) -> Option<Part> {
    Part::parse(text(args, index)?)
}

fn ticks(args: &[Value], index: usize) -> Option<i64> {
    calendar::parse(text(args, index)?)
}

fn moment(ticks: i64) -> Option<Value> {
    calendar::print(ticks).map(Value::from)
}

fn now_ticks(context: &Context) -> i64 {
    context.now_millis.saturating_mul(MILLISECOND)
}

fn now(context: &Context) -> Value {
    moment(now_ticks(context)).unwrap_or_default()
}

fn from_now(args: &[Value], context: &Context, sign: i64) -> Option<Value> {
    let count = integer(args, 1)?.checked_mul(sign)?;
    moment(add(part(args, 0)?, count, now_ticks(context))?)
}

fn add_args(args: &[Value]) -> Option<i64> {
    add(part(args, 0)?, integer(args, 1)?, ticks(args, 2)?)
}

/// Adds parts. Months end where they end: a month after January 31st is the last of February.
fn add(part: Part, count: i64, ticks: i64) -> Option<i64> {
    let months = match part {
        Part::Year => count.checked_mul(12)?,
        Part::Month => count,
        Part::Nanos(length) => {
            // At most 2^63 days in nanoseconds: below 2^127.
            let nanos = i128::from(ticks) * TICK_NANOS + i128::from(count) * length;
            return i64::try_from(nanos.div_euclid(TICK_NANOS)).ok();
        }
    };
    let mut fields = Fields::from_ticks(ticks)?;
    let months = months.checked_add(fields.year * 12 + fields.month - 1)?;
    (fields.year, fields.month) = (months.div_euclid(12), months.rem_euclid(12) + 1);
    fields.day = fields.day.min(calendar::days_in_month(fields.year, fields.month));
    fields.to_ticks()
}

/// The start of the bin of some parts that a moment falls into, counted from an origin.
fn bin(args: &[Value]) -> Option<i64> {
    let (ticks_given, Part::Nanos(length)) = (ticks(args, 0)?, part(args, 1)?) else {
        return None;
    };
    let size = if args.len() > 2 { integer(args, 2)? } else { 1 };
    let origin = if args.len() > 3 { ticks(args, 3)? } else { 0 };
    if size <= 0 || origin < TICKS_MIN {
        return None;
    }
    let nanos = (i128::from(ticks_given) - i128::from(origin)) * TICK_NANOS;
    let length = i128::from(size) * length;
    let start = nanos.div_euclid(length) * length;
    i64::try_from(start.div_euclid(TICK_NANOS) + i128::from(origin)).ok()
}

/// How many boundaries of a part lie between two moments.
fn difference(args: &[Value]) -> Option<i64> {
    let part = part(args, 0)?;
    let number = |ticks: i64| -> Option<i128> {
        let fields = Fields::from_ticks(ticks)?;
        Some(match part {
            Part::Year => i128::from(fields.year),
            Part::Month => i128::from(fields.year * 12 + fields.month),
            Part::Nanos(length) => (i128::from(ticks) * TICK_NANOS).div_euclid(length),
        })
    };
    i64::try_from(number(ticks(args, 2)?)? - number(ticks(args, 1)?)?).ok()
}

fn from_parts(args: &[Value]) -> Option<i64> {
    let field = |index| if index < args.len() { integer(args, index) } else { Some(0) };
    let fields = Fields {
        year: field(0)?,
        month: field(1)?,
        day: field(2)?,
        hour: field(3)?,
        minute: field(4)?,
        second: field(5)?,
        ticks: field(6)?,
    };
    fields.to_ticks()
}

/// A part of the moment at `index`; the parts of a second are those since the second began.
fn part_of(part: Part, args: &[Value], index: usize) -> Option<Value> {
    let fields = Fields::from_ticks(ticks(args, index)?)?;
    let number = match part {
        Part::Year => fields.year,
        Part::Month => fields.month,
        Part::DAY => fields.day,
        Part::HOUR => fields.hour,
        Part::MINUTE => fields.minute,
        Part::SECOND => fields.second,
        Part::Nanos(length) => {
            i64::try_from(i128::from(fields.ticks) * TICK_NANOS / length).ok()?
        }
    };
    Some(Value::from(number))
}

#[cfg(test)]
mod tests;
