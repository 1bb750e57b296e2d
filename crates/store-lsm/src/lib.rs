//! The store on disk: a log-structured merge tree (fjall), one keyspace per partition.
//!
//! **One thread writes.** The committer takes everything that is queued, merges it into one fjall
//! batch, waits for one fsync, and only then publishes it: readers share the snapshot that the
//! committer took last, and never ask fjall for one of their own. That is what makes a snapshot
//! frozen: fjall's background flushes move its visible sequence number past batches that are
//! still being applied, so a snapshot taken at a bad moment would see half a batch appear.
//!
//! Partitions are created and dropped by the committer too, so nothing races with a commit.
//!
//! Reading order: [`LsmStore`] here (the contract's side), `queue` (what waits), `committer` (what
//! is written, and when), `partition` and `snapshot` (reads), `open` (start, and what a power
//! loss may leave behind), `copy` (bulk ingestion).

mod committer;
mod copy;
mod open;
mod options;
mod partition;
mod queue;
mod reply;
mod shared;
mod snapshot;
mod torn;

use std::{
    path::Path,
    sync::{Arc, Mutex, PoisonError},
    thread::JoinHandle,
};

use store::{BoxFuture, Engine, Error, Keep, Partition, Result, Snapshot, Statistics, check_name};

pub use self::options::Options;
use self::{
    queue::Command,
    reply::{Reply, reply},
    shared::Shared,
};

/// A store in a directory.
///
/// Dropping it without [`Engine::close`] loses nothing that was acknowledged, but the next open has
/// to replay the journal.
pub struct LsmStore {
    shared: Arc<Shared>,
    committer: Mutex<Option<JoinHandle<()>>>,
}

impl LsmStore {
    /// Opens the store in `directory`, creating it when it is absent. Blocks: milliseconds after a
    /// clean close, about a second per 64 MB of journal after a crash.
    ///
    /// `Conflict` if the directory is open already, in this process or another one.
    pub fn open(directory: &Path, options: Options) -> Result<Arc<Self>> {
        let shared = open::open(directory, options)?;
        let committer = committer::start(Arc::clone(&shared))?;
        Ok(Arc::new(Self { shared, committer: Mutex::new(Some(committer)) }))
    }

    /// Lets the committer do something, and waits for its answer.
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
            // A completion may drop the last handle, on the committer itself: it ends by itself.
            if committer.thread().id() != std::thread::current().id() {
                let _ = committer.join();
            }
        }
    }
}

impl Engine for LsmStore {
    fn open<'a>(&'a self, partition: &'a str) -> BoxFuture<'a, Result<Arc<dyn Partition>>> {
        Box::pin(async move {
            check_name(partition)?;
            if let Some(known) = self.shared.partition(partition) {
                return Ok(known as Arc<dyn Partition>);
            }
            let name = partition.to_owned();
            let created = self.command(|reply| Command::Create { name, reply }).await?;
            Ok(created as Arc<dyn Partition>)
        })
    }

    fn partitions(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        Box::pin(async move { Ok(self.shared.partition_names()) })
    }

    fn drop_partition<'a>(&'a self, partition: &'a str) -> BoxFuture<'a, Result<()>> {
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
            self.open(to).await?;
            let target = self.shared.partition(to);
            let target =
                target.ok_or_else(|| Error::Conflict(format!("partition `{to}` was dropped")))?;
            copy::copy(from, &target, keep).await?;
            // What was ingested becomes visible with the next published snapshot.
            self.command(|reply| Command::Refresh { reply }).await
        })
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
