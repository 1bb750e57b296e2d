//! Ordered key-value storage: the contract between the database and the store that keeps its bytes.
//!
//! A store knows keys and values, never what they mean. One [`Store`] holds many [`KeySpace`]s,
//! each an ordered key space of its own. Reads go through a [`Snapshot`]; writes are atomic
//! [`Batch`]es. Calls are page-sized: an await per page, not per key, and no iterator outlives one.
//!
//! Reading order: this file (the contract), [`memory`] (the simplest store that keeps it),
//! [`conformance`] (the tests that any store must pass), [`testing`] (stores that make life hard for
//! their callers).

pub mod conformance;
mod files;
pub mod memory;
pub mod testing;

use std::{future::Future, ops::Bound, pin::Pin, sync::Arc};

use bytes::Bytes;

pub use self::files::{Files, Image, ImageFile};

/// A future that can be named in an object-safe trait.
pub type BoxFuture<'a, T> = Pin<Box<dyn Future<Output = T> + Send + 'a>>;

/// What every store call returns.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// Why a store call failed, in terms of what the caller can do next.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A newer owner has this key space now; stop using the handle.
    #[error("the partition has a newer owner")]
    Fenced,
    /// The operation contradicts the present state (for example a copy into a key space that holds something).
    #[error("conflict: {0}")]
    Conflict(String),
    /// Not now, maybe later: the store is overloaded or cannot be reached.
    #[error("unavailable: {0}")]
    Unavailable(String),
    /// Stored bytes are damaged, or of a format this build does not know.
    #[error("corrupt: {0}")]
    Corrupt(String),
    /// The store was closed, or stopped taking writes after an I/O error; reads may still work.
    #[error("closed: {0}")]
    Closed(String),
    /// The operating system refused.
    #[error("i/o: {0}")]
    Io(String),
}

/// How durable a batch must be before its completion runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// On stable storage: it survives power loss.
    Durable,
    /// In order and atomic, but durable only once a later `Durable` batch or barrier **of the same
    /// key space** is. Key spaces need not share a journal: what is durable in one says nothing
    /// about the others.
    Buffered,
}

/// The longest key that a store takes.
pub const KEY_BYTES_MAX: usize = 65_535;

/// One change of a batch. `None` deletes the key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Change {
    /// The key to write: 1 to [`KEY_BYTES_MAX`] bytes.
    pub key: Bytes,
    /// Its new value, or `None` to delete it.
    pub value: Option<Bytes>,
}

/// Changes of one key space that become visible and durable together.
///
/// When a key occurs twice, the later change wins.
#[derive(Clone, Debug, Default)]
pub struct Batch {
    /// The changes, in order.
    pub changes: Vec<Change>,
}

impl Batch {
    /// Writes `value` under `key`.
    pub fn put(&mut self, key: impl Into<Bytes>, value: impl Into<Bytes>) {
        self.changes.push(Change { key: key.into(), value: Some(value.into()) });
    }

    /// Removes `key`; removing an absent key is no error.
    pub fn delete(&mut self, key: impl Into<Bytes>) {
        self.changes.push(Change { key: key.into(), value: None });
    }

    /// Bytes of all keys and values.
    pub fn size_bytes(&self) -> usize {
        let value_bytes = |change: &Change| change.value.as_ref().map_or(0, Bytes::len);
        self.changes.iter().map(|change| change.key.len() + value_bytes(change)).sum()
    }

    /// Refuses keys that are empty or too long. Stores call it before they queue a batch.
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
/// perhaps inside the very call of [`KeySpace::submit`]: it must be short, must not block, and must
/// not take a lock that the caller of `submit` holds.
pub type Completion = Box<dyn FnOnce(Result<()>) + Send>;

/// Which way a scan walks.
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

/// How much one page of a scan may hold. A page that has any entry to give holds at least one.
#[derive(Clone, Copy, Debug)]
pub struct PageLimit {
    /// Most entries in the page.
    pub entries: usize,
    /// Keys and values together stop the page once they pass this many bytes.
    pub bytes: usize,
}

impl PageLimit {
    /// Whether a page that already holds `entries` entries of `bytes` bytes takes no more.
    pub fn is_reached(&self, entries: usize, bytes: usize) -> bool {
        entries > 0 && (entries >= self.entries || bytes > self.bytes)
    }
}

/// A part of a scan's answer.
#[derive(Clone, Debug, Default)]
pub struct Page {
    /// Key and value, in the order of the scan.
    pub entries: Vec<(Bytes, Bytes)>,
    /// Whether entries may remain behind the last one. To go on, scan from (excluding) that key.
    pub has_more: bool,
}

/// Decides for each entry whether a copy takes it.
pub type Keep = dyn Fn(&[u8], &[u8]) -> bool + Send + Sync;

/// How far a key space's background work is behind. Admission slows its writers before the store
/// has to stall everybody.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Debt {
    /// Batches accepted but not yet published.
    pub queued_batches: usize,
    /// Bytes of those batches.
    pub queued_bytes: usize,
    /// Writes are about to stall on flush or compaction: 0 is none, 100 is stalled.
    pub pressure_percent: u8,
}

/// Figures for the metrics page. A store leaves at zero what it does not count.
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
    /// Keys asked for and entries given by scans, to whoever reads.
    pub keys_read: u64,
    /// Blocks of tables looked at to find them, whether cached or not, except those that a scan
    /// found in the cache. A key space that is dropped takes its share with it.
    pub blocks_read: u64,
    /// Those of the blocks that were not cached and had to be read from a file.
    pub blocks_loaded: u64,
    /// Reads during which blocks of the key space were loaded, and which took more than a
    /// millisecond. The thread that asked did nothing else meanwhile.
    pub slow_reads: u64,
    /// Bytes on disk, as far as the store knows; zero for a memory store.
    pub disk_bytes: u64,
    /// Memory held by write buffers.
    pub write_buffer_bytes: u64,
    /// Journal files not yet released.
    pub journals: u64,
}

/// Refuses what cannot be the name of a key space: `[a-z0-9_-]{1,100}` is allowed.
pub fn check_name(name: &str) -> Result<()> {
    let is_allowed = |byte: u8| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_' | b'-');
    if matches!(name.len(), 1..=100) && name.bytes().all(is_allowed) {
        Ok(())
    } else {
        Err(Error::Conflict(format!("invalid name of a key space: `{name}`")))
    }
}

/// A store: many key spaces, one place where they live.
pub trait Store: Send + Sync {
    /// Opens a key space to own it, creating it durably when it is absent. Names are
    /// `[a-z0-9_-]{1,100}`.
    ///
    /// Whoever hands out ownership numbers the owners: `epoch` rises with each new one. Handles of
    /// the same epoch are one owner's. An open with a higher epoch than any before fences the handles
    /// of lower ones, and an open with a lower epoch than the highest seen fails with
    /// [`Error::Fenced`].
    ///
    /// **An open settles what came before it.** When an open with a higher epoch returns, each batch
    /// of lower epochs is published, or never will be, whatever its owner was told: not even a write
    /// that is still on its way to the disk or through a network can land later. The new owner may
    /// therefore read once and go on from there. Batches and barriers of a fenced handle fail with
    /// [`Error::Fenced`]. Its snapshots may fail with it too, and what they show may be out of date.
    ///
    /// How long a store remembers the highest epoch depends on who else could open the key space.
    /// One that locks its directory to a single process needs to do so only while it is open: the
    /// owners of earlier processes are gone. One that several processes can reach must persist it.
    /// A key space that is dropped takes its epochs with it.
    fn open<'a>(
        &'a self,
        key_space: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>>;

    /// The names of all key spaces that exist, sorted.
    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>>;

    /// Deletes a key space and gives its room back once no snapshot reads it. Deleting an absent one
    /// does nothing.
    fn drop_key_space<'a>(&'a self, key_space: &'a str) -> BoxFuture<'a, Result<()>>;

    /// Copies the entries of a snapshot that `keep` accepts into the key space `to`, durably.
    /// `Conflict` if `to` holds anything; it is created when it is absent. `Unavailable` while
    /// another copy fills it.
    ///
    /// Nobody may use `to` before this has returned: its entries may appear one after the other. A
    /// copy that fails, is cancelled or dies with its process may leave some of them behind.
    /// [`Store::drop_key_space`] removes them, and then `to` can be filled again.
    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>>;

    /// Bytes of batches that may be queued at once. What is queued beyond it is refused, unless it
    /// is alone, and a refused batch fails those behind it: callers keep within it.
    fn queue_bytes(&self) -> usize;

    /// Why writes are refused since an I/O error poisoned the store, or `None` while all is well.
    fn failure(&self) -> Option<String>;

    /// Figures for the metrics page.
    fn statistics(&self) -> Statistics;

    /// Publishes what is queued, makes it durable, and leaves the store so that the next open is
    /// quick. Later writes fail with [`Error::Closed`].
    fn close(&self) -> BoxFuture<'_, Result<()>>;
}

/// One ordered key space.
pub trait KeySpace: Send + Sync {
    /// A frozen view of everything published so far.
    fn snapshot(&self) -> Arc<dyn Snapshot>;

    /// Queues a batch. Batches of a key space are published in the order of these calls; nothing
    /// is visible before it is as durable as asked. `done` runs after publication, in the same
    /// order. When one batch fails, every batch queued behind it fails too.
    ///
    /// An empty batch changes nothing. It completes in its turn, but whoever wants to wait for
    /// others uses [`KeySpace::barrier`].
    fn submit(&self, batch: Batch, durability: Durability, done: Completion);

    /// Runs `done` once everything queued before is published and, if asked for, durable. It fails
    /// where a batch in its place would.
    fn barrier(&self, durability: Durability, done: Completion);

    /// How far background work is behind.
    fn debt(&self) -> Debt;
}

/// A frozen, consistent view of one key space.
///
/// A snapshot stays readable when its key space is dropped or its store closed. One of a handle that
/// was fenced may fail with [`Error::Fenced`] at any call; until it does, it is still frozen.
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
