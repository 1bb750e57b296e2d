//! The engine through its one entry, on the memory store and on the one that keeps its promises.

mod collections;
mod concurrency;
mod consistency;
mod documents;
mod durability;
mod feeds;
mod gated;
mod hierarchical_splits;
mod migration;
mod migration_races;
mod offers;
mod patching;
mod queries;
mod query_limits;
mod query_properties;
mod random;
mod reindexing;
mod split_crashes;
mod split_pages;
mod splitting;
mod storage_limits;
mod support;
mod throttling;
mod throttling_details;
mod told;
mod usage;
