//! A partition as the catalog sees it: which part of the hash space it holds, and who serves it.

use std::ops;

use protocol::rid::CollectionRid;

use crate::{area::Area, numbers::SharedSlot};

/// How many ancestors a range remembers. Sessions and clients that know none of them must refresh.
pub const PARENTS_MAX: usize = 64;

/// The group that holds every range of an embedded database.
pub(crate) const LOCAL_GROUP: &str = "local";

/// A part of a collection's hash space. Plain data that does not know whether or where the
/// partition is open.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Range {
    /// The id of the partition key range, as clients know it; never reused in the collection.
    pub id: u32,
    /// The slots it holds, of which the first and last may be partial.
    pub slots: ops::Range<u32>,
    /// The exact area that it holds.
    pub area: Area,
    /// The ranges that its documents were in before, oldest first.
    pub parents: Vec<u32>,
    /// The sequences it may give in slots that it shares with others.
    pub shared: Vec<SharedSlot>,
    /// Its group of partitions. A group has one owner at a time.
    pub group: String,
}

impl Range {
    /// Creates a range in the local group.
    pub fn new(id: u32, area: Area, parents: Vec<u32>) -> Self {
        let group = LOCAL_GROUP.to_owned();
        Self { id, slots: area.slots(), area, parents, shared: Vec::new(), group }
    }

    /// The name of its key space in the store.
    pub fn key_space(&self, collection: CollectionRid) -> String {
        key_space(collection, self.id)
    }
}

/// The name of a range's key space.
pub fn key_space(collection: CollectionRid, range_id: u32) -> String {
    format!("p-{:08x}-{:08x}-{range_id}", collection.database.0, collection.number)
}
