//! Rewriting a partition's tables, so that a key is in one of them and nowhere else.
//!
//! fjall's own compactions keep up with the writes and no more: a key may be in a table of each level.
//! Its major compaction merges all tables of a keyspace into the last level. What it leaves to us:
//!
//! - it looks at tables only, so the write buffer is written out first;
//! - it forgets old versions only up to a mark that moves when some buffer that holds anything is
//!   rotated. If the last time was while an old snapshot was open, that snapshot still counts, and
//!   nothing would be forgotten ([`crate::command::Command::Settle`] moves the mark, before);
//! - the tables it replaced are deleted when that mark moves past it (the same command, after).
//!
//! It blocks for as long as it takes and cannot be stopped, so it has a thread. Meanwhile the
//! background compactions of the partition wait for it. A partition that is written to may therefore
//! fall behind, and then its batches are held back, as ever, until it has caught up.

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use fjall::{AbstractTree, PersistMode};
use store::{Error, Result};

use crate::{error::error_of, partition::LsmPartition, reply::Reply, shared::Shared};

/// How often the thread looks whether a buffer has been written out.
const LOOK_EVERY: Duration = Duration::from_millis(1);

/// Compacts `partitions`, one after the other, on a thread of its own. It stops at the next one after
/// `reply` is forgotten. Until then it keeps `shared`, and with it the lock of the directory.
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
        // Whoever waits may want to open the directory again.
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

/// Moves what is in the write buffers now into tables.
fn write_out(shared: &Shared, partition: &LsmPartition) -> Result<()> {
    let tree = &partition.keyspace.tree;
    // One more sealed buffer on top of too many would make commits sleep inside fjall.
    wait_until(shared, partition, || !partition.is_behind())?;
    let newest = tree.get_highest_memtable_seqno();
    partition.keyspace.rotate_memtable().map_err(error_of)?;
    // Not until there are no sealed buffers: a busy writer makes new ones all the time.
    wait_until(shared, partition, || {
        tree.sealed_memtable_count() == 0 || tree.get_highest_persisted_seqno() >= newest
    })
}

/// Waits for the background threads, unless they have failed or the partition is gone.
fn wait_until(shared: &Shared, partition: &LsmPartition, is_done: impl Fn() -> bool) -> Result<()> {
    while !is_done() && !partition.is_dropped.load(Ordering::Acquire) {
        // Fails if a background job did: then nobody will ever write the rest out.
        shared.database.persist(PersistMode::Buffer).map_err(error_of)?;
        std::thread::sleep(LOOK_EVERY);
    }
    Ok(())
}
