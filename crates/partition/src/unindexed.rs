//! Tracks whether a partition has documents that its index leaves out.

use std::sync::atomic::Ordering;

use super::Partition;

/// What is known about documents that the index leaves out. Most partitions have none, so their
/// queries can skip the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Unindexed {
    /// Not checked yet.
    Unknown,
    /// There were none, and none have been written since.
    None,
    /// Some have been written.
    Some,
}

impl Partition {
    /// Records that a document the index leaves out is about to be written.
    pub fn note_unindexed(&self) {
        self.unindexed.store(Unindexed::Some as u8, Ordering::SeqCst);
    }

    /// Whether there is certainly no document that the index leaves out.
    pub fn is_all_indexed(&self) -> bool {
        self.unindexed.load(Ordering::SeqCst) == Unindexed::None as u8
    }

    /// Records that a reader found no such document, unless one has been written meanwhile.
    pub fn note_all_indexed(&self) {
        let (unknown, none) = (Unindexed::Unknown as u8, Unindexed::None as u8);
        let _ = self.unindexed.compare_exchange(unknown, none, Ordering::SeqCst, Ordering::SeqCst);
    }
}
