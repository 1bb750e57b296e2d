//! A partition's recorded state: being created, open, or being filled.

use std::sync::atomic::Ordering;

use bytes::Bytes;
use protocol::Error;
use store::{Batch, Durability};

use super::Partition;
use crate::{
    errors,
    keys::{META_COUNTERS, META_STATE},
    rows::{Counters, State},
};

impl Partition {
    /// The partition's recorded state; `None` if it has none.
    pub async fn state(&self) -> Result<Option<State>, Error> {
        Self::state_of(&*self.store).await
    }

    /// Reads the recorded state of a key space that is not open as a partition.
    pub async fn state_of(store: &dyn store::KeySpace) -> Result<Option<State>, Error> {
        let row = state_row(store).await?;
        row.map(|row| State::decode(&row)).transpose().map_err(errors::from_damaged)
    }

    /// Whether an earlier build wrote the index: it must be [upgraded](Self::upgrade) before use.
    pub async fn has_older_index(&self) -> Result<bool, Error> {
        Ok(state_row(&*self.store).await?.is_some_and(|row| State::is_older(&row)))
    }

    /// Initializes a new partition at this LSN. It stays unfinished until the catalog names it.
    pub async fn begin(&self, last_lsn: u64) -> Result<(), Error> {
        let counters = Counters { last_lsn, ..Counters::default() };
        let mut batch = Batch::default();
        batch.put(META_STATE, State::Creating.encode());
        batch.put(META_COUNTERS, counters.encode());
        self.submit(batch, Durability::Durable).await?;
        self.sequencer().counters = counters;
        self.published_lsn.store(last_lsn, Ordering::Release);
        Ok(())
    }

    /// Records the partition's state. Not a transaction: no LSN, no feed entry.
    pub async fn set_state(&self, state: State) -> Result<(), Error> {
        let mut batch = Batch::default();
        batch.put(META_STATE, state.encode());
        self.submit(batch, Durability::Durable).await
    }
}

async fn state_row(store: &dyn store::KeySpace) -> Result<Option<Bytes>, Error> {
    let keys = [Bytes::from_static(META_STATE)];
    let rows = store.snapshot().get_many(&keys).await.map_err(errors::from_store)?;
    Ok(rows.into_iter().next().flatten())
}
