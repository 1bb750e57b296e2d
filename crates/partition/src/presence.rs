//! Tracks which documents lack a path that queries order by.
//!
//! A path that a wildcard includes has no index entry for a document without it, yet ORDER BY
//! returns that document. Finding such documents means comparing all entries of the path with all
//! documents. So, for the few paths that queries order by, a partition remembers which documents
//! lack them: a query compares once, and from then on every write without the path is recorded. The
//! result is a superset, because a document may gain the path or be deleted later; the reader
//! checks the document. For why this is correct and what it costs, see
//! docs/adr/0010-order-by-without-a-value.md.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{
        Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use index::{
    Kind,
    key::{self, PREFIX_BYTES},
};
use protocol::rid::DocNum;

use crate::{Partition, terms::IndexRow, transaction::DocumentChange};

/// How many paths a partition remembers; the least recently used one is evicted first.
const PATHS_MAX: usize = 16;

/// How many documents are remembered per path. If more lack it, the query reads on to find them.
const LACKING_MAX: usize = 4096;

/// The first type byte of a defined value.
const DEFINED: u8 = 0x20;

/// What one partition remembers about missing paths.
#[derive(Debug, Default)]
pub struct Presence {
    /// Whether any path is remembered. Most partitions have none, so their writes skip the check.
    is_on: AtomicBool,
    paths: Mutex<Paths>,
}

#[derive(Debug, Default)]
struct Paths {
    tracked: HashMap<u64, Tracked>,
    /// Counts uses, and identifies each tracking of a path.
    clock: u64,
}

/// A tracked path.
#[derive(Debug)]
struct Tracked {
    /// When tracking began, by the clock.
    ticket: u64,
    used: u64,
    /// Transactions after this LSN are recorded.
    since: u64,
    /// From which LSN on `lacking` is complete; `None` before a query has compared.
    complete_at: Option<u64>,
    /// The documents that lack the path, and the LSN at which each was recorded.
    lacking: BTreeMap<DocNum, u64>,
}

/// The LSN bounds of a query's snapshot: it holds all transactions up to the first LSN and none
/// after the second.
#[derive(Clone, Copy, Debug)]
pub struct Seen {
    /// The snapshot holds every transaction up to this LSN.
    pub at_least: u64,
    /// The snapshot holds no transaction after this LSN.
    pub at_most: u64,
}

/// Identifies one tracking of a path.
#[derive(Clone, Copy, Debug)]
pub struct Tracking {
    path_id: u64,
    ticket: u64,
    since: u64,
}

impl Presence {
    /// The documents that may lack the path, ascending; `None` if unknown.
    pub fn lacking(&self, path_id: u64, seen: Seen) -> Option<Vec<DocNum>> {
        let mut paths = self.paths();
        paths.clock += 1;
        let clock = paths.clock;
        let tracked = paths.tracked.get_mut(&path_id)?;
        tracked.used = clock;
        tracked.complete_at.filter(|complete_at| *complete_at <= seen.at_least)?;
        Some(tracked.lacking.keys().copied().collect())
    }

    /// Tracks a path, starting after the transaction `last_lsn`. The caller must hold the
    /// sequencer.
    pub(super) fn track(&self, path_id: u64, last_lsn: u64) -> Tracking {
        let mut paths = self.paths();
        paths.clock += 1;
        let clock = paths.clock;
        if paths.tracked.len() >= PATHS_MAX && !paths.tracked.contains_key(&path_id) {
            let oldest = paths.tracked.iter().min_by_key(|(_, tracked)| tracked.used);
            if let Some(oldest) = oldest.map(|(id, _)| *id) {
                paths.tracked.remove(&oldest);
            }
        }
        let tracked = paths.tracked.entry(path_id).or_insert_with(|| Tracked {
            ticket: clock,
            used: clock,
            since: last_lsn,
            complete_at: None,
            lacking: BTreeMap::new(),
        });
        tracked.used = clock;
        let tracking = Tracking { path_id, ticket: tracked.ticket, since: tracked.since };
        self.is_on.store(true, Ordering::Release);
        tracking
    }

    /// Records a query's result: all documents that lack the path in its snapshot.
    pub fn complete(&self, tracking: Tracking, seen: Seen, lacking: &[DocNum]) {
        let mut paths = self.paths();
        let Some(tracked) = paths.tracked.get_mut(&tracking.path_id) else { return };
        // Transactions sequenced before tracking began but missing from the snapshot were never
        // recorded.
        if tracked.ticket != tracking.ticket || seen.at_least < tracking.since {
            return;
        }
        for number in lacking.iter().take(LACKING_MAX + 1) {
            tracked.lacking.entry(*number).or_insert(seen.at_most);
        }
        tracked.complete_at = tracked.complete_at.max(Some(seen.at_most));
        if tracked.lacking.len() > LACKING_MAX {
            paths.tracked.remove(&tracking.path_id);
        }
    }

    /// Forgets documents that, in a query's snapshot, have the path or no longer exist.
    pub fn forget(&self, path_id: u64, seen: Seen, present: &[DocNum]) {
        let mut paths = self.paths();
        let Some(tracked) = paths.tracked.get_mut(&path_id) else { return };
        for number in present {
            // A document recorded after the snapshot lacks the path again.
            if tracked.lacking.get(number).is_some_and(|noted| *noted <= seen.at_least) {
                tracked.lacking.remove(number);
            }
        }
        // The forgotten documents may still lack the path in older snapshots.
        tracked.complete_at = tracked.complete_at.map(|lsn| lsn.max(seen.at_most));
    }

    /// Records the documents that lack a tracked path from this transaction on. Called in LSN
    /// order, before anyone can see the transaction.
    pub(super) fn note(&self, lsn: u64, changes: &[DocumentChange]) {
        if !self.is_on.load(Ordering::Acquire) {
            return;
        }
        self.paths().tracked.retain(|path_id, tracked| {
            let prefix = key::prefix(Kind::Path, *path_id);
            for change in changes.iter().filter(|change| loses(change, prefix)) {
                tracked.lacking.insert(change.docnum, lsn);
            }
            tracked.lacking.len() <= LACKING_MAX
        });
    }

    /// Forgets everything: the same document may get different terms from now on.
    pub(super) fn clear(&self) {
        self.paths().tracked.clear();
        self.is_on.store(false, Ordering::Release);
    }

    fn paths(&self) -> MutexGuard<'_, Paths> {
        self.paths.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Partition {
    /// Starts recording the documents that lack a path.
    pub fn track_presence(&self, path_id: u64) -> Tracking {
        let sequencer = self.sequencer();
        self.presence.track(path_id, sequencer.counters.last_lsn)
    }
}

/// Whether this change makes a document lack a path: it is new and has no entry, or loses its
/// entry. A document that lacked the path before was recorded then.
fn loses(change: &DocumentChange, prefix: [u8; PREFIX_BYTES]) -> bool {
    let has = |rows: &[IndexRow]| {
        let is_defined = |key: &[u8]| key.get(PREFIX_BYTES).is_some_and(|b| *b >= DEFINED);
        rows.iter().any(|(key, _)| key.starts_with(&prefix) && is_defined(key))
    };
    change.new.is_some()
        && !has(&change.terms.added)
        && (change.old.is_none() || has(&change.terms.removed))
}

#[cfg(test)]
mod tests {
    use bytes::Bytes;
    use protocol::etag::Etag;

    use super::*;
    use crate::{terms::TermChange, transaction::NewVersion};

    const PATH: u64 = 7;

    fn term(number: DocNum) -> Bytes {
        [&key::prefix(Kind::Path, PATH)[..], &[0x20], &number.to_be_bytes()].concat().into()
    }

    /// A write of a new document, with or without the path.
    fn write(number: DocNum, has_path: bool) -> DocumentChange {
        let added = if has_path { vec![(term(number), Bytes::new())] } else { Vec::new() };
        let etag = Etag(1);
        let new = NewVersion { etag, ts: 0, expiry: None, row: Vec::new() };
        DocumentChange {
            docnum: number,
            primary_key: Bytes::new(),
            moved_from: None,
            old: None,
            new: Some(new),
            terms: TermChange { added, removed: Vec::new() },
            expired: false,
            past: None,
        }
    }

    fn at(lsn: u64) -> Seen {
        Seen { at_least: lsn, at_most: lsn }
    }

    #[test]
    fn what_a_query_found_is_kept_up_by_writes() {
        let presence = Presence::default();
        assert_eq!(presence.lacking(PATH, at(10)), None);
        let tracking = presence.track(PATH, 10);
        presence.note(11, &[write(5, false), write(6, true)]);
        presence.complete(tracking, at(10), &[1, 2]);
        assert_eq!(presence.lacking(PATH, at(10)), Some(vec![1, 2, 5]));
        assert_eq!(presence.lacking(PATH, at(9)), None, "a snapshot from before");
        presence.note(12, &[write(9, false)]);
        assert_eq!(presence.lacking(PATH, at(12)), Some(vec![1, 2, 5, 9]));
        presence.clear();
        assert_eq!(presence.lacking(PATH, at(12)), None);
    }

    #[test]
    fn a_snapshot_that_lacks_what_was_not_noted_proves_nothing() {
        let presence = Presence::default();
        // Transaction 11 was sequenced before tracking began, and is not in the snapshot.
        let tracking = presence.track(PATH, 11);
        presence.complete(tracking, Seen { at_least: 10, at_most: 11 }, &[]);
        assert_eq!(presence.lacking(PATH, at(11)), None);
        presence.complete(tracking, at(11), &[3]);
        assert_eq!(presence.lacking(PATH, at(11)), Some(vec![3]));
        // The result of a tracking that has since ended.
        presence.clear();
        presence.track(PATH, 12);
        presence.complete(tracking, at(20), &[]);
        assert_eq!(presence.lacking(PATH, at(20)), None);
    }

    #[test]
    fn what_has_the_path_again_is_forgotten_unless_it_was_noted_since() {
        let presence = Presence::default();
        let tracking = presence.track(PATH, 1);
        presence.complete(tracking, at(1), &[1, 2]);
        presence.note(5, &[write(2, false)]);
        presence.forget(PATH, Seen { at_least: 4, at_most: 4 }, &[1, 2]);
        assert_eq!(presence.lacking(PATH, at(5)), Some(vec![2]));
        assert_eq!(presence.lacking(PATH, at(3)), None, "it may lack what was forgotten");
    }

    #[test]
    fn too_many_documents_and_paths_are_not_kept() {
        let presence = Presence::default();
        let tracking = presence.track(PATH, 0);
        let many: Vec<DocNum> = (0..=LACKING_MAX as u64).collect();
        presence.complete(tracking, at(0), &many);
        assert_eq!(presence.lacking(PATH, at(0)), None);
        let tracking = presence.track(PATH, 0);
        presence.complete(tracking, at(0), &[]);
        for path in 0..PATHS_MAX as u64 {
            presence.track(100 + path, 0);
        }
        assert_eq!(presence.lacking(PATH, at(0)), None, "the oldest has gone");
    }
}
