//! What of a query an index can answer: from WHERE, JOIN and EXISTS to tests of the values at
//! paths. Pure: no index is read here, and none need exist.
//!
//! A [`Filter`] lets through at least every item that gives a row. Where [`Filter::is_exact`] it
//! lets through no other, and each of them gives one row.
//!
//! An index has one entry for each scalar at its path, one for each array and object (its type
//! only), and the elements of arrays under [`Segment::Element`]. Whether it has entries for
//! undefined is a matter of its policy: a test whose intervals reach down to undefined can be
//! answered only where it has.
//!
//! In reading order:
//! - `path`, `interval`: where a value lies, and sets of values as key bytes,
//! - `scope`: which paths the names of a query stand for,
//! - `predicate`: AND, OR, NOT, EXISTS, down to the predicates without,
//! - `compare`, `like`, `call`, `spatial`: operators and functions over a path and constants,
//! - `check`, `domain`, `rewrite`: any other expression over one path,
//! - `simplify`: tests of one path become one,
//! - `order`: the paths of ORDER BY and of aggregates.

mod call;
mod check;
mod compare;
mod domain;
mod interval;
mod like;
mod order;
mod path;
mod predicate;
mod rewrite;
mod scope;
mod simplify;
mod spatial;

use value::Value;

use crate::ast::Query;

pub use check::{Checker, ValueCheck};
pub use interval::Interval;
pub use order::{
    Aggregated, Argument, may_aggregate, order_path, paths_of_aggregate, predicates_of_select,
};
pub use path::{Path, Segment};

/// What an index can tell about the items that a query needs.
#[derive(Clone, Debug)]
pub enum Filter {
    /// Unknown: any item may give rows. Never exact.
    All,
    /// Every item gives one row: there is no WHERE, or it is always true.
    Always,
    /// No item gives a row.
    Nothing,
    /// Items that pass all of these; at least two, none of them `And`, `All`, `Always` or
    /// `Nothing`.
    And(Vec<Filter>),
    /// Items that pass any of these; at least two, none of them `Or`, `All`, `Always` or `Nothing`.
    Or(Vec<Filter>),
    /// Items that pass a test.
    Test(Test),
}

/// A test of the values at one path.
#[derive(Clone, Debug)]
pub struct Test {
    /// Where the values lie.
    pub path: Path,
    /// The condition that one of the values must meet.
    pub kind: TestKind,
    /// Whether passing is the same as the predicate being true, not only implied by it, for a
    /// query that gives one row for each item. Never where the path leads through arrays.
    /// This is about values as a whole: an index that cuts long strings, and lets what it cut pass
    /// a check, is not exact there.
    pub is_exact: bool,
    /// The predicate, for index metrics; empty when too long to be of use, or not
    /// [wanted](Settings::without_texts).
    pub text: String,
    /// How an index is used.
    pub use_: IndexUse,
}

/// The condition for one of the values at a path.
#[derive(Clone, Debug)]
pub enum TestKind {
    /// It lies in one of these: sorted, disjoint, not empty.
    Intervals(Vec<Interval>),
    /// It is in one of these intervals and passes a check, for which the value must be decoded from
    /// the index. The check cannot be evaluated for values that an index does not hold in full.
    Values {
        /// As above.
        intervals: Vec<Interval>,
        /// The check.
        check: ValueCheck,
    },
    /// It is a geometry that touches one of these boxes.
    Spatial {
        /// West, south, east and north of each: longitudes and latitudes, or x and y.
        boxes: Vec<[f64; 4]>,
    },
}

/// How an index is used, the cheapest first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum IndexUse {
    /// Single values are looked up.
    Seek,
    /// Ranges are read.
    Precise,
    /// More than one range is read, and each value of it is checked.
    Expanded,
    /// All values at the path may be read.
    Full,
}

/// What determines the filter of a query, besides the query itself.
#[derive(Clone, Copy, Debug, Default)]
pub struct Settings<'a> {
    /// The time of the request with which the query will run, in milliseconds since 1970. Without
    /// it, `GetCurrentTimestampStatic()` and similar functions are not treated as constants.
    pub now_millis: Option<i64>,
    /// Whether geometries of the container are planar rather than on the earth.
    pub is_planar: bool,
    /// The names of the container's computed properties: they hide stored ones.
    pub computed: &'a [String],
    /// Whether tests have no text: printing predicates takes as long as finding what they say.
    pub without_texts: bool,
}

/// The filter of a query, with the parameters of the request, their names with `@`.
pub fn of(query: &Query, parameters: &[(String, Value)]) -> Filter {
    of_with(query, parameters, &Settings::default())
}

/// [`of`], knowing more.
pub fn of_with(query: &Query, parameters: &[(String, Value)], settings: &Settings<'_>) -> Filter {
    // Without FROM there is one row, regardless of the items.
    if query.from.is_empty() {
        return Filter::All;
    }
    scope::Analysis::new(parameters, settings).query(query, false)
}

impl Filter {
    /// Whether the items that pass are exactly those that give a row, and give one each.
    pub fn is_exact(&self) -> bool {
        match self {
            Filter::All => false,
            Filter::Always | Filter::Nothing => true,
            Filter::And(filters) | Filter::Or(filters) => filters.iter().all(Filter::is_exact),
            Filter::Test(test) => test.is_exact,
        }
    }

    /// Whether an index with entries for everything, undefined included, would let the item
    /// through. What a geometry covers is taken to be the box around it.
    pub fn matches(&self, item: &Value) -> bool {
        match self {
            Filter::All | Filter::Always => true,
            Filter::Nothing => false,
            Filter::And(filters) => filters.iter().all(|filter| filter.matches(item)),
            Filter::Or(filters) => filters.iter().any(|filter| filter.matches(item)),
            Filter::Test(test) => test.path.any(item, &mut |value| test.kind.matches(value)),
        }
    }
}

impl TestKind {
    /// Whether the entry of a value in an index passes. The check sees what can be read back.
    fn matches(&self, value: &Value) -> bool {
        let bytes = interval::bytes_of(value);
        match self {
            TestKind::Intervals(intervals) => interval::contains(intervals, &bytes),
            TestKind::Values { intervals, check } => {
                let entry = value::key::decode(&bytes).map(|(entry, _)| entry);
                interval::contains(intervals, &bytes)
                    && entry.map_or(true, |entry| check.passes(&entry))
            }
            TestKind::Spatial { boxes } => spatial::meets(value, boxes),
        }
    }
}
