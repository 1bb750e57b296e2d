//! Automatic splits: a partition is full, or its collection has more throughput than its partitions
//! can provide.

use std::{sync::Arc, time::Duration};

use catalog::{Catalog, Collection, throughput};
use partition::Partition;
use protocol::rid::CollectionRid;
use query::{rounds::Rounds, served::Served};

use partition::disk::DiskLevel;

use crate::{
    Inner,
    reshape::{self, Turn, cut, switch},
};

/// How often to look for partitions to split.
const ROUND: Duration = Duration::from_secs(1);

/// Splits partitions that need it until the database closes.
pub(crate) async fn look_after(engine: Arc<Inner>) {
    clear_logs(&engine).await;
    let (mut last, mut rounds) = (None, Rounds::default());
    loop {
        // No view may be held during a split: it would keep the old partitions.
        let next = engine.is_due(&mut rounds).then(|| next(&engine, last)).flatten();
        let is_done = match next {
            Some(due) => {
                rounds.again();
                last = Some(due.rid);
                split(&engine, due).await
            }
            None => false,
        };
        if !is_done {
            tokio::select! {
                () = tokio::time::sleep(ROUND) => {}
                () = engine.reshaping.wanted.notified() => rounds.again(),
                () = engine.closing() => return,
            }
        }
    }
}

/// Removes the logs that interrupted splits have left in the old partitions.
async fn clear_logs(engine: &Arc<Inner>) {
    for collection in engine.view().collections() {
        for partition in &collection.partitions {
            if let Err(error) = partition.clear_log().await {
                tracing::warn!(%error, partition.name, "cannot remove the log of a split");
            }
        }
    }
}

/// Why a partition should be split.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Size,
    Throughput,
}

/// A partition that should be split.
struct Due {
    rid: CollectionRid,
    partition: Arc<Partition>,
    reason: Reason,
}

/// The number of partitions that the throughput of a collection needs.
pub(crate) fn partitions_needed(engine: &Inner, catalog: &Catalog, collection: &Collection) -> u32 {
    let offer = catalog.offers.of(&collection.rid.to_string());
    let is_partitioned = !collection.definition.partition_key.is_system;
    throughput::partition_count(
        engine.options.partition_throughput,
        offer.map(|offer| &offer.throughput),
        is_partitioned,
    )
}

/// The next partition that should be split and can be, because its collection is not being
/// reshaped. The collection that was `last` comes last, so that a split that fails repeatedly does
/// not hold up others.
fn next(engine: &Inner, last: Option<CollectionRid>) -> Option<Due> {
    // A split needs room for a second copy of the partition.
    if engine.options.disk.level() != DiskLevel::Ample {
        return None;
    }
    let view = engine.view();
    let busy = engine.reshaping.busy().clone();
    let mut round =
        behind(view.collections(), last, |it| it.rid).filter(|it| !busy.contains(&it.rid));
    round.find_map(|collection| due(engine, &view.catalog, collection))
}

/// All items in a rotated order: first those after `last`, then the others.
fn behind<T, K: Ord + Copy>(
    all: impl Iterator<Item = T> + Clone,
    last: Option<K>,
    key: impl Fn(&T) -> K + Copy,
) -> impl Iterator<Item = T> {
    let is_behind = move |one: &T| Some(key(one)) > last;
    all.clone().filter(is_behind).chain(all.filter(move |one| !is_behind(one)))
}

/// The partition of a collection that should be split next.
fn due(engine: &Inner, catalog: &Catalog, collection: &Served) -> Option<Due> {
    if collection.definition.partition_key.is_system {
        return None;
    }
    let size = |partition: &Arc<Partition>| {
        let counters = partition.counters();
        counters.bytes + counters.index_bytes
    };
    let sizes = collection.partitions.iter().map(|partition| (size(partition), partition));
    let splittable = sizes.filter(|(size, partition)| partition.is_worth_splitting(*size));
    let (size, largest) =
        splittable.max_by_key(|(size, partition)| (*size, partition.range.slots.len()))?;
    let reason = if size >= engine.options.sizes.partition {
        Reason::Size
    } else if collection.ranges.len() < partitions_needed(engine, catalog, collection) as usize {
        Reason::Throughput
    } else {
        return None;
    };
    Some(Due { rid: collection.rid, partition: Arc::clone(largest), reason })
}

/// Splits a partition; returns whether it did.
async fn split(engine: &Arc<Inner>, due: Due) -> bool {
    let Due { rid, partition, reason } = due;
    let Ok(turn) = Turn::take(engine, rid) else { return false };
    let counters = partition.counters();
    let middle = match switch::find(&engine.view(), rid).cloned() {
        Ok(collection) if collection.is_served_by(&partition) => {
            cut::middle(&collection, &partition).await
        }
        // It was split or deleted meanwhile.
        _ => return false,
    };
    let cut = match middle {
        // Throughput is also for future keys, so halve the slots.
        Ok(None) if reason == Reason::Throughput => cut::halves(&partition.range.slots),
        Ok(cut) => cut,
        Err(error) => {
            tracing::warn!(%error, partition.name, "a partition could not be split");
            return false;
        }
    };
    let Some(cut) = cut else {
        partition.note_unsplittable(counters.bytes + counters.index_bytes);
        let name = &partition.name;
        tracing::warn!(name, "a partition is full and cannot be split: it contains only one key");
        return false;
    };
    let name = partition.name.clone();
    match reshape::run(engine, turn, vec![partition], &[cut], None).await {
        Ok(_) => true,
        Err(error) => {
            if !engine.is_closed() {
                tracing::warn!(%error, name, "a partition could not be split");
            }
            false
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_split_that_fails_again_and_again_lets_the_others_go_first() {
        let round = |last| behind([1, 3, 5].into_iter(), last, |it| *it).collect::<Vec<_>>();
        assert_eq!(round(None), [1, 3, 5]);
        assert_eq!(round(Some(1)), [3, 5, 1]);
        // The last one may be gone by then.
        assert_eq!(round(Some(2)), [3, 5, 1]);
        assert_eq!(round(Some(5)), [1, 3, 5]);
    }
}
