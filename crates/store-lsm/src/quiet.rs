//! Merges what writers left in a partition once nobody writes any more.
//!
//! While writes come in, flushed tables wait until some have gathered, since merging them rewrites
//! the first level. When the writes end, a part of the data is in a write buffer and a few flushed
//! tables, and every read would look at each of them for as long as the partition is only read: a
//! scan of a few entries then costs more than twice as much.
//!
//! A pause may be short, so this writes no more than the merges of a busy partition do: those are
//! due when the flushed tables have a quarter of the bytes of a full first level, and here at least
//! that much must be waiting, too. What is less waits for more, or for the next merge.

use std::sync::{Arc, Weak, atomic::Ordering};

use fjall::{AbstractTree, Keyspace, compaction::Leveled};
use store::Result;

use crate::{error::error_of, partition::LsmPartition};

/// Less than this is not worth a merge: a small partition has few blocks, which are all cached.
const BYTES_MIN: u64 = 1 << 20;

/// As many times the waiting bytes the first level may have.
const LEVEL_RATIO: u64 = 4;

/// The partitions that were written to and may have something to merge. Those that are dropped give
/// their files back at once.
#[derive(Default)]
pub(crate) struct Unsettled(Vec<Weak<LsmPartition>>);

impl Unsettled {
    /// Notes that a partition was written to.
    pub(crate) fn note(&mut self, partition: &Arc<LsmPartition>) {
        if !partition.is_unsettled.swap(true, Ordering::Relaxed) {
            self.0.push(Arc::downgrade(partition));
        }
    }

    /// Does the next step for each of them, and forgets those that need no other.
    pub(crate) fn settle(&mut self) -> Result<()> {
        let mut result = Ok(());
        self.0.retain(|partition| {
            let Some(partition) = partition.upgrade() else { return false };
            let is_unsettled = match settle(&partition) {
                Ok(is_unsettled) => is_unsettled,
                Err(error) => {
                    result = Err(error);
                    false
                }
            };
            partition.is_unsettled.store(is_unsettled, Ordering::Relaxed);
            is_unsettled
        });
        result
    }
}

/// Flushes the write buffer, or asks for a merge, or waits for either. Returns whether there is
/// something left to do.
fn settle(partition: &LsmPartition) -> Result<bool> {
    if partition.is_dropped.load(Ordering::Acquire) {
        return Ok(false);
    }
    let keyspace = &partition.keyspace;
    if keyspace.tree.sealed_memtable_count() > 0 {
        return Ok(true);
    }
    let version = keyspace.tree.current_version();
    let (mut flushed, mut first_level) = (0, 0);
    for (number, level) in version.iter_levels().enumerate() {
        match number {
            0 => flushed = level.size(),
            _ if first_level == 0 => first_level = level.size(),
            _ => break,
        }
    }
    // A buffer counts about twice the bytes that reach the disk.
    let buffered = partition.active_bytes() / 2;
    if !is_due(flushed + buffered, first_level) {
        return Ok(false);
    }
    if buffered > 0 {
        keyspace.rotate_memtable().map_err(error_of)?;
        return Ok(true);
    }
    let Some(level_bytes) = first_level_bytes(keyspace) else { return Ok(false) };
    // With one flushed table as the threshold, this size of tables keeps the sizes of all levels,
    // so nothing else is found to be too large. The next merge makes tables of the usual size.
    let any = Leveled::default().with_l0_threshold(1).with_table_target_size(level_bytes);
    // Asking again while a merge is running does nothing.
    keyspace.request_compaction(Arc::new(any));
    Ok(true)
}

/// How large the first level of the partition becomes, which was fixed when it was created.
fn first_level_bytes(keyspace: &Keyspace) -> Option<u64> {
    let config = keyspace.config.compaction_strategy.get_config();
    let value = |name: &str| config.iter().find(|(key, _)| **key == *name.as_bytes());
    let tables = *value("leveled_l0_threshold")?.1.first()?;
    let table_bytes = value("leveled_target_size")?.1[..].try_into().ok()?;
    Some(u64::from(tables) * u64::from_le_bytes(table_bytes))
}

/// Whether these bytes are to be merged into a first level of that size.
fn is_due(waiting: u64, first_level: u64) -> bool {
    waiting >= BYTES_MIN && waiting * LEVEL_RATIO >= first_level
}

#[cfg(test)]
mod tests {
    use std::{sync::mpsc::channel, time::Duration};

    use store::{Batch, Durability, KeySpace, Store as _};

    use super::*;
    use crate::{LsmStore, Options};

    fn write(partition: &dyn KeySpace, rows: u64) {
        let (done, end) = channel();
        for number in 0..rows {
            let key = number.wrapping_mul(0x9E37_79B9_7F4A_7C15).to_be_bytes().to_vec();
            let mut batch = Batch::default();
            batch.put(key, vec![1; 10_000]);
            let done = done.clone();
            let done = Box::new(move |result| done.send(result).unwrap());
            partition.submit(batch, Durability::Buffered, done);
        }
        for _ in 0..rows {
            end.recv().unwrap().unwrap();
        }
    }

    #[tokio::test]
    async fn what_writers_left_is_merged_when_they_are_gone() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { memtable_bytes: 512 << 10, ..Options::default() };
        let store = LsmStore::open(directory.path(), options).unwrap();
        let (large, small) = (store.open("l", 0).await.unwrap(), store.open("s", 0).await.unwrap());
        for _ in 0..5 {
            write(&*large, 60);
        }
        write(&*small, 10);
        let partition = store.shared.partition("l").unwrap();
        let tree = &partition.keyspace.tree;
        let is_left = || {
            let flushed = tree.l0_run_count() + tree.sealed_memtable_count();
            flushed > 0 || partition.active_bytes() > 0
        };
        assert!(is_left(), "nothing was left behind");
        while is_left() {
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
        assert!(tree.table_count() > 0);
        let small = store.shared.partition("s").unwrap();
        assert!(small.active_bytes() > 0, "a merge of a small partition is not worth it");
    }

    #[tokio::test]
    async fn the_first_level_has_the_size_of_the_partitions_own_options() {
        let directory = tempfile::tempdir().unwrap();
        let options = Options { flushed_tables_max: 3, table_bytes: 5 << 20, ..Options::default() };
        let store = LsmStore::open(directory.path(), options).unwrap();
        store.open("p", 0).await.unwrap();
        store.close().await.unwrap();
        drop(store);
        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        let partition = store.shared.partition("p").unwrap();
        assert_eq!(first_level_bytes(&partition.keyspace), Some(15 << 20));
    }

    #[test]
    fn no_more_is_written_than_by_the_merges_of_a_busy_partition() {
        assert!(is_due(BYTES_MIN, 0) && !is_due(BYTES_MIN - 1, 0));
        assert!(is_due(24 << 20, 96 << 20) && !is_due(23 << 20, 96 << 20));
    }
}
