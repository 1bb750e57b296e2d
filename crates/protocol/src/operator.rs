//! The operator's interface to a database: health and statistics.
//!
//! [`Service`](crate::Service) serves clients; [`Operator`] serves health checks, metrics and
//! `sheaf top`. The server holds both as trait objects, so neither depends on whether there is a
//! single node or a cluster.

use std::time::Duration;

use value::partition_key::PartitionKey;

/// A database as its operator sees it. Every method answers immediately, from memory.
pub trait Operator: Send + Sync {
    /// Why writes have stopped, if a storage failure stopped them.
    fn failure(&self) -> Option<String>;

    /// Statistics of every partition.
    fn partitions(&self) -> Vec<PartitionStatistics>;

    /// How often partitions were split and merged since the start.
    fn reshapes(&self) -> Reshapes;

    /// Free bytes on the disk that holds the data; zero if the data is in memory.
    fn disk_free_bytes(&self) -> u64;
}

/// Statistics of one partition.
#[derive(Clone, Debug, PartialEq)]
pub struct PartitionStatistics {
    /// The database's name.
    pub database: String,
    /// The collection's name.
    pub collection: String,
    /// The partition's range id.
    pub range_id: u32,
    /// Number of documents.
    pub documents: u64,
    /// Bytes of the documents' text.
    pub bytes: u64,
    /// Bytes of the index.
    pub index_bytes: u64,
    /// The last published LSN.
    pub lsn: u64,
    /// Writes waiting for the store.
    pub queued: usize,
    /// Whether the partition is full but holds only one key, so that it cannot be split.
    pub is_unsplittable: bool,
    /// Request units spent in the last whole second.
    pub used_per_second: f64,
    /// Request units per second reserved for the partition, or for its whole database if it shares
    /// throughput.
    pub reserved_per_second: f64,
    /// Requests that the partition served.
    pub admitted: u64,
    /// Requests refused because the partition's request units were spent.
    pub throttled: u64,
    /// The logical keys that spend most, hottest first.
    pub hottest: Vec<HotKey>,
}

/// A logical key, and how much is spent on it.
#[derive(Clone, Debug, PartialEq)]
pub struct HotKey {
    /// The key.
    pub key: PartitionKey,
    /// Request units per second over the last seconds.
    pub units_per_second: f64,
}

/// Splits and merges since the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Reshapes {
    /// Partitions that were split in two.
    pub splits: u64,
    /// Pairs of partitions that were merged into one.
    pub merges: u64,
    /// The longest time that a split or merge stopped writes.
    pub longest_pause: Duration,
}
