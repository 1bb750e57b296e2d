//! Upgrades the index of a partition that an earlier build wrote, before the partition is used: one
//! pass over its index rows replaces each by a row in the current encoding.
//!
//! Earlier rows begin with other bytes, and the state row names the new format only in the end. So
//! after a crash the next start continues with the rows that are left. First every path gets its
//! current id; then the rows are replaced, each page in one batch; then the earlier ids are removed.

use std::{collections::HashSet, ops::Bound, sync::Arc};

use bytes::Bytes;
use index::{
    Kind, Path, key,
    older::{self, OlderKey},
};
use protocol::Error;
use store::{Batch, Direction, PageLimit};

use crate::{
    Partition, errors,
    keys::{self, NAME},
    names,
    room::Permit,
    rows::Damaged,
    terms::{UNINDEXED_ID, row_bytes},
};

/// Rows replaced at a time.
const PAGE: PageLimit = PageLimit { entries: 1024, bytes: 1 << 20 };

/// Length of the key of an `N` row of an earlier build.
const OLDER_NAME: usize = 9;

/// The hash of the document root: documents that were left out of the index were listed there.
const OLDER_UNINDEXED: u64 = 0xcbf2_9ce4_8422_2325;

impl Partition {
    /// Brings the index to this build's format, if an earlier build wrote it.
    pub async fn upgrade(self: &Arc<Self>) -> Result<(), Error> {
        if !self.has_older_index().await? {
            return Ok(());
        }
        let Some(state) = self.state().await? else { return Ok(()) };
        tracing::info!(partition = self.name, "upgrading the index to the format of this build");
        let mut pages = Pages::of(NAME);
        while let Some(page) = pages.next(self).await? {
            let older = page.iter().filter(|(key, _)| key.len() == OLDER_NAME);
            let paths: Result<Vec<Path>, Error> = older.map(|(_, row)| path(row)).collect();
            self.names.give(self, &paths?, true).await?;
        }
        self.drain().await?;
        let mut rows = 0;
        let mut ids = Ids { partition: self, last: None };
        for prefix in older::PREFIXES {
            let mut pages = Pages::of(prefix);
            while let Some(page) = pages.next(self).await? {
                rows += page.len();
                self.replace(page, &mut ids).await?;
            }
        }
        let mut pages = Pages::of(NAME);
        while let Some(page) = pages.next(self).await? {
            let mut batch = Batch::default();
            for (key, _) in page.into_iter().filter(|(key, _)| key.len() == OLDER_NAME) {
                batch.delete(key);
            }
            self.commit(batch, (0, 0)).await?;
        }
        // Durable together with everything queued before.
        self.set_state(state).await?;
        tracing::info!(partition = self.name, rows, "the index is upgraded");
        Ok(())
    }

    /// Replaces rows of an earlier build by those of this one.
    async fn replace(
        self: &Arc<Self>,
        page: Vec<(Bytes, Bytes)>,
        ids: &mut Ids<'_>,
    ) -> Result<(), Error> {
        let mut batch = Batch::default();
        let (mut added, mut removed) = (0, 0);
        let mut doubtful = Vec::new();
        for (older_key, row) in page {
            let older = OlderKey::read(&older_key).ok_or_else(damaged)?;
            let id = ids.id(&older).await?;
            let (new_key, is_cut) = older.translated(id).map_err(|_| damaged())?;
            let new_key = Bytes::from(new_key);
            removed += row_bytes(&older_key, &row);
            added += row_bytes(&new_key, &row);
            if is_cut {
                doubtful.push((new_key.clone(), row_bytes(&new_key, &row)));
            }
            batch.delete(older_key);
            batch.put(new_key, row);
        }
        // Long strings of a document's array may have one term now.
        let wanted: Vec<Bytes> = doubtful.iter().map(|(key, _)| key.clone()).collect();
        let stored = self.store.snapshot().get_many(&wanted).await.map_err(errors::from_store)?;
        let mut seen = HashSet::new();
        for ((key, bytes), stored) in doubtful.iter().zip(stored) {
            if stored.is_some() || !seen.insert(key) {
                added -= bytes;
            }
        }
        self.commit(batch, (added, removed)).await
    }

    /// Queues a batch and waits until it is published.
    async fn commit(self: &Arc<Self>, batch: Batch, bytes: (u64, u64)) -> Result<(), Error> {
        // As long as it takes: nobody else uses the partition yet.
        while self.admit().await.is_err() {
            tracing::info!(partition = self.name, "the upgrade waits for the store");
        }
        let permit = Permit::for_upkeep(self, &batch).await?;
        let published = self.maintain(batch, Vec::new(), bytes, Some(permit))?;
        published.await.map_err(|_| errors::shut_down())?
    }
}

/// Translates hashes, which were ids. Rows come sorted by hash, so the last one is remembered.
struct Ids<'a> {
    partition: &'a Arc<Partition>,
    last: Option<(u64, u64)>,
}

impl Ids<'_> {
    async fn id(&mut self, older: &OlderKey<'_>) -> Result<u64, Error> {
        let hash = older.hash;
        match (older.kind, self.last) {
            // Of a hundred in one policy, two share it with a probability of one in 200 million.
            (Kind::Composite, _) => return Ok(key::id(hash)),
            (_, _) if hash == OLDER_UNINDEXED => return Ok(UNINDEXED_ID),
            (_, Some((last, id))) if last == hash => return Ok(id),
            _ => {}
        }
        let snapshot = self.partition.store.snapshot();
        let rows = snapshot.get_many(&[keys::older_name(hash)]).await;
        let row = rows.map_err(errors::from_store)?.into_iter().next().flatten();
        let path = path(&row.ok_or_else(damaged)?)?;
        let found = match self.partition.names.remembered(&path) {
            Some(id) => Some(id),
            None => names::find(&*snapshot, vec![path.clone()]).await?.remove(&path),
        };
        let id = found.ok_or_else(damaged)?;
        self.last = Some((hash, id));
        Ok(id)
    }
}

/// The rows that begin with one byte, a page at a time.
struct Pages {
    start: Bound<Bytes>,
    end: Bound<Bytes>,
    is_done: bool,
}

impl Pages {
    fn of(prefix: u8) -> Self {
        let bound = |byte: u8| Bytes::from(vec![byte]);
        let (start, end) = (Bound::Included(bound(prefix)), Bound::Excluded(bound(prefix + 1)));
        Self { start, end, is_done: false }
    }

    async fn next(&mut self, partition: &Partition) -> Result<Option<Vec<(Bytes, Bytes)>>, Error> {
        if self.is_done {
            return Ok(None);
        }
        let range = (self.start.clone(), self.end.clone());
        let page = partition.store.snapshot().scan(range, Direction::Forward, PAGE).await;
        let page = page.map_err(errors::from_store)?;
        self.is_done = !page.has_more;
        if let Some((key, _)) = page.entries.last() {
            self.start = Bound::Excluded(key.clone());
        }
        Ok((!page.entries.is_empty()).then_some(page.entries))
    }
}

fn path(row: &[u8]) -> Result<Path, Error> {
    names::decode(row).ok_or_else(|| errors::from_damaged(Damaged("N")))
}

fn damaged() -> Error {
    errors::from_damaged(Damaged("I"))
}
