//! Sets of values as ranges of key bytes. A range ends at the first byte string after everything
//! that begins with its last value, so it includes whatever an index appends to a value.

use value::{Value, key};

/// Type bytes of [`value::key`], in order.
pub(super) const UNDEFINED: u8 = 0x10;
pub(super) const NULL: u8 = 0x20;
pub(super) const FALSE: u8 = 0x30;
pub(super) const TRUE: u8 = 0x40;
pub(super) const NUMBER: u8 = 0x50;
pub(super) const STRING: u8 = 0x60;
pub(super) const ARRAY: u8 = 0x70;
pub(super) const OBJECT: u8 = 0x80;
/// Behind every type.
const END: u8 = 0xff;

/// A half-open range of key bytes.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Interval {
    /// The first bytes within.
    pub low: Vec<u8>,
    /// The first bytes after the interval.
    pub high: Vec<u8>,
}

impl Interval {
    /// Whether the bytes lie within.
    pub fn contains(&self, bytes: &[u8]) -> bool {
        self.low.as_slice() <= bytes && bytes < self.high.as_slice()
    }
}

/// Everything from a type to before another.
fn types(low: u8, high: u8) -> Vec<Interval> {
    vec![Interval { low: vec![low], high: vec![high] }]
}

/// Every value, undefined among them.
pub(super) fn anything() -> Vec<Interval> {
    types(UNDEFINED, END)
}

/// Every value but undefined.
pub(super) fn defined() -> Vec<Interval> {
    types(NULL, END)
}

/// The values of one type; true and false are types of their own.
pub(super) fn of_type(kind: u8) -> Vec<Interval> {
    types(kind, next_type(kind))
}

/// The values of the types from `low` to `high`, both included.
pub(super) fn of_types(low: u8, high: u8) -> Vec<Interval> {
    types(low, next_type(high))
}

fn next_type(kind: u8) -> u8 {
    if kind >= OBJECT { END } else { kind + 0x10 }
}

/// The key bytes by which an index knows a value: arrays and objects are only a type to it.
pub(super) fn bytes_of(value: &Value) -> Vec<u8> {
    match value {
        Value::Array(_) => vec![ARRAY],
        Value::Object(_) => vec![OBJECT],
        _ => {
            let mut bytes = Vec::new();
            key::encode(value, &mut bytes);
            bytes
        }
    }
}

/// The first byte string after everything that begins with `bytes`, which begin with a type byte.
pub(super) fn behind(mut bytes: Vec<u8>) -> Vec<u8> {
    while bytes.last() == Some(&u8::MAX) {
        bytes.pop();
    }
    if let Some(last) = bytes.last_mut() {
        *last += 1;
    }
    bytes
}

/// The value alone; for an array or object, all of them.
pub(super) fn point(value: &Value) -> Interval {
    let low = bytes_of(value);
    let high = match value {
        Value::Array(_) | Value::Object(_) => vec![next_type(low[0])],
        _ => behind(low.clone()),
    };
    Interval { low, high }
}

/// The strings that begin with `prefix`.
pub(super) fn prefix(prefix: &str) -> Vec<Interval> {
    if prefix.is_empty() {
        return of_type(STRING);
    }
    let mut low = Vec::new();
    key::encode_str(prefix, &mut low);
    // Without the two bytes that close a string.
    low.truncate(low.len() - 2);
    let high = behind(low.clone());
    vec![Interval { low, high }]
}

/// Sorts, merges and drops the empty: the form in which all other functions take and give them.
pub(super) fn union(mut intervals: Vec<Interval>) -> Vec<Interval> {
    intervals.retain(|interval| interval.low < interval.high);
    intervals.sort_unstable();
    let mut merged: Vec<Interval> = Vec::with_capacity(intervals.len());
    for interval in intervals {
        match merged.last_mut() {
            Some(last) if interval.low <= last.high => {
                if interval.high > last.high {
                    last.high = interval.high;
                }
            }
            _ => merged.push(interval),
        }
    }
    merged
}

/// The intersection of both sets.
pub(super) fn intersection(a: &[Interval], b: &[Interval]) -> Vec<Interval> {
    let (mut a, mut b) = (a.iter().peekable(), b.iter().peekable());
    let mut common = Vec::new();
    while let (Some(left), Some(right)) = (a.peek(), b.peek()) {
        let low = (&left.low).max(&right.low);
        let high = (&left.high).min(&right.high);
        if low < high {
            common.push(Interval { low: low.clone(), high: high.clone() });
        }
        if left.high <= right.high {
            a.next();
        } else {
            b.next();
        }
    }
    common
}

/// The part of `whole` that is in none of `parts`.
pub(super) fn difference(whole: &[Interval], parts: &[Interval]) -> Vec<Interval> {
    let lows = std::iter::once(vec![UNDEFINED]).chain(parts.iter().map(|part| part.high.clone()));
    let highs = parts.iter().map(|part| part.low.clone()).chain([vec![END]]);
    let mut gaps: Vec<_> = lows.zip(highs).map(|(low, high)| Interval { low, high }).collect();
    gaps.retain(|gap| gap.low < gap.high);
    intersection(whole, &gaps)
}

/// Whether the bytes lie in one of them.
pub(super) fn contains(intervals: &[Interval], bytes: &[u8]) -> bool {
    let after = intervals.partition_point(|interval| interval.low.as_slice() <= bytes);
    after > 0 && intervals[after - 1].contains(bytes)
}

/// Whether any of the values of a type lie in one of them.
pub(super) fn touches(intervals: &[Interval], kind: u8) -> bool {
    !intersection(intervals, &of_type(kind)).is_empty()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ends_lie_behind_what_an_index_appends() {
        for value in [Value::Null, Value::from(true), Value::from(1.5), Value::from("a")] {
            let interval = point(&value);
            let mut term = bytes_of(&value);
            assert!(interval.contains(&term));
            term.extend_from_slice(&[0xff; 9]);
            assert!(interval.contains(&term), "{value:?}");
        }
        assert!(!point(&Value::from("a")).contains(&bytes_of(&Value::from("a\0"))));
        assert_eq!(behind(vec![0x60, 0x61, 0x00, 0xff]), [0x60, 0x61, 0x01]);
    }

    #[test]
    fn prefixes() {
        let intervals = prefix("a\0");
        for (text, expected) in [("a\0", true), ("a\0b", true), ("a", false), ("a\u{1}", false)] {
            assert_eq!(contains(&intervals, &bytes_of(&Value::from(text))), expected, "{text:?}");
        }
        assert_eq!(prefix(""), of_type(STRING));
    }

    #[test]
    fn sets() {
        let one = union(vec![point(&Value::from(2.0)), point(&Value::from(1.0))]);
        assert!(one[0] < one[1]);
        let rest = difference(&defined(), &one);
        assert_eq!(rest.len(), 3);
        assert!(intersection(&rest, &one).is_empty());
        let all = union(rest.into_iter().chain(one).collect());
        assert_eq!(all, defined());
        assert_eq!(union([of_type(UNDEFINED), defined()].concat()), anything());
        assert_eq!(difference(&anything(), &[]), anything());
        assert!(difference(&defined(), &anything()).is_empty());
        assert!(touches(&all, OBJECT) && !touches(&all, UNDEFINED));
        assert_eq!(of_types(ARRAY, OBJECT), union([of_type(ARRAY), of_type(OBJECT)].concat()));
    }
}
