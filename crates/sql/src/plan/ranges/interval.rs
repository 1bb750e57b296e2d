//! Intervals of values of one type, for containers whose keys are spread by value.

use std::cmp::Ordering;

use value::{Value, order};

use crate::ast::BinaryOp;

/// An end of a range of keys.
#[derive(Clone, Debug, PartialEq)]
pub enum Edge {
    /// A value.
    Value(Value),
    /// Before all numbers.
    MinNumber,
    /// Behind all numbers.
    MaxNumber,
    /// Behind all strings.
    MaxString,
}

/// A range of keys, each end a list of leading parts.
#[derive(Clone, Debug, PartialEq)]
pub struct Span {
    /// The lower end.
    pub min: Vec<Edge>,
    /// The upper end.
    pub max: Vec<Edge>,
    /// Whether the lower end belongs to it.
    pub is_min_inclusive: bool,
    /// Whether the upper end belongs to it.
    pub is_max_inclusive: bool,
}

/// The numbers or the strings between two ends.
#[derive(Clone, Debug)]
pub(super) struct Interval {
    pub(super) low: Edge,
    pub(super) high: Edge,
    pub(super) is_low_inclusive: bool,
    pub(super) is_high_inclusive: bool,
}

impl Interval {
    /// The values of x for which `x op value` can hold; `None` unless it compares a number or a
    /// string.
    pub(super) fn compared(op: BinaryOp, value: Value) -> Option<Interval> {
        // The empty string is the least of all, while no number is.
        let (low, is_least_inclusive, high) = match &value {
            Value::Number(_) => (Edge::MinNumber, false, Edge::MaxNumber),
            Value::String(_) => (Edge::Value(Value::from("")), true, Edge::MaxString),
            _ => return None,
        };
        let is_inclusive = matches!(op, BinaryOp::LessOrEqual | BinaryOp::GreaterOrEqual);
        match op {
            BinaryOp::Less | BinaryOp::LessOrEqual => Some(Interval {
                low,
                high: Edge::Value(value),
                is_low_inclusive: is_least_inclusive,
                is_high_inclusive: is_inclusive,
            }),
            BinaryOp::Greater | BinaryOp::GreaterOrEqual => Some(Interval {
                low: Edge::Value(value),
                high,
                is_low_inclusive: is_inclusive,
                is_high_inclusive: false,
            }),
            _ => None,
        }
    }

    /// One value.
    pub(super) fn point(value: Value) -> Interval {
        Interval {
            low: Edge::Value(value.clone()),
            high: Edge::Value(value),
            is_low_inclusive: true,
            is_high_inclusive: true,
        }
    }

    pub(super) fn contains(&self, value: &Value) -> bool {
        self.overlap(&Interval::point(value.clone())).is_some()
    }

    /// The intersection of two intervals, if there is one.
    pub(super) fn overlap(&self, other: &Interval) -> Option<Interval> {
        let (low, is_low_inclusive) = match self.low.compare(&other.low) {
            Ordering::Less => (&other.low, other.is_low_inclusive),
            Ordering::Greater => (&self.low, self.is_low_inclusive),
            Ordering::Equal => (&self.low, self.is_low_inclusive && other.is_low_inclusive),
        };
        let (high, is_high_inclusive) = match self.high.compare(&other.high) {
            Ordering::Less => (&self.high, self.is_high_inclusive),
            Ordering::Greater => (&other.high, other.is_high_inclusive),
            Ordering::Equal => (&self.high, self.is_high_inclusive && other.is_high_inclusive),
        };
        let is_empty = match low.compare(high) {
            Ordering::Less => false,
            Ordering::Equal => !(is_low_inclusive && is_high_inclusive),
            Ordering::Greater => true,
        };
        let (low, high) = (low.clone(), high.clone());
        (!is_empty).then_some(Interval { low, high, is_low_inclusive, is_high_inclusive })
    }
}

impl Edge {
    /// The order of edges is that of values, with each extreme at the border of its type.
    fn compare(&self, other: &Edge) -> Ordering {
        match (self, other) {
            (Edge::Value(a), Edge::Value(b)) => order::compare(a, b),
            _ => self.rank().cmp(&other.rank()),
        }
    }

    fn rank(&self) -> u8 {
        match self {
            Edge::Value(Value::Undefined | Value::Null | Value::Bool(_)) => 0,
            Edge::MinNumber => 1,
            Edge::Value(Value::Number(_)) => 2,
            Edge::MaxNumber => 3,
            Edge::Value(Value::String(_)) => 4,
            Edge::MaxString => 5,
            Edge::Value(Value::Array(_) | Value::Object(_)) => 6,
        }
    }
}

/// Compares the leading parts of keys. A shorter list comes before what it begins.
fn compare_all(a: &[Edge], b: &[Edge]) -> Ordering {
    let parts = a.iter().zip(b).map(|(a, b)| a.compare(b));
    parts.fold(Ordering::Equal, Ordering::then).then(a.len().cmp(&b.len()))
}

/// Sorts ranges and joins those that overlap: clients want each key in one of them.
pub(super) fn joined(mut spans: Vec<Span>) -> Vec<Span> {
    spans.sort_by(|a, b| {
        compare_all(&a.min, &b.min).then(b.is_min_inclusive.cmp(&a.is_min_inclusive))
    });
    let mut joined: Vec<Span> = Vec::new();
    for span in spans {
        if let Some(last) = joined.last_mut() {
            let is_apart = match compare_all(&last.max, &span.min) {
                Ordering::Less => true,
                Ordering::Equal => !(last.is_max_inclusive && span.is_min_inclusive),
                Ordering::Greater => false,
            };
            if !is_apart {
                match compare_all(&last.max, &span.max) {
                    Ordering::Less => {
                        last.max = span.max;
                        last.is_max_inclusive = span.is_max_inclusive;
                    }
                    Ordering::Equal => last.is_max_inclusive |= span.is_max_inclusive,
                    Ordering::Greater => {}
                }
                continue;
            }
        }
        joined.push(span);
    }
    joined
}
