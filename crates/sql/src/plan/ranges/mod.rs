//! Determines which partition keys documents must have to be in the result, as far as the filter
//! tells. Too many keys are harmless; too few would lose rows.
//!
//! In reading order: `filter` reads conditions, `constant` evaluates what they compare with, `set`
//! combines the keys they allow, `interval` is for keys that are spread by value.

pub(super) mod constant;
mod filter;
mod interval;
mod set;

use std::collections::BTreeMap;

use value::Value;

use super::{Container, Kind, Planner};
use crate::Query;
use interval::Interval;
pub use interval::{Edge, Span};
use set::{Allowed, Cell, Keys};

/// How many more keys a plan may list than values are written in the filter: combining values of
/// several paths multiplies them.
const COMBINATIONS_MAX: usize = 4096;

/// Partition keys to ask for.
#[derive(Clone, Debug, PartialEq)]
pub enum KeyRange {
    /// All keys.
    All,
    /// No key: no document is needed, and any partition can answer.
    Nothing,
    /// One key, with a value for each path. `{}` represents keys that are arrays or objects.
    Point(Vec<Value>),
    /// All keys that begin with these values, fewer than there are paths.
    Prefix(Vec<Value>),
    /// All keys between two ends, in containers of the kind [`Kind::Range`].
    Span(Span),
}

/// The partition keys of the documents that a query may read; never empty, and no key lies in two
/// of them. The query must have passed the checks.
pub fn key_ranges(
    query: &Query,
    parameters: &[(String, Value)],
    container: &Container<'_>,
) -> Vec<KeyRange> {
    of(query, &Planner::new(container, parameters))
}

pub(super) fn of(query: &Query, planner: &Planner<'_>) -> Vec<KeyRange> {
    if query.from.is_empty() {
        return vec![KeyRange::Nothing];
    }
    let key = planner.container.key;
    let keys = filter::keys_of(query, planner);
    if matches!(keys, Keys::Everything) {
        return vec![KeyRange::All];
    }
    let cells = keys.cells();
    if cells.is_empty() {
        return vec![KeyRange::Nothing];
    }
    let ranges = match key.kind {
        Kind::Range => spans(&cells),
        Kind::Hash => points(&cells, key.paths.len(), key.paths.len()),
        Kind::MultiHash => points(&cells, key.paths.len(), 1),
    };
    ranges.unwrap_or_else(|| vec![KeyRange::All])
}

/// The values of the leading paths that a cell restricts.
fn leading(cell: &Cell) -> Vec<&Allowed> {
    cell.iter().map_while(|allowed| allowed.as_deref()).collect()
}

/// How many combinations may be made: as many as there are values, and some more.
fn budget(cells: &[Cell]) -> usize {
    let allowed = cells.iter().flatten().flatten();
    allowed.map(|allowed| allowed.len()).sum::<usize>() + COMBINATIONS_MAX
}

/// All keys in the cells. `None` if a cell restricts fewer than `parts_min` leading paths, or if
/// there are too many.
fn points(cells: &[Cell], paths: usize, parts_min: usize) -> Option<Vec<KeyRange>> {
    let mut budget = budget(cells);
    let mut found: BTreeMap<Vec<&[u8]>, Vec<&Value>> = BTreeMap::new();
    for cell in cells {
        let mut parts = leading(cell);
        while combinations(&parts) > budget {
            parts.pop()?;
        }
        if parts.len() < parts_min {
            return None;
        }
        budget -= combinations(&parts);
        let mut keys = vec![(Vec::new(), Vec::new())];
        for part in parts {
            keys = keys
                .iter()
                .flat_map(|(bytes, values): &(Vec<&[u8]>, Vec<&Value>)| {
                    part.points.iter().map(|(key, value)| {
                        let bytes = bytes.iter().copied().chain([key.as_slice()]).collect();
                        (bytes, values.iter().copied().chain([value]).collect())
                    })
                })
                .collect();
        }
        found.extend(keys);
    }
    // In this order a key comes directly after its shorter prefix.
    let mut ranges = Vec::with_capacity(found.len());
    let mut prefix: Option<Vec<&[u8]>> = None;
    for (bytes, values) in found {
        if prefix.as_ref().is_some_and(|prefix| bytes.starts_with(prefix)) {
            continue;
        }
        let is_whole = values.len() == paths;
        let values = values.into_iter().cloned().collect();
        if is_whole {
            ranges.push(KeyRange::Point(values));
        } else {
            prefix = Some(bytes);
            ranges.push(KeyRange::Prefix(values));
        }
    }
    Some(ranges)
}

fn combinations(parts: &[&Allowed]) -> usize {
    parts.iter().map(|part| part.len()).fold(1, usize::saturating_mul)
}

/// The cells as ranges of values. None if one of them does not restrict the first path, or if
/// there are too many.
fn spans(cells: &[Cell]) -> Option<Vec<KeyRange>> {
    let mut budget = budget(cells);
    let mut spans = Vec::new();
    for cell in cells {
        let mut parts = leading(cell);
        while combinations(&parts) > budget {
            parts.pop()?;
        }
        if parts.is_empty() {
            return None;
        }
        budget -= combinations(&parts);
        let empty = Span {
            min: Vec::new(),
            max: Vec::new(),
            is_min_inclusive: true,
            is_max_inclusive: true,
        };
        let mut found = vec![empty];
        for part in parts {
            let points = part.points.values().cloned().map(Interval::point);
            let intervals: Vec<Interval> = points.chain(part.intervals.iter().cloned()).collect();
            found = found
                .iter()
                .flat_map(|span| intervals.iter().map(|interval| extended(span, interval)))
                .collect();
        }
        spans.extend(found);
    }
    Some(interval::joined(spans).into_iter().map(KeyRange::Span).collect())
}

/// A span with one more part.
fn extended(span: &Span, interval: &Interval) -> Span {
    let with = |edges: &[Edge], edge: &Edge| edges.iter().chain([edge]).cloned().collect();
    Span {
        min: with(&span.min, &interval.low),
        max: with(&span.max, &interval.high),
        is_min_inclusive: span.is_min_inclusive && interval.is_low_inclusive,
        is_max_inclusive: span.is_max_inclusive && interval.is_high_inclusive,
    }
}
