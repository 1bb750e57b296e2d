//! State shared by the store's handles, its partitions and the committer.

use std::{
    collections::BTreeMap,
    fs::File,
    path::PathBuf,
    sync::{
        Arc, PoisonError, RwLock,
        atomic::{AtomicUsize, Ordering},
    },
};

use fjall::{Database, Keyspace, Snapshot};
use store::Statistics;

use crate::{
    counters::Counters, files::journals, journal_list::JournalList, options::Options,
    partition::LsmPartition, queue::Queue, rows::Rows, scratch::Scratch, snapshot::LsmSnapshot,
};

/// Partitions by name.
type Partitions = BTreeMap<String, Arc<LsmPartition>>;

/// The open database.
pub(crate) struct Shared {
    pub(crate) queue: Queue,
    pub(crate) options: Options,
    pub(crate) directory: PathBuf,
    pub(crate) counters: Arc<Counters>,
    /// How many images exist. Only the committer creates them.
    pub(crate) images: AtomicUsize,
    partitions: RwLock<Partitions>,
    /// The snapshot that readers use, taken by the committer when nothing was half applied, and how
    /// many were published before.
    published: RwLock<(Arc<Snapshot>, u64)>,
    /// Rows that were read lately.
    pub(crate) rows: Arc<Rows>,
    #[cfg(test)]
    pub(crate) pause: crate::pause::Pause,
    /// The store's own records, see `open`.
    pub(crate) system: Keyspace,
    pub(crate) database: Database,
    /// The journals that are needed.
    pub(crate) journal_list: Arc<JournalList>,
    /// Keeps the directory locked while open.
    _lock: File,
    /// Removed when everything else is closed.
    _scratch: Option<Scratch>,
}

impl Shared {
    pub(crate) fn new(
        database: Database,
        system: Keyspace,
        directory: PathBuf,
        options: Options,
        lock: File,
        journal_list: Arc<JournalList>,
        scratch: Option<Scratch>,
    ) -> Self {
        Self {
            queue: Queue::new(&options),
            rows: Arc::new(Rows::new(&options)),
            options,
            directory,
            counters: Arc::default(),
            images: AtomicUsize::new(0),
            partitions: RwLock::default(),
            #[cfg(test)]
            pause: crate::pause::Pause::default(),
            published: RwLock::new((Arc::new(database.snapshot()), 0)),
            system,
            database,
            journal_list,
            _lock: lock,
            _scratch: scratch,
        }
    }

    /// The snapshot that the committer took last, and its turn.
    fn published(&self) -> (Arc<Snapshot>, u64) {
        let published = self.published.read().unwrap_or_else(PoisonError::into_inner);
        (Arc::clone(&published.0), published.1)
    }

    /// The turn in which the next snapshot will be published. Only for the committer.
    pub(crate) fn next_turn(&self) -> u64 {
        self.published().1 + 1
    }

    /// A view of a partition with everything published so far.
    pub(crate) fn snapshot(&self, partition: &LsmPartition) -> LsmSnapshot {
        let counters = Arc::clone(&self.counters);
        let rows = Arc::clone(&self.rows);
        LsmSnapshot::new(self.published(), partition.keyspace.clone(), counters, rows)
    }

    /// Publishes everything that is committed. Only the committer may call this.
    pub(crate) fn publish(&self) {
        let next = (Arc::new(self.database.snapshot()), self.next_turn());
        let mut published = self.published.write().unwrap_or_else(PoisonError::into_inner);
        let previous = std::mem::replace(&mut *published, next);
        drop(published);
        // Dropped outside the lock: the last user of a snapshot may have cleanup to do.
        drop(previous);
    }

    pub(crate) fn partition(&self, name: &str) -> Option<Arc<LsmPartition>> {
        self.partitions.read().unwrap_or_else(PoisonError::into_inner).get(name).cloned()
    }

    pub(crate) fn partition_names(&self) -> Vec<String> {
        self.partitions.read().unwrap_or_else(PoisonError::into_inner).keys().cloned().collect()
    }

    pub(crate) fn all_partitions(&self) -> Vec<Arc<LsmPartition>> {
        self.partitions.read().unwrap_or_else(PoisonError::into_inner).values().cloned().collect()
    }

    pub(crate) fn insert(&self, name: String, partition: Arc<LsmPartition>) {
        self.partitions.write().unwrap_or_else(PoisonError::into_inner).insert(name, partition);
    }

    pub(crate) fn remove(&self, name: &str) -> Option<Arc<LsmPartition>> {
        self.partitions.write().unwrap_or_else(PoisonError::into_inner).remove(name)
    }

    pub(crate) fn statistics(&self) -> Statistics {
        let partitions = self.all_partitions();
        let tables: u64 = partitions.iter().map(|p| p.keyspace.disk_space()).sum();
        let sealed_bytes = self.options.memtable_bytes;
        let buffers = partitions.iter().map(|partition| partition.buffer_bytes(sealed_bytes));
        let blocks = |count: fn(&Keyspace) -> usize| {
            partitions.iter().map(|partition| count(&partition.keyspace) as u64).sum()
        };
        Statistics {
            commit_groups: self.counters.groups.load(Ordering::Relaxed),
            committed_batches: self.counters.batches.load(Ordering::Relaxed),
            commit_micros: self.counters.micros.load(Ordering::Relaxed),
            keys_written: self.counters.keys_written.load(Ordering::Relaxed),
            keys_read: self.counters.keys_read.load(Ordering::Relaxed),
            blocks_read: blocks(|keyspace| keyspace.metrics().block_loads()),
            blocks_loaded: blocks(|keyspace| keyspace.metrics().block_load_io_count()),
            slow_reads: self.counters.slow_reads.load(Ordering::Relaxed),
            disk_bytes: tables + self.system.disk_space() + self.journal_bytes(),
            write_buffer_bytes: buffers.sum(),
            journals: self.database.journal_count() as u64,
        }
    }

    /// The disk space used by the journal files, whose length is 64 MiB from the start.
    fn journal_bytes(&self) -> u64 {
        let Ok(journals) = journals(&self.directory) else { return 0 };
        let occupied = |path: &PathBuf| path.metadata().map_or(0, |file| allocated_bytes(&file));
        journals.iter().map(|(_, path)| occupied(path)).sum()
    }
}

#[cfg(unix)]
fn allocated_bytes(file: &std::fs::Metadata) -> u64 {
    // `blocks` counts units of 512 bytes, whatever the file system's own block size is.
    std::os::unix::fs::MetadataExt::blocks(file) * 512
}

#[cfg(not(unix))]
fn allocated_bytes(file: &std::fs::Metadata) -> u64 {
    file.len()
}
