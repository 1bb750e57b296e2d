//! What the database tells of itself, for metrics and for people.

use std::{sync::PoisonError, time::Duration};

use value::partition_key::PartitionKey;

use crate::{Engine, keys::LogicalKey, partition::Partition};

/// Figures of one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionStatistics {
    /// The database's name.
    pub database: String,
    /// The collection's name.
    pub collection: String,
    /// The partition's range id.
    pub range_id: u32,
    /// Documents in it.
    pub documents: u64,
    /// Bytes of their text.
    pub bytes: u64,
    /// Bytes of its index.
    pub index_bytes: u64,
    /// Its last published LSN.
    pub lsn: u64,
    /// Writes waiting for the store.
    pub queued: usize,
    /// Whether it is full and has nowhere to cut: it holds one key.
    pub is_unsplittable: bool,
    /// Request units spent in the last whole second.
    pub used_per_second: f64,
    /// Request units per second reserved for it, or for the whole database if it shares them.
    pub reserved_per_second: f64,
    /// Requests that it served.
    pub admitted: u64,
    /// Requests that it refused because its request units were spent.
    pub throttled: u64,
    /// The logical keys that spend most, the hottest first.
    pub hottest: Vec<HotKey>,
}

/// A logical key, and what is spent on it.
#[derive(Clone, Debug, PartialEq)]
pub struct HotKey {
    /// The key.
    pub key: PartitionKey,
    /// Request units per second, of late.
    pub units_per_second: f64,
}

/// Hot keys that are told of each partition.
const HOTTEST_MAX: usize = 5;

/// Splits and merges since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reshapes {
    /// Partitions that were cut in two.
    pub splits: u64,
    /// Pairs of partitions that became one.
    pub merges: u64,
    /// The longest time that writes stood still for one of them.
    pub longest_pause: Duration,
}

impl Engine {
    /// How often partitions were split and merged since the start.
    pub fn reshapes(&self) -> Reshapes {
        *self.inner.reshapes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Figures of every partition.
    pub fn statistics(&self) -> Vec<PartitionStatistics> {
        let view = self.inner.view();
        let (now, now_s) = (self.inner.clock.now_millis(), self.inner.now_s());
        view.collections()
            .flat_map(|collection| {
                collection.partitions.iter().map(|partition| {
                    let counters = partition.counters();
                    let spent = partition.budget.spent(now_s);
                    PartitionStatistics {
                        database: collection.database_id.clone(),
                        collection: collection.definition.id.clone(),
                        range_id: partition.range.id,
                        documents: counters.documents,
                        bytes: counters.bytes,
                        index_bytes: counters.index_bytes,
                        lsn: partition.lsn(),
                        queued: partition.queued(),
                        is_unsplittable: partition.is_unsplittable(),
                        used_per_second: spent.last_second,
                        reserved_per_second: spent.reserved,
                        admitted: spent.admitted,
                        throttled: spent.throttled,
                        hottest: hottest(partition, now),
                    }
                })
            })
            .collect()
    }
}

fn hottest(partition: &Partition, now: i64) -> Vec<HotKey> {
    let keys = partition.hot.top(HOTTEST_MAX, now).into_iter();
    let known = keys.filter_map(|(key, units_per_second)| {
        Some(HotKey { key: LogicalKey::decode(&key)?, units_per_second })
    });
    known.collect()
}
