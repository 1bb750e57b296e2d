//! A partition whose documents go to others: while they are copied it keeps a log, and for the
//! moment of the switch it stops.

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

/// Rows of an old log that are removed at a time.
const PAGE: PageLimit = PageLimit { entries: 4096, bytes: 4 << 20 };

impl Partition {
    /// Starts the log, and gives a snapshot with the number of the first row that it lacks.
    pub async fn begin_log(self: &Arc<Self>) -> Result<(Arc<dyn Snapshot>, u64), Error> {
        self.clear_log().await?;
        self.sequencer().log = Some(0);
        // What was queued before the log began is in no row of it: it must be in the snapshot.
        self.drain().await?;
        let (snapshot, _) = self.read()?;
        let next = log::next_number(&*snapshot).await.map_err(errors::from_store)?;
        Ok((snapshot, next))
    }

    /// Whether what is committed is repeated in a log.
    pub fn is_logging(&self) -> bool {
        self.sequencer().log.is_some()
    }

    /// Removes a row that belongs to no logical key. Not while there is a log: each batch in it must
    /// name its key, and this one cannot. Whoever wants it gone comes again.
    pub fn forget_unlogged(self: &Arc<Self>, key: &Bytes) -> Result<(), Error> {
        // Held until it is queued, so that no log begins in between.
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

    /// Ends the log: nobody will follow it.
    pub async fn end_log(self: &Arc<Self>) -> Result<(), Error> {
        self.sequencer().log = None;
        self.drain().await?;
        self.clear_log().await
    }

    /// Removes what a log has left behind, which a crash may have done. A log that is kept at this
    /// moment is left alone: whoever began it removed what was there before.
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
                // Held until it is queued, so that no log begins in between.
                let sequencer = self.sequencer();
                if sequencer.log.is_some() {
                    return Ok(());
                }
                self.queue(batch, Durability::Buffered)
            };
            self.outcome(answer).await.map_err(errors::from_commit)?;
        }
    }

    /// Notes that at this size there is nowhere to cut.
    pub fn note_unsplittable(&self, size: u64) {
        self.unsplittable_at.store(size.max(1), Ordering::Relaxed);
    }

    /// Whether a split may work: it was not tried in vain, or the partition has grown by a tenth.
    pub fn is_worth_splitting(&self, size: u64) -> bool {
        let tried = self.unsplittable_at.load(Ordering::Relaxed);
        tried == 0 || size > tried + tried / 10
    }

    /// Whether the partition is known to have nowhere to cut.
    pub fn is_unsplittable(&self) -> bool {
        self.unsplittable_at.load(Ordering::Relaxed) != 0
    }

    /// Takes no more writes, and waits for those that were queued. They will be staged again: by
    /// whoever takes over, or here if the move is called off.
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

    /// No document has this sequence yet, nor any behind it.
    pub fn next_sequence(&self) -> u64 {
        self.next_sequence.load(Ordering::Relaxed)
    }

    /// Takes writes again.
    pub fn cancel_move(&self) {
        self.sequencer().is_moving = false;
    }

    /// Writes rows that came from another partition. They wait for the counters to be durable.
    pub async fn follow(&self, batch: Batch) -> Result<(), Error> {
        self.submit(batch, Durability::Buffered).await
    }

    /// Ends the filling of this partition: its counters, and all that was written before them,
    /// durably.
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
