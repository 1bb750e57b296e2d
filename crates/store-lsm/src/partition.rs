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

/// Up to this many runs in level 0 there is no pressure: compaction starts at six.
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
    /// Whether the committer has it on its list of those that may have something to merge.
    pub(crate) is_unsettled: AtomicBool,
}

impl LsmPartition {
    pub(crate) fn new(keyspace: Keyspace) -> Arc<Self> {
        Arc::new(Self {
            keyspace,
            queued: Queued::default(),
            is_dropped: AtomicBool::new(false),
            epoch: AtomicU64::new(0),
            is_filling: AtomicBool::new(false),
            is_unsettled: AtomicBool::new(false),
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

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, time::Duration};

    use fjall::compaction::Leveled;
    use store::{Batch, Durability, Store as _};

    use super::*;
    use crate::{LsmStore, Options};

    /// Waits until the tree has not changed for half a second, and returns its version.
    async fn settled(partition: &LsmPartition) -> u64 {
        let tree = &partition.keyspace.tree;
        let (mut last, mut unchanged) = (tree.current_version().id(), 0);
        while unchanged < 5 {
            tokio::time::sleep(Duration::from_millis(100)).await;
            let now = tree.current_version().id();
            let is_quiet = now == last && tree.sealed_memtable_count() == 0;
            (last, unchanged) = (now, if is_quiet { unchanged + 1 } else { 0 });
        }
        last
    }

    /// The file of the next version is a pipe, which cannot be opened for writing until somebody opens
    /// it for reading.
    #[cfg(target_os = "linux")]
    #[tokio::test]
    async fn nobody_waits_while_a_new_version_is_written() {
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        let key_space = store.open("p", 0).await.unwrap();
        let partition = store.shared.partition("p").unwrap();
        let write = |value: u64| {
            let mut batch = Batch::default();
            batch.put(b"key".to_vec(), value.to_be_bytes().to_vec());
            let (done, end) = channel();
            let done = Box::new(move |result| done.send(result).unwrap());
            key_space.submit(batch, Durability::Durable, done);
            end.recv().unwrap().unwrap();
        };
        write(0);
        let keyspace = &partition.keyspace;
        let tables = keyspace.path().join("tables");
        let count = || tables.read_dir().unwrap().count();
        let (version, tables_before) = (keyspace.tree.current_version().id(), count());
        let path = keyspace.path().join(format!("v{}", version + 1));
        assert!(std::process::Command::new("mkfifo").arg(&path).status().unwrap().success());
        keyspace.request_rotation();
        while count() == tables_before {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        for value in 1..100_u64 {
            write(value);
            let found = key_space.snapshot().get_many(&[b"key"[..].into()]).await.unwrap();
            assert_eq!(found, [Some(value.to_be_bytes().to_vec().into())]);
        }
        let sealed = keyspace.tree.sealed_memtable_count();
        // Whoever writes the version was waiting for this. A pipe is not a file, so the store fails.
        drop(std::fs::File::open(&path).unwrap());
        assert_eq!((sealed, keyspace.tree.current_version().id()), (1, version));
    }

    /// Only flushes ask for compactions, and writers that wait for compactions cause none.
    #[tokio::test]
    async fn a_compaction_is_followed_by_the_next_one_until_none_is_left() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options {
            memtable_bytes: 8 << 10,
            flushed_tables_max: 2,
            table_bytes: 16 << 10,
            workers: 1,
            ..Options::default()
        };
        let strategy =
            Arc::new(Leveled::default().with_l0_threshold(2).with_table_target_size(16 << 10));
        let store = LsmStore::open(directory.path(), options).unwrap();
        let key_space = store.open("p", 0).await.unwrap();
        let partition = store.shared.partition("p").unwrap();
        for round in 0..6_u64 {
            let mut batch = Batch::default();
            for number in 0..40 {
                let key = (round << 32 | number).wrapping_mul(0x9E37_79B9_7F4A_7C15);
                batch.put(key.to_be_bytes().to_vec(), vec![1; 1_000]);
            }
            let (done, end) = channel();
            let done = Box::new(move |result| done.send(result).unwrap());
            key_space.submit(batch, Durability::Durable, done);
            end.recv().unwrap().unwrap();
            let before = settled(&partition).await;
            partition.keyspace.tree.compact(strategy.clone(), 0).unwrap();
            let after = partition.keyspace.tree.current_version().id();
            assert_eq!(before, after, "something was left to compact in round {round}");
        }
    }
}
