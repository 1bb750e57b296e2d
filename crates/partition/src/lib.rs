//! The physical partition: a range of slots, one ordered key space, one LSN, one owner.
//!
//! A [`Partition`] in memory is a *tenure*: see [`tenure`]. After a failed batch a new one replaces
//! it, opened under a higher epoch.
//!
//! Readers take a snapshot and never wait. A writer holds the lock of its logical key while it
//! reads the old version, checks and stages, but not through the fsync. Until the batch is
//! published, the next writer of the key sees the staged rows through the *pending* overlay. The
//! sequencer is a short critical section that gives a transaction its LSN and its place in the
//! store's queue, so LSN order is visibility order.
//!
//! Lock order: the logical key, memory to stage in, the path names, memory to queue in, the
//! sequencer, the overlay, the store's queue. A task that holds memory waits only for the store,
//! which frees memory without anyone's help, so there is no deadlock.

pub mod attachments;
pub mod budget;
pub mod charge;
pub mod creations;
pub mod disk;
pub mod errors;
pub mod history;
pub mod hot;
pub mod keys;
pub mod locks;
pub mod log;
pub mod moving;
pub mod names;
mod numbers;
mod pending;
pub mod position;
pub mod presence;
pub mod room;
pub mod rows;
mod sequencer;
pub mod session;
mod state;
pub mod tenure;
pub mod terms;
pub mod text;
pub mod transaction;
mod unindexed;
mod upgrade;

use std::{
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use catalog::range::Range;
use protocol::{Code, Error, PartitionPoint};
use store::{Batch, Durability, Snapshot};
use tokio::{
    sync::{Notify, oneshot},
    time::{Instant, timeout, timeout_at},
};

use crate::{
    budget::Budget,
    creations::Creations,
    hot::HotKeys,
    keys::{META_COUNTERS, META_HISTORY},
    locks::{KeyGuard, KeyLocks, Turn},
    names::Names,
    pending::{Looked, Pending},
    presence::Presence,
    room::Room,
    rows::Counters,
    sequencer::Sequencer,
    tenure::{End, Ending},
    unindexed::Unindexed,
};

pub use crate::sequencer::{Refused, Sequenced};

/// How long an answer waits for the store to confirm what it depends on: the write itself, from when
/// it was queued, or the writes of others that it was decided on.
pub const STORE_PATIENCE: Duration = Duration::from_secs(10);
/// How long a writer waits while the store is behind with its partition.
const ADMISSION_PATIENCE: Duration = Duration::from_secs(5);
/// How often a waiting writer checks again.
const ADMISSION_STEP: Duration = Duration::from_millis(5);

/// State shared by all partitions of a process.
#[derive(Clone)]
pub struct Surroundings {
    /// Limits what the partitions may queue together.
    pub room: Arc<Room>,
    /// Notified when a partition's tenure ends: see [`tenure`].
    pub bell: Arc<Notify>,
    /// How long answers wait for the store.
    pub patience: Duration,
}

impl Surroundings {
    /// Creates the shared state for the partitions of a store.
    pub fn new(store: &dyn store::Store) -> Self {
        let room = Arc::new(Room::new(store));
        Self { room, bell: Arc::default(), patience: STORE_PATIENCE }
    }
}

/// An open physical partition.
pub struct Partition {
    /// The name of the partition's key space in the store.
    pub name: String,
    /// The partition's entry in the catalog.
    pub range: Arc<Range>,
    store: Arc<dyn store::KeySpace>,
    /// Limits what all partitions may queue together.
    pub room: Arc<Room>,
    locks: KeyLocks,
    sequencer: Mutex<Sequencer>,
    pending: Pending,
    /// The LSN of the last transaction that readers can see.
    published_lsn: AtomicU64,
    /// The sequence number of the next document. Runs ahead of the stored one while writes are
    /// staged.
    next_sequence: AtomicU64,
    /// The partition's throughput budget: what it may spend and has spent.
    pub budget: Arc<Budget>,
    /// The ids of the paths in the partition's index.
    pub names: Names,
    /// The partition's hottest logical keys.
    pub hot: HotKeys,
    /// The partition's documents in creation order, if a query has asked for them.
    pub creations: Creations,
    /// How far re-indexing after the last change of the indexing policy has got.
    pub transformation: Transformation,
    /// Whether there may be documents that the index leaves out: see [`Unindexed`].
    unindexed: AtomicU8,
    /// Which documents lack the paths that queries order by.
    pub presence: Presence,
    /// The size at which the partition turned out to be unsplittable; zero if it has not.
    unsplittable_at: AtomicU64,
    /// The epoch under which the key space is open.
    pub epoch: u64,
    /// Whether and why this tenure has ended.
    ending: Ending,
    /// Notified when this tenure ends. Shared by all partitions.
    bell: Arc<Notify>,
    /// How long answers wait for the store.
    pub patience: Duration,
    /// Whether the collection was deleted.
    is_retired: AtomicBool,
}

/// Progress of re-indexing a partition's documents after a change of the indexing policy.
#[derive(Debug, Default)]
pub struct Transformation {
    /// Documents re-indexed so far.
    pub done: AtomicU64,
    /// Documents to re-index in total.
    pub total: AtomicU64,
}

impl Partition {
    /// Opens a key space, new or existing, as its owner under this epoch.
    pub async fn open(
        store: &dyn store::Store,
        surroundings: &Surroundings,
        name: String,
        range: Arc<Range>,
        epoch: u64,
    ) -> Result<Self, Error> {
        let store = store.open(&name, epoch).await.map_err(errors::from_store)?;
        let keys = [Bytes::from_static(META_COUNTERS), Bytes::from_static(META_HISTORY)];
        let rows = store.snapshot().get_many(&keys).await.map_err(errors::from_store)?;
        let history = history::decode(rows.get(1).and_then(Option::as_ref))?;
        let counters = match rows.first() {
            Some(Some(row)) => Counters::decode(row).map_err(errors::from_damaged)?,
            _ => Counters::default(),
        };
        Ok(Self {
            name,
            range,
            store,
            room: Arc::clone(&surroundings.room),
            locks: KeyLocks::default(),
            sequencer: Mutex::new(Sequencer { counters, history, ..Sequencer::default() }),
            pending: Pending::default(),
            published_lsn: AtomicU64::new(counters.last_lsn),
            next_sequence: AtomicU64::new(counters.next_sequence),
            budget: Arc::default(),
            names: Names::default(),
            hot: HotKeys::default(),
            creations: Creations::default(),
            transformation: Transformation::default(),
            unindexed: AtomicU8::new(Unindexed::Unknown as u8),
            presence: Presence::default(),
            unsplittable_at: AtomicU64::new(0),
            epoch,
            ending: Ending::default(),
            bell: Arc::clone(&surroundings.bell),
            patience: surroundings.patience,
            is_retired: AtomicBool::new(false),
        })
    }

    /// Takes a snapshot for a reader, and the LSN that it holds at least. Fails if another process
    /// has taken over the partition, because the local state may be out of date.
    pub fn read(&self) -> Result<(Arc<dyn Snapshot>, u64), Error> {
        // Read the LSN first: the snapshot may then hold more, never less.
        let lsn = self.published_lsn.load(Ordering::Acquire);
        let snapshot = self.store.snapshot();
        // Check for the end last: a snapshot taken before the end is not out of date.
        if self.end() == Some(End::Fenced) {
            return Err(errors::not_here());
        }
        Ok((snapshot, lsn))
    }

    /// The LSN that readers see.
    pub fn lsn(&self) -> u64 {
        self.published_lsn.load(Ordering::Acquire)
    }

    /// This partition's entry in a session token.
    pub fn point(&self, lsn: u64) -> PartitionPoint {
        PartitionPoint { range_id: self.range.id, lsn }
    }

    /// Waits while the store is behind with this partition, so that other partitions are not held
    /// up.
    pub async fn admit(&self) -> Result<(), Error> {
        let mut waited = Duration::ZERO;
        while self.store.debt().pressure_percent >= 100 {
            if waited >= ADMISSION_PATIENCE {
                let mut error = Error::new(
                    Code::TooManyRequests,
                    "The partition's storage cannot keep up with the writes.",
                );
                error.meta.retry_after_ms = Some(1000);
                return Err(error);
            }
            tokio::time::sleep(ADMISSION_STEP).await;
            waited += ADMISSION_STEP;
        }
        Ok(())
    }

    /// Why the partition no longer takes writes; `None` while it does.
    pub fn end(&self) -> Option<End> {
        self.ending.get()
    }

    /// Ends this tenure. Staged writes are lost.
    pub fn end_with(&self, end: End) {
        if self.ending.set(end) {
            tracing::error!(partition = self.name, ?end, "a write failed: the partition stopped");
            self.pending.fail(&end.error());
            self.bell.notify_one();
        }
    }

    /// Locks a logical key if it is free.
    pub fn try_lock(&self, key: &[u8]) -> Option<KeyGuard<'_>> {
        self.locks.try_lock(key)
    }

    /// Locks a logical key, waiting as long as it takes.
    pub async fn lock(&self, key: &[u8], turn: Turn) -> KeyGuard<'_> {
        self.locks.lock(key, turn).await
    }

    /// Reads the newest rows, published or not. Only for a writer that holds the key's lock and
    /// whose answer does not depend on the rows: see [`Self::newest_and_ticket`].
    pub async fn newest(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, Error> {
        Ok(self.newest_and_ticket(keys).await?.0)
    }

    /// Reads the newest rows, published or not, and the highest ticket among the unpublished ones;
    /// zero if all are published. The caller must not reveal anything derived from the rows before
    /// that ticket is settled.
    pub async fn newest_and_ticket(
        &self,
        keys: &[Bytes],
    ) -> Result<(Vec<Option<Bytes>>, u64), Error> {
        let Looked { mut rows, absent, ticket } = self.pending.look(keys);
        if absent.is_empty() {
            return Ok((rows, ticket));
        }
        // Take the snapshot after the overlay lookup: rows that left the overlay since are in the
        // snapshot.
        let snapshot = self.store.snapshot();
        let wanted: Vec<Bytes> = absent.iter().map(|index| keys[*index].clone()).collect();
        let found = snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
        for (index, row) in absent.into_iter().zip(found) {
            rows[index] = row;
        }
        Ok((rows, ticket))
    }

    /// The ticket of the batch that was queued last.
    pub fn last_ticket(&self) -> u64 {
        self.sequencer().ticket
    }

    /// Waits until the batch with this ticket and all batches before it are published, but no longer
    /// than `until`. The error says why that will never happen, or that the store has not said yet.
    pub async fn settled(&self, ticket: u64, until: Instant) -> Result<(), Error> {
        let settled = timeout_at(until, self.pending.settled(ticket)).await;
        settled.unwrap_or_else(|_| Err(errors::stalled()))
    }

    /// Waits until everything queued so far is published.
    pub async fn drain(self: &Arc<Self>) -> Result<(), Error> {
        self.check_open(&self.sequencer())?;
        self.barrier(Durability::Buffered).await
    }

    /// Drains for a request that has written nothing yet, and that does not wait longer than
    /// [`Self::patience`].
    pub async fn drain_patiently(self: &Arc<Self>) -> Result<(), Error> {
        let drained = timeout(self.patience, self.drain()).await;
        drained.unwrap_or_else(|_| Err(errors::stalled()))
    }

    /// Waits until everything queued so far is durable. Needed before another key space, which may
    /// have its own journal, relies on it.
    pub async fn drain_durably(&self) -> Result<(), Error> {
        self.check_open(&self.sequencer())?;
        self.barrier(Durability::Durable).await
    }

    /// Stops taking writes and waits for those already queued, because the collection is being
    /// deleted.
    pub async fn retire(&self) {
        {
            let _sequencer = self.sequencer();
            self.is_retired.store(true, Ordering::Release);
        }
        // Only fails when the store is closing, which ends the queue as well.
        let _ = self.barrier(Durability::Buffered).await;
    }

    /// Waits until everything queued so far is published and, if requested, durable.
    async fn barrier(&self, durability: Durability) -> Result<(), Error> {
        let (sender, receiver) = oneshot::channel();
        self.store.barrier(durability, Box::new(move |result| drop(sender.send(result))));
        self.outcome(receiver).await.map_err(errors::from_store)
    }

    /// Queues a batch without going through the sequencer, and waits for it.
    async fn submit(&self, batch: Batch, durability: Durability) -> Result<(), Error> {
        let answer = self.queue(batch, durability);
        self.outcome(answer).await.map_err(errors::from_commit)
    }

    /// Queues a batch without going through the sequencer.
    fn queue(&self, batch: Batch, durability: Durability) -> oneshot::Receiver<store::Result<()>> {
        let (sender, receiver) = oneshot::channel();
        self.store.submit(batch, durability, Box::new(move |result| drop(sender.send(result))));
        receiver
    }

    /// Waits for the result of something queued without the sequencer. A failure ends the tenure,
    /// because everything queued after it fails too.
    async fn outcome(&self, answer: oneshot::Receiver<store::Result<()>>) -> store::Result<()> {
        let lost = |_| Err(store::Error::Unavailable("the store gave no answer".to_owned()));
        let result = answer.await.unwrap_or_else(lost);
        if let Err(error) = &result {
            self.end_with(End::of(error));
        }
        result
    }

    /// Document and byte counts as of the last sequenced transaction.
    pub fn counters(&self) -> Counters {
        self.sequencer().counters
    }

    /// Batches waiting to be committed.
    pub fn queued(&self) -> usize {
        self.store.debt().queued_batches
    }
}
