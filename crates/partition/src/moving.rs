//! Moves a partition's documents to other partitions: it keeps a log while they are copied, and
//! stops taking writes for the moment of the switch.

use std::{
    ops::Bound,
    sync::{Arc, atomic::Ordering},
};

use bytes::Bytes;
use protocol::Error;
use store::{Batch, Direction, Durability, PageLimit, Snapshot};

use crate::{
    Partition, errors,
    keys::{self, META_COUNTERS, META_HISTORY},
    log,
    position::Position,
    rows::Counters,
};

/// Rows of an old log to remove at a time.
const PAGE: PageLimit = PageLimit { entries: 4096, bytes: 4 << 20 };

impl Partition {
    /// Starts the log. Returns a snapshot and the number of the first log row that it lacks.
    pub async fn begin_log(self: &Arc<Self>) -> Result<(Arc<dyn Snapshot>, u64), Error> {
        self.clear_log().await?;
        self.sequencer().log = Some(0);
        // Batches queued before the log began are not in it, so they must be in the snapshot.
        self.drain().await?;
        let (snapshot, _) = self.read()?;
        let next = log::next_number(&*snapshot).await.map_err(errors::from_store)?;
        Ok((snapshot, next))
    }

    /// Whether committed batches are copied to a log.
    pub fn is_logging(&self) -> bool {
        self.sequencer().log.is_some()
    }

    /// Removes a row that belongs to no logical key. Does nothing while there is a log, because
    /// every batch in it must name its key; the caller retries later.
    pub fn forget_unlogged(self: &Arc<Self>, key: &Bytes) -> Result<(), Error> {
        // Held until the batch is queued, so that no log begins in between.
        let sequencer = self.sequencer();
        self.check_open(&sequencer)?;
        if sequencer.log.is_some() {
            return Ok(());
        }
        let mut batch = Batch::default();
        batch.delete(key.clone());
        let partition = Arc::clone(self);
        let done = Box::new(move |result: store::Result<()>| {
            partition.published(0, &[], &result);
        });
        self.store.submit(batch, Durability::Buffered, done);
        drop(sequencer);
        Ok(())
    }

    /// Ends the log; nothing will read it any more.
    pub async fn end_log(self: &Arc<Self>) -> Result<(), Error> {
        self.sequencer().log = None;
        self.drain().await?;
        self.clear_log().await
    }

    /// Removes leftover log rows, for example after a crash. Leaves an active log alone: starting
    /// it already removed the old rows.
    pub async fn clear_log(&self) -> Result<(), Error> {
        loop {
            let (snapshot, _) = self.read()?;
            let range = (Bound::Included(keys::log(0)), Bound::Included(keys::log(u64::MAX)));
            let page = snapshot.scan(range, Direction::Forward, PAGE).await;
            let entries = page.map_err(errors::from_store)?.entries;
            if entries.is_empty() {
                return Ok(());
            }
            let mut batch = Batch::default();
            for (key, _) in entries {
                batch.delete(key);
            }
            let answer = {
                // Held until the batch is queued, so that no log begins in between.
                let sequencer = self.sequencer();
                if sequencer.log.is_some() {
                    return Ok(());
                }
                self.queue(batch, Durability::Buffered)
            };
            self.outcome(answer).await.map_err(errors::from_commit)?;
        }
    }

    /// Records that there was nowhere to split the partition at this size.
    pub fn note_unsplittable(&self, size: u64) {
        self.unsplittable_at.store(size.max(1), Ordering::Relaxed);
    }

    /// Whether a split may succeed: none has failed, or the partition has grown by a tenth since.
    pub fn is_worth_splitting(&self, size: u64) -> bool {
        let tried = self.unsplittable_at.load(Ordering::Relaxed);
        tried == 0 || size > tried + tried / 10
    }

    /// Whether the partition is known to be unsplittable.
    pub fn is_unsplittable(&self) -> bool {
        self.unsplittable_at.load(Ordering::Relaxed) != 0
    }

    /// Stops taking writes and waits for the queued ones. Rejected writers stage again: on the
    /// partitions that take over, or here if the move is cancelled.
    pub async fn begin_move(self: &Arc<Self>) -> Result<Counters, Error> {
        let counters = {
            let mut sequencer = self.sequencer();
            self.check_open(&sequencer)?;
            sequencer.is_moving = true;
            Counters { next_sequence: self.next_sequence(), ..sequencer.counters }
        };
        self.barrier(Durability::Buffered).await?;
        debug_assert!(self.pending.is_empty(), "what was queued is published");
        Ok(counters)
    }

    /// No document has this sequence number or a later one yet.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence.load(Ordering::Relaxed)
    }

    /// Resumes taking writes.
    pub fn cancel_move(&self) {
        self.sequencer().is_moving = false;
    }

    /// Writes rows copied from another partition. They become durable with the counters.
    pub async fn follow(&self, batch: Batch) -> Result<(), Error> {
        self.submit(batch, Durability::Buffered).await
    }

    /// Finishes filling this partition: writes its counters, and makes them and everything before
    /// them durable.
    pub async fn fill(&self, counters: Counters, history: Option<Position>) -> Result<(), Error> {
        let mut batch = Batch::default();
        if let Some(history) = &history {
            batch.put(META_HISTORY, history.encode());
        }
        batch.put(Bytes::from_static(META_COUNTERS), counters.encode());
        self.submit(batch, Durability::Durable).await?;
        {
            let mut sequencer = self.sequencer();
            sequencer.counters = counters;
            sequencer.history = history;
        }
        self.next_sequence.store(counters.next_sequence, Ordering::Relaxed);
        self.published_lsn.store(counters.last_lsn, Ordering::Release);
        Ok(())
    }
}
