//! Rewrites a partition's tables, so that each key is in only one of them.
//!
//! fjall's own compactions only keep up with the writes: a key may be in a table of each level. Its
//! major compaction merges all tables of a keyspace into the last level, but leaves some work to
//! us:
//!
//! - It considers only tables, so the write buffer is flushed first.
//! - It drops old versions only up to a mark that moves when a non-empty buffer is rotated. If the
//!   last rotation happened while an old snapshot was open, that snapshot still counts, and nothing
//!   would be dropped; so [`crate::command::Command::Settle`] moves the mark first.
//! - The tables it replaced are deleted when that mark passes them; the same command does it
//!   afterwards.
//!
//! It blocks until done and cannot be stopped, so it has its own thread. Meanwhile the background
//! compactions of the partition wait for it. So a partition that is being written to may fall
//! behind; as always, its batches are then held back until it has caught up.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fjall::{AbstractTree, PersistMode};
use store::{Error, Result};

use crate::{error::error_of, partition::LsmPartition, reply::Reply, shared::Shared};

/// How often the thread checks whether a buffer has been flushed.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Compacts `partitions` one after the other on a separate thread. It stops at the next one once
/// `reply` is dropped. Until then it keeps `shared` and so the directory's lock.
pub(crate) fn start(
    shared: Arc<Shared>,
    partitions: Vec<Arc<LsmPartition>>,
    reply: Reply<()>,
) -> Result<()> {
    let run = move || {
        let compacted = catch_unwind(AssertUnwindSafe(|| {
            let mut wanted = partitions.iter().take_while(|_| !reply.is_forgotten());
            wanted.try_for_each(|partition| compact(&shared, partition))
        }));
        // The waiter may want to reopen the directory.
        drop((partitions, shared));
        let panicked = || Err(Error::Io("the compaction panicked".to_owned()));
        reply.send(compacted.unwrap_or_else(|_| panicked()));
    };
    let builder = std::thread::Builder::new().name("compact".to_owned());
    builder.spawn(run).map_err(|error| Error::Io(error.to_string()))?;
    Ok(())
}

fn compact(shared: &Shared, partition: &LsmPartition) -> Result<()> {
    write_out(shared, partition)?;
    let is_dropped = partition.is_dropped.load(Ordering::Acquire);
    if is_dropped || partition.keyspace.tree.table_count() == 0 {
        return Ok(());
    }
    partition.keyspace.major_compact().map_err(error_of)
}

/// Flushes the current write buffers to tables.
fn write_out(shared: &Shared, partition: &LsmPartition) -> Result<()> {
    let tree = &partition.keyspace.tree;
    // One more sealed buffer on top of too many would make commits sleep inside fjall.
    wait_until(shared, partition, || !partition.is_behind())?;
    let newest = tree.get_highest_memtable_seqno();
    partition.keyspace.rotate_memtable().map_err(error_of)?;
    // Do not wait until there are no sealed buffers: a busy writer keeps making new ones.
    wait_until(shared, partition, || {
        tree.sealed_memtable_count() == 0 || tree.get_highest_persisted_seqno() >= newest
    })
}

/// Waits for the background threads, unless they failed or the partition was dropped.
fn wait_until(shared: &Shared, partition: &LsmPartition, is_done: impl Fn() -> bool) -> Result<()> {
    while !is_done() && !partition.is_dropped.load(Ordering::Acquire) {
        // Fails if a background job did, in which case the rest will never be flushed.
        shared.database.persist(PersistMode::Buffer).map_err(error_of)?;
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
