//! How far back a partition's history of changes reaches.
//!
//! Each change to a document is kept in an `H` row for as long as the collection's policy requires.
//! The `Mh` row records the position from which the history is complete. Anything that makes a gap
//! (the policy was off, or old rows were swept) moves that position in the same batch, so no reader
//! sees a history with a gap.

use std::{ops::Bound, sync::Arc};

use bytes::Bytes;
use protocol::Error;
use store::{Batch, Direction, Durability, PageLimit};
use tokio::sync::oneshot;

use super::Partition;
use catalog::area::Area;

use crate::{
    errors,
    keys::{self, META_HISTORY, SLOT_COUNT, u64_at},
    position::Position,
    rows::{Damaged, HistoryRow},
    sequencer::Sequencer,
};

/// Rows to sweep at a time.
const PAGE: PageLimit = PageLimit { entries: 256, bytes: 1 << 20 };

/// Decodes the `Mh` row, if there is one.
pub(super) fn decode(row: Option<&Bytes>) -> Result<Option<Position>, Error> {
    let Some(row) = row else { return Ok(None) };
    Position::decode(row).map(Some).ok_or_else(|| errors::from_damaged(Damaged("Mh")))
}

fn everywhere() -> Area {
    Area::of_slots(0..SLOT_COUNT)
}

impl Sequencer {
    /// Records whether a transaction is in the history.
    pub(super) fn note_history(&mut self, batch: &mut Batch, lsn: u64, has_history: bool) {
        match &mut self.history {
            None if !has_history => return,
            Some(_) if has_history => return,
            None => self.history = Some(Position::at(lsn - 1)),
            Some(history) => history.advance(&everywhere(), lsn),
        }
        self.put_history(batch);
    }

    fn put_history(&self, batch: &mut Batch) {
        match &self.history {
            Some(history) => batch.put(META_HISTORY, history.encode()),
            None => batch.delete(META_HISTORY),
        }
    }
}

impl Partition {
    /// The history is complete after this position.
    pub fn history_from(&self) -> Position {
        let sequencer = self.sequencer();
        let last = sequencer.counters.last_lsn;
        sequencer.history.clone().unwrap_or_else(|| Position::at(last))
    }

    /// Whether there may be history rows.
    pub fn has_history(&self) -> bool {
        self.sequencer().history.is_some()
    }

    /// Removes some changes made before this second, oldest first. Returns whether there may be
    /// more. Stops at the first younger change: after a merge, older changes may follow it, and
    /// those wait.
    pub async fn sweep_history(self: &Arc<Self>, before: u64) -> Result<bool, Error> {
        let (snapshot, _) = self.read()?;
        let range = (
            Bound::Included(keys::change(keys::HISTORY, 0, 0)),
            Bound::Included(keys::change(keys::HISTORY, u64::MAX, u64::MAX)),
        );
        let page = snapshot.scan(range, Direction::Forward, PAGE).await;
        let page = page.map_err(errors::from_store)?;
        let is_old = |row: &[u8]| HistoryRow::time(row).is_some_and(|time| time < before);
        let old: Vec<Bytes> = page
            .entries
            .iter()
            .take_while(|(_, row)| is_old(row))
            .map(|(key, _)| key.clone())
            .collect();
        let has_more = page.has_more && old.len() == page.entries.len();
        if let Some(lsn) = old.last().and_then(|last| u64_at(last, 1)) {
            self.forget(old, lsn).await?;
        } else if page.entries.is_empty() && before == u64::MAX {
            self.end_history().await?;
        }
        Ok(has_more)
    }

    /// Removes rows up to this LSN. A split's log does not repeat this: the rows that the copy
    /// keeps precede the start of its own history and are swept there.
    async fn forget(self: &Arc<Self>, rows: Vec<Bytes>, lsn: u64) -> Result<(), Error> {
        let mut batch = Batch::default();
        for key in rows {
            batch.delete(key);
        }
        self.submit_history(batch, |history| {
            if let Some(history) = history {
                history.advance(&everywhere(), lsn);
            }
        })
        .await
    }

    /// Turns the history off when there is nothing to keep and nothing kept.
    async fn end_history(self: &Arc<Self>) -> Result<(), Error> {
        self.submit_history(Batch::default(), |history| *history = None).await
    }

    /// Deletes rows and updates the history's start, in transaction order.
    async fn submit_history(
        self: &Arc<Self>,
        mut batch: Batch,
        change: impl FnOnce(&mut Option<Position>),
    ) -> Result<(), Error> {
        let (sender, receiver) = oneshot::channel();
        {
            let mut sequencer = self.sequencer();
            self.check_open(&sequencer)?;
            change(&mut sequencer.history);
            sequencer.put_history(&mut batch);
            let partition = Arc::clone(self);
            let done = Box::new(move |result: store::Result<()>| {
                partition.published(0, &[], &result);
                drop(sender.send(result.map_err(errors::from_commit)));
            });
            self.store.submit(batch, Durability::Buffered, done);
        }
        receiver.await.map_err(|_| errors::unknown())?
    }
}
