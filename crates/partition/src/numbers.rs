//! Allocates numbers for new documents.

use std::sync::atomic::Ordering;

use catalog::numbers::SharedSlot;
use protocol::{Code, Error, rid::DocNum};

use crate::{
    Partition,
    keys::{SEQUENCE_MAX, docnum},
};

impl Partition {
    /// Allocates the number of a new document. A failed write leaves a harmless gap.
    pub fn allocate(&self, slot: u32) -> Result<DocNum, Error> {
        let next = &self.next_sequence;
        let sequence = match self.range.shared.iter().find(|shared| shared.slot == slot) {
            None => next.fetch_add(1, Ordering::Relaxed),
            Some(SharedSlot { class, .. }) => {
                let skipped = next.fetch_update(Ordering::Relaxed, Ordering::Relaxed, |next| {
                    Some(class.at_least(next) + 1)
                });
                let (Ok(next) | Err(next)) = skipped;
                class.at_least(next)
            }
        };
        if sequence > SEQUENCE_MAX {
            return Err(Error::new(
                Code::CollectionQuota,
                "the partition has no document numbers left",
            ));
        }
        Ok(docnum(slot, sequence))
    }
}
