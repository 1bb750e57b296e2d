//! Opens a database: the catalog, then the partitions that it names. Then it upgrades what an earlier
//! build wrote, and finishes or removes unfinished work that a crash left. Partitions that another process owns are not opened. Only the
//! catalog's owner cleans up: a key space that the catalog does not name yet may be one that
//! another process is filling.

use std::{collections::HashSet, ops::Bound, sync::Arc, time::Duration};

use catalog::{
    Catalog,
    range::Range,
    storage::{CATALOG, Loaded},
};
use partition::{Partition, Surroundings, rows::State};
use protocol::Error;
use query::{
    elsewhere::{Elsewhere, is_own_group},
    served::View,
};
use store::{Direction, PageLimit, Store};
use tokio::task::JoinSet;

use crate::{OpenError, catalog_store::CatalogStore};

/// Partitions that are opened at the same time.
const CONCURRENT_OPENS: usize = 16;

/// A database whose catalog and partitions are open.
pub(crate) struct Opened {
    pub(crate) storage: CatalogStore,
    pub(crate) view: View,
    /// The state that all partitions share.
    pub(crate) surroundings: Surroundings,
}

/// Opens a database, new or old; `seed` numbers the resources of a new one. Partitions of other
/// processes are reached through `elsewhere`. Answers wait for the store no longer than `patience`.
pub(crate) async fn open(
    store: &Arc<dyn Store>,
    seed: u32,
    elsewhere: Option<Arc<dyn Elsewhere>>,
    patience: Duration,
) -> Result<Opened, OpenError> {
    let (storage, loaded) = CatalogStore::open(store, seed).await?;
    let Loaded { catalog, dropped, orphans, format } = loaded;
    let surroundings = Surroundings { patience, ..Surroundings::new(&**store) };
    let partitions = partitions(store, &surroundings, &catalog, elsewhere.as_deref()).await?;
    // First the catalog, so that no earlier build opens a partition that is half upgraded.
    storage.upgrade(&catalog, format).await?;
    for partition in &partitions {
        partition.upgrade().await?;
        finish_creation(partition).await?;
    }
    for name in dropped {
        store.drop_key_space(&name).await?;
        storage.forget_dropped(&[name]).await.map_err(|_| OpenError::Unwritable)?;
    }
    storage.drop_orphans(orphans).await?;
    drop_unfinished(&**store, &catalog).await?;
    let view = View::among(elsewhere).next(catalog, &partitions)?;
    Ok(Opened { storage, view, surroundings })
}

/// Opens a database for inspection and changes nothing. Also returns the number of rows whose
/// parent no longer exists.
pub(crate) async fn inspect(store: &Arc<dyn Store>) -> Result<(View, usize), OpenError> {
    let Loaded { catalog, orphans, .. } = CatalogStore::inspect(store).await?;
    let surroundings = Surroundings::new(&**store);
    let partitions = partitions(store, &surroundings, &catalog, None).await?;
    for partition in &partitions {
        if partition.has_older_index().await? {
            return Err(OpenError::Older);
        }
    }
    Ok((View::default().next(catalog, &partitions)?, orphans.len()))
}

/// Opens every partition that the catalog names and this process owns, several at a time.
async fn partitions(
    store: &Arc<dyn Store>,
    surroundings: &Surroundings,
    catalog: &Catalog,
    elsewhere: Option<&dyn Elsewhere>,
) -> Result<Vec<Arc<Partition>>, OpenError> {
    let existing: HashSet<String> = store.key_spaces().await?.into_iter().collect();
    let mut opens: JoinSet<Result<Partition, Error>> = JoinSet::new();
    let mut partitions = Vec::new();
    for collection in catalog.databases.values().flat_map(|db| db.collections.values()) {
        let is_own = |range: &&Arc<Range>| is_own_group(elsewhere, &catalog.groups, &range.group);
        for range in collection.ranges.iter().filter(is_own) {
            let name = range.key_space(collection.rid);
            // Opening would create an empty key space.
            if !existing.contains(&name) {
                let collection = format!("{}/{}", collection.database_id, collection.definition.id);
                return Err(OpenError::Missing { name, collection });
            }
            let epoch = catalog.groups.get(&range.group).ok_or(OpenError::Damaged)?.epoch;
            let (store, range) = (Arc::clone(store), Arc::clone(range));
            let surroundings = surroundings.clone();
            if opens.len() >= CONCURRENT_OPENS {
                partitions.extend(next(&mut opens).await?);
            }
            opens.spawn(async move {
                Partition::open(&*store, &surroundings, name, range, epoch).await
            });
        }
    }
    while !opens.is_empty() {
        partitions.extend(next(&mut opens).await?);
    }
    Ok(partitions)
}

/// The next partition that has been opened.
async fn next(
    opens: &mut JoinSet<Result<Partition, Error>>,
) -> Result<Option<Arc<Partition>>, OpenError> {
    match opens.join_next().await {
        Some(Ok(partition)) => Ok(Some(partition?.into())),
        Some(Err(error)) => std::panic::resume_unwind(error.into_panic()),
        None => Ok(None),
    }
}

/// Marks a partition that the catalog names as open: a crash may have come between the catalog's
/// commit and this mark.
async fn finish_creation(partition: &Partition) -> Result<(), OpenError> {
    match partition.state().await? {
        Some(State::Open) => Ok(()),
        Some(_) => Ok(partition.set_state(State::Open).await?),
        None => Err(OpenError::Damaged),
    }
}

/// Drops the key spaces of creations and splits that never reached the catalog. Other key spaces
/// that the catalog does not name are left alone and reported.
async fn drop_unfinished(store: &dyn Store, catalog: &Catalog) -> Result<(), OpenError> {
    let mut known = HashSet::from([CATALOG.to_owned()]);
    for collection in catalog.databases.values().flat_map(|db| db.collections.values()) {
        known.extend(collection.ranges.iter().map(|range| range.key_space(collection.rid)));
    }
    for name in store.key_spaces().await? {
        if known.contains(&name) {
            continue;
        }
        let key_space = store.open(&name, 0).await?;
        // Either marked as unfinished, or without any mark yet.
        let is_unfinished = match Partition::state_of(&*key_space).await? {
            Some(state) => state != State::Open,
            None => is_empty(&*key_space).await?,
        };
        drop(key_space);
        if is_unfinished {
            tracing::info!(name, "dropping the key space of an unfinished create or split");
            store.drop_key_space(&name).await?;
        } else {
            tracing::warn!(name, "left a key space alone that belongs to no collection");
        }
    }
    Ok(())
}

async fn is_empty(key_space: &dyn store::KeySpace) -> Result<bool, OpenError> {
    let limit = PageLimit { entries: 1, bytes: 1 };
    let all = (Bound::Unbounded, Bound::Unbounded);
    let page = key_space.snapshot().scan(all, Direction::Forward, limit).await?;
    Ok(page.entries.is_empty())
}
