//! The sequencer: a short critical section that gives a transaction its LSN and its place in the
//! store's queue, so LSN order is visibility order.

use std::sync::{Arc, MutexGuard, atomic::Ordering};

use bytes::Bytes;
use protocol::Error;
use store::{Batch, Durability};
use tokio::{
    sync::oneshot,
    time::{Instant, timeout_at},
};

use crate::{
    Partition, errors,
    keys::META_COUNTERS,
    log::{self, Counted},
    position::Position,
    room::Permit,
    rows::Counters,
    tenure::End,
    transaction::{Overlay, Transaction, less},
};

/// State guarded by the sequencer's critical section: the counters, and the ticket that identifies
/// queued batches.
#[derive(Debug, Default)]
pub(crate) struct Sequencer {
    pub(crate) counters: Counters,
    /// The ticket of the batch queued last.
    pub(crate) ticket: u64,
    /// Terms built under an indexing policy older than this are rejected; their writer must rebuild
    /// them.
    pub(crate) index_generation: u32,
    /// The number of the next log row; `None` unless the partition is being copied.
    pub(crate) log: Option<u64>,
    /// Other partitions are taking over: nothing may be queued unless they give up.
    pub(crate) is_moving: bool,
    /// How far back the history reaches; `None` if there is none.
    pub(crate) history: Option<Position>,
}

impl Sequencer {
    /// Appends a copy of the batch to the log, if there is one.
    fn log(&mut self, batch: &mut Batch, counted: Counted) {
        if let Some(next) = self.log.as_mut().filter(|_| !batch.changes.is_empty()) {
            log::append(batch, *next, counted);
            *next += 1;
        }
    }
}

/// Why a transaction was not queued.
pub enum Refused {
    /// Its terms follow an indexing policy that is no longer in force: stage it again.
    Stale,
    /// The write failed; staging it again helps only for some codes.
    Error(Error),
}

impl Refused {
    /// Whether the writer should stage the transaction again.
    pub fn is_staged_again(&self) -> bool {
        match self {
            Self::Stale => true,
            Self::Error(error) => errors::is_staged_again(error.code),
        }
    }
}

impl From<Error> for Refused {
    fn from(error: Error) -> Self {
        Self::Error(error)
    }
}

/// A transaction that is queued.
pub struct Sequenced {
    answer: oneshot::Receiver<Result<u64, Error>>,
    /// When its caller stops waiting.
    until: Instant,
}

impl Sequenced {
    /// Waits until it is durable and visible; its LSN. Where the store takes too long, the outcome is
    /// unknown: the transaction stays queued, and what it holds is given back when it is over.
    pub async fn lsn(self) -> Result<u64, Error> {
        match timeout_at(self.until, self.answer).await {
            Ok(answer) => answer.map_err(|_| errors::unknown())?,
            Err(_) => Err(errors::unknown()),
        }
    }
}

impl Partition {
    /// Gives a transaction its LSN and queues it. The answer comes once the transaction is durable
    /// and visible; it is carried out whether or not the caller keeps waiting.
    pub fn sequence(self: &Arc<Self>, transaction: Transaction) -> Result<Sequenced, Refused> {
        let (sender, answer) = oneshot::channel();
        let mut sequencer = self.sequencer();
        self.check_open(&sequencer)?;
        if transaction.index_generation < sequencer.index_generation {
            return Err(Refused::Stale);
        }
        debug_assert!(transaction.is_of_one_slot(), "a transaction has one logical key");
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
            // Publish the LSN before clearing the overlay: a reader that no longer finds a row
            // there reports this LSN.
            if result.is_ok() {
                let before = partition.published_lsn.swap(lsn, Ordering::AcqRel);
                debug_assert_eq!(before + 1, lsn, "transactions are published in order");
            }
            partition.published(ticket, &keys, &result);
            // The receiver may be gone.
            drop(sender.send(result.map(|()| lsn).map_err(errors::from_commit)));
            drop(permit);
        });
        // Submit inside the critical section, so that the store's order matches LSN order.
        self.store.submit(batch, Durability::Durable, done);
        drop(sequencer);
        Ok(Sequenced { answer, until: Instant::now() + self.patience })
    }

    /// Queues rows that no client asked for: no LSN, no feed entry. Buffered, because the work can
    /// be repeated. `rows` are the ones that writers must see before they are published; the batch
    /// already contains them. `index_bytes` are applied and reverted with the batch.
    pub fn maintain(
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
            counters.index_bytes = less(counters.index_bytes + index_bytes.0, index_bytes.1);
            batch.put(META_COUNTERS, counters.encode());
        }
        let counted = Counted::between(&before, &sequencer.counters);
        sequencer.log(&mut batch, counted);
        let (ticket, keys) = self.overlay(&mut sequencer, rows);
        let partition = Arc::clone(self);
        let done = Box::new(move |result: store::Result<()>| {
            partition.published(ticket, &keys, &result);
            drop(sender.send(result.map_err(errors::from_commit)));
            drop(permit);
        });
        self.store.submit(batch, Durability::Buffered, done);
        drop(sequencer);
        Ok(receiver)
    }

    /// Fails if the partition no longer takes writes.
    pub(crate) fn check_open(&self, sequencer: &Sequencer) -> Result<(), Error> {
        if let Some(end) = self.end() {
            return Err(end.error());
        }
        if self.is_retired.load(Ordering::Acquire) {
            return Err(Error::owner_not_found());
        }
        if sequencer.is_moving {
            return Err(errors::moving());
        }
        Ok(())
    }

    /// Puts rows into the overlay under a new ticket.
    fn overlay(&self, sequencer: &mut Sequencer, rows: Overlay) -> (u64, Vec<Bytes>) {
        sequencer.ticket += 1;
        let ticket = sequencer.ticket;
        let keys = rows.iter().map(|(key, _)| key.clone()).collect();
        self.pending.insert(ticket, rows);
        (ticket, keys)
    }

    /// From now on, only terms built under this indexing policy or a newer one are queued.
    pub fn require_generation(&self, generation: u32) {
        let mut sequencer = self.sequencer();
        sequencer.index_generation = sequencer.index_generation.max(generation);
        self.presence.clear();
    }

    /// Runs in queue order, on a store thread or inside the store's `submit`.
    pub(crate) fn published(&self, ticket: u64, keys: &[Bytes], result: &store::Result<()>) {
        match result {
            Ok(()) => self.pending.publish(ticket, keys),
            Err(error) => self.end_with(End::of(error)),
        }
    }

    pub(crate) fn sequencer(&self) -> MutexGuard<'_, Sequencer> {
        self.sequencer.lock().unwrap_or_else(|poisoned| {
            // A panic may have left counters and overlay inconsistent: fall back to the stored
            // state.
            self.end_with(End::Unsettled);
            poisoned.into_inner()
        })
    }
}
