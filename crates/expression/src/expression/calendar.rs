//! The calendar: days, months and years of milliseconds since 1970, for all that a date can hold.
//! Whatever is local time here has the offset of its zone already added.

/// Milliseconds of a day.
pub(super) const DAY: i64 = 86_400_000;

/// A point in time, by the parts of a calendar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Parts {
    pub(super) year: i64,
    pub(super) month: i64,
    pub(super) day: i64,
    pub(super) hour: i64,
    pub(super) minute: i64,
    pub(super) second: i64,
    pub(super) millisecond: i64,
}

impl Parts {
    /// Of milliseconds of local time.
    pub(super) fn of(local: i64) -> Self {
        let (year, month, day) = date_of(local.div_euclid(DAY));
        let time = local.rem_euclid(DAY);
        Self {
            year,
            month,
            day,
            hour: time / 3_600_000,
            minute: time / 60_000 % 60,
            second: time / 1000 % 60,
            millisecond: time % 1000,
        }
    }
}

/// Days since 1970-01-01 of a date. The month may be any number: the thirteenth is in the next year.
pub(super) fn days_of(year: i64, month: i64, day: i64) -> i64 {
    let months = month - 1;
    let year = year + months.div_euclid(12);
    let month = months.rem_euclid(12) + 1;
    // Years are counted from March, so that the leap day is the last of its year.
    let (year, month) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
    let day_of_year = (153 * month + 2) / 5 + day - 1;
    let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
    era * 146_097 + day_of_era - 719_468
}

/// The year, month and day of days since 1970-01-01.
pub(super) fn date_of(days: i64) -> (i64, i64, i64) {
    let days = days + 719_468;
    let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month + 2) / 5 + 1;
    let year = era * 400 + year_of_era;
    if month < 10 { (year, month + 3, day) } else { (year + 1, month - 9, day) }
}

/// How many days a month has.
pub(super) fn days_in_month(year: i64, month: i64) -> i64 {
    days_of(year, month + 1, 1) - days_of(year, month, 1)
}

/// The day of the week, from 1 for Monday to 7 for Sunday.
pub(super) fn iso_weekday(days: i64) -> i64 {
    (days + 3).rem_euclid(7) + 1
}

/// The day of the year, from 1.
pub(super) fn day_of_year(days: i64) -> i64 {
    days - days_of(date_of(days).0, 1, 1) + 1
}

/// The week of the year, from 0: weeks begin on Sundays, and the first Sunday begins week 1.
pub(super) fn week(days: i64) -> i64 {
    let weekday = iso_weekday(days) % 7;
    (day_of_year(days) + 6 - weekday) / 7
}

/// The year and the week of ISO 8601: weeks begin on Mondays and belong to the year of their Thursday.
pub(super) fn iso_week(days: i64) -> (i64, i64) {
    let thursday = days - iso_weekday(days) + 4;
    (date_of(thursday).0, (day_of_year(thursday) - 1) / 7 + 1)
}

/// Days since 1970-01-01 of a day of ISO 8601.
pub(super) fn days_of_iso(year: i64, week: i64, weekday: i64) -> i64 {
    let fourth = days_of(year, 1, 4);
    fourth - iso_weekday(fourth) + (week - 1) * 7 + weekday
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn days_and_dates_agree() {
        assert_eq!(days_of(1970, 1, 1), 0);
        assert_eq!(days_of(2000, 2, 29), 11_016);
        assert_eq!(days_of(1999, 14, 29), 11_016);
        for days in (-1_000_000..1_000_000).step_by(37) {
            let (year, month, day) = date_of(days);
            assert_eq!(days_of(year, month, day), days);
            assert!((1..=days_in_month(year, month)).contains(&day));
        }
        for extreme in [i64::MIN, i64::MAX] {
            let parts = Parts::of(extreme);
            let days = days_of(parts.year, parts.month, parts.day);
            assert_eq!(days, extreme.div_euclid(DAY));
        }
    }

    #[test]
    fn weeks_are_those_of_both_calendars() {
        for (date, weekday, week_of_year, iso) in [
            ((2021, 1, 3), 7, 1, (2020, 53)),
            ((2021, 1, 4), 1, 1, (2021, 1)),
            ((2017, 1, 1), 7, 1, (2016, 52)),
            ((2016, 1, 1), 5, 0, (2015, 53)),
            ((2018, 12, 31), 1, 52, (2019, 1)),
        ] {
            let days = days_of(date.0, date.1, date.2);
            assert_eq!(iso_weekday(days), weekday, "{date:?}");
            assert_eq!(week(days), week_of_year, "{date:?}");
            assert_eq!(iso_week(days), iso, "{date:?}");
            assert_eq!(days_of_iso(iso.0, iso.1, weekday), days, "{date:?}");
        }
    }
}
