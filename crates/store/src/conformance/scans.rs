//! Ranges, directions and pages.

use std::ops::Bound;

use bytes::Bytes;

use super::{EVERYTHING, batch, commit, open, scan};
use crate::{Batch, Direction, KeyRange, PageLimit, Snapshot, Store};

/// Keys that are prefixes of each other, and of different lengths.
const KEYS: [&str; 7] = ["a", "aa", "ab", "b", "ba", "c", "d"];

fn bounds() -> Vec<Bound<Bytes>> {
    let mut bounds = vec![Bound::Unbounded];
    // Present keys, and some before, between and behind them.
    for key in KEYS.into_iter().chain(["A", "aab", "bb", "dd"]) {
        bounds.push(Bound::Included(Bytes::from(key)));
        bounds.push(Bound::Excluded(Bytes::from(key)));
    }
    bounds
}

fn is_inside(key: &Bytes, range: &KeyRange) -> bool {
    let after = match &range.0 {
        Bound::Included(start) => key >= start,
        Bound::Excluded(start) => key > start,
        Bound::Unbounded => true,
    };
    let before = match &range.1 {
        Bound::Included(end) => key <= end,
        Bound::Excluded(end) => key < end,
        Bound::Unbounded => true,
    };
    after && before
}

pub(super) async fn respects_all_bounds(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    commit(&*partition, batch(KEYS.map(|key| (key, Some(key)))));
    commit(&*partition, batch([("gone", Some("x")), ("gone", None), ("aaa", Some("x"))]));
    commit(&*partition, batch([("aaa", None)]));
    let snapshot = partition.snapshot();
    for start in bounds() {
        for end in bounds() {
            let range = (start.clone(), end);
            let keys = KEYS.map(Bytes::from).into_iter().filter(|key| is_inside(key, &range));
            let mut expected: Vec<_> = keys.map(|key| (key.clone(), key)).collect();
            let forward = scan(&*snapshot, range.clone(), Direction::Forward).await;
            assert_eq!(forward, expected, "{range:?}");
            expected.reverse();
            let backward = scan(&*snapshot, range.clone(), Direction::Backward).await;
            assert_eq!(backward, expected, "{range:?} backward");
        }
    }
}

/// Reads a range page by page.
async fn scan_in_pages(
    snapshot: &dyn Snapshot,
    mut range: KeyRange,
    direction: Direction,
    limit: PageLimit,
) -> Vec<(Bytes, Bytes)> {
    let mut entries = Vec::new();
    loop {
        let page = snapshot.scan(range.clone(), direction, limit).await.expect("a page");
        let bytes: Vec<usize> = page.entries.iter().map(|(k, v)| k.len() + v.len()).collect();
        assert!(page.entries.len() <= limit.entries.max(1), "too many entries");
        if let Some((_, all_but_last)) = bytes.split_last() {
            assert!(all_but_last.iter().sum::<usize>() <= limit.bytes, "too many bytes");
        }
        let last = page.entries.last().map(|(key, _)| key.clone());
        entries.extend(page.entries);
        if !page.has_more {
            return entries;
        }
        let last = last.expect("a page with more behind it holds something");
        match direction {
            Direction::Forward => range.0 = Bound::Excluded(last),
            Direction::Backward => range.1 = Bound::Excluded(last),
        }
    }
}

pub(super) async fn pages_add_up(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    let mut changes = Batch::default();
    for number in 0..200_usize {
        changes.put(format!("key{number:04}"), vec![b'v'; number % 50]);
    }
    commit(&*partition, changes);
    let mut deletions = Batch::default();
    for number in (0..200).step_by(3) {
        deletions.delete(format!("key{number:04}"));
    }
    commit(&*partition, deletions);
    let snapshot = partition.snapshot();
    let inner = (Bound::Included("key0010".into()), Bound::Excluded("key0190".into()));
    for range in [EVERYTHING, inner] {
        for direction in [Direction::Forward, Direction::Backward] {
            let whole = scan(&*snapshot, range.clone(), direction).await;
            assert!(whole.len() > 100);
            for (entries, bytes) in [(1, 1 << 20), (7, 1 << 20), (1000, 100), (0, 0), (1000, 0)] {
                let limit = PageLimit { entries, bytes };
                let pages = scan_in_pages(&*snapshot, range.clone(), direction, limit).await;
                assert_eq!(pages, whole, "{limit:?} {direction:?}");
            }
        }
    }
}

/// Bounds that no key can have must still work.
pub(super) async fn takes_impossible_bounds(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    let long = vec![b'm'; 65_535];
    let mut changes = Batch::default();
    changes.put("a", "1");
    changes.put(long.clone(), "2");
    changes.put("z", "3");
    commit(&*partition, changes);
    let snapshot = partition.snapshot();
    let longer = Bytes::from(vec![b'm'; 70_000]);
    for bound in [Bound::Included(longer.clone()), Bound::Excluded(longer)] {
        let below = (Bound::Unbounded, bound.clone());
        assert_eq!(scan(&*snapshot, below, Direction::Forward).await.len(), 2);
        let above = (bound, Bound::Unbounded);
        assert_eq!(scan(&*snapshot, above, Direction::Backward).await.len(), 1);
    }
    let from_nothing = (Bound::Excluded(Bytes::new()), Bound::Unbounded);
    assert_eq!(scan(&*snapshot, from_nothing, Direction::Forward).await.len(), 3);
    let to_nothing = (Bound::Unbounded, Bound::Included(Bytes::new()));
    assert!(scan(&*snapshot, to_nothing, Direction::Forward).await.is_empty());
}
