//! Whether there is room for a document: in its logical partition, and in its collection.
//!
//! A logical partition is measured exactly, since its writers take turns. A collection is measured
//! by what its partitions have sequenced: writers of different keys that come at the same moment
//! can pass its limit by what may be staged at a time, a few megabytes.

use protocol::{Code, Error};

use crate::{
    Inner,
    documents::Place,
    limits::{Sizes, size},
    partition::Partition,
    rows::KeyCounters,
};

/// Refuses a document of `new` bytes, in the place of one of `old` bytes, if it does not fit. The same
/// transaction has added `staged` bytes already, which the key's counters know and no others.
/// Whoever takes no more room than before is always let in: that is the way out of a full place.
pub(super) fn check(
    engine: &Inner,
    place: &Place<'_>,
    key: KeyCounters,
    staged: u64,
    old: u64,
    new: u64,
) -> Result<(), Error> {
    let growth = new.saturating_sub(old);
    if growth == 0 {
        return Ok(());
    }
    let Sizes { logical_partition, .. } = engine.options.sizes;
    let has_key = !place.collection.definition.partition_key.is_system;
    if let Some(limit) = engine.options.sizes.of_collection(has_key) {
        let used: u64 = place.collection.partitions.iter().map(|it| used(it)).sum();
        if used.saturating_add(staged).saturating_add(growth) > limit {
            return Err(collection_full(limit));
        }
    }
    // Without a key, the collection's limit is the only one.
    if has_key && key.bytes.saturating_add(growth) > logical_partition {
        return Err(key_full(logical_partition));
    }
    Ok(())
}

fn used(partition: &Partition) -> u64 {
    let counters = partition.counters();
    counters.bytes.saturating_add(counters.index_bytes)
}

/// The service's words.
fn key_full(limit: u64) -> Error {
    let limit = size(limit);
    Error::new(
        Code::PartitionKeyQuota,
        format!(
            "Partition key reached maximum size of {limit}. Learn more: \
             https://aka.ms/CosmosDB/sql/errors/full-pk"
        ),
    )
}

fn collection_full(limit: u64) -> Error {
    let limit = size(limit);
    Error::new(
        Code::CollectionQuota,
        format!(
            "The storage quota of the collection has been exceeded: it may hold {limit}. Delete \
             documents, or use a collection with a partition key and more room."
        ),
    )
}
