//! Dates.

use super::*;

#[test]
fn dates_have_parts() {
    check(&[
        (bson!({"$year": "$date"}), is(2024)),
        (bson!({"$month": ["$date"]}), is(2)),
        (bson!({"$dayOfMonth": {"date": "$date"}}), is(29)),
        (bson!({"$hour": {"date": "$date", "timezone": "America/New_York"}}), is(7)),
        (bson!({"$hour": {"date": "$date", "timezone": "+05:30"}}), is(18)),
        (bson!({"$minute": "$date"}), is(34)),
        (bson!({"$second": "$date"}), is(56)),
        (bson!({"$millisecond": "$date"}), is(789)),
        (bson!({"$dayOfYear": "$date"}), is(60)),
        (bson!({"$dayOfWeek": "$date"}), is(5)),
        (bson!({"$isoDayOfWeek": "$date"}), is(4)),
        (bson!({"$week": "$date"}), is(8)),
        (bson!({"$isoWeek": "$date"}), is(9)),
        (bson!({"$isoWeekYear": "$date"}), is(2024_i64)),
        (bson!({"$year": "$missing"}), NULL),
        (bson!({"$year": {"date": "$date", "timezone": "$null"}}), NULL),
        (bson!({"$year": "$$CLUSTER_TIME"}), is(1970)),
        (bson!({"$year": "$text"}), fails(16_006, "can't convert from BSON type string to Date")),
        (
            bson!({"$year": ["$date", 1]}),
            fails(40_536, "$year accepts exactly one argument if given an array, but was given 2"),
        ),
        (bson!({"$year": {"x": 1}}), fails(40_535, "unrecognized option to $year: \"x\"")),
        (
            bson!({"$year": {"timezone": "UTC"}}),
            fails(
                40_539,
                "missing 'date' argument to $year, provided: $year: { timezone: \"UTC\" }",
            ),
        ),
        (
            bson!({"$year": {"date": "$date", "timezone": "Nowhere"}}),
            fails(40_485, "unrecognized time zone identifier: \"Nowhere\""),
        ),
        (
            bson!({"$year": {"date": "$date", "timezone": 1}}),
            fails(40_533, "$year requires a string for the timezone argument, but was given a int"),
        ),
        (
            bson!({"$dateToParts": {"date": "$date"}}),
            is(bson!({
                "year": 2024, "month": 2, "day": 29,
                "hour": 12, "minute": 34, "second": 56, "millisecond": 789,
            })),
        ),
        (
            bson!({"$dateToParts": {"date": "$date", "iso8601": true, "timezone": "Asia/Tokyo"}}),
            is(bson!({
                "isoWeekYear": 2024, "isoWeek": 9, "isoDayOfWeek": 4,
                "hour": 21, "minute": 34, "second": 56, "millisecond": 789,
            })),
        ),
        (bson!({"$dateToParts": {"date": "$null"}}), NULL),
        (
            bson!({"$dateToParts": {"date": "$date", "iso8601": 1}}),
            fails(40_521, "iso8601 must evaluate to a bool, found int"),
        ),
        (bson!({"$dateToParts": {}}), fails(40_522, "Missing 'date' parameter to $dateToParts")),
    ]);
}

#[test]
fn dates_are_made_of_parts() {
    check(&[
        (
            bson!({"$dateFromParts": {"year": 2024, "month": 2, "day": 29}}),
            is(date("2024-02-29T00:00:00Z")),
        ),
        (bson!({"$dateFromParts": {"year": 2024, "month": 14}}), is(date("2025-02-01T00:00:00Z"))),
        (
            bson!({"$dateFromParts": {"year": 2024, "day": 0, "hour": -1}}),
            is(date("2023-12-30T23:00:00Z")),
        ),
        (
            bson!({"$dateFromParts": {"year": 2024, "hour": 12, "timezone": "Europe/Berlin"}}),
            is(date("2024-01-01T11:00:00Z")),
        ),
        (
            bson!({"$dateFromParts": {"isoWeekYear": 2021, "isoWeek": 1, "isoDayOfWeek": 1}}),
            is(date("2021-01-04T00:00:00Z")),
        ),
        (bson!({"$dateFromParts": {"year": "$null"}}), NULL),
        (
            bson!({"$dateFromParts": {"month": 1}}),
            fails(40_516, "$dateFromParts requires either 'year' or 'isoWeekYear' to be present"),
        ),
        (
            bson!({"$dateFromParts": {"year": 1, "isoWeek": 1}}),
            fails(40_489, "$dateFromParts does not allow mixing natural dates with ISO dates"),
        ),
        (
            bson!({"$dateFromParts": {"year": "x"}}),
            fails(40_515, "'year' must evaluate to an integer, found string with value \"x\""),
        ),
        (
            bson!({"$dateFromParts": {"year": 10_000}}),
            fails(40_523, "'year' must evaluate to an integer in the range 1 to 9999, found 10000"),
        ),
        (
            bson!({"$dateFromParts": {"year": 2024, "month": 40_000}}),
            fails(
                31_034,
                "'month' must evaluate to a value in the range [-32768, 32767]; value 40000 is not \
                 in range",
            ),
        ),
    ]);
}

#[test]
fn dates_are_written() {
    check(&[
        (bson!({"$dateToString": {"date": "$date"}}), is("2024-02-29T12:34:56.789Z")),
        (
            bson!({"$dateToString": {"date": "$date", "timezone": "+01:00"}}),
            is("2024-02-29T13:34:56.789"),
        ),
        (
            bson!({"$dateToString": {
                "date": "$date", "timezone": "America/New_York",
                "format": "%Y/%m/%d %H:%M:%S.%L %j %w %u %U %V %G %z %Z %b %B %%",
            }}),
            is("2024/02/29 07:34:56.789 060 5 4 08 09 2024 -0500 -300 Feb February %"),
        ),
        (bson!({"$dateToString": {"date": "$null", "onNull": "none"}}), is("none")),
        (bson!({"$dateToString": {"date": "$missing"}}), NULL),
        (
            bson!({"$dateToString": {"date": "$date", "format": "%q"}}),
            fails(18_536, "Invalid format character '%q' in format string"),
        ),
        (
            bson!({"$dateToString": {"date": "$date", "format": "%"}}),
            fails(18_535, "Unmatched '%' at end of format string"),
        ),
        (
            bson!({"$dateToString": {"date": "$date", "format": 1}}),
            fails(
                18_533,
                "$dateToString requires that 'format' be a string, found: int with value 1",
            ),
        ),
        (
            bson!({"$dateToString": {"x": 1}}),
            fails(18_534, "Unrecognized argument to $dateToString: x"),
        ),
        (bson!({"$dateToString": {}}), fails(18_628, "Missing 'date' parameter to $dateToString")),
    ]);
}

#[test]
fn dates_are_read() {
    let read = |text: &str| bson!({"$dateFromString": {"dateString": text}});
    let expected = || is(date("2017-07-04T11:56:02Z"));
    check(&[
        (read("2017-07-04T11:56:02Z"), expected()),
        (read("2017-07-04 11:56:02"), expected()),
        (read("2017-07-04T13:56:02+02:00"), expected()),
        (read("2017-07-04T13:56:02.000 +0200"), expected()),
        (read("20170704T115602Z"), expected()),
        (read("7/4/2017 11:56:02 am"), expected()),
        (read("4 July 2017 11:56:02 GMT"), expected()),
        (read("July 4th, 2017 12:56:02 BST"), expected()),
        (read("2017-07-04"), is(date("2017-07-04T00:00:00Z"))),
        (read("2017-07-04T11:56:02.5"), is(date("2017-07-04T11:56:02.500Z"))),
        (
            bson!({"$dateFromString": {"dateString": "2017-07-04T07:56:02", "timezone": "America/New_York"}}),
            expected(),
        ),
        (
            bson!({"$dateFromString": {"dateString": "04.07.2017 11h", "format": "%d.%m.%Y %Hh"}}),
            is(date("2017-07-04T11:00:00Z")),
        ),
        (
            bson!({"$dateFromString": {"dateString": "2017-185 +60", "format": "%Y-%j %Z"}}),
            is(date("2017-07-03T23:00:00Z")),
        ),
        (
            bson!({"$dateFromString": {"dateString": "2017 27 2", "format": "%G %V %u"}}),
            is(date("2017-07-04T00:00:00Z")),
        ),
        (bson!({"$dateFromString": {"dateString": "$null", "onNull": 5}}), is(5)),
        (bson!({"$dateFromString": {"dateString": "nonsense", "onError": "$int"}}), is(7)),
        (bson!({"$dateFromString": {"dateString": 1, "onError": null}}), NULL),
    ]);
}

#[test]
fn what_is_no_date_is_refused() {
    let read = |text: &str| bson!({"$dateFromString": {"dateString": text}});
    check(&[
        (
            read("2017-07"),
            fails(
                241,
                "an incomplete date/time string has been found, with elements missing: \"2017-07\"",
            ),
        ),
        (
            read("2017-02-30"),
            fails(241, "Error parsing date string '2017-02-30'; 0: The parsed date was invalid"),
        ),
        (
            read("2017-07-04T11:56:02 Nowhere"),
            fails(
                241,
                "Error parsing date string '2017-07-04T11:56:02 Nowhere'; 20: Unexpected character 'N'",
            ),
        ),
        (
            bson!({"$dateFromString": {"dateString": "2017-07-04Z", "timezone": "UTC"}}),
            fails(
                241,
                "you cannot pass in a date/time string with time zone information ('2017-07-04Z') \
                 together with a timezone argument",
            ),
        ),
        (
            bson!({"$dateFromString": {"dateString": 1}}),
            fails(
                241,
                "$dateFromString requires that 'dateString' be a string, found: int with value 1",
            ),
        ),
        (
            bson!({"$dateFromString": {}}),
            fails(40_542, "Missing 'dateString' parameter to $dateFromString"),
        ),
    ]);
}

#[test]
fn spans_are_added() {
    let add = |text: &str, unit: &str, amount: i32| bson!({"$dateAdd": {"startDate": date(text), "unit": unit, "amount": amount}});
    check(&[
        (add("2024-01-31T00:00:00Z", "month", 1), is(date("2024-02-29T00:00:00Z"))),
        (add("2024-02-29T00:00:00Z", "year", 1), is(date("2025-02-28T00:00:00Z"))),
        (add("2024-01-31T00:00:00Z", "quarter", -1), is(date("2023-10-31T00:00:00Z"))),
        (add("2024-01-31T00:00:00Z", "week", 1), is(date("2024-02-07T00:00:00Z"))),
        (add("2024-01-31T00:00:00Z", "hour", 25), is(date("2024-02-01T01:00:00Z"))),
        (
            bson!({"$dateAdd": {
                "startDate": date("2024-03-30T12:00:00Z"), "unit": "day", "amount": 1,
                "timezone": "Europe/Berlin",
            }}),
            is(date("2024-03-31T11:00:00Z")),
        ),
        (
            bson!({"$dateSubtract": {"startDate": "$date", "unit": "second", "amount": 56_i64}}),
            is(date("2024-02-29T12:34:00.789Z")),
        ),
        (bson!({"$dateAdd": {"startDate": "$null", "unit": "day", "amount": 1}}), NULL),
        (
            bson!({"$dateAdd": {"startDate": "$date", "unit": "eon", "amount": 1}}),
            fails(9, "unknown time unit value: eon"),
        ),
        (
            bson!({"$dateAdd": {"startDate": "x", "unit": "day", "amount": 1}}),
            fails(5_166_403, "$dateAdd requires startDate to be convertible to a date"),
        ),
        (
            bson!({"$dateAdd": {"startDate": "$date", "unit": "day", "amount": 1.5}}),
            fails(5_166_405, "$dateAdd expects integer amount of time units"),
        ),
        (
            bson!({"$dateAdd": {"startDate": "$date", "unit": "year", "amount": i64::MAX}}),
            fails(5_166_406, "$dateAdd overflowed"),
        ),
        (
            bson!({"$dateSubtract": {"unit": "day"}}),
            fails(5_166_402, "$dateSubtract requires startDate, unit, and amount to be present"),
        ),
    ]);
}

#[test]
fn spans_are_counted() {
    let diff = |a: &str, b: &str, unit: &str| bson!({"$dateDiff": {"startDate": date(a), "endDate": date(b), "unit": unit}});
    check(&[
        (diff("2023-12-31T23:59:59Z", "2024-01-01T00:00:00Z", "year"), is(1_i64)),
        (diff("2024-01-15T00:00:00Z", "2024-04-01T00:00:00Z", "quarter"), is(1_i64)),
        (diff("2024-03-31T00:00:00Z", "2024-02-01T00:00:00Z", "month"), is(-1_i64)),
        (diff("2024-01-06T00:00:00Z", "2024-01-07T00:00:00Z", "week"), is(1_i64)),
        (diff("2024-01-01T23:00:00Z", "2024-01-02T01:00:00Z", "day"), is(1_i64)),
        (diff("2024-01-01T10:59:00Z", "2024-01-01T11:01:00Z", "hour"), is(1_i64)),
        (diff("2024-01-01T00:00:00Z", "2024-01-01T00:00:01Z", "millisecond"), is(1000_i64)),
        (
            bson!({"$dateDiff": {
                "startDate": date("2024-01-07T00:00:00Z"), "endDate": date("2024-01-08T00:00:00Z"),
                "unit": "week", "startOfWeek": "Mon",
            }}),
            is(1_i64),
        ),
        (bson!({"$dateDiff": {"startDate": "$null", "endDate": "$date", "unit": "day"}}), NULL),
        (
            bson!({"$dateDiff": {"startDate": 1, "endDate": "$date", "unit": "day"}}),
            fails(5_166_307, "$dateDiff requires 'startDate' to be a date, but got int"),
        ),
        (
            bson!({"$dateDiff": {"startDate": "$date", "endDate": "$date", "unit": "x"}}),
            fails(
                5_439_014,
                "$dateDiff parameter 'unit' value cannot be recognized as a time unit: x",
            ),
        ),
        (
            bson!({"$dateDiff": {"startDate": "$date", "endDate": "$date"}}),
            fails(5_166_305, "Missing 'unit' parameter to $dateDiff"),
        ),
    ]);
}

#[test]
fn dates_are_truncated() {
    let trunc = |unit: &str, size: i32| bson!({"$dateTrunc": {"date": "$date", "unit": unit, "binSize": size}});
    check(&[
        (trunc("year", 1), is(date("2024-01-01T00:00:00Z"))),
        (trunc("year", 10), is(date("2020-01-01T00:00:00Z"))),
        (trunc("quarter", 1), is(date("2024-01-01T00:00:00Z"))),
        (trunc("month", 1), is(date("2024-02-01T00:00:00Z"))),
        (trunc("week", 1), is(date("2024-02-25T00:00:00Z"))),
        (trunc("day", 1), is(date("2024-02-29T00:00:00Z"))),
        (trunc("hour", 6), is(date("2024-02-29T12:00:00Z"))),
        (trunc("minute", 15), is(date("2024-02-29T12:30:00Z"))),
        (trunc("second", 1), is(date("2024-02-29T12:34:56Z"))),
        (
            bson!({"$dateTrunc": {"date": "$date", "unit": "week", "startOfWeek": "monday"}}),
            is(date("2024-02-26T00:00:00Z")),
        ),
        (
            bson!({"$dateTrunc": {"date": "$date", "unit": "day", "timezone": "America/New_York"}}),
            is(date("2024-02-29T05:00:00Z")),
        ),
        (bson!({"$dateTrunc": {"date": "$null", "unit": "day"}}), NULL),
        (
            trunc("day", 0),
            fails(5_439_018, "$dateTrunc requires 'binSize' to be greater than 0, but got value 0"),
        ),
        (
            bson!({"$dateTrunc": {"date": "$date", "unit": "day", "binSize": "x"}}),
            fails(
                5_439_017,
                "$dateTrunc requires 'binSize' to be a 64-bit integer, but got value '\"x\"' of type \
                 string",
            ),
        ),
        (
            bson!({"$dateTrunc": {"date": "$date", "unit": 1}}),
            fails(5_439_013, "$dateTrunc requires 'unit' to be a string, but got int"),
        ),
        (
            bson!({"$dateTrunc": {"date": "$date", "unit": "week", "startOfWeek": "x"}}),
            fails(
                5_439_016,
                "$dateTrunc parameter 'startOfWeek' value cannot be recognized as a day of a week: x",
            ),
        ),
        (
            bson!({"$dateTrunc": {"unit": "day"}}),
            fails(5_439_009, "Missing 'date' parameter to $dateTrunc"),
        ),
    ]);
}
