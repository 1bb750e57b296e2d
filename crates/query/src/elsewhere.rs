//! Partitions that other processes own. An embedded database has none.

use std::sync::Arc;

use catalog::{groups::Groups, range::Range};
use protocol::{BoxFuture, Context, Error, Request, Response, rid::CollectionRid};

use crate::readable::Readable;

/// A partition, and the group that determines its owner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Target {
    /// The collection.
    pub collection: CollectionRid,
    /// The id of the range.
    pub range: u32,
    /// The name of the group.
    pub group: String,
}

/// The processes that share a catalog with this one.
pub trait Elsewhere: Send + Sync {
    /// The name of this process, as groups name their owners.
    fn own_name(&self) -> &str;

    /// A partition that another process owns, for reading from here.
    fn partition(&self, collection: CollectionRid, range: &Arc<Range>) -> Arc<dyn Readable>;

    /// Sends a request to the owner of a partition.
    fn call<'a>(
        &'a self,
        target: &'a Target,
        context: &'a Context,
        request: Request,
    ) -> BoxFuture<'a, Result<Response, Error>>;
}

/// Whether this process owns the partitions of a group.
pub fn is_own_group(elsewhere: Option<&dyn Elsewhere>, groups: &Groups, group: &str) -> bool {
    let is_owner =
        |it: &dyn Elsewhere| groups.get(group).is_some_and(|group| group.owner == it.own_name());
    elsewhere.is_none_or(is_owner)
}
