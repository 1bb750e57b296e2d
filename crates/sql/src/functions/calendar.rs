//! The civil calendar: moments as ticks of 100 ns since 1970, always UTC, and their ISO 8601 text
//! with seven digits of fraction. Years 1 to 9999, Gregorian throughout.

/// Ticks in a second.
pub(super) const SECOND: i64 = 10_000_000;
/// Ticks in a millisecond.
pub(super) const MILLISECOND: i64 = 10_000;
/// Ticks in a day.
const DAY: i64 = 86_400 * SECOND;

/// A moment by its fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Fields {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    /// The ticks within the second.
    pub(super) ticks: i64,
}

impl Fields {
    /// The fields of a moment; `None` outside of the years 1 to 9999.
    pub(super) fn from_ticks(ticks: i64) -> Option<Fields> {
        let (year, month, day) = civil(ticks.div_euclid(DAY));
        let rest = ticks.rem_euclid(DAY);
        let seconds = rest / SECOND;
        (1..=9999).contains(&year).then_some(Fields {
            year,
            month,
            day,
            hour: seconds / 3600,
            minute: seconds / 60 % 60,
            second: seconds % 60,
            ticks: rest % SECOND,
        })
    }

    /// The moment; `None` when a field is out of its range.
    pub(super) fn to_ticks(self) -> Option<i64> {
        let is_valid = (1..=9999).contains(&self.year)
            && (1..=12).contains(&self.month)
            && (1..=days_in_month(self.year, self.month)).contains(&self.day)
            && (0..24).contains(&self.hour)
            && (0..60).contains(&self.minute)
            && (0..60).contains(&self.second)
            && (0..SECOND).contains(&self.ticks);
        let seconds = self.hour.checked_mul(3600).filter(|_| is_valid)? + self.minute * 60;
        let days = days(self.year, self.month, self.day);
        Some(days * DAY + (seconds + self.second) * SECOND + self.ticks)
    }
}

/// Reads `YYYY-MM-DD`, with `Thh:mm:ss` or ` hh:mm:ss` after it, one to seven digits of fraction
/// after that, and an optional `Z` at the end.
pub(super) fn parse(text: &str) -> Option<i64> {
    let text = text.strip_suffix('Z').unwrap_or(text).as_bytes();
    let mut fields = Fields { year: 0, month: 0, day: 0, hour: 0, minute: 0, second: 0, ticks: 0 };
    let (date, time) = text.split_at_checked(10)?;
    if date[4] != b'-' || date[7] != b'-' {
        return None;
    }
    fields.year = digits(&date[..4])?;
    fields.month = digits(&date[5..7])?;
    fields.day = digits(&date[8..])?;
    if !time.is_empty() {
        let (clock, fraction) = time.split_at_checked(9)?;
        if !matches!(clock[0], b'T' | b' ') || clock[3] != b':' || clock[6] != b':' {
            return None;
        }
        fields.hour = digits(&clock[1..3])?;
        fields.minute = digits(&clock[4..6])?;
        fields.second = digits(&clock[7..])?;
        fields.ticks = parse_fraction(fraction)?;
    }
    fields.to_ticks()
}

fn parse_fraction(text: &[u8]) -> Option<i64> {
    let Some((point, fraction)) = text.split_first() else { return Some(0) };
    if *point != b'.' || !(1..=7).contains(&fraction.len()) {
        return None;
    }
    let missing = 7 - fraction.len();
    (0..missing).try_fold(digits(fraction)?, |ticks, _| ticks.checked_mul(10))
}

/// A few decimal digits, nothing else.
fn digits(text: &[u8]) -> Option<i64> {
    text.iter().try_fold(0, |number: i64, byte| {
        byte.is_ascii_digit().then(|| number * 10 + i64::from(byte - b'0'))
    })
}

/// The text of a moment; `None` outside of the years 1 to 9999.
pub(super) fn print(ticks: i64) -> Option<String> {
    let Fields { year, month, day, hour, minute, second, ticks } = Fields::from_ticks(ticks)?;
    Some(format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{ticks:07}Z"))
}

/// How many days a month has.
pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    match month {
        2 if year % 4 == 0 && (year % 100 != 0 || year % 400 == 0) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

/// The days from 1970-01-01 to a date. Years begin in March here, so that the leap day is the last
/// of its year and the months before it follow one pattern: 153 days for every five.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * DAYS_IN_ERA + day_of_era - DAYS_TO_1970
}

/// The date a number of days from 1970-01-01: the inverse of [`days`].
fn civil(days: i64) -> (i64, i64, i64) {
    let days = days + DAYS_TO_1970;
    let (era, day_of_era) = (days.div_euclid(DAYS_IN_ERA), days.rem_euclid(DAYS_IN_ERA));
    let leap_days = day_of_era / 1460 - day_of_era / 36_524 + day_of_era / 146_096;
    let year_of_era = (day_of_era - leap_days) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year_of_era + i64::from(month <= 2), month, day)
}

/// The days in 400 years, after which the calendar repeats.
const DAYS_IN_ERA: i64 = 146_097;
/// The days from 0000-03-01 to 1970-01-01.
const DAYS_TO_1970: i64 = 719_468;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_follow_each_other() {
        let mut expected = (1, 1, 1);
        for day in days(1, 1, 1)..=days(9999, 12, 31) {
            assert_eq!(civil(day), expected);
            let (year, month, day_of_month) = expected;
            assert_eq!(days(year, month, day_of_month), day);
            expected = if day_of_month < days_in_month(year, month) {
                (year, month, day_of_month + 1)
            } else if month < 12 {
                (year, month + 1, 1)
            } else {
                (year + 1, 1, 1)
            };
        }
        assert_eq!(expected, (10_000, 1, 1));
    }

    #[test]
    fn texts_are_read_and_written() {
        let cases = [
            ("1970-01-01", "1970-01-01T00:00:00.0000000Z"),
            ("1970-01-01Z", "1970-01-01T00:00:00.0000000Z"),
            ("2021-05-06T07:08:09", "2021-05-06T07:08:09.0000000Z"),
            ("2021-05-06 07:08:09.12Z", "2021-05-06T07:08:09.1200000Z"),
            ("2020-02-29T23:59:59.9999999Z", "2020-02-29T23:59:59.9999999Z"),
            ("0001-01-01", "0001-01-01T00:00:00.0000000Z"),
            ("9999-12-31T23:59:59.9999999Z", "9999-12-31T23:59:59.9999999Z"),
        ];
        for (text, expected) in cases {
            assert_eq!(parse(text).and_then(print).as_deref(), Some(expected), "{text}");
        }
        let invalid = [
            "",
            "Z",
            "2021",
            "2021-05",
            "2021-02-29",
            "2021-13-01",
            "2021-00-01",
            "0000-01-01",
            "2021-05-06T07",
            "2021-05-06T07:08",
            "2021-05-06T24:00:00",
            "2021-05-06T07:08:09.",
            "2021-05-06T07:08:09.12345678",
            "2021-05-06T07:08:09+01:00",
            "2021-05-06t07:08:09",
            "2021/05/06",
            "2021-05-06T",
            "2021-05-06ZZ",
            "+021-05-06",
            "2021-05-0é",
        ];
        for text in invalid {
            assert_eq!(parse(text), None, "{text}");
        }
    }
}
