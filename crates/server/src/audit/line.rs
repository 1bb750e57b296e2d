//! Formats a line of the audit log: a JSON object without secrets.
//!
//! It contains nothing of a request's headers or body, and only the path of its URL, so a key, a
//! signature or a document cannot get in.

use std::{net::SocketAddr, time::Duration};

use value::json::quote;

/// Longest path to log.
const PATH_CHARS_MAX: usize = 1024;

/// The contents of a line. Fields that are `None` are omitted.
#[derive(Clone, Debug, Default)]
pub(crate) struct Line<'a> {
    /// The kind of event, from a fixed set of names.
    pub(crate) event: &'static str,
    pub(crate) who: Option<Who<'a>>,
    pub(crate) operation: Option<&'static str>,
    pub(crate) status: Option<u16>,
    pub(crate) credential: Option<&'static str>,
    pub(crate) activity_id: Option<u128>,
    pub(crate) reason: Option<&'a str>,
    pub(crate) count: Option<u64>,
}

/// The client and its request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Who<'a> {
    pub(crate) client: SocketAddr,
    /// Verb and path; `None` if no request was read.
    pub(crate) asked: Option<(&'a str, &'a str)>,
}

impl<'a> Line<'a> {
    /// An event of the server itself.
    pub(crate) fn server(event: &'static str, reason: &'a str) -> Self {
        Self { event, reason: Some(reason), ..Self::default() }
    }

    /// The count of omitted lines.
    pub(crate) fn omitted(count: u64) -> Self {
        Self { event: "omitted", count: Some(count), ..Self::default() }
    }

    /// The text of the line, with the time since the epoch and a line break.
    pub(crate) fn text(&self, now: Duration) -> String {
        let mut members = vec![member("time", &rfc3339(now)), member("event", self.event)];
        if let Some(Who { client, asked }) = self.who {
            members.push(member("client", &client.to_string()));
            if let Some((method, path)) = asked {
                let path: String = path.chars().take(PATH_CHARS_MAX).collect();
                members.extend([member("method", method), member("path", &path)]);
            }
        }
        members.extend(self.operation.map(|name| member("operation", name)));
        members.extend(self.status.map(|status| format!("\"status\":{status}")));
        members.extend(self.credential.map(|name| member("credential", name)));
        members.extend(self.activity_id.map(|id| member("activityId", &guid(id))));
        members.extend(self.reason.map(|reason| member("reason", reason)));
        members.extend(self.count.map(|count| format!("\"count\":{count}")));
        format!("{{{}}}\n", members.join(","))
    }
}

fn member(name: &str, value: &str) -> String {
    let mut quoted = Vec::with_capacity(value.len() + 2);
    quote(value, &mut quoted);
    format!("\"{name}\":{}", String::from_utf8_lossy(&quoted))
}

/// Formats an id as in `x-ms-activity-id`.
fn guid(id: u128) -> String {
    let hex = format!("{id:032x}");
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The time in UTC, to the millisecond.
fn rfc3339(since_epoch: Duration) -> String {
    let seconds = since_epoch.as_secs();
    let (days, rest) = (seconds / 86_400, seconds % 86_400);
    // Count days from 1 March of the year 0: then the leap day is the last day of its year, and the
    // number of days before a month is easy to compute.
    let days = days + 719_468;
    let (era, day_of_era) = (days / 146_097, days % 146_097);
    let year_of_era =
        (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
    let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let month_from_march = (5 * day_of_year + 2) / 153;
    let day = day_of_year - (153 * month_from_march + 2) / 5 + 1;
    let month = if month_from_march < 10 { month_from_march + 3 } else { month_from_march - 9 };
    let year = era * 400 + year_of_era + u64::from(month <= 2);
    let (hour, minute, second) = (rest / 3600, rest / 60 % 60, rest % 60);
    let millis = since_epoch.subsec_millis();
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{millis:03}Z")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_those_of_the_calendar() {
        for (millis, expected) in [
            (0, "1970-01-01T00:00:00.000Z"),
            (951_782_400_000, "2000-02-29T00:00:00.000Z"),
            (1_709_251_199_999, "2024-02-29T23:59:59.999Z"),
            (1_735_689_600_001, "2025-01-01T00:00:00.001Z"),
            (4_107_542_400_000, "2100-03-01T00:00:00.000Z"),
        ] {
            assert_eq!(rfc3339(Duration::from_millis(millis)), expected);
        }
    }

    #[test]
    fn a_line_is_one_line_of_json() {
        let line = Line {
            event: "refused",
            who: Some(Who {
                client: SocketAddr::from(([10, 0, 0, 1], 5)),
                asked: Some(("GET", "/dbs/\"a\n\u{7}")),
            }),
            status: Some(401),
            activity_id: Some(1),
            ..Line::default()
        };
        let text = line.text(Duration::ZERO);
        assert_eq!(text.lines().count(), 1);
        let value = value::json::parse(text.as_bytes()).unwrap();
        assert_eq!(value.get("path").as_str(), Some("/dbs/\"a\n\u{7}"));
        assert_eq!(value.get("client").as_str(), Some("10.0.0.1:5"));
        let id = value.get("activityId").as_str();
        assert_eq!(id, Some("00000000-0000-0000-0000-000000000001"));
        let long = "x".repeat(9000);
        let who = Who { client: SocketAddr::from(([0; 4], 0)), asked: Some(("GET", &long)) };
        let line = Line { who: Some(who), ..Line::default() };
        assert!(line.text(Duration::ZERO).len() < 1200);
    }
}
