//! Reads the headers of a request for the change feed.

use std::time::{SystemTime, UNIX_EPOCH};

use hyper::HeaderMap;
use protocol::{Error, Options, request::ChangeMode};

use crate::{
    auth::parse_date,
    headers::{invalid, text},
};

/// The wire format in which the gateway writes the feed of all versions.
const WIRE_FORMAT: &str = "2021-09-15";

/// Returns the mode of the change feed and the time to start from; `None` for a plain document
/// feed.
///
/// The position is in `If-None-Match`; the libraries of 2015 send it as a continuation.
pub(crate) fn asked(
    headers: &HeaderMap,
    options: &mut Options,
) -> Result<Option<(ChangeMode, Option<u64>)>, Error> {
    let name = "a-im";
    let Some(word) = text(headers, name)? else { return Ok(None) };
    let mode = if word.eq_ignore_ascii_case("Incremental Feed") {
        ChangeMode::Latest
    } else if word.eq_ignore_ascii_case("Full-Fidelity Feed") {
        check_format(headers)?;
        ChangeMode::All
    } else {
        return Err(invalid(name, word));
    };
    let position = options.if_none_match.take().or_else(|| options.continuation.take());
    options.if_none_match = position;
    Ok(Some((mode, since(headers)?)))
}

/// Checks the wire format, which is a date. All formats from the first one with separate metadata
/// get the same answer.
fn check_format(headers: &HeaderMap) -> Result<(), Error> {
    let name = "x-ms-cosmos-changefeed-wire-format-version";
    match text(headers, name)? {
        Some(format) if format < WIRE_FORMAT => Err(invalid(name, format)),
        _ => Ok(()),
    }
}

/// Reads `If-Modified-Since`. Times before 1970 mean the beginning of the feed.
fn since(headers: &HeaderMap) -> Result<Option<u64>, Error> {
    let name = "if-modified-since";
    let Some(date) = text(headers, name)? else { return Ok(None) };
    let time: SystemTime = parse_date(date).ok_or_else(|| invalid(name, date))?;
    Ok(Some(time.duration_since(UNIX_EPOCH).map_or(0, |time| time.as_secs())))
}

#[cfg(test)]
mod tests {
    use hyper::header::{HeaderName, HeaderValue};

    use super::*;

    fn read(
        pairs: &[(&'static str, &'static str)],
        options: &mut Options,
    ) -> Result<Option<(ChangeMode, Option<u64>)>, Error> {
        let pair = |(name, value): &(&'static str, &'static str)| {
            (HeaderName::from_static(name), HeaderValue::from_static(value))
        };
        asked(&pairs.iter().map(pair).collect(), options)
    }

    #[test]
    fn modes_times_and_positions() {
        let mut options = Options::default();
        assert_eq!(read(&[], &mut options).ok(), Some(None));
        let answer = read(&[("a-im", "incremental FEED")], &mut options);
        assert_eq!(answer.ok(), Some(Some((ChangeMode::Latest, None))));
        let date = ("if-modified-since", "Thu, 01 Jan 1970 00:01:40 GMT");
        let answer = read(&[("a-im", "Full-Fidelity Feed"), date], &mut options);
        assert_eq!(answer.ok(), Some(Some((ChangeMode::All, Some(100)))));
        options.continuation = Some("7".to_owned());
        read(&[("a-im", "Incremental Feed")], &mut options).expect("understood");
        assert_eq!(options.if_none_match.as_deref(), Some("7"));
        options.continuation = Some("8".to_owned());
        read(&[("a-im", "Incremental Feed")], &mut options).expect("understood");
        assert_eq!(options.if_none_match.as_deref(), Some("7"), "the etag wins");
    }

    #[test]
    fn what_is_not_understood_is_refused() {
        let feed = ("a-im", "Incremental Feed");
        let all = ("a-im", "Full-Fidelity Feed");
        let format = "x-ms-cosmos-changefeed-wire-format-version";
        for bad in [
            &[("a-im", "Everything")][..],
            &[feed, ("if-modified-since", "yesterday")],
            &[all, (format, "2020-01-01")],
        ] {
            assert!(read(bad, &mut Options::default()).is_err(), "{bad:?}");
        }
        assert!(read(&[all, (format, "2021-09-15")], &mut Options::default()).is_ok());
    }
}
