//! Switches from old partitions to new ones, in one catalog change.

use std::{
    sync::{Arc, atomic::Ordering},
    time::Instant,
};

use catalog::{Catalog, Collection, numbers::SharedSlot, range::Range, storage};
use partition::{
    Partition,
    position::Position,
    rows::{Counters, Times},
};
use protocol::{Code, Error, rid::CollectionRid};
use query::{
    changes::retention,
    served::{Served, View},
};
use store::Batch;

use crate::{
    Inner,
    control::{AsyncPlan, Change},
    reshape::{
        replay::{Child, Parent, catch_up},
        sides::Keys,
    },
};

/// Old ranges that a collection remembers.
const PAST_MAX: usize = 1000;

/// The old partitions and the new ones that replace them, nearly up to date.
pub(crate) struct Switch {
    pub(crate) rid: CollectionRid,
    pub(crate) keys: Keys,
    pub(crate) parents: Vec<Parent>,
    pub(crate) children: Vec<Child>,
}

/// The collection as it is served now, if it still is.
pub(crate) fn find(view: &View, rid: CollectionRid) -> Result<&Arc<Served>, Error> {
    view.by_rid(rid).ok_or_else(Error::owner_not_found)
}

/// Remembers ranges that no longer exist, for clients that still ask for them.
pub(crate) fn remember(collection: &mut Collection, old: &[Arc<Range>]) {
    collection.past.extend(old.iter().map(|it| (it.id, it.area.clone())));
    let forgotten = collection.past.len().saturating_sub(PAST_MAX);
    collection.past.drain(..forgotten);
}

impl AsyncPlan<(Vec<Arc<Partition>>, Instant)> for Switch {
    async fn run(
        mut self,
        engine: &Arc<Inner>,
        mut catalog: Catalog,
    ) -> Result<Change<(Vec<Arc<Partition>>, Instant)>, Error> {
        let view = engine.view();
        let served = find(&view, self.rid)?;
        let mut collection = Collection::clone(served);
        let is_same = |parent: &Parent| served.is_served_by(&parent.partition);
        if !self.parents.iter().all(is_same) {
            return Err(Error::not_found());
        }
        let started = Instant::now();
        let is_kept = retention(engine, served).is_some();
        let result = self.level(served, is_kept).await;
        if let Err(error) = result {
            for parent in &self.parents {
                parent.partition.cancel_move();
            }
            engine.moved.notify_waiters();
            return Err(error);
        }
        let old: Vec<_> = self.parents.into_iter().map(|parent| parent.partition).collect();
        let new: Vec<_> = self.children.into_iter().map(|child| child.partition).collect();
        let place = served.ranges.iter().position(|it| it.id == old[0].range.id);
        let place = place.ok_or_else(Error::not_found)?;
        if !covers(&new, &collection.ranges[place..place + old.len()]) {
            return Err(Error::new(Code::Internal, "New partitions do not cover the old ones."));
        }
        let ranges = new.iter().map(|partition| Arc::clone(&partition.range));
        let old: Vec<_> = collection.ranges.splice(place..place + old.len(), ranges).collect();
        let ids = new.iter().map(|partition| partition.range.id + 1);
        collection.next_range_id = ids.max().unwrap_or(collection.next_range_id);
        collection.map_version += 1;
        remember(&mut collection, &old);
        let mut batch = Batch::default();
        storage::put_collection(&mut batch, &collection);
        storage::put_dropped(&mut batch, self.rid, &old);
        if let Some(database) = catalog.database_mut(self.rid.database) {
            database.insert_collection(collection.into());
        }
        let answer = (new.clone(), started);
        Ok(Change { created: new, ..Change::new(batch, catalog, answer) })
    }
}

/// Whether a partition serves its collection now.
pub(super) fn serves(view: &View, rid: CollectionRid, partition: &Arc<Partition>) -> bool {
    view.by_rid(rid).is_some_and(|served| served.is_served_by(partition))
}

/// Whether new partitions are adjacent and cover exactly the old ranges.
fn covers(new: &[Arc<Partition>], old: &[Arc<Range>]) -> bool {
    let (Some(first), Some(last)) = (new.first(), new.last()) else { return false };
    let (Some(from), Some(to)) = (old.first(), old.last()) else { return false };
    let has_no_gap = new.windows(2).all(|pair| pair[0].range.area.end == pair[1].range.area.start);
    has_no_gap && first.range.area.start == from.area.start && last.range.area.end == to.area.end
}

impl Switch {
    /// How far back the history of a new partition reaches: for each part, as far as that of the
    /// old partition that held it.
    fn history(&self, partition: &Partition, is_kept: bool) -> Option<Position> {
        if !is_kept && !self.parents.iter().any(|parent| parent.partition.has_history()) {
            return None;
        }
        let mut history = Position::at(0);
        for parent in &self.parents {
            let old = &parent.partition;
            for (area, lsn) in
                old.history_from().within(&old.range.area.common(&partition.range.area))
            {
                history.set(&area, lsn);
            }
        }
        Some(history)
    }

    /// Stops the old partitions and replays the rest of their logs into the new ones.
    async fn level(&mut self, collection: &Served, is_kept: bool) -> Result<(), Error> {
        let mut last = Counters::default();
        let mut times = Vec::new();
        for parent in &self.parents {
            let counters = parent.partition.begin_move().await?;
            last.last_lsn = last.last_lsn.max(counters.last_lsn);
            last.next_sequence = last.next_sequence.max(counters.next_sequence);
            times.push(counters.times);
        }
        if self.parents.len() > 1 {
            // The next write here must be newer than every entry of both feeds.
            last.last_lsn += 1;
        }
        last.times = Times::merged(&times, last.last_lsn);
        catch_up(&self.keys, &mut self.parents, &mut self.children).await?;
        for Child { partition, counters } in &self.children {
            let Counters { mut next_sequence, last_lsn, times, .. } = last;
            // A partition that shares a slot may hold numbers that this one may now allocate.
            for other in &collection.partitions {
                let is_shared = |shared: &SharedSlot| other.range.slots.contains(&shared.slot);
                if partition.range.shared.iter().any(is_shared) {
                    next_sequence = next_sequence.max(other.next_sequence());
                }
            }
            let history = self.history(partition, is_kept);
            let counted = Counters { next_sequence, last_lsn, times, ..*counters };
            partition.fill(counted, history).await?;
            partition.require_generation(collection.index_generation);
            let total = if collection.is_transforming() { counters.documents } else { 0 };
            partition.transformation.total.store(total, Ordering::Relaxed);
        }
        Ok(())
    }
}
