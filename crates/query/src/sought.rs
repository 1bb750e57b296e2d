//! What a filter asks of an index, as far as it is the same for all partitions of a collection:
//! everything but the ids that a partition has given to paths.

use std::sync::Arc;

use index::{Coverage, Kind};
use sql::filter::{Filter, Interval, Test, TestKind, ValueCheck};

use crate::served::Served;

/// The type bytes of strings, and of the type that follows them.
const STRING: u8 = 0x60;
const BEHIND_STRINGS: u8 = 0x70;

/// The first type byte of a defined value.
pub(crate) const DEFINED: u8 = 0x20;

/// What a filter asks of the index of any partition.
pub(crate) enum Sought {
    /// No document can match.
    Nothing,
    /// The index does not help.
    Everything,
    /// The documents with these terms.
    Terms {
        /// The kind of index that has them.
        kind: Kind,
        /// The terms.
        terms: Arc<Terms>,
        /// Whether these documents are exactly those that match.
        is_exact: bool,
    },
    /// All must hold.
    And(Vec<Sought>),
    /// At least one must hold.
    Or(Vec<Sought>),
}

/// Ranges of values of one path.
pub(crate) struct Terms {
    /// The path of the index; empty for the documents that are not indexed.
    pub(crate) path: index::Path,
    /// Sorted and disjoint.
    pub(crate) spans: Vec<Span>,
    /// An additional check on each value in range.
    pub(crate) check: Option<ValueCheck>,
    /// Whether a document has at most one entry.
    pub(crate) is_unique: bool,
}

/// A half-open range of encoded values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Span {
    pub(crate) low: Vec<u8>,
    pub(crate) high: Vec<u8>,
    /// Whether `low` is the only value in it.
    pub(crate) is_point: bool,
}

impl Sought {
    /// What a filter asks of the partitions of a collection.
    pub(crate) fn of(filter: &Filter, collection: &Served) -> Self {
        let all = |filters: &[Filter]| {
            filters.iter().map(|filter| Self::of(filter, collection)).collect()
        };
        match filter {
            Filter::All | Filter::Always => Self::Everything,
            Filter::Nothing => Self::Nothing,
            Filter::And(filters) => Self::And(all(filters)),
            Filter::Or(filters) => Self::Or(all(filters)),
            Filter::Test(test) => Self::of_test(test, collection),
        }
    }

    fn of_test(test: &Test, collection: &Served) -> Self {
        let path = index_path(&test.path);
        let (intervals, check) = match &test.kind {
            TestKind::Intervals(intervals) => (intervals, None),
            TestKind::Values { intervals, check } => (intervals, Some(check.clone())),
            TestKind::Spatial { boxes } => return Self::of_boxes(path, boxes, collection),
        };
        let coverage = coverage(collection, &path);
        let has_undefined = intervals.iter().any(|interval| interval.low < vec![DEFINED]);
        if coverage == Coverage::NotIndexed || has_undefined && coverage != Coverage::Explicit {
            return Self::Everything;
        }
        // A check sees only the beginning of a truncated string.
        let touches_strings = |interval: &Interval| {
            interval.high[..] > [STRING][..] && interval.low[..] < [BEHIND_STRINGS][..]
        };
        let mut is_exact =
            test.is_exact && (check.is_none() || !intervals.iter().any(touches_strings));
        let spans = intervals.iter().map(|interval| span(interval, &mut is_exact)).collect();
        let terms = Terms { spans, check, is_unique: !path.has_elements(), path };
        Self::Terms { kind: Kind::Path, terms: terms.into(), is_exact }
    }

    fn of_boxes(path: index::Path, boxes: &[[f64; 4]], collection: &Served) -> Self {
        let policy = &collection.definition.indexing;
        let grid = policy.spatial(&path).filter(|_| !collection.is_reindexing());
        let Some(grid) = grid else { return Self::Everything };
        let mut cells: Vec<(u64, u64)> = boxes.iter().flat_map(|area| grid.ranges(area)).collect();
        cells.sort_unstable();
        let mut spans: Vec<Span> = Vec::with_capacity(cells.len());
        for (low, high) in cells {
            let (low, high) = (low.to_be_bytes().to_vec(), high.to_be_bytes().to_vec());
            match spans.last_mut() {
                Some(last) if low <= last.high => last.high = high.max(last.high.clone()),
                _ => spans.push(Span { low, high, is_point: false }),
            }
        }
        let terms = Terms { path, spans, check: None, is_unique: false };
        Self::Terms { kind: Kind::Spatial, terms: terms.into(), is_exact: false }
    }
}

/// The coverage of a path that all policies guarantee, past ones that some documents still follow
/// included.
pub(crate) fn coverage(collection: &Served, path: &index::Path) -> Coverage {
    let current = collection.definition.indexing.coverage(path);
    let retired = collection.retired.iter();
    let is_indexed_by_all = retired
        .map(|retired| retired.definition.indexing.coverage(path))
        .all(|coverage| coverage != Coverage::NotIndexed);
    match current {
        _ if !is_indexed_by_all => Coverage::NotIndexed,
        // Not every document has an entry yet that says that the path is absent.
        Coverage::Explicit if collection.is_reindexing() => Coverage::Wildcard,
        current => current,
    }
}

pub(crate) fn index_path(path: &sql::filter::Path) -> index::Path {
    let segment = |segment: &sql::filter::Segment| match segment {
        sql::filter::Segment::Key(name) => index::Segment::Key(name.clone()),
        sql::filter::Segment::Element => index::Segment::Element,
    };
    index::Path(path.0.iter().map(segment).collect())
}

/// The first bytes after everything that begins with these, which end a value.
pub(crate) fn behind(mut bytes: Vec<u8>) -> Vec<u8> {
    if let Some(last) = bytes.last_mut() {
        *last = last.saturating_add(1);
    }
    bytes
}

/// The range of terms for a range of values.
pub(crate) fn span(interval: &Interval, is_exact: &mut bool) -> Span {
    let (low, high, is_clip_exact) = index::clip(&interval.low, &interval.high);
    *is_exact &= is_clip_exact;
    let is_whole = matches!(index::decode_value(&low), Ok((_, rest)) if rest.is_empty());
    Span { is_point: is_whole && behind(low.clone()) == high, low, high }
}
