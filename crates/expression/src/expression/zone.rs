//! Time zones: an offset, or a place with a history of offsets.

use std::sync::LazyLock;

use bson::RawBsonRef;
use jiff::Timestamp;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::calendar::DAY;
use super::operator::Call;
use super::{Computed, Scope};
use crate::error::{Error, Result};

/// The zones that are compiled in, not those of the machine, which may differ from node to node.
static ZONES: LazyLock<TimeZoneDatabase> = LazyLock::new(TimeZoneDatabase::bundled);

/// A time zone.
#[derive(Clone, Debug)]
pub(super) enum Zone {
    /// Always as many seconds ahead of UTC.
    Fixed(i64),
    /// A place.
    Named(TimeZone),
}

impl Zone {
    pub(super) const UTC: Self = Self::Fixed(0);

    /// Reads an offset (`+02:00`, `+0200`, `+02`) or the name of a zone (`Europe/Berlin`).
    pub(super) fn parse(text: &str) -> Result<Self> {
        if text.starts_with(['+', '-']) {
            if let Some(offset) = offset(text) {
                return Ok(Self::Fixed(offset));
            }
        } else if matches!(text, "Z" | "UTC" | "GMT") {
            return Ok(Self::UTC);
        } else if let Ok(zone) = ZONES.get(text) {
            // The library takes names in any case, MongoDB does not.
            if zone.iana_name() == Some(text) {
                return Ok(Self::Named(zone));
            }
        }
        Err(Error::location(40_485, format!("unrecognized time zone identifier: \"{text}\"")))
    }

    /// The zone of an argument: UTC if it was not given, `None` if it is null.
    pub(super) fn of_argument<'a>(
        call: &'a Call,
        at: usize,
        scope: &Scope<'a>,
    ) -> Result<Option<Self>> {
        if !call.is_given(at) {
            return Ok(Some(Self::UTC));
        }
        let value = call.value(at, scope)?;
        match value.as_text() {
            Some(text) => Self::parse(text).map(Some),
            None if value.is_nullish() => Ok(None),
            None => {
                let found = value.type_name();
                Err(Error::location(
                    40_517,
                    format!("timezone must evaluate to a string, found {found}"),
                ))
            }
        }
    }

    /// The milliseconds that local time is ahead of UTC.
    pub(super) fn offset_at(&self, utc: i64) -> i64 {
        match self {
            Self::Fixed(seconds) => seconds * 1000,
            Self::Named(zone) => {
                let (least, most) = (Timestamp::MIN.as_second(), Timestamp::MAX.as_second());
                let seconds = utc.div_euclid(1000).clamp(least, most);
                let timestamp = Timestamp::from_second(seconds);
                let seconds = timestamp.map_or(0, |timestamp| zone.to_offset(timestamp).seconds());
                i64::from(seconds) * 1000
            }
        }
    }

    /// Local time.
    pub(super) fn to_local(&self, utc: i64) -> i64 {
        utc.saturating_add(self.offset_at(utc))
    }

    /// The time of a local time. If there are two, because the clocks were set back, the earlier; if there
    /// is none, because they were set forward, as if they had not been.
    pub(super) fn to_utc(&self, local: i64) -> i64 {
        let before = self.offset_at(local.saturating_sub(DAY));
        let earlier = local.saturating_sub(before);
        if self.offset_at(earlier) == before {
            return earlier;
        }
        let after = self.offset_at(local.saturating_add(DAY));
        let later = local.saturating_sub(after);
        if self.offset_at(later) == after { later } else { earlier }
    }
}

/// The seconds of an offset with hours, and minutes if there are any.
pub(super) fn offset(text: &str) -> Option<i64> {
    let (sign, rest) = match text.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits = match rest.len() {
        5 if rest.as_bytes()[2] == b':' => rest.replacen(':', "", 1),
        2 | 4 => rest.to_owned(),
        _ => return None,
    };
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return None;
    }
    let hours: i64 = digits[..2].parse().ok()?;
    let minutes: i64 = if digits.len() == 4 { digits[2..].parse().ok()? } else { 0 };
    Some(sign * (hours * 3600 + minutes * 60))
}

/// The milliseconds of what counts as a date: dates, timestamps and object ids.
pub(super) fn millis_of(value: &Computed<'_>) -> Option<i64> {
    match value.as_ref()? {
        RawBsonRef::DateTime(date) => Some(date.timestamp_millis()),
        RawBsonRef::Timestamp(timestamp) => Some(i64::from(timestamp.time) * 1000),
        RawBsonRef::ObjectId(id) => Some(id.timestamp().timestamp_millis()),
        _ => None,
    }
}

/// The milliseconds of a date, or the error that it is none.
pub(super) fn date_millis(value: &Computed<'_>) -> Result<i64> {
    millis_of(value).ok_or_else(|| {
        let found = value.type_name();
        Error::location(16_006, format!("can't convert from BSON type {found} to Date"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::expression::calendar::{Parts, days_of};

    fn local(zone: &str, year: i64, month: i64, day: i64, hour: i64) -> Parts {
        let local = days_of(year, month, day) * DAY + hour * 3_600_000;
        Parts::of(Zone::parse(zone).unwrap().to_utc(local))
    }

    #[test]
    fn places_have_a_history_of_offsets() {
        assert_eq!(local("Europe/Berlin", 2024, 1, 1, 12).hour, 11);
        assert_eq!(local("Europe/Berlin", 2024, 7, 1, 12).hour, 10);
        assert_eq!(local("America/New_York", 2024, 7, 1, 12).hour, 16);
        assert_eq!(local("+05:30", 2024, 7, 1, 12).minute, 30);
        // The hour that was left out, and the one there was twice.
        assert_eq!(local("Europe/Berlin", 2024, 3, 31, 2).hour, 1);
        assert_eq!(local("Europe/Berlin", 2024, 10, 27, 2).hour, 0);
    }

    #[test]
    fn all_times_have_an_offset() {
        let zone = Zone::parse("America/Sao_Paulo").unwrap();
        for extreme in [i64::MIN, i64::MAX] {
            assert!(zone.offset_at(extreme) < 0);
            let _ = (zone.to_local(extreme), zone.to_utc(extreme));
        }
    }

    #[test]
    fn unknown_zones_are_refused() {
        for text in ["", "Nowhere", "europe/berlin", "+1", "+ab:cd", "+12:3", "+1:234", "+äx", "1"]
        {
            let error = Zone::parse(text).unwrap_err();
            assert_eq!(error.code.number(), 40_485, "{text}");
        }
    }
}
