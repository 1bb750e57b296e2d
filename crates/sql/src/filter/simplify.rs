//! Combines filters: drops those without effect, and merges tests of the same path.

use std::collections::HashMap;

use super::check::ValueCheck;
use super::interval::{self, Interval};
use super::path::Path;
use super::{Filter, Test, TestKind};

/// Longest text of a test, in bytes; longer ones are left out.
pub(super) const TEXT_BYTES_MAX: usize = 2048;

/// The items that pass all.
pub(super) fn and(filters: impl IntoIterator<Item = Filter>) -> Filter {
    let mut is_exact = true;
    let mut parts = Vec::new();
    for filter in filters {
        match filter {
            Filter::Nothing => return Filter::Nothing,
            Filter::Always => {}
            Filter::All => is_exact = false,
            Filter::And(filters) => parts.extend(filters),
            Filter::Or(_) | Filter::Test(_) => parts.push(filter),
        }
    }
    let is_alone = |test: &Test| {
        test.path.is_single_valued() && !matches!(test.kind, TestKind::Spatial { .. })
    };
    let mut parts = grouped(parts, is_alone, intersected);
    if parts.iter().any(|part| matches!(part, Filter::Nothing)) {
        return Filter::Nothing;
    }
    parts.retain(|part| !matches!(part, Filter::Always));
    let whole = match parts.len() {
        0 => Filter::Always,
        1 => parts.remove(0),
        _ => Filter::And(parts),
    };
    if is_exact { whole } else { inexact(whole) }
}

/// The items that pass any.
pub(super) fn or(filters: impl IntoIterator<Item = Filter>) -> Filter {
    let mut says_nothing = false;
    let mut parts = Vec::new();
    for filter in filters {
        match filter {
            Filter::Always => return Filter::Always,
            Filter::Nothing => {}
            Filter::All => says_nothing = true,
            Filter::Or(filters) => parts.extend(filters),
            Filter::And(_) | Filter::Test(_) => parts.push(filter),
        }
    }
    if says_nothing {
        return Filter::All;
    }
    // With several elements, each test may be met by another one: only AND has that problem.
    let is_plain = |test: &Test| matches!(test.kind, TestKind::Intervals(_));
    let mut parts = grouped(parts, is_plain, united);
    for part in &parts {
        match part {
            Filter::All => says_nothing = true,
            Filter::Always => return Filter::Always,
            _ => {}
        }
    }
    match parts.len() {
        _ if says_nothing => Filter::All,
        0 => Filter::Nothing,
        1 => parts.remove(0),
        _ => Filter::Or(parts),
    }
}

/// This filter, marked as not saying everything about its predicate.
pub(super) fn inexact(filter: Filter) -> Filter {
    match filter {
        Filter::Always => Filter::All,
        Filter::All | Filter::Nothing => filter,
        Filter::And(filters) => Filter::And(filters.into_iter().map(inexact).collect()),
        Filter::Or(filters) => Filter::Or(filters.into_iter().map(inexact).collect()),
        Filter::Test(test) => Filter::Test(Test { is_exact: false, ..test }),
    }
}

/// A test, unless its intervals hold nothing or everything. No index has entries for what is
/// undefined within an array.
pub(super) fn test(test: Test) -> Filter {
    let intervals = match &test.kind {
        TestKind::Intervals(intervals) | TestKind::Values { intervals, .. } => intervals,
        TestKind::Spatial { boxes } if boxes.is_empty() => return Filter::Nothing,
        TestKind::Spatial { .. } => return Filter::Test(test),
    };
    if intervals.is_empty() {
        return Filter::Nothing;
    }
    let is_everything = *intervals == interval::anything();
    if is_everything && test.is_exact && matches!(test.kind, TestKind::Intervals(_)) {
        return Filter::Always;
    }
    let has_undefined = interval::touches(intervals, interval::UNDEFINED);
    let is_unknown = test.path.0.is_empty() || has_undefined && !test.path.is_single_valued();
    if is_everything || is_unknown { Filter::All } else { Filter::Test(test) }
}

/// Combines the tests of each path for which `is_member` holds; the result takes the place of the
/// first.
fn grouped(
    filters: Vec<Filter>,
    is_member: impl Fn(&Test) -> bool,
    combine: fn(Vec<Test>) -> Filter,
) -> Vec<Filter> {
    let mut places: HashMap<Path, usize> = HashMap::new();
    let mut groups: Vec<Result<Vec<Test>, Filter>> = Vec::new();
    for filter in filters {
        match filter {
            Filter::Test(test) if is_member(&test) => {
                let place = *places.entry(test.path.clone()).or_insert(groups.len());
                match groups.get_mut(place) {
                    Some(Ok(group)) => group.push(test),
                    _ => groups.push(Ok(vec![test])),
                }
            }
            other => groups.push(Err(other)),
        }
    }
    groups.into_iter().map(|group| group.map_or_else(|filter| filter, combine)).collect()
}

/// One test for several that one value must pass.
fn intersected(tests: Vec<Test>) -> Filter {
    combined(tests, " AND ", |kinds| {
        let mut checks: Option<ValueCheck> = None;
        let mut sets = Vec::new();
        for kind in kinds {
            match kind {
                TestKind::Intervals(intervals) => sets.push(intervals),
                TestKind::Values { intervals, check } => {
                    sets.push(intervals);
                    match &mut checks {
                        Some(checks) => checks.conditions.extend(check.conditions),
                        None => checks = Some(check),
                    }
                }
                TestKind::Spatial { .. } => {}
            }
        }
        let intervals = intersection_of(sets);
        match checks {
            Some(check) => TestKind::Values { intervals, check },
            None => TestKind::Intervals(intervals),
        }
    })
}

/// Merges several tests, of which one value must pass one, into a single test.
fn united(tests: Vec<Test>) -> Filter {
    combined(tests, " OR ", |kinds| {
        let intervals = kinds.into_iter().flat_map(|kind| match kind {
            TestKind::Intervals(intervals) => intervals,
            TestKind::Values { .. } | TestKind::Spatial { .. } => Vec::new(),
        });
        TestKind::Intervals(interval::union(intervals.collect()))
    })
}

fn combined(
    mut tests: Vec<Test>,
    word: &str,
    combine: impl FnOnce(Vec<TestKind>) -> TestKind,
) -> Filter {
    if tests.len() == 1 {
        return Filter::Test(tests.remove(0));
    }
    let is_exact = tests.iter().all(|test| test.is_exact);
    let uses = tests.iter().map(|test| test.use_);
    let use_ = if word == " AND " { uses.min() } else { uses.max() };
    let length: usize = tests.iter().map(|test| test.text.len() + word.len()).sum();
    let is_known = tests.iter().all(|test| !test.text.is_empty());
    let text = if is_known && length <= TEXT_BYTES_MAX {
        let texts: Vec<&str> = tests.iter().map(|test| test.text.as_str()).collect();
        format!("({})", texts.join(word))
    } else {
        String::new()
    };
    let path = std::mem::take(&mut tests[0].path);
    let use_ = use_.unwrap_or(tests[0].use_);
    let kind = combine(tests.into_iter().map(|test| test.kind).collect());
    test(Test { path, kind, is_exact, text, use_ })
}

/// Pair by pair, so that a long chain of `!=` takes no quadratic time.
fn intersection_of(mut sets: Vec<Vec<Interval>>) -> Vec<Interval> {
    while sets.len() > 1 {
        let pairs = sets.chunks(2);
        sets = pairs
            .map(|pair| match pair {
                [a, b] => interval::intersection(a, b),
                _ => pair.concat(),
            })
            .collect();
    }
    sets.pop().unwrap_or_default()
}
