//! Whether a partition has documents that its index leaves out.

use std::sync::atomic::Ordering;

use super::Partition;

/// What is known of documents that the index leaves out. Most partitions have none, and their
/// queries need not look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum Unindexed {
    /// Nobody has looked yet.
    Unknown,
    /// There were none, and none were written since.
    None,
    /// Some were written.
    Some,
}

impl Partition {
    /// Notes that a document which the index leaves out is about to be written.
    pub fn note_unindexed(&self) {
        self.unindexed.store(Unindexed::Some as u8, Ordering::SeqCst);
    }

    /// Whether there is surely no document that the index leaves out.
    pub fn is_all_indexed(&self) -> bool {
        self.unindexed.load(Ordering::SeqCst) == Unindexed::None as u8
    }

    /// Notes that a reader found no such document; one that is being written counts for more.
    pub fn note_all_indexed(&self) {
        let (unknown, none) = (Unindexed::Unknown as u8, Unindexed::None as u8);
        let _ = self.unindexed.compare_exchange(unknown, none, Ordering::SeqCst, Ordering::SeqCst);
    }
}
