//! The physical partition: a range of slots, one ordered key space, one LSN, one owner.
//!
//! Readers take a snapshot and never wait. A writer holds the lock of its logical key while it
//! reads the old version, checks and stages; it does not hold it through the fsync. In between,
//! the next writer of the key sees what is staged through the *pending* overlay. The sequencer is
//! a short critical section that gives a transaction its LSN and its place in the store's queue,
//! so the order of LSNs is the order of visibility.
//!
//! Locks are taken in this order: the logical key, memory to stage in, the names of paths, memory to
//! queue in, the sequencer, the overlay, the store's queue. Whoever holds memory waits for nothing but
//! the store, which gives memory back by itself, so nobody waits in a circle.

pub(crate) mod creations;
pub(crate) mod history;
pub(crate) mod hot;
pub(crate) mod locks;
pub(crate) mod log;
pub(crate) mod moving;
pub(crate) mod names;
mod numbers;
mod pending;
pub(crate) mod position;
pub(crate) mod presence;
pub(crate) mod room;
mod state;
pub(crate) mod terms;
pub(crate) mod transaction;
mod unindexed;

use std::{
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicBool, AtomicU8, AtomicU64, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use protocol::{Code, Error, PartitionPoint, session::SessionTokens};
use store::{Batch, Durability, Snapshot};
use tokio::sync::oneshot;

use crate::{
    budget::Budget,
    catalog::range::Range,
    errors,
    keys::{META_COUNTERS, META_HISTORY},
    partition::{
        creations::Creations,
        hot::HotKeys,
        locks::{KeyGuard, KeyLocks, Turn},
        log::Counted,
        names::Names,
        pending::{Looked, Pending},
        position::Position,
        presence::Presence,
        room::{Permit, Room},
        transaction::{Overlay, Transaction},
        unindexed::Unindexed,
    },
    rows::Counters,
};

/// How long a writer waits for a partition that the store is behind with.
const ADMISSION_PATIENCE: Duration = Duration::from_secs(5);
/// How often it looks.
const ADMISSION_STEP: Duration = Duration::from_millis(5);

/// A physical partition, open.
pub(crate) struct Partition {
    /// The name of its key space in the store.
    pub(crate) name: String,
    /// What the catalog says of it.
    pub(crate) range: Arc<Range>,
    store: Arc<dyn store::KeySpace>,
    /// What all partitions may queue together.
    pub(crate) room: Arc<Room>,
    locks: KeyLocks,
    sequencer: Mutex<Sequencer>,
    pending: Pending,
    /// The LSN of the last transaction that readers can see.
    published_lsn: AtomicU64,
    /// The next document's sequence. Ahead of the stored one while writes are staged.
    next_sequence: AtomicU64,
    /// What it may spend, and has spent.
    pub(crate) budget: Arc<Budget>,
    /// The ids of paths in its index.
    pub(crate) names: Names,
    /// Its hottest logical keys.
    pub(crate) hot: HotKeys,
    /// Its documents in the order of creation, if they were asked for.
    creations: Creations,
    /// How far its documents have followed the last change of the indexing policy.
    pub(crate) transformation: Transformation,
    /// Whether documents that the index leaves out may be there: see [`Unindexed`].
    unindexed: AtomicU8,
    /// Which documents lack the paths that queries order by.
    pub(crate) presence: Presence,
    /// The size at which it was found that the partition cannot be split; zero if it was not.
    unsplittable_at: AtomicU64,
    /// A commit failed: what is staged in memory no longer follows from what is stored.
    is_failed: AtomicBool,
    /// The collection was deleted.
    is_retired: AtomicBool,
}

/// What takes turns: the counters, and what tells the batches that were queued apart.
#[derive(Debug, Default)]
struct Sequencer {
    counters: Counters,
    /// Of the batch queued last.
    ticket: u64,
    /// Writers that made their terms by an older indexing policy must make them anew.
    index_generation: u32,
    /// While the partition is being copied: the number of the next row of its log.
    log: Option<u64>,
    /// Others are taking over: nothing is queued any more, unless they give up.
    is_moving: bool,
    /// How far back the history reaches; `None` if there is none.
    history: Option<Position>,
}

impl Sequencer {
    /// Repeats a batch in the log, if there is one.
    fn log(&mut self, batch: &mut Batch, counted: Counted) {
        if let Some(next) = self.log.as_mut().filter(|_| !batch.changes.is_empty()) {
            log::append(batch, *next, counted);
            *next += 1;
        }
    }
}

/// Documents of a partition that a change of the indexing policy has reached, of all it must.
#[derive(Debug, Default)]
pub(crate) struct Transformation {
    pub(crate) done: AtomicU64,
    pub(crate) total: AtomicU64,
}

/// Why a transaction was not queued.
pub(crate) enum Refused {
    /// Its terms follow an indexing policy that is no longer in force: stage it again.
    Stale,
    /// It cannot be.
    Error(Error),
}

impl Refused {
    /// Whether the writer begins anew.
    pub(crate) fn is_staged_again(&self) -> bool {
        match self {
            Self::Stale => true,
            Self::Error(error) => error.code == Code::PartitionSplitting,
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

impl Partition {
    /// Opens a key space, new or old, as the owner with this epoch.
    pub(crate) async fn open(
        store: &dyn store::Store,
        room: &Arc<Room>,
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
            room: Arc::clone(room),
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
            is_failed: AtomicBool::new(false),
            is_retired: AtomicBool::new(false),
        })
    }

    /// A view for a reader, and the LSN it holds at least.
    pub(crate) fn read(&self) -> (Arc<dyn Snapshot>, u64) {
        // The LSN first: the snapshot may hold more, never less.
        let lsn = self.published_lsn.load(Ordering::Acquire);
        (self.store.snapshot(), lsn)
    }

    /// The LSN that readers can see.
    pub(crate) fn lsn(&self) -> u64 {
        self.published_lsn.load(Ordering::Acquire)
    }

    /// This partition's place in a session token.
    pub(crate) fn point(&self, lsn: u64) -> PartitionPoint {
        PartitionPoint { range_id: self.range.id, lsn }
    }

    /// Refuses a caller whose session has seen more than this partition has.
    pub(crate) fn check_session(&self, session: Option<&SessionTokens>) -> Result<(), Error> {
        // A session that knows an ancestor has seen no more of it than was handed down.
        let seen = session.and_then(|tokens| {
            let parents: Vec<String> = self.range.parents.iter().map(u32::to_string).collect();
            tokens.lsn_of(&self.range.id.to_string(), &parents)
        });
        if seen.is_some_and(|seen| seen > self.lsn()) {
            return Err(Error::new(
                Code::SessionNotAvailable,
                "The read/write session is not available for the input session token.",
            ));
        }
        Ok(())
    }

    /// Waits while the store is behind with this partition, so that it holds up nobody else.
    pub(crate) async fn admit(&self) -> Result<(), Error> {
        let mut waited = Duration::ZERO;
        while self.store.debt().pressure_percent >= 100 {
            if waited >= ADMISSION_PATIENCE {
                let mut error = Error::new(
                    Code::TooManyRequests,
                    "The partition's storage is behind with its work.",
                );
                error.meta.retry_after_ms = Some(1000);
                return Err(error);
            }
            tokio::time::sleep(ADMISSION_STEP).await;
            waited += ADMISSION_STEP;
        }
        Ok(())
    }

    /// Whether a failed commit has stopped its writes.
    pub(crate) fn is_failed(&self) -> bool {
        self.is_failed.load(Ordering::Acquire)
    }

    /// A logical key, if nobody has it.
    pub(crate) fn try_lock(&self, key: &[u8]) -> Option<KeyGuard<'_>> {
        self.locks.try_lock(key)
    }

    /// Waits for a logical key, however long that takes.
    pub(crate) async fn lock(&self, key: &[u8], turn: Turn) -> KeyGuard<'_> {
        self.locks.lock(key, turn).await
    }

    /// The newest rows, published or not. Only for a writer that holds the key's lock, and whose
    /// answer does not depend on them: see [`Self::newest_and_ticket`].
    pub(crate) async fn newest(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, Error> {
        Ok(self.newest_and_ticket(keys).await?.0)
    }

    /// The newest rows, published or not, and the highest ticket of those that are not; zero if all
    /// are. What follows from them may be told once that ticket is settled.
    pub(crate) async fn newest_and_ticket(
        &self,
        keys: &[Bytes],
    ) -> Result<(Vec<Option<Bytes>>, u64), Error> {
        let Looked { mut rows, absent, ticket } = self.pending.look(keys);
        if absent.is_empty() {
            return Ok((rows, ticket));
        }
        // Taken after the overlay was asked: what has left the overlay since is in the snapshot.
        let snapshot = self.store.snapshot();
        let wanted: Vec<Bytes> = absent.iter().map(|index| keys[*index].clone()).collect();
        let found = snapshot.get_many(&wanted).await.map_err(errors::from_store)?;
        for (index, row) in absent.into_iter().zip(found) {
            rows[index] = row;
        }
        Ok((rows, ticket))
    }

    /// The ticket of the batch that was queued last.
    pub(crate) fn last_ticket(&self) -> u64 {
        self.sequencer().ticket
    }

    /// Waits until the batch with this ticket is published, and all before it. The error says why
    /// it never will be.
    pub(crate) async fn settled(&self, ticket: u64) -> Result<(), Error> {
        self.pending.settled(ticket).await
    }

    /// Gives a transaction its LSN and queues it. The answer comes once it is durable and visible,
    /// and it will be, whether or not the caller still waits.
    pub(crate) fn sequence(
        self: &Arc<Self>,
        transaction: Transaction,
    ) -> Result<oneshot::Receiver<Result<u64, Error>>, Refused> {
        let (sender, receiver) = oneshot::channel();
        let mut sequencer = self.sequencer();
        self.check_open(&sequencer)?;
        if transaction.index_generation < sequencer.index_generation {
            return Err(Refused::Stale);
        }
        let before = sequencer.counters;
        let mut counters = before;
        counters.last_lsn += 1;
        counters.next_sequence = self.next_sequence.load(Ordering::Relaxed);
        let lsn = counters.last_lsn;
        self.presence.note(lsn, &transaction.changes);
        let has_history = transaction.has_history();
        let (mut batch, overlay, permit) = transaction.finish(lsn, &mut counters);
        if let Some(has_history) = has_history {
            sequencer.note_history(&mut batch, lsn, has_history);
        }
        sequencer.log(&mut batch, Counted::between(&before, &counters));
        sequencer.counters = counters;
        let (ticket, keys) = self.overlay(&mut sequencer, overlay);
        let partition = Arc::clone(self);
        let done = Box::new(move |result: store::Result<()>| {
            let result = result.map_err(errors::from_store);
            // Before the overlay is cleared: whoever no longer finds a row there tells this LSN.
            if result.is_ok() {
                partition.published_lsn.store(lsn, Ordering::Release);
            }
            partition.published(ticket, &keys, result.as_ref().err());
            // Nobody may be waiting any more.
            drop(sender.send(result.map(|()| lsn)));
            drop(permit);
        });
        // Inside the critical section, so that the store's order is the order of LSNs.
        self.store.submit(batch, Durability::Durable, done);
        drop(sequencer);
        Ok(receiver)
    }

    /// Queues rows that no client asked for: no LSN, no feed entry. Buffered, since it is work that
    /// can be done again. `rows` are those that a writer must see before they are published; they
    /// are part of the batch already. `index_bytes` come and go with it.
    pub(crate) fn maintain(
        self: &Arc<Self>,
        mut batch: Batch,
        rows: Overlay,
        index_bytes: (u64, u64),
        permit: Option<Permit>,
    ) -> Result<oneshot::Receiver<Result<(), Error>>, Error> {
        let (sender, receiver) = oneshot::channel();
        let mut sequencer = self.sequencer();
        self.check_open(&sequencer)?;
        let before = sequencer.counters;
        if index_bytes != (0, 0) {
            let counters = &mut sequencer.counters;
            counters.index_bytes =
                (counters.index_bytes + index_bytes.0).saturating_sub(index_bytes.1);
            batch.put(META_COUNTERS, counters.encode());
        }
        let counted = Counted::between(&before, &sequencer.counters);
        sequencer.log(&mut batch, counted);
        let (ticket, keys) = self.overlay(&mut sequencer, rows);
        let partition = Arc::clone(self);
        let done = Box::new(move |result: store::Result<()>| {
            let result = result.map_err(errors::from_store);
            partition.published(ticket, &keys, result.as_ref().err());
            drop(sender.send(result));
            drop(permit);
        });
        self.store.submit(batch, Durability::Buffered, done);
        drop(sequencer);
        Ok(receiver)
    }

    /// Refuses to queue anything for a partition that no longer takes it.
    fn check_open(&self, sequencer: &Sequencer) -> Result<(), Error> {
        if self.is_failed() {
            return Err(errors::writes_stopped());
        }
        if self.is_retired.load(Ordering::Acquire) {
            return Err(Error::owner_not_found());
        }
        if sequencer.is_moving {
            return Err(errors::moving());
        }
        Ok(())
    }

    /// Waits until everything queued so far is published.
    pub(crate) async fn drain(self: &Arc<Self>) -> Result<(), Error> {
        self.check_open(&self.sequencer())?;
        self.barrier(Durability::Buffered).await
    }

    /// Waits until everything queued so far is durable: before something in another key space relies
    /// on it, which may have a journal of its own.
    pub(crate) async fn drain_durably(&self) -> Result<(), Error> {
        self.check_open(&self.sequencer())?;
        self.barrier(Durability::Durable).await
    }

    /// Puts rows into the overlay, under a ticket of their own.
    fn overlay(&self, sequencer: &mut Sequencer, rows: Overlay) -> (u64, Vec<Bytes>) {
        sequencer.ticket += 1;
        let ticket = sequencer.ticket;
        let keys = rows.iter().map(|(key, _)| key.clone()).collect();
        self.pending.insert(ticket, rows);
        (ticket, keys)
    }

    /// From now on only terms by this policy, or a newer one, are queued.
    pub(crate) fn require_generation(&self, generation: u32) {
        let mut sequencer = self.sequencer();
        sequencer.index_generation = sequencer.index_generation.max(generation);
        self.presence.clear();
    }

    /// Runs in the order of the queue, on a thread of the store or inside its `submit`.
    fn published(&self, ticket: u64, keys: &[Bytes], failure: Option<&Error>) {
        let Some(error) = failure else { return self.pending.publish(ticket, keys) };
        // Reopening the store is the way back: the staged state is ahead of the stored one.
        if !self.is_failed.swap(true, Ordering::AcqRel) {
            tracing::error!(partition = self.name, "a commit failed: writes have stopped");
        }
        self.pending.fail(error);
    }

    /// Stops taking writes, and waits for those already queued: the collection is being deleted.
    pub(crate) async fn retire(&self) {
        {
            let _sequencer = self.sequencer();
            self.is_retired.store(true, Ordering::Release);
        }
        // Only fails when the store is closing, which ends the queue too.
        let _ = self.barrier(Durability::Buffered).await;
    }

    /// Waits until everything queued so far is published and, if asked for, durable.
    async fn barrier(&self, durability: Durability) -> Result<(), Error> {
        let (sender, receiver) = oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        self.store.barrier(durability, done);
        receiver.await.map_err(|_| errors::shut_down())?.map_err(errors::from_store)
    }

    /// Queues a batch past the sequencer, and waits for it.
    async fn submit(&self, batch: Batch, durability: Durability) -> Result<(), Error> {
        let (sender, receiver) = oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        self.store.submit(batch, durability, done);
        receiver.await.map_err(|_| errors::shut_down())?.map_err(errors::from_store)
    }

    /// Documents and bytes, as of the last sequenced transaction.
    pub(crate) fn counters(&self) -> Counters {
        self.sequencer().counters
    }

    /// Batches waiting to be committed.
    pub(crate) fn queued(&self) -> usize {
        self.store.debt().queued_batches
    }

    fn sequencer(&self) -> MutexGuard<'_, Sequencer> {
        self.sequencer.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
