//! The engine through its one entry, on the memory store and on the one that keeps its promises.

mod collections;
mod concurrency;
mod documents;
mod durability;
mod feeds;
mod migration;
mod offers;
mod queries;
mod query_limits;
mod query_properties;
mod random;
mod reindexing;
mod split_pages;
mod splitting;
mod support;
mod told;
