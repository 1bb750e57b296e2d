//! What the catalog says of a partition.

use std::ops::Range;

use crate::{area::Area, partition::numbers::SharedSlot};

/// Ancestors that a partition remembers. Sessions and clients that know none of them refresh.
pub(crate) const PARENTS_MAX: usize = 64;

/// A partition as the catalog knows it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RangeRow {
    pub(crate) id: u32,
    pub(crate) area: Area,
    /// The ranges that its documents were in before, oldest first.
    pub(crate) parents: Vec<u32>,
    /// The sequences it gives in slots that it shares with others.
    pub(crate) shared: Vec<SharedSlot>,
}

impl RangeRow {
    /// A range of whole slots.
    pub(crate) fn new(id: u32, slots: Range<u32>, parents: Vec<u32>) -> Self {
        Self { id, area: Area::of_slots(slots), parents, shared: Vec::new() }
    }
}
