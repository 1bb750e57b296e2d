//! Rows that were read lately, so that the next read of one does not search the tree again.
//!
//! A look-up in the tree asks the write buffers, each flushed table and each level, and finds its
//! way through a filter, an index and a block of entries; here it is one look into a hash table, and
//! the value is shared instead of copied.
//!
//! **A row is never stale.** The committer counts its publications: a snapshot has the number of the
//! one it came with, its *turn*, and a row here the turn of the snapshot that it was read from.
//! Before a group is published, the committer replaces the rows that it wrote, or removes them, and
//! notes the coming turn in their shards. So
//!
//! - what is here has not changed between its own turn and the newest one, and is right for any
//!   snapshot of its own turn or a later one; earlier ones have to ask the tree;
//! - who has read a value before a group was published cannot put it here afterwards, because the
//!   shard refuses rows of earlier turns.
//!
//! Only rows of the kinds that are read by key are kept (`Options::cached_kinds`), so that writing
//! the others, most of them entries of indexes, costs nothing.

use std::{
    collections::HashMap,
    hash::{BuildHasher, BuildHasherDefault, Hasher},
    sync::{Mutex, MutexGuard, PoisonError},
};

use bytes::Bytes;
use foldhash::fast::RandomState;

use crate::options::Options;

/// Readers on different processors rarely meet in the same one of these.
const SHARDS: usize = 32;

/// What a row takes beside its key and value: its place here, its place in the hash table, and what
/// the allocator adds.
const OVERHEAD_BYTES: usize = 160;

/// When a shard is full, one of so many rows that are read takes the place of others. A row that is
/// read again and again soon is here; one that is read once seldom costs another one its place.
const ADMIT_ONE_OF: u32 = 4;

/// Where a row is, or would be.
#[derive(Clone, Copy)]
pub(crate) struct Place(u64);

/// The answer to a look-up.
pub(crate) enum Found {
    /// The value.
    Here(Bytes),
    /// It has to be read from the tree.
    Absent {
        /// Whether to [`Rows::insert`] it then.
        is_wanted: bool,
    },
}

/// The rows of all partitions.
pub(crate) struct Rows {
    shards: Box<[Mutex<Shard>]>,
    hasher: RandomState,
    /// Whether rows whose keys begin with this byte are kept.
    is_kept: [bool; 256],
    shard_bytes_max: usize,
}

/// Rows whose hashes have the same remainder.
#[derive(Default)]
struct Shard {
    rows: Vec<Row>,
    /// The index in `rows` by hash. Of two keys with the same hash only one is here.
    index: HashMap<u64, u32, BuildHasherDefault<AsIs>>,
    bytes: usize,
    /// Where the search for a row to remove goes on.
    hand: usize,
    /// Rows that were read from snapshots of earlier turns are refused.
    turn_min: u64,
    /// Counts the rows that were wanted while the shard was full.
    refused: u32,
}

struct Row {
    hash: u64,
    partition: u64,
    turn: u64,
    /// The key, followed by the value.
    entry: Bytes,
    key_bytes: u32,
    /// Whether it was found since the hand passed it.
    is_used: bool,
}

impl Row {
    fn is(&self, partition: u64, key: &[u8]) -> bool {
        self.partition == partition
            && self.key_bytes as usize == key.len()
            && self.entry.starts_with(key)
    }

    fn size_bytes(&self) -> usize {
        self.entry.len() + OVERHEAD_BYTES
    }
}

impl Rows {
    pub(crate) fn new(options: &Options) -> Self {
        let mut is_kept = [false; 256];
        for kind in options.cached_kinds {
            is_kept[usize::from(*kind)] = true;
        }
        Self {
            shards: (0..SHARDS).map(|_| Mutex::default()).collect(),
            hasher: RandomState::default(),
            is_kept,
            shard_bytes_max: options.row_cache_bytes / SHARDS,
        }
    }

    /// Where the row is kept, unless it is of a kind that is not.
    pub(crate) fn place(&self, partition: u64, key: &[u8]) -> Option<Place> {
        let first = key.first()?;
        if !self.is_kept[usize::from(*first)] || self.shard_bytes_max == 0 {
            return None;
        }
        Some(Place(self.hasher.hash_one((partition, key))))
    }

    fn shard(&self, place: Place) -> MutexGuard<'_, Shard> {
        // The hash table uses the lowest and the highest bits.
        let number = (place.0 >> 32) as usize % self.shards.len();
        self.shards[number].lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Looks for a row, for a snapshot of this turn.
    pub(crate) fn find(&self, place: Place, partition: u64, key: &[u8], turn: u64) -> Found {
        let mut shard = self.shard(place);
        let index = shard.index.get(&place.0).copied();
        if let Some(row) = index.and_then(|index| shard.rows.get_mut(index as usize))
            && row.is(partition, key)
        {
            if row.turn > turn {
                return Found::Absent { is_wanted: false };
            }
            row.is_used = true;
            let value = row.entry.slice(key.len()..);
            return Found::Here(value);
        }
        let is_wanted = turn >= shard.turn_min && shard.admits(self.shard_bytes_max);
        Found::Absent { is_wanted }
    }

    /// Keeps a row that was read from a snapshot of this turn. Returns its value.
    pub(crate) fn insert(
        &self,
        place: Place,
        partition: u64,
        key: &[u8],
        value: &[u8],
        turn: u64,
    ) -> Bytes {
        // One that takes the place of a great many others is not worth it.
        let size_bytes = key.len() + value.len() + OVERHEAD_BYTES;
        let key_bytes = u32::try_from(key.len());
        let (Ok(key_bytes), true) = (key_bytes, size_bytes <= self.shard_bytes_max / 8) else {
            return Bytes::copy_from_slice(value);
        };
        let entry = Bytes::from([key, value].concat());
        let value = entry.slice(key.len()..);
        let row = Row { hash: place.0, partition, turn, entry, key_bytes, is_used: false };
        let mut shard = self.shard(place);
        if turn >= shard.turn_min {
            shard.insert(row, self.shard_bytes_max);
        }
        value
    }

    /// Removes a row that the group that is published in this turn has written. What was read in
    /// earlier turns is not taken any more.
    pub(crate) fn remove(&self, place: Place, turn: u64) {
        let mut shard = self.shard(place);
        shard.remove_for(place, turn);
    }

    /// Replaces a row by what the group that is published in this turn has written: what was just
    /// written is often read next. When there is no room, only what was here keeps its place.
    pub(crate) fn replace(
        &self,
        place: Place,
        partition: u64,
        key: &[u8],
        value: &[u8],
        turn: u64,
    ) {
        let mut shard = self.shard(place);
        let was_here = shard.remove_for(place, turn);
        let has_room = was_here || shard.has_room(self.shard_bytes_max);
        drop(shard);
        if has_room {
            self.insert(place, partition, key, value, turn);
        }
    }

    #[cfg(test)]
    fn len(&self) -> usize {
        let lengths = self.shards.iter().map(|shard| shard.lock().unwrap().rows.len());
        lengths.sum()
    }
}

impl Shard {
    /// Whether there is room, or it is time to make some.
    fn admits(&mut self, bytes_max: usize) -> bool {
        if self.has_room(bytes_max) {
            return true;
        }
        self.refused = (self.refused + 1) % ADMIT_ONE_OF;
        self.refused == 0
    }

    /// Whether a row of a usual size costs no other one its place.
    fn has_room(&self, bytes_max: usize) -> bool {
        self.bytes + bytes_max / 32 < bytes_max
    }

    /// Removes what has this place, and says whether there was something.
    fn remove_for(&mut self, place: Place, turn: u64) -> bool {
        self.turn_min = turn;
        let Some(index) = self.index.get(&place.0).copied() else { return false };
        self.remove(index as usize);
        true
    }

    fn insert(&mut self, row: Row, bytes_max: usize) {
        // Another reader may have been faster, or it may be another key with the same hash.
        if let Some(index) = self.index.get(&row.hash).copied() {
            self.remove(index as usize);
        }
        while self.bytes + row.size_bytes() > bytes_max && !self.rows.is_empty() {
            self.make_room();
        }
        let Ok(index) = u32::try_from(self.rows.len()) else { return };
        self.bytes += row.size_bytes();
        self.index.insert(row.hash, index);
        self.rows.push(row);
    }

    /// Removes the next row that was not found since the hand passed it last.
    fn make_room(&mut self) {
        loop {
            if self.hand >= self.rows.len() {
                self.hand = 0;
            }
            let Some(row) = self.rows.get_mut(self.hand) else { return };
            if !row.is_used {
                return self.remove(self.hand);
            }
            row.is_used = false;
            self.hand += 1;
        }
    }

    fn remove(&mut self, index: usize) {
        let row = self.rows.swap_remove(index);
        self.bytes -= row.size_bytes();
        self.index.remove(&row.hash);
        // The last one has taken its place.
        if let Some(moved) = self.rows.get(index)
            && let Some(place) = self.index.get_mut(&moved.hash)
        {
            *place = u32::try_from(index).unwrap_or(u32::MAX);
        }
    }
}

/// For keys that are hashes already.
#[derive(Default)]
struct AsIs(u64);

impl Hasher for AsIs {
    fn finish(&self) -> u64 {
        self.0
    }

    fn write_u64(&mut self, number: u64) {
        self.0 = number;
    }

    fn write(&mut self, bytes: &[u8]) {
        for byte in bytes {
            self.0 = self.0 << 8 ^ u64::from(*byte);
        }
    }
}

#[cfg(test)]
mod tests;
