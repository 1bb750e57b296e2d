//! The Rust SDK, `azure_data_cosmos`, against a running Sheaf.
//!
//! `run` starts the server and sets `SHEAF_ENDPOINT`. The suite is run twice:
//! with item bodies in Cosmos binary JSON, the SDK's default, and in text.

mod items;
mod partitions;
mod patch;
mod query;
mod query_index;
mod query_paging;
mod query_scope;
mod resource_queries;
mod resources;
mod server;
mod support;
mod things;
mod transport;
