//! Ordered key-value storage: the contract between the database and the store that keeps its bytes.
//!
//! A store knows keys and values, but not their meaning. One [`Store`] holds many [`KeySpace`]s,
//! each with its own keys in order. Reads go through a [`Snapshot`]; writes are atomic [`Batch`]es.
//! Calls are page-sized: an await per page, not per key, and no iterator outlives a call.
//!
//! Reading order: this file (the contract), [`memory`] (the simplest store that keeps it),
//! [`conformance`] (the tests that any store must pass), [`testing`] (stores that make life hard
//! for their callers).

pub mod conformance;
mod files;
pub mod memory;
pub mod testing;

use std::{future::Future, ops::Bound, pin::Pin, sync::Arc};

use bytes::Bytes;

pub use self::files::{Files, Image, ImageFile};

/// A future that can be named in an object-safe trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// The result of every store call.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a store call failed, in terms of what the caller can do next.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A newer owner has this key space; stop using the handle.
    #[error("the partition has a newer owner")]
    Fenced,
    /// The operation contradicts the current state, for example a copy into a non-empty key space.
    #[error("conflict: {0}")]
    Conflict(String),
    /// Temporary: the store is overloaded or unreachable.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// Stored bytes are damaged, or of a format this build does not know.
    #[error("corrupt: {0}")]
    Corrupt(String),
    /// The store was closed, or stopped taking writes after an I/O error; reads may still work.
    #[error("closed: {0}")]
    Closed(String),
    /// The operating system reported an error.
    #[error("i/o: {0}")]
    Io(String),
}

/// How durable a batch must be before its completion runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On stable storage: it survives power loss.
    Durable,
    /// In order and atomic, but durable only once a later `Durable` batch or barrier **of the same
    /// key space** is. Key spaces need not share a journal: durability in one implies nothing about
    /// the others.
    Buffered,
}

/// The longest key that a store accepts.
pub const KEY_BYTES_MAX: usize = 65_535;

/// One change of a batch. `None` deletes the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key to write: 1 to [`KEY_BYTES_MAX`] bytes.
    pub key: Bytes,
    /// Its new value, or `None` to delete it.
    pub value: Option<Bytes>,
}

/// Changes to one key space that become visible and durable together.
///
/// If a key occurs twice, the later change wins.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The changes, in order.
    pub changes: Vec<Change>,
}

impl Batch {
    /// A batch that is empty, and has room for so many changes.
    pub fn with_capacity(changes: usize) -> Self {
        Self { changes: Vec::with_capacity(changes) }
    }

    /// Writes `value` under `key`.
    pub fn put(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.changes.push(Change { key: key.into(), value: Some(value.into()) });
    }

    /// Deletes `key`; deleting an absent key is not an error.
    pub fn delete(&mut self, key: impl Into<Bytes>) {
        self.changes.push(Change { key: key.into(), value: None });
    }

    /// The total size of all keys and values.
    pub fn size_bytes(&self) -> usize {
        let value_bytes = |change: &Change| change.value.as_ref().map_or(0, Bytes::len);
        self.changes.iter().map(|change| change.key.len() + value_bytes(change)).sum()
    }

    /// Fails if a key is empty or too long. Stores call it before they queue a batch.
    pub fn check(&self) -> Result<()> {
        match self.changes.iter().find(|c| !matches!(c.key.len(), 1..=KEY_BYTES_MAX)) {
            Some(change) => {
                Err(Error::Conflict(format!("cannot store a key of {} bytes", change.key.len())))
            }
            None => Ok(()),
        }
    }
}

/// Runs exactly once, when a submitted batch is published or has failed. It may run on any thread,
/// even inside the [`KeySpace::submit`] call: it must be short, must not block, and must not take a
/// lock that the caller of `submit` holds.
pub type Completion = Box<dyn FnOnce(Result<()>) + Send>;

/// The direction of a scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// Ascending key order.
    Forward,
    /// Descending key order.
    Backward,
}

/// A range of keys.
pub type KeyRange = (Bound<Bytes>, Bound<Bytes>);

/// Whether the bounds of `range` cross, so that no key can be inside.
pub fn is_empty_range(range: &KeyRange) -> bool {
    match (&range.0, &range.1) {
        (Bound::Included(start), Bound::Included(end)) => start > end,
        (Bound::Included(start) | Bound::Excluded(start), Bound::Excluded(end))
        | (Bound::Excluded(start), Bound::Included(end)) => start >= end,
        (Bound::Unbounded, _) | (_, Bound::Unbounded) => false,
    }
}

/// The limit of one page of a scan. A page holds at least one entry if there is one.
#[derive(Clone, Copy, Debug)]
pub struct PageLimit {
    /// The most entries in the page.
    pub entries: usize,
    /// The page ends once its keys and values exceed this many bytes.
    pub bytes: usize,
}

impl PageLimit {
    /// Whether a page with `entries` entries of `bytes` bytes is full.
    pub fn is_reached(&self, entries: usize, bytes: usize) -> bool {
        entries > 0 && (entries >= self.entries || bytes > self.bytes)
    }
}

/// A part of a scan's result.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Keys and values, in scan order.
    pub entries: Vec<(Bytes, Bytes)>,
    /// Whether there may be entries after the last one. To continue, scan from that key, excluding
    /// it.
    pub has_more: bool,
}

/// Decides whether a copy includes an entry.
pub type Keep = dyn Fn(&[u8], &[u8]) -> bool + Send + Sync;

/// How far a key space's background work is behind. Admission control slows its writers before the
/// store has to stall all of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Debt {
    /// Batches accepted but not yet published.
    pub queued_batches: usize,
    /// Bytes of those batches.
    pub queued_bytes: usize,
    /// How close writes are to stalling on flush or compaction: 0 is none, 100 is stalled.
    pub pressure_percent: u8,
}

/// Statistics for the metrics page. A store leaves those it does not count at zero.
#[derive(Clone, Debug, Default)]
pub struct Statistics {
    /// Commit groups written (one journal write and one fsync each, if durable).
    pub commit_groups: u64,
    /// Batches in those groups; divided by the groups it is the mean group size.
    pub committed_batches: u64,
    /// Time the committer spent inside the store's commit call, in microseconds.
    pub commit_micros: u64,
    /// Keys put or deleted by those batches.
    pub keys_written: u64,
    /// Keys looked up and entries returned by scans, for all readers.
    pub keys_read: u64,
    /// Table blocks accessed by those reads, cached or not, except those that a scan found in the
    /// cache. Dropping a key space subtracts its share.
    pub blocks_read: u64,
    /// Blocks that were not cached and had to be read from a file.
    pub blocks_loaded: u64,
    /// Reads that took more than a millisecond while blocks of the key space were being loaded.
    /// They block the reading thread.
    pub slow_reads: u64,
    /// Bytes on disk, as far as the store knows; zero for a memory store.
    pub disk_bytes: u64,
    /// Memory held by write buffers.
    pub write_buffer_bytes: u64,
    /// Journal files not yet released.
    pub journals: u64,
}

/// Fails if this cannot be the name of a key space: `[a-z0-9_-]{1,100}` is allowed.
pub fn check_name(name: &str) -> Result<()> {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    if matches!(name.len(), 1..=100) && name.bytes().all(is_allowed) {
        Ok(())
    } else {
        Err(Error::Conflict(format!("invalid name of a key space: `{name}`")))
    }
}

/// A store, which holds many key spaces.
pub trait Store: Send + Sync {
    /// Opens a key space as its owner, creating it durably if absent. Names are
    /// `[a-z0-9_-]{1,100}`.
    ///
    /// The authority that assigns ownership numbers the owners: `epoch` rises with each new one.
    /// Handles with the same epoch belong to the same owner. An open with a higher epoch than any
    /// before fences the handles of lower ones; an open with a lower epoch than the highest seen
    /// fails with [`Error::Fenced`].
    ///
    /// **An open settles what came before it.** When an open with a higher epoch returns, each
    /// batch of lower epochs is either published or never will be, whatever its owner was told:
    /// even a write still in flight to the disk or through a network cannot land later. So the new
    /// owner can read once and continue from there. Batches and barriers of a fenced handle fail
    /// with [`Error::Fenced`]. Its snapshots may fail with it too, and what they show may be out of
    /// date.
    ///
    /// How long a store remembers the highest epoch depends on who else could open the key space. A
    /// store that locks its directory to a single process only needs to remember it while open,
    /// because the owners of earlier processes are gone. A store that several processes can reach
    /// must persist it. Dropping a key space drops its epochs.
    fn open<'a>(
        &'a self,
        key_space: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>>;

    /// The names of all existing key spaces, sorted.
    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>>;

    /// Deletes a key space and frees its space once no snapshot reads it. Does nothing if it is
    /// absent.
    fn drop_key_space<'a>(&'a self, key_space: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Durably copies those entries of a snapshot that `keep` accepts into the key space `to`,
    /// creating it if absent. Fails with `Conflict` if `to` is not empty, and with `Unavailable`
    /// while another copy fills it.
    ///
    /// Nobody may use `to` before this returns: its entries may appear one after the other. A copy
    /// that fails, is cancelled or dies with its process may leave some of them behind.
    /// [`Store::drop_key_space`] removes them, after which `to` can be filled again.
    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>>;

    /// How many bytes of batches may be queued at once. A batch beyond that is refused, unless it
    /// is alone, and a refused batch fails those after it, so callers must stay within the limit.
    fn queue_bytes(&self) -> usize;

    /// The I/O error since which the store refuses writes; `None` while all is well.
    fn failure(&self) -> Option<String>;

    /// Statistics for the metrics page.
    fn statistics(&self) -> Statistics;

    /// Publishes queued batches, makes everything durable, and prepares the store for a quick next
    /// open. Later writes fail with [`Error::Closed`].
    fn close(&self) -> BoxFuture<'_, Result<()>>;
}

/// One ordered key space.
pub trait KeySpace: Send + Sync {
    /// A frozen view of everything published so far.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Queues a batch. Batches of a key space are published in call order; nothing is visible
    /// before it has the requested durability. `done` runs after publication, in the same order.
    /// When one batch fails, every batch queued after it fails too.
    ///
    /// An empty batch changes nothing and completes in queue order, but to wait for other batches
    /// use [`KeySpace::barrier`].
    fn submit(&self, batch: Batch, durability: Durability, done: Completion);

    /// Runs `done` once everything queued before is published and, if requested, durable. It fails
    /// if a batch in its place would.
    fn barrier(&self, durability: Durability, done: Completion);

    /// How far background work is behind.
    fn debt(&self) -> Debt;
}

/// A frozen, consistent view of one key space.
///
/// A snapshot stays readable after its key space is dropped or its store closed. A snapshot of a
/// fenced handle may fail with [`Error::Fenced`] at any call, but until then it stays frozen.
pub trait Snapshot: Send + Sync {
    /// The values of `keys`, in the same order; `None` for an absent key.
    fn get_many<'a>(&'a self, keys: &'a [Bytes]) -> BoxFuture<'a, Result<Vec<Option<Bytes>>>>;

    /// One page of the entries in `range`.
    fn scan(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> BoxFuture<'_, Result<Page>>;
}
