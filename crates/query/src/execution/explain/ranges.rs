//! Prints ranges of index entries: from key bytes back to the values in the query.

use index::{Decoded, decode_value};
use value::json;

use crate::sought::Span;

/// The types of values in order, with the first byte of each.
const TYPES: [(u8, &str); 8] = [
    (0x10, "undefined"),
    (0x20, "null"),
    (0x30, "false"),
    (0x40, "true"),
    (0x50, "numbers"),
    (0x60, "strings"),
    (0x70, "arrays"),
    (0x80, "objects"),
];

const STRING: u8 = 0x60;

/// Longest text of a value; longer ones are truncated.
const VALUE_CHARS_MAX: usize = 80;

/// A range of values, in readable form.
pub(super) fn text(span: &Span) -> String {
    if span.is_point
        && let Some(value) = exact(&span.low)
    {
        return format!("= {value}");
    }
    if let ([low], [high]) = (span.low.as_slice(), span.high.as_slice()) {
        return types(*low, *high);
    }
    if let Some(prefix) = prefix(&span.low).filter(|_| successor(&span.low) == span.high) {
        return format!("begins with {prefix}");
    }
    let kind = span.low.first().map_or(0, |byte| byte & 0xf0);
    // A bound at the edge of a type is redundant if the other bound names a value of the type.
    let low = (span.low.len() > 1).then(|| bound(&span.low, "> ", ">= "));
    let high = (span.high.len() > 1).then(|| bound(&span.high, "<= ", "< "));
    let is_same_type = span.high.first().is_some_and(|byte| {
        byte & 0xf0 == kind || span.high.len() == 1 && u16::from(*byte) == u16::from(kind) + 0x10
    });
    let mut parts: Vec<String> = low.into_iter().chain(high).collect();
    if !is_same_type {
        parts.push(format!("of the types {}", types_of_ends(&span.low, &span.high)));
    }
    parts.join(" and ")
}

/// One bound: just after a value, or at one.
fn bound(bytes: &[u8], behind: &str, at: &str) -> String {
    if let Some(value) = predecessor(bytes).and_then(|before| exact(&before)) {
        return format!("{behind}{value}");
    }
    match exact(bytes).or_else(|| prefix(bytes)) {
        Some(value) => format!("{at}{value}"),
        None => format!("{at}0x{}", hex(bytes)),
    }
}

/// The value of these bytes, if nothing follows it.
fn exact(bytes: &[u8]) -> Option<String> {
    let (decoded, rest) = decode_value(bytes).ok()?;
    if !rest.is_empty() {
        return None;
    }
    Some(match decoded {
        Decoded::Value(value) if value.is_undefined() => "undefined".to_owned(),
        Decoded::Value(value) => shortened(&json::print(&value)),
        Decoded::CutString(text) => {
            let text = String::from_utf8_lossy(&text);
            let text = json::print(&text.trim_end_matches(char::REPLACEMENT_CHARACTER).into());
            shortened(&format!("{}…", &text[..text.len() - 1]))
        }
        Decoded::Array => "an array".to_owned(),
        Decoded::Object => "an object".to_owned(),
        Decoded::Many => return None,
    })
}

/// The string that begins with these bytes.
fn prefix(bytes: &[u8]) -> Option<String> {
    if bytes.first() != Some(&STRING) || bytes.len() < 2 {
        return None;
    }
    let mut closed = bytes.to_vec();
    closed.push(0);
    exact(&closed)
}

/// The preceding bytes, if they can be those of a value.
fn predecessor(bytes: &[u8]) -> Option<Vec<u8>> {
    let mut before = bytes.to_vec();
    let last = before.last_mut().filter(|last| **last > 0)?;
    *last -= 1;
    Some(before)
}

/// The least bytes after everything that begins with these.
fn successor(bytes: &[u8]) -> Vec<u8> {
    let mut next = bytes.to_vec();
    while next.last() == Some(&u8::MAX) {
        next.pop();
    }
    if let Some(last) = next.last_mut() {
        *last += 1;
    }
    next
}

/// The types whose values begin in a range of type bytes.
fn types(low: u8, high: u8) -> String {
    match (low, high) {
        (0..=0x10, 0x81..) => return "any value, or none".to_owned(),
        (0x11..=0x20, 0x81..) => return "any value".to_owned(),
        _ => {}
    }
    let names = TYPES.iter().filter(|(byte, _)| (low..high).contains(byte));
    names.map(|(_, name)| *name).collect::<Vec<_>>().join(", ")
}

/// The types between two bounds, inclusive.
fn types_of_ends(low: &[u8], high: &[u8]) -> String {
    let low = low.first().map_or(0, |byte| byte & 0xf0);
    let high = match high {
        [only] => *only,
        [first, ..] => first.saturating_add(1),
        [] => u8::MAX,
    };
    types(low, high)
}

fn shortened(text: &str) -> String {
    match text.char_indices().nth(VALUE_CHARS_MAX) {
        Some((at, _)) => format!("{}…", &text[..at]),
        None => text.to_owned(),
    }
}

fn hex(bytes: &[u8]) -> String {
    let digits = bytes.iter().take(VALUE_CHARS_MAX / 2).map(|byte| format!("{byte:02x}"));
    digits.collect::<Vec<_>>().concat()
}

#[cfg(test)]
mod tests {
    use sql::filter::{self, Filter, TestKind};

    use super::*;

    /// The ranges of the single test that a condition becomes.
    fn ranges(condition: &str) -> String {
        let query = sql::parse(&format!("SELECT * FROM c WHERE {condition}")).unwrap();
        let Filter::Test(test) = filter::of(&query, &[]) else { panic!("{condition}") };
        let (TestKind::Intervals(intervals) | TestKind::Values { intervals, .. }) = test.kind
        else {
            panic!("{condition}")
        };
        let span =
            |interval: &filter::Interval| text(&crate::sought::span(interval, &mut true.clone()));
        intervals.iter().map(span).collect::<Vec<_>>().join("; ")
    }

    #[test]
    fn ranges_read_as_they_were_written() {
        for (condition, expected) in [
            ("c.a = 5", "= 5"),
            ("c.a = -1.5", "= -1.5"),
            ("c.a = 'x'", r#"= "x""#),
            ("c.a = null", "= null"),
            ("c.a = true", "= true"),
            ("c.a IN (1, 'b')", r#"= 1; = "b""#),
            ("c.a > 5", "> 5"),
            ("c.a >= 5", ">= 5"),
            ("c.a < 5", "< 5"),
            ("c.a <= 5", "<= 5"),
            ("c.a BETWEEN 1 AND 2", ">= 1 and <= 2"),
            ("c.a > 'b'", r#"> "b""#),
            ("c.a <= 'b'", r#"<= "b""#),
            ("c.a > 'b' AND c.a < 'd'", r#"> "b" and < "d""#),
            ("STARTSWITH(c.a, 'ab')", r#"begins with "ab""#),
            ("c.a LIKE 'ab%'", r#"begins with "ab""#),
            ("IS_NUMBER(c.a)", "numbers"),
            ("IS_STRING(c.a)", "strings"),
            ("IS_DEFINED(c.a)", "any value"),
            ("IS_ARRAY(c.a)", "arrays"),
            ("IS_BOOL(c.a)", "false, true"),
        ] {
            assert_eq!(ranges(condition), expected, "{condition}");
        }
    }

    #[test]
    fn long_values_are_shortened() {
        let condition = format!("c.a = '{}'", "é".repeat(100));
        let text = ranges(&condition);
        assert!(text.ends_with('…') && text.chars().count() < 100, "{text}");
        let condition = format!("c.a = '{}'", "x".repeat(1000));
        assert!(ranges(&condition).chars().count() < 300);
    }

    #[test]
    fn any_bytes_have_a_text() {
        for low in 0..=u8::MAX {
            for tail in [&[][..], &[0], &[1], &[0, 0], &[2, 0], &[0xff; 9], b"ab", b"a\0"] {
                let low = [&[low][..], tail].concat();
                for is_point in [true, false] {
                    let span = Span { low: low.clone(), high: successor(&low), is_point };
                    let _ = text(&span);
                }
            }
        }
        let _ = text(&Span { low: vec![], high: vec![], is_point: true });
    }
}
