//! One partition: a keyspace, its share of the queue, who may write to it, and how far its
//! background work is behind.

use std::sync::{
    Arc,
    atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering},
};

use fjall::{AbstractTree, Keyspace};
use store::{Debt, Error, Result};

/// With this many sealed memtables a partition gets no more writes until one has been flushed. At
/// four, fjall sleeps inside the commit, which blocks everybody; a commit can seal one more.
const SEALED_MEMTABLES_MAX: usize = 3;

/// With this many runs in level 0 a partition gets no more writes until some are compacted. fjall
/// sleeps inside the commit at thirty; three sealed memtables may still be added.
const LEVEL_0_RUNS_MAX: usize = 24;

/// Up to this many runs in level 0 there is no pressure: compaction starts at four.
const LEVEL_0_RUNS_USUAL: usize = 8;

/// Batches queued for one partition.
#[derive(Default)]
pub(crate) struct Queued {
    batches: AtomicUsize,
    bytes: AtomicUsize,
}

impl Queued {
    pub(crate) fn add(&self, bytes: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn remove(&self, bytes: usize) {
        self.batches.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }
}

/// A keyspace of the database.
pub(crate) struct LsmPartition {
    pub(crate) keyspace: Keyspace,
    pub(crate) queued: Queued,
    /// Set when the partition is dropped; its batches fail from then on.
    pub(crate) is_dropped: AtomicBool,
    /// The highest epoch that opened the partition. Only the committer raises it.
    pub(crate) epoch: AtomicU64,
    /// Whether a copy is writing tables for it.
    pub(crate) is_filling: AtomicBool,
}

impl LsmPartition {
    pub(crate) fn new(keyspace: Keyspace) -> Arc<Self> {
        Arc::new(Self {
            keyspace,
            queued: Queued::default(),
            is_dropped: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            is_filling: AtomicBool::new(false),
        })
    }

    /// Fences the owners of lower epochs, or fails if a higher epoch has opened the partition. Only
    /// the committer may call this, because it publishes nothing meanwhile.
    pub(crate) fn fence(&self, epoch: u64) -> Result<()> {
        self.check_epoch(epoch)?;
        self.epoch.store(epoch, Ordering::Release);
        Ok(())
    }

    /// Fails if the owner is fenced.
    fn check_epoch(&self, epoch: u64) -> Result<()> {
        if epoch < self.epoch.load(Ordering::Acquire) { Err(Error::Fenced) } else { Ok(()) }
    }

    /// Whether a batch of this epoch may be committed.
    pub(crate) fn admit(&self, epoch: u64) -> Result<()> {
        if self.is_dropped.load(Ordering::Acquire) {
            return Err(Error::Closed("the partition was dropped".to_owned()));
        }
        self.check_epoch(epoch)
    }

    /// Unique among all partitions that ever existed, so a reused name gets another id.
    pub(crate) fn id(&self) -> u64 {
        self.keyspace.id()
    }

    /// Whether a commit to this partition might have to wait inside fjall.
    pub(crate) fn is_behind(&self) -> bool {
        let tree = &self.keyspace.tree;
        tree.sealed_memtable_count() >= SEALED_MEMTABLES_MAX
            || tree.l0_run_count() >= LEVEL_0_RUNS_MAX
    }

    /// Bytes in the active write buffer.
    pub(crate) fn active_bytes(&self) -> u64 {
        self.keyspace.tree.active_memtable().size()
    }

    /// Approximate bytes in all write buffers: fjall reports how many sealed ones there are but not
    /// their size (its own sum counts a buffer once per version of the tree that mentions it). So
    /// each sealed one counts as `sealed_bytes`.
    pub(crate) fn buffer_bytes(&self, sealed_bytes: u64) -> u64 {
        let sealed = self.keyspace.tree.sealed_memtable_count() as u64;
        self.active_bytes() + sealed * sealed_bytes
    }

    pub(crate) fn debt(&self) -> Debt {
        Debt {
            queued_batches: self.queued.batches.load(Ordering::Relaxed),
            queued_bytes: self.queued.bytes.load(Ordering::Relaxed),
            pressure_percent: self.pressure_percent(),
        }
    }

    /// How close the partition is to [`Self::is_behind`], in percent.
    fn pressure_percent(&self) -> u8 {
        let tree = &self.keyspace.tree;
        let sealed = percent(tree.sealed_memtable_count(), 0, SEALED_MEMTABLES_MAX);
        let runs = percent(tree.l0_run_count(), LEVEL_0_RUNS_USUAL, LEVEL_0_RUNS_MAX);
        sealed.max(runs)
    }
}

/// The position of `now` between `low` (0) and `high` (100).
fn percent(now: usize, low: usize, high: usize) -> u8 {
    let share = now.saturating_sub(low) * 100 / (high - low);
    u8::try_from(share.min(100)).unwrap_or(100)
}
