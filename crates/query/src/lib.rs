//! Reads a collection: determines which partitions a request concerns, and runs queries, feeds and
//! the change feed over them.
//!
//! [`served`] is a collection with the partitions that are open here, [`scope`] the part of it that
//! a request covers, [`execution`] a query from its text to a page of rows. [`reading`] is the
//! state of the process that all of them share, plans of recent queries among it.

pub mod changes;
pub mod clock;
pub mod consistency;
pub mod elsewhere;
pub mod execution;
pub mod expiry;
pub mod feeds;
mod held;
pub mod paging;
mod plans;
pub mod quota_lists;
pub mod readable;
pub mod reading;
pub mod rounds;
pub mod route;
pub mod scope;
pub mod served;
pub mod sessions;
mod sought;
pub mod together;
