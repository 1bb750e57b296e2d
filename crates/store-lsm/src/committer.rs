//! The one thread that writes.
//!
//! A group of batches becomes one fjall batch: one journal write, one fsync, one publication. All
//! entries of a fjall batch share a sequence number, so a key may occur in it only once: the last
//! change wins, which is also what the order of the batches demands.
//!
//! Between groups the committer does housekeeping: it flushes the largest write buffer when all of
//! them together are too large (fjall has a setting for that but never reads it), and renews the
//! published snapshot, which would otherwise keep old tables alive on an idle store. When nobody has
//! written for a while, it has what was left behind merged (`quiet`).

use std::{
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{Arc, atomic::Ordering},
    thread::JoinHandle,
    time::{Duration, Instant},
};

use fjall::{AbstractTree, OwnedWriteBatch, PersistMode};
use store::{Change, Durability, Error, Result};

use crate::{
    command::Command,
    error::error_of,
    merged, open,
    partition::LsmPartition,
    queue::{Entry, Next},
    quiet::Unsettled,
    shared::Shared,
};

/// How often an idle committer does housekeeping.
const IDLE: Duration = Duration::from_secs(1);

/// How long nothing must have been written before what was is merged.
const QUIET: Duration = Duration::from_secs(2);

/// How often the committer checks whether a partition has caught up.
const HELD: Duration = Duration::from_millis(5);

/// How long the background work of a close may stall before it is given up. Anything not flushed by
/// then is still in the journal.
const CLOSE_PATIENCE: Duration = Duration::from_secs(30);

/// How many bytes to commit between checks of the write buffers' sizes.
const BALANCE_EVERY_BYTES: usize = 1 << 20;

/// Makes a group durable. `fdatasync` is enough: it covers the file size if that changed, and fjall
/// syncs a new journal file and its directory when creating it.
const DURABLE: PersistMode = PersistMode::SyncData;

/// Starts the thread. It ends once the queue is stopped and empty.
pub(crate) fn start(shared: Arc<Shared>) -> Result<JoinHandle<()>> {
    let run = move || {
        let committer = Committer::new(Arc::clone(&shared));
        if catch_unwind(AssertUnwindSafe(|| committer.run())).is_err() {
            shared.queue.abandon();
        }
    };
    let builder = std::thread::Builder::new().name("committer".to_owned());
    builder.spawn(run).map_err(|error| Error::Io(error.to_string()))
}

struct Committer {
    shared: Arc<Shared>,
    /// Bytes committed since the last check of the write buffers.
    unbalanced_bytes: usize,
    /// Partitions that were written to since they were merged.
    unsettled: Unsettled,
    /// When something was committed last.
    committed: Instant,
}

impl Committer {
    fn new(shared: Arc<Shared>) -> Self {
        let mut unsettled = Unsettled::default();
        for partition in shared.all_partitions() {
            unsettled.note(&partition);
        }
        Self { shared, unbalanced_bytes: 0, unsettled, committed: Instant::now() }
    }

    fn run(mut self) {
        let mut probed = Instant::now();
        loop {
            let patience = if self.shared.queue.has_held() { HELD } else { IDLE };
            match self.shared.queue.next(patience, LsmPartition::is_behind) {
                Next::Group(group) => self.commit(group, Self::write_and_publish),
                Next::Command(command) => self.execute(command),
                Next::Close(reply) => reply.send(close(&self.shared)),
                Next::Stop => return,
                Next::Idle => {
                    if self.shared.queue.has_held() {
                        // The queue does not wait while it is closing.
                        std::thread::sleep(HELD);
                    }
                    if probed.elapsed() >= IDLE {
                        probed = Instant::now();
                        self.look_around();
                    }
                }
            }
        }
    }

    /// Commits a group by `write`, and tells everybody, in order.
    fn commit(&mut self, group: Vec<Entry>, write: impl FnOnce(&Self, &[Entry]) -> Result<()>) {
        let group = admit(group);
        if group.is_empty() {
            return;
        }
        let started = Instant::now();
        // A panic in there must not swallow the completions.
        let written = catch_unwind(AssertUnwindSafe(|| write(self, &group)));
        let result = written.unwrap_or_else(|_| Err(Error::Io("the commit panicked".to_owned())));
        let micros = u64::try_from(started.elapsed().as_micros()).unwrap_or(u64::MAX);
        let counters = &self.shared.counters;
        counters.micros.fetch_add(micros, Ordering::Relaxed);
        match result {
            Ok(()) => {
                counters.groups.fetch_add(1, Ordering::Relaxed);
                counters.batches.fetch_add(group.len() as u64, Ordering::Relaxed);
                let keys: usize = group.iter().map(|e| e.batch.changes.len()).sum();
                counters.keys_written.fetch_add(keys as u64, Ordering::Relaxed);
                self.committed = Instant::now();
                for entry in &group {
                    self.unsettled.note(&entry.partition);
                }
                self.unbalanced_bytes += group.iter().map(|e| e.size_bytes).sum::<usize>();
                for entry in group {
                    entry.finish(Ok(()));
                }
                self.balance();
            }
            // Nothing of the group is visible. Whether it is on disk is unknown: like any write
            // whose answer was lost, it may show up after a restart.
            Err(error) => {
                // "Closed" would mean that nothing was written, which is unknown for this group.
                let error = match error {
                    Error::Closed(reason) => Error::Io(reason),
                    error => error,
                };
                self.shared.queue.fail(group, &error);
            }
        }
    }

    fn write_and_publish(&self, group: &[Entry]) -> Result<()> {
        let written = self.write(group);
        self.replace_rows(group, written.is_ok());
        written?;
        self.shared.publish();
        Ok(())
    }

    /// Replaces what the group has written among the rows that readers keep, or removes it there.
    fn replace_rows(&self, group: &[Entry], is_written: bool) {
        let (rows, turn) = (&self.shared.rows, self.shared.next_turn());
        for entry in group {
            let partition = entry.partition.id();
            for Change { key, value } in &entry.batch.changes {
                let Some(place) = rows.place(partition, key) else { continue };
                match value {
                    Some(value) if is_written => rows.replace(place, partition, key, value, turn),
                    _ => rows.remove(place, turn),
                }
            }
        }
    }

    fn write(&self, group: &[Entry]) -> Result<()> {
        let is_durable = group.iter().any(|entry| entry.durability == Durability::Durable);
        #[cfg(test)]
        if is_durable {
            self.shared.pause.wait();
        }
        let mode = if is_durable { DURABLE } else { PersistMode::Buffer };
        let count = group.iter().map(|entry| entry.batch.changes.len()).sum();
        let database = &self.shared.database;
        let batch = OwnedWriteBatch::with_capacity(database.clone(), count);
        let mut batch = batch.durability(Some(mode));
        for (entry, change) in merged::last_changes(group, count) {
            let keyspace = &entry.partition.keyspace;
            match &change.value {
                Some(value) => batch.insert(keyspace, &change.key[..], &value[..]),
                None => batch.remove(keyspace, &change.key[..]),
            }
        }
        if batch.is_empty() {
            // fjall does nothing at all for an empty batch, not even the fsync.
            return database.persist(mode).map_err(error_of);
        }
        batch.commit().map_err(error_of)
    }

    /// Flushes the largest write buffer if all of them together are too large.
    fn balance(&mut self) {
        if self.unbalanced_bytes < BALANCE_EVERY_BYTES {
            return;
        }
        self.unbalanced_bytes = 0;
        let partitions = self.shared.all_partitions();
        let sizes = partitions.iter().map(|partition| (partition.active_bytes(), partition));
        let mut sizes: Vec<_> = sizes.collect();
        sizes.sort_by_key(|(size, _)| std::cmp::Reverse(*size));
        let mut total: u64 = sizes.iter().map(|(size, _)| size).sum();
        for (size, partition) in sizes {
            if total <= self.shared.options.write_buffer_bytes_total {
                return;
            }
            total -= size;
            if !partition.is_behind() {
                partition.keyspace.request_rotation();
            }
        }
    }

    fn look_around(&mut self) {
        // A group that failed halfway may be in the buffers but must not become visible: its
        // writers were told that it failed, as were those after it.
        if self.shared.queue.failure().is_some() {
            return;
        }
        // This also detects a failed background job when nobody writes.
        match self.shared.database.persist(PersistMode::Buffer) {
            Ok(()) => self.shared.publish(),
            Err(error) => return self.shared.queue.fail(Vec::new(), &error_of(error)),
        }
        if self.committed.elapsed() >= QUIET
            && self.shared.options.workers > 0
            && let Err(error) = self.unsettled.settle()
        {
            self.shared.queue.fail(Vec::new(), &error);
        }
    }

    fn execute(&self, command: Command) {
        match command {
            Command::Create { name, reply } => reply.send(create(&self.shared, &name)),
            Command::Drop { name, reply } => reply.send(self.drop_key_space(&name)),
            // Nothing is half published here, and the next group is checked against the new epoch.
            Command::Fence { partition, epoch, reply } => reply.send(partition.fence(epoch)),
            Command::Refresh { reply } => {
                self.shared.publish();
                reply.send(Ok(()));
            }
            Command::Settle { reply } => reply.send(self.settle()),
            Command::Between { run } => run(Ok(())),
        }
    }

    /// fjall recomputes what snapshots still need when it rotates a non-empty buffer. A record of
    /// ours makes the buffer non-empty, and being the newest it keeps nothing else alive.
    fn settle(&self) -> Result<()> {
        open::mark(&self.shared.database, &self.shared.system)?;
        self.shared.publish();
        self.shared.system.rotate_memtable().map_err(error_of)?;
        Ok(())
    }

    fn drop_key_space(&self, name: &str) -> Result<()> {
        let shared = &self.shared;
        let Some(partition) = shared.remove(name) else { return Ok(()) };
        partition.is_dropped.store(true, Ordering::Release);
        shared.database.delete_keyspace(partition.keyspace.clone()).map_err(error_of)?;
        open::mark(&shared.database, &shared.system)?;
        shared.publish();
        if shared.database.journal_count() > 1 {
            // Sealed journals keep the keyspaces they mention alive. Any rotation makes fjall check
            // which journals it can release.
            shared.system.rotate_memtable().map_err(error_of)?;
        }
        Ok(())
    }
}

/// Fails the batches that may no longer be committed, and returns the others. A refusal is
/// permanent, so the order within a partition is kept.
fn admit(group: Vec<Entry>) -> Vec<Entry> {
    let mut admitted = Vec::with_capacity(group.len());
    for entry in group {
        match entry.partition.admit(entry.epoch) {
            Ok(()) => admitted.push(entry),
            Err(error) => entry.finish(Err(error)),
        }
    }
    admitted
}

/// Finds a partition, or creates it durably.
fn create(shared: &Shared, name: &str) -> Result<Arc<LsmPartition>> {
    if let Some(partition) = shared.partition(name) {
        return Ok(partition);
    }
    let options = || open::keyspace_options(&shared.options);
    let keyspace = shared.database.keyspace(name, options).map_err(error_of)?;
    open::sync_keyspaces(&shared.directory)?;
    open::mark(&shared.database, &shared.system)?;
    let partition = LsmPartition::new(keyspace);
    shared.insert(name.to_owned(), Arc::clone(&partition));
    shared.publish();
    Ok(partition)
}

/// Moves everything from the journal into tables, so that the next open replays nothing.
fn close(shared: &Shared) -> Result<()> {
    if let Some(reason) = shared.queue.failure() {
        return Err(Error::Closed(reason));
    }
    let database = &shared.database;
    database.persist(DURABLE).map_err(error_of)?;
    let mut keyspaces: Vec<_> =
        shared.all_partitions().iter().map(|p| p.keyspace.clone()).collect();
    keyspaces.push(shared.system.clone());
    for keyspace in &keyspaces {
        keyspace.rotate_memtable().map_err(error_of)?;
    }
    let started = Instant::now();
    while keyspaces.iter().any(|keyspace| keyspace.sealed_memtable_count() > 0) {
        // Fails if a background job did, in which case the rest will never be flushed.
        database.persist(PersistMode::Buffer).map_err(error_of)?;
        if started.elapsed() > CLOSE_PATIENCE {
            return Err(Error::Unavailable("cannot flush the write buffers".to_owned()));
        }
        std::thread::sleep(Duration::from_millis(1));
    }
    shared.publish();
    let is_written = |k: &fjall::Keyspace| k.tree.active_memtable().is_empty();
    // An image reads its journals for as long as it exists.
    if keyspaces.iter().all(is_written) && shared.images.load(Ordering::Acquire) == 0 {
        open::empty_journals(&shared.directory, &shared.journal_list)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests;
