//! The store on disk: a log-structured merge tree (fjall), one keyspace per partition.
//!
//! **One thread writes.** The committer takes everything queued, merges it into one fjall batch,
//! waits for one fsync, and only then publishes it: readers share the snapshot that the committer
//! took last, and never ask fjall for their own. That keeps snapshots frozen: fjall's background
//! flushes move its visible sequence number past batches still being applied, so a snapshot taken
//! at a bad moment would see half a batch appear.
//!
//! The committer also creates and drops partitions, so nothing races with a commit.
//!
//! Reading order: [`LsmStore`] here (the store contract), `partition` (one keyspace), `command` and
//! `queue` (the committer's inbox), `snapshot` (reads), `shared` (the open database), `handle` (an
//! owner's handle), `rows` (what was read lately), `committer` (what is written, and when, with
//! `merged`, and `quiet` when nobody writes), `open` (startup and recovery from power loss, with
//! `torn` and `journal_list`), `priority` (of background work), `copy` (bulk loading), `image` (the
//! files of the whole store, pinned for a copy, with `extent` and `window`), `restore` (building a
//! store from such files), `compact` (each key in one place),
//! `examine` (reading without writing).

mod command;
mod committer;
mod compact;
mod copy;
mod counters;
mod error;
mod examine;
mod extent;
mod files;
mod handle;
mod image;
mod journal_list;
mod merged;
mod open;
mod options;
mod partition;
#[cfg(test)]
mod pause;
mod priority;
mod queue;
mod quiet;
mod reply;
mod restore;
mod rows;
mod scratch;
mod shared;
mod snapshot;
mod torn;
mod window;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError, atomic::Ordering},
    thread::JoinHandle,
};

use store::{
    BoxFuture, Error, Files, Image, Keep, KeySpace, Result, Snapshot, Statistics, Store, check_name,
};

pub use self::options::Options;
use self::{
    command::Command,
    copy::Filling,
    handle::Handle,
    image::Capture,
    partition::LsmPartition,
    reply::{Reply, reply},
    shared::Shared,
};

/// A store in a directory.
///
/// Dropping it without [`Store::close`] loses nothing that was acknowledged, but the next open has
/// to replay the journal.
pub struct LsmStore {
    shared: Arc<Shared>,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl LsmStore {
    /// Opens the store in `directory`, creating it if absent. Blocks: milliseconds after a clean
    /// close, about a second per 64 MB of journal after a crash.
    ///
    /// Fails with `Conflict` if the directory is already open, in this process or another one.
    pub fn open(directory: &Path, options: Options) -> Result<Arc<Self>> {
        let shared = open::open(directory, options)?;
        let committer = committer::start(Arc::clone(&shared))?;
        Ok(Arc::new(Self { shared, committer: Mutex::new(Some(committer)) }))
    }

    /// Opens the store in `directory` for inspection, without changing anything there. Writes are
    /// discarded. Blocks, like [`LsmStore::open`].
    ///
    /// Fails with `Conflict` if the directory is already open, and with `Corrupt` if it does not
    /// contain a complete store.
    pub fn examine(directory: &Path, options: Options) -> Result<Arc<Self>> {
        let shared = examine::open(directory, options)?;
        let committer = committer::start(Arc::clone(&shared))?;
        Ok(Arc::new(Self { shared, committer: Mutex::new(Some(committer)) }))
    }

    /// Builds a store from the files of an image, which `write` puts into the directory. Blocks.
    ///
    /// Fails with `Conflict` if `directory` is not empty (it is created if absent). The directory
    /// cannot be opened until everything is written and durable; if `write` fails, the directory is
    /// restored to its previous state.
    pub fn restore<E: From<Error>>(
        directory: &Path,
        write: impl FnOnce(&Path) -> Result<(), E>,
    ) -> Result<(), E> {
        restore::restore(directory, write)
    }

    /// Finds a partition, creating it if needed, without becoming its owner.
    async fn partition(&self, name: &str) -> Result<Arc<LsmPartition>> {
        check_name(name)?;
        if let Some(known) = self.shared.partition(name) {
            return Ok(known);
        }
        let name = name.to_owned();
        self.command(|reply| Command::Create { name, reply }).await
    }

    /// Sends the committer a command, and waits for its answer.
    async fn command<T>(&self, command: impl FnOnce(Reply<T>) -> Command) -> Result<T> {
        let (sender, receiver) = reply();
        self.shared.queue.push_command(command(sender))?;
        receiver.await
    }
}

impl Drop for LsmStore {
    fn drop(&mut self) {
        self.shared.queue.stop();
        let committer = self.committer.get_mut().unwrap_or_else(PoisonError::into_inner);
        if let Some(committer) = committer.take() {
            // A completion on the committer itself may drop the last handle; the committer then
            // ends by itself.
            if committer.thread().id() != std::thread::current().id() {
                let _ = committer.join();
            }
        }
    }
}

impl Store for LsmStore {
    /// The highest epoch is only kept in memory. The directory is locked, so owners in earlier
    /// processes are gone, and epochs may start over.
    fn open<'a>(
        &'a self,
        partition: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        Box::pin(async move {
            let partition = self.partition(partition).await?;
            if epoch != partition.epoch.load(Ordering::Acquire) {
                let partition = Arc::clone(&partition);
                self.command(|reply| Command::Fence { partition, epoch, reply }).await?;
            }
            let shared = Arc::clone(&self.shared);
            Ok(Arc::new(Handle { shared, partition, epoch }) as Arc<dyn KeySpace>)
        })
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move { Ok(self.shared.partition_names()) })
    }

    fn drop_key_space<'a>(&'a self, partition: &'a str) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let name = partition.to_owned();
            self.command(|reply| Command::Drop { name, reply }).await
        })
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let partition = self.partition(to).await?;
            let target = Filling::start(partition, Arc::clone(&self.shared))?;
            // An earlier cancelled copy may have filled it without publishing.
            self.command(|reply| Command::Refresh { reply }).await?;
            copy::copy(from, target, keep).await?;
            // Ingested data becomes visible with the next published snapshot.
            self.command(|reply| Command::Refresh { reply }).await
        })
    }

    fn queue_bytes(&self) -> usize {
        self.shared.options.queue_bytes_max
    }

    fn failure(&self) -> Option<String> {
        self.shared.queue.failure()
    }

    fn statistics(&self) -> Statistics {
        self.shared.statistics()
    }

    fn close(&self) -> BoxFuture<'_, Result<()>> {
        Box::pin(async move {
            let (sender, receiver) = reply();
            if !self.shared.queue.close(sender) {
                return Ok(());
            }
            receiver.await
        })
    }
}

impl Files for LsmStore {
    fn image(&self) -> BoxFuture<'_, Result<Arc<dyn Image>>> {
        Box::pin(async move {
            let shared = Arc::clone(&self.shared);
            let capture = |reply: Reply<Capture>| Command::Between {
                run: Box::new(move |turn| {
                    reply.send(turn.and_then(|()| image::capture(&shared)));
                }),
            };
            let capture = self.command(capture).await?;
            let (sender, receiver) = reply();
            image::start(capture, sender)?;
            Ok(Arc::new(receiver.await?) as Arc<dyn Image>)
        })
    }

    fn compact<'a>(&'a self, key_space: Option<&'a str>) -> BoxFuture<'a, Result<()>> {
        Box::pin(async move {
            let partitions = match key_space {
                Some(name) => {
                    let absent = || Error::Conflict(format!("there is no partition `{name}`"));
                    vec![self.shared.partition(name).ok_or_else(absent)?]
                }
                None => self.shared.all_partitions(),
            };
            self.command(|reply| Command::Settle { reply }).await?;
            let (sender, receiver) = reply();
            compact::start(Arc::clone(&self.shared), partitions, sender)?;
            receiver.await?;
            self.command(|reply| Command::Settle { reply }).await
        })
    }
}
