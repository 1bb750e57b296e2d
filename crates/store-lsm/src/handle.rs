//! A partition as seen by its owner: the implementation of the store contract.

use std::sync::Arc;

use store::{Batch, Completion, Debt, Durability, KeySpace, Snapshot};

use crate::{partition::LsmPartition, queue::Entry, shared::Shared};

/// An owner's handle: the partition, and the epoch it writes in. The store stays open as long as
/// any handle exists.
pub(crate) struct Handle {
    pub(crate) shared: Arc<Shared>,
    pub(crate) partition: Arc<LsmPartition>,
    pub(crate) epoch: u64,
}

impl KeySpace for Handle {
    fn snapshot(&self) -> Arc<dyn Snapshot> {
        Arc::new(self.shared.snapshot(&self.partition))
    }

    fn submit(&self, batch: Batch, durability: Durability, done: Completion) {
        match batch.check() {
            Ok(()) => self.queue(batch, durability, done),
            Err(error) => done(Err(error)),
        }
    }

    /// An empty batch is committed in queue order and, if requested, makes everything before it
    /// durable.
    fn barrier(&self, durability: Durability, done: Completion) {
        self.queue(Batch::default(), durability, done);
    }

    fn debt(&self) -> Debt {
        self.partition.debt()
    }
}

impl Handle {
    fn queue(&self, batch: Batch, durability: Durability, done: Completion) {
        let (partition, epoch) = (Arc::clone(&self.partition), self.epoch);
        let size_bytes = batch.size_bytes();
        let entry = Entry { partition, epoch, batch, size_bytes, durability, done };
        self.shared.queue.push(entry);
    }
}
