//! An ordered map that keeps old values exactly as long as a snapshot can see them.
//!
//! Each batch gets the next sequence number; a snapshot at sequence `s` sees, for each key, the
//! newest version not above `s`. A version written at `a` and overwritten at `b` is needed only by
//! the snapshots in `a..b`. No new snapshot can ever fall into that interval, so:
//!
//! - if no snapshot is in the interval when a version is overwritten, it is removed at once;
//! - otherwise one snapshot in the interval, the *holder*, records it. When the holder is dropped,
//!   it hands the version to another snapshot in the interval, or removes it.
//!
//! So the map keeps exactly what can be read, and the work to trim it is proportional to that.
//!
//! Lock order: `map` before `pins`.

use std::{
    collections::{BTreeMap, btree_map::Entry},
    ops::Bound,
    sync::{
        Arc, Mutex, PoisonError, RwLock,
        atomic::{AtomicU64, Ordering},
    },
};

use bytes::Bytes;

use super::key::Key;
use crate::{Batch, Change, Direction, KeyRange, Page, PageLimit, is_empty_range};

/// How many versions to trim per lock acquisition, so that the end of a long scan does not block
/// others for long.
const TRIM_CHUNK: usize = 1024;

/// The approximate overhead of an entry beyond its bytes: the rest of its key and value in the tree,
/// and the tree's own.
const ENTRY_OVERHEAD: u64 = 128;

/// The value of a key from a certain sequence on; `None` if deleted.
struct Version {
    since: u64,
    value: Option<Bytes>,
}

/// A key's newest version and, oldest first, the ones that snapshots still need.
///
/// Invariant: if the newest version is a deletion, there are older ones; otherwise the key is not
/// in the map.
struct History {
    newest: Version,
    older: Older,
}

/// Old versions of a key. Boxed, because few keys have any, and the map moves its entries.
#[derive(Default)]
struct Older(Option<Box<OldVersions>>);

#[derive(Default)]
struct OldVersions(Vec<Version>);

impl Older {
    fn versions(&self) -> &[Version] {
        self.0.as_ref().map_or(&[], |older| &older.0)
    }

    fn push(&mut self, version: Version) {
        self.0.get_or_insert_default().0.push(version);
    }

    /// Requires that there is one at `index`.
    fn remove(&mut self, index: usize) -> Option<Version> {
        let versions = &mut self.0.as_mut()?.0;
        let version = versions.remove(index);
        if versions.is_empty() {
            self.0 = None;
        }
        Some(version)
    }
}

impl History {
    fn at(&self, sequence: u64) -> Option<&Bytes> {
        if self.newest.since <= sequence {
            return self.newest.value.as_ref();
        }
        let version =
            self.older.versions().iter().rev().find(|version| version.since <= sequence)?;
        version.value.as_ref()
    }

    /// The sequence at which the older version at `index` was overwritten.
    fn until(&self, index: usize) -> u64 {
        self.older.versions().get(index + 1).map_or(self.newest.since, |next| next.since)
    }

    fn is_nothing(&self) -> bool {
        self.newest.value.is_none() && self.older.0.is_none()
    }
}

type Map = BTreeMap<Key, History>;

/// The live snapshots by sequence, and the sequence of the next one.
#[derive(Default)]
struct Pins {
    published: u64,
    alive: BTreeMap<u64, Held>,
}

/// Snapshots of one sequence, and the old versions they hold as (key, since).
#[derive(Default)]
struct Held {
    snapshots: usize,
    versions: Vec<(Key, u64)>,
}

impl Pins {
    /// Lets a snapshot within `since..until` hold that version of `key`; false if there is none.
    ///
    /// Takes the oldest one: it has outlived others already, so it is most likely to stay.
    fn hold(&mut self, key: &Key, since: u64, until: u64) -> bool {
        let Some((_, held)) = self.alive.range_mut(since..until).next() else { return false };
        held.versions.push((key.clone(), since));
        true
    }
}

/// The map of one partition.
#[derive(Default)]
pub(super) struct Versions {
    map: RwLock<Map>,
    pins: Mutex<Pins>,
    bytes: AtomicU64,
}

impl Versions {
    /// Publishes a batch: snapshots taken from now on see all of it, earlier ones nothing.
    pub(super) fn apply(&self, batch: Batch) {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        let sequence = pins.published + 1;
        for change in batch.changes {
            self.write(&mut map, &mut pins, change, sequence);
        }
        pins.published = sequence;
    }

    fn write(&self, map: &mut Map, pins: &mut Pins, change: Change, sequence: u64) {
        let newest = Version { since: sequence, value: change.value };
        match map.entry(Key::from(&change.key[..])) {
            Entry::Vacant(entry) => {
                if newest.value.is_some() {
                    self.count(entry.key(), &newest);
                    entry.insert(History { newest, older: Older::default() });
                }
            }
            Entry::Occupied(mut entry) => {
                self.count(entry.key(), &newest);
                let key = entry.key().clone();
                let history = entry.get_mut();
                let previous = std::mem::replace(&mut history.newest, newest);
                if pins.hold(&key, previous.since, sequence) {
                    history.older.push(previous);
                } else {
                    self.discount(&key, &previous);
                }
                if history.is_nothing() {
                    let history = entry.remove();
                    self.discount(&key, &history.newest);
                }
            }
        }
    }

    /// Whether the newest snapshot would see no key at all.
    pub(super) fn is_empty(&self) -> bool {
        let map = self.map.read().unwrap_or_else(PoisonError::into_inner);
        map.values().all(|history| history.newest.value.is_none())
    }

    /// Approximate bytes held, including overhead.
    pub(super) fn size(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Requires `map` to be locked for writing: then nobody else counts, and no atomic addition is
    /// needed for each entry.
    fn count(&self, key: &Key, version: &Version) {
        let bytes = self.bytes.load(Ordering::Relaxed).wrapping_add(cost(key, version));
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Requires `map` to be locked for writing.
    fn discount(&self, key: &Key, version: &Version) {
        let bytes = self.bytes.load(Ordering::Relaxed).wrapping_sub(cost(key, version));
        self.bytes.store(bytes, Ordering::Relaxed);
    }

    /// Hands versions whose holder was dropped to another one, or removes them.
    fn trim(&self, versions: &[(Key, u64)]) {
        let mut map = self.map.write().unwrap_or_else(PoisonError::into_inner);
        let mut pins = self.pins.lock().unwrap_or_else(PoisonError::into_inner);
        for (key, since) in versions {
            let Some(history) = map.get_mut(key) else { continue };
            let found =
                history.older.versions().binary_search_by_key(since, |version| version.since);
            let Ok(index) = found else { continue };
            if pins.hold(key, *since, history.until(index)) {
                continue;
            }
            if let Some(removed) = history.older.remove(index) {
                self.discount(key, &removed);
            }
            if history.is_nothing()
                && let Some(history) = map.remove(key)
            {
                self.discount(key, &history.newest);
            }
        }
    }
}

fn cost(key: &Key, version: &Version) -> u64 {
    let bytes = key.len() + version.value.as_ref().map_or(0, Bytes::len);
    bytes as u64 + ENTRY_OVERHEAD
}

/// Keeps the map readable as of the pin's creation.
pub(super) struct Pin {
    versions: Arc<Versions>,
    sequence: u64,
}

impl Pin {
    /// Pins what is published now.
    pub(super) fn new(versions: Arc<Versions>) -> Self {
        let mut pins = versions.pins.lock().unwrap_or_else(PoisonError::into_inner);
        let sequence = pins.published;
        pins.alive.entry(sequence).or_default().snapshots += 1;
        drop(pins);
        Self { versions, sequence }
    }

    /// The values of `keys`, in their order.
    pub(super) fn get_many(&self, keys: &[Bytes]) -> Vec<Option<Bytes>> {
        let map = self.versions.map.read().unwrap_or_else(PoisonError::into_inner);
        let get = |key: &Bytes| map.get(&Key::from(&key[..]))?.at(self.sequence).cloned();
        keys.iter().map(get).collect()
    }

    /// One page of the entries in `range`.
    pub(super) fn scan(&self, range: &KeyRange, direction: Direction, limit: PageLimit) -> Page {
        // `BTreeMap::range` panics on such bounds.
        if is_empty_range(range) {
            return Page::default();
        }
        let map = self.versions.map.read().unwrap_or_else(PoisonError::into_inner);
        let bound = |bound: &Bound<Bytes>| bound.as_ref().map(|key| Key::from(&key[..]));
        let (start, end) = (bound(&range.0), bound(&range.1));
        // Most ranges have few entries, or are not read to their end: to compare these entries with
        // the far end costs less than to search it.
        match direction {
            Direction::Forward => {
                let entries = map.range((start, Bound::Unbounded));
                self.page(entries.take_while(|(key, _)| is_before(key, &end)), limit)
            }
            Direction::Backward => {
                let entries = map.range((Bound::Unbounded, end)).rev();
                self.page(entries.take_while(|(key, _)| is_behind(key, &start)), limit)
            }
        }
    }

    fn page<'a>(
        &self,
        entries: impl Iterator<Item = (&'a Key, &'a History)>,
        limit: PageLimit,
    ) -> Page {
        let mut page = Page::default();
        let mut bytes = 0;
        for (key, history) in entries {
            let Some(value) = history.at(self.sequence) else { continue };
            if limit.is_reached(page.entries.len(), bytes) {
                page.has_more = true;
                break;
            }
            bytes += key.len() + value.len();
            page.entries.push((key.to_bytes(), value.clone()));
        }
        page
    }
}

fn is_before(key: &Key, end: &Bound<Key>) -> bool {
    match end {
        Bound::Included(end) => key <= end,
        Bound::Excluded(end) => key < end,
        Bound::Unbounded => true,
    }
}

fn is_behind(key: &Key, start: &Bound<Key>) -> bool {
    match start {
        Bound::Included(start) => key >= start,
        Bound::Excluded(start) => key > start,
        Bound::Unbounded => true,
    }
}

impl Drop for Pin {
    fn drop(&mut self) {
        let mut pins = self.versions.pins.lock().unwrap_or_else(PoisonError::into_inner);
        let Entry::Occupied(mut entry) = pins.alive.entry(self.sequence) else { return };
        entry.get_mut().snapshots -= 1;
        if entry.get().snapshots > 0 {
            return;
        }
        let held = entry.remove();
        drop(pins);
        for chunk in held.versions.chunks(TRIM_CHUNK) {
            self.versions.trim(chunk);
        }
    }
}

#[cfg(test)]
mod tests;
