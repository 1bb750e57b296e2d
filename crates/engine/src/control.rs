//! Catalog changes: one at a time, each committed before anyone sees it.
//!
//! Each change runs in its own task, so that a disconnecting caller cannot make the stored catalog
//! differ from the one in memory.

use std::{sync::Arc, time::Duration};

use catalog::{Catalog, Collection, Version, area::Area, range::Range, storage};
use partition::{Partition, errors, rows::State, tenure::End};
use protocol::{Code, Error, limits::RESOURCES_MAX, rid::CollectionRid};
use query::served::Served;
use store::Batch;

use crate::Inner;

/// How long a client waits for a catalog change, including the changes queued before it.
const CHANGE_PATIENCE: Duration = Duration::from_mins(1);

/// The result of planning a change: the rows to commit, the new catalog and the answer.
pub(crate) struct Change<T> {
    pub(crate) batch: Batch,
    pub(crate) catalog: Catalog,
    pub(crate) answer: T,
    /// Partitions that serve from now on.
    pub(crate) created: Vec<Arc<Partition>>,
    /// Partitions whose key space is to be dropped.
    pub(crate) dropped: Vec<Arc<Partition>>,
    /// The collection whose indexing policy has changed, and the function that starts its
    /// re-indexing.
    pub(crate) reindexed: Option<(CollectionRid, StartReindexing)>,
}

impl<T> Change<T> {
    /// A change that neither creates, drops nor re-indexes collections.
    pub(crate) fn new(batch: Batch, catalog: Catalog, answer: T) -> Self {
        Self { batch, catalog, answer, created: Vec::new(), dropped: Vec::new(), reindexed: None }
    }
}

impl Inner {
    /// Runs a catalog change for a client. `plan` gets a copy of the current catalog to work on. A
    /// change that takes too long continues, and the client gets an error that says its outcome is
    /// unknown.
    pub(crate) async fn change<T: Send + 'static>(
        self: &Arc<Self>,
        plan: impl AsyncPlan<T>,
    ) -> Result<T, Error> {
        let change = self.change_to_end(plan);
        match tokio::time::timeout(CHANGE_PATIENCE, change).await {
            Ok(changed) => changed.map_err(|unchanged| unchanged.error),
            Err(_) => Err(errors::unknown()),
        }
    }

    /// Runs a catalog change to its end, without a timeout.
    pub(crate) async fn change_to_end<T: Send + 'static>(
        self: &Arc<Self>,
        plan: impl AsyncPlan<T>,
    ) -> Result<T, Unchanged> {
        let this = Arc::clone(self);
        let task = tokio::spawn(async move {
            let _turn = this.control.lock().await;
            let before = this.view();
            let catalog = Catalog::clone(&before.catalog);
            let mut change = plan.run(&this, catalog).await.map_err(Unchanged::surely)?;
            change.catalog.version += 1;
            storage::put_version(&mut change.batch, &change.catalog);
            let view = before.next(change.catalog, &change.created).map_err(Unchanged::surely);
            let committed = match view {
                Ok(view) => match this.storage.commit(change.batch).await {
                    Ok(()) => Ok(view),
                    Err(error) => {
                        Err(Unchanged { is_lost: error.code.leaves_write_unknown(), error })
                    }
                },
                Err(unchanged) => Err(unchanged),
            };
            let view = match committed {
                Ok(view) => view,
                Err(unchanged) => {
                    if unchanged.is_lost {
                        // They may be deleted already, so writes that they accept now could be
                        // lost.
                        change.dropped.iter().for_each(|partition| partition.end_with(End::Broken));
                    } else {
                        this.restart_partitions(&change.dropped);
                    }
                    return Err(unchanged);
                }
            };
            // No view of the old partitions may be held while their space is dropped.
            drop(before);
            let reindexed = change.reindexed.and_then(|(rid, start)| {
                let collection = Arc::clone(view.by_rid(rid)?);
                // All writers by the old policy must be out before anyone writes by the new one.
                for partition in &collection.partitions {
                    partition.require_generation(collection.index_generation);
                }
                Some((collection, start))
            });
            this.publish(view);
            this.moved.notify_waiters();
            if let Some((collection, start)) = &reindexed {
                start(&this, collection);
            }
            drop(reindexed);
            this.open_partitions(&change.created).await;
            this.drop_partitions(&change.dropped).await;
            Ok(change.answer)
        });
        task.await.unwrap_or_else(|_| {
            let error = Error::new(Code::Internal, "a catalog change failed");
            Err(Unchanged { error, is_lost: true })
        })
    }

    /// The version of a resource that is written now.
    pub(crate) fn new_version(&self) -> Version {
        let ts = self.clock.now_seconds();
        Version { etag: self.etags.next(ts), ts }
    }

    /// Creates the partitions of a new collection, marked as unfinished until the catalog names
    /// them. Their LSNs begin after `last_lsn`.
    pub(crate) async fn create_partitions(
        &self,
        collection: &mut Collection,
        count: u32,
        last_lsn: u64,
    ) -> Result<Vec<Arc<Partition>>, Error> {
        let mut partitions = Vec::new();
        for slots in even_ranges(count) {
            let area = Area::of_slots(slots);
            let range = Arc::new(Range::new(collection.next_range_id, area, Vec::new()));
            // An earlier failed attempt may have left a key space of this number.
            let left = self.store.drop_key_space(&range.key_space(collection.rid)).await;
            left.map_err(errors::from_store)?;
            let partition = self.open_partition(collection.rid, &range).await?;
            partition.begin(last_lsn + 1).await?;
            partitions.push(partition.into());
            collection.ranges.push(range);
            collection.next_range_id += 1;
        }
        Ok(partitions)
    }

    /// Opens the key space of a range, as the owner of its group.
    pub(crate) async fn open_partition(
        &self,
        collection: CollectionRid,
        range: &Arc<Range>,
    ) -> Result<Partition, Error> {
        let groups = Arc::clone(&self.catalog().groups);
        let group = groups.get(&range.group).ok_or_else(errors::not_here)?;
        let name = range.key_space(collection);
        Partition::open(&*self.store, &self.surroundings, name, Arc::clone(range), group.epoch)
            .await
    }

    /// Marks new partitions as serving, once the catalog names them.
    async fn open_partitions(&self, partitions: &[Arc<Partition>]) {
        for partition in partitions {
            if let Err(error) = partition.set_state(State::Open).await {
                // The next start sets the mark, because the catalog names the partition.
                tracing::warn!(%error, partition.name, "partition not marked as open");
            }
        }
    }

    /// Stops the writes of partitions that are being deleted, and notes their last LSNs. Nothing
    /// may fail between this and the commit.
    pub(crate) async fn stop_partitions(
        catalog: &mut Catalog,
        batch: &mut Batch,
        partitions: &[Arc<Partition>],
    ) {
        for partition in partitions {
            // A partition that cannot be stopped takes no writes already.
            let _ = partition.begin_move().await;
            catalog.last_lsn = catalog.last_lsn.max(partition.counters().last_lsn);
        }
        storage::put_last_lsn(batch, catalog);
    }

    /// Lets partitions continue if their deletion failed.
    fn restart_partitions(&self, partitions: &[Arc<Partition>]) {
        for partition in partitions {
            partition.cancel_move();
        }
        self.moved.notify_waiters();
    }

    /// Retires deleted partitions and drops their key spaces.
    async fn drop_partitions(&self, partitions: &[Arc<Partition>]) {
        for partition in partitions {
            partition.retire().await;
        }
        if !partitions.is_empty() {
            self.media.forget();
        }
        let names: Vec<_> = partitions.iter().map(|partition| partition.name.clone()).collect();
        self.give_back(names).await;
    }

    /// Drops key spaces that the catalog no longer names. A failure here costs space, not
    /// correctness: the catalog remembers what is to be dropped.
    pub(crate) async fn give_back(&self, key_spaces: Vec<String>) {
        let mut names = Vec::new();
        for name in key_spaces {
            match self.store.drop_key_space(&name).await {
                Ok(()) => names.push(name),
                Err(error) => tracing::warn!(%error, name, "space not reclaimed yet"),
            }
        }
        if names.is_empty() {
            return;
        }
        if let Err(error) = self.storage.forget_dropped(&names).await {
            tracing::warn!(%error, "dropped key spaces are still listed");
        }
    }
}

/// The error of a catalog change.
pub(crate) struct Unchanged {
    pub(crate) error: Error,
    /// Whether the outcome of the commit is unknown.
    pub(crate) is_lost: bool,
}

impl Unchanged {
    /// A failure before the commit. The catalog does not name anything the change prepared.
    fn surely(error: Error) -> Self {
        let error = if error.code == Code::Unknown { errors::not_now() } else { error };
        Self { error, is_lost: false }
    }
}

/// Starts re-indexing the documents of a collection for its new policy.
pub(crate) type StartReindexing = fn(&Arc<Inner>, &Arc<Served>);

/// A catalog change as a value that can be sent to its task.
pub(crate) trait AsyncPlan<T>: Send + 'static {
    /// Checks the change against the catalog and does the work that must precede the commit.
    fn run(
        self,
        engine: &Arc<Inner>,
        catalog: Catalog,
    ) -> impl Future<Output = Result<Change<T>, Error>> + Send;
}

/// Refuses another database or collection when the account is full.
pub(crate) fn check_resource_count(catalog: &Catalog) -> Result<(), Error> {
    if catalog.resource_count() >= RESOURCES_MAX {
        let message = format!(
            "The account may hold at most {RESOURCES_MAX} databases and collections together."
        );
        return Err(Error::new(Code::LimitReached, message));
    }
    Ok(())
}

/// `count` ranges of slots, as equal in size as possible.
pub(crate) fn even_ranges(count: u32) -> impl Iterator<Item = std::ops::Range<u32>> {
    let bound = move |index: u32| {
        let slot = u64::from(index) * u64::from(partition::keys::SLOT_COUNT) / u64::from(count);
        u32::try_from(slot).expect("at most the number of slots, 2^24")
    };
    (0..count).map(move |index| bound(index)..bound(index + 1))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranges_cover_the_slots_without_gaps() {
        for count in [1, 2, 3, 7, 100] {
            let ranges: Vec<_> = even_ranges(count).collect();
            assert_eq!(ranges[0].start, 0);
            assert_eq!(ranges[ranges.len() - 1].end, partition::keys::SLOT_COUNT);
            assert!(ranges.windows(2).all(|pair| pair[0].end == pair[1].start));
            assert!(ranges.iter().all(|range| !range.is_empty()));
        }
    }
}
