//! The catalog's own key space: opens it at start and commits changes to it.

use std::{
    ops::Bound,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    time::Duration,
};

use bytes::Bytes;
use catalog::{
    Catalog,
    storage::{self, CATALOG, CATALOG_FORMAT, Loaded},
};
use partition::errors;
use protocol::Error;
use store::{Batch, Direction, Durability, PageLimit};
use tokio::sync::{Mutex, oneshot};

use crate::OpenError;

/// The catalog's epoch at start. It rises with every failed batch while the process lives.
const FIRST_EPOCH: u64 = 0;

/// How long to wait before a failed batch is retried.
const RETRY_MIN: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// The catalog on disk.
pub(crate) struct CatalogStore {
    store: Arc<dyn store::Store>,
    tenure: Mutex<Tenure>,
    /// Whether the database is closing: failed batches are no longer retried.
    is_closing: AtomicBool,
}

/// The catalog's key space, open under one epoch.
struct Tenure {
    key_space: Arc<dyn store::KeySpace>,
    epoch: u64,
    /// A batch failed: batches queued after it fail, too.
    is_over: bool,
    /// A newer owner has the catalog: this process must never write it again.
    is_fenced: bool,
}

impl CatalogStore {
    async fn claim(store: &Arc<dyn store::Store>) -> Result<Self, OpenError> {
        let key_space = store.open(CATALOG, FIRST_EPOCH).await?;
        let tenure = Tenure { key_space, epoch: FIRST_EPOCH, is_over: false, is_fenced: false };
        let (store, is_closing) = (Arc::clone(store), AtomicBool::new(false));
        Ok(Self { store, is_closing, tenure: Mutex::new(tenure) })
    }

    /// Opens the catalog; `seed` numbers the resources of a new one. Opens no partition.
    pub(crate) async fn open(
        store: &Arc<dyn store::Store>,
        seed: u32,
    ) -> Result<(Self, Loaded), OpenError> {
        let this = Self::claim(store).await?;
        let rows = this.all_rows().await?;
        if !rows.is_empty() {
            return Ok((this, load(&rows)?));
        }
        let catalog = Catalog::new(seed);
        let mut batch = Batch::default();
        storage::put_new(&mut batch, &catalog);
        this.commit(batch).await.map_err(|_| OpenError::Unwritable)?;
        let (dropped, orphans) = (Vec::new(), Vec::new());
        Ok((this, Loaded { catalog, dropped, orphans, format: CATALOG_FORMAT }))
    }

    /// Reads a catalog without changing anything; an empty directory has an empty catalog.
    pub(crate) async fn inspect(store: &Arc<dyn store::Store>) -> Result<Loaded, OpenError> {
        if !store.key_spaces().await?.iter().any(|name| name == CATALOG) {
            return Ok(Loaded::new(&[], CATALOG_FORMAT)?);
        }
        load(&Self::claim(store).await?.all_rows().await?)
    }

    async fn all_rows(&self) -> Result<Vec<(Bytes, Bytes)>, OpenError> {
        let snapshot = self.tenure.lock().await.key_space.snapshot();
        let limit = PageLimit { entries: 10_000, bytes: 64 << 20 };
        let mut rows = Vec::new();
        let mut from = Bound::Unbounded;
        loop {
            let page = snapshot.scan((from, Bound::Unbounded), Direction::Forward, limit).await?;
            rows.extend(page.entries);
            match rows.last() {
                Some((key, _)) if page.has_more => from = Bound::Excluded(key.clone()),
                _ => return Ok(rows),
            }
        }
    }

    /// Removes rows whose parent no longer exists.
    pub(crate) async fn drop_orphans(&self, orphans: Vec<Bytes>) -> Result<(), OpenError> {
        if orphans.is_empty() {
            return Ok(());
        }
        tracing::info!(count = orphans.len(), "dropping rows of deleted collections and databases");
        let mut batch = Batch::default();
        for key in orphans {
            batch.delete(key);
        }
        self.commit(batch).await.map_err(|_| OpenError::Unwritable)
    }

    /// Rewrites the collections in this build's format if an older build wrote them. From then on
    /// older builds are refused: they would not maintain the index or the history.
    pub(crate) async fn upgrade(&self, catalog: &Catalog, format: u8) -> Result<(), OpenError> {
        if format >= CATALOG_FORMAT {
            return Ok(());
        }
        let mut batch = Batch::default();
        for collection in catalog.databases.values().flat_map(|db| db.collections.values()) {
            storage::put_collection(&mut batch, collection);
        }
        storage::put_format(&mut batch);
        self.commit(batch).await.map_err(|_| OpenError::Unwritable)
    }

    /// Commits a catalog change durably. A batch that failed temporarily is repeated under a higher
    /// epoch until it succeeds or fails for good: it writes the same rows each time and nobody else
    /// writes them, so its outcome is always known in the end. That can take as long as the store
    /// is unavailable.
    pub(crate) async fn commit(&self, batch: Batch) -> Result<(), Error> {
        let mut tenure = self.tenure.lock().await;
        if tenure.is_fenced {
            return Err(errors::not_here());
        }
        let mut pause = RETRY_MIN;
        let mut is_first = true;
        loop {
            let error = match self.attempt(&mut tenure, &batch).await {
                Ok(()) => return Ok(()),
                Err(error) => error,
            };
            tenure.is_over = true;
            tenure.is_fenced |= matches!(error, store::Error::Fenced);
            let may_pass = matches!(error, store::Error::Unavailable(_));
            if !may_pass || self.store.failure().is_some() || self.is_closing() {
                // An earlier attempt may have been carried out.
                let last = errors::from_commit(error);
                return Err(if is_first && !may_pass { last } else { errors::unknown() });
            }
            is_first = false;
            tracing::warn!(%error, "a change of the catalog is tried again");
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(RETRY_MAX);
        }
    }

    /// Lets the committer give up a batch that cannot be settled now.
    pub(crate) fn close(&self) {
        self.is_closing.store(true, Ordering::Release);
    }

    fn is_closing(&self) -> bool {
        self.is_closing.load(Ordering::Acquire)
    }

    async fn attempt(&self, tenure: &mut Tenure, batch: &Batch) -> store::Result<()> {
        if tenure.is_over {
            // A failed attempt may still have claimed its epoch.
            tenure.epoch += 1;
            tenure.key_space = self.store.open(CATALOG, tenure.epoch).await?;
            tenure.is_over = false;
        }
        let (sender, receiver) = oneshot::channel();
        let done = Box::new(move |result| drop(sender.send(result)));
        tenure.key_space.submit(batch.clone(), Durability::Durable, done);
        let lost = |_| Err(store::Error::Unavailable("the store gave no answer".to_owned()));
        receiver.await.unwrap_or_else(lost)
    }

    /// Removes key spaces from the list of those to drop.
    pub(crate) async fn forget_dropped(&self, names: &[String]) -> Result<(), Error> {
        let mut batch = Batch::default();
        for name in names {
            storage::forget_dropped(&mut batch, name);
        }
        self.commit(batch).await
    }
}

/// Decodes all rows, if this build knows their format.
fn load(rows: &[(Bytes, Bytes)]) -> Result<Loaded, OpenError> {
    let (found, supported) = (storage::format(rows)?, CATALOG_FORMAT);
    if found > supported {
        return Err(OpenError::Newer { found, supported });
    }
    Ok(Loaded::new(rows, found)?)
}
