//! The operator's view of the engine: health and figures, as plain data of `protocol`.

use protocol::operator::{Operator, PartitionStatistics, Reshapes};

use crate::Engine;

impl Operator for Engine {
    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }

    fn partitions(&self) -> Vec<PartitionStatistics> {
        self.statistics()
    }

    fn reshapes(&self) -> Reshapes {
        Self::reshapes(self)
    }

    fn disk_free_bytes(&self) -> u64 {
        self.inner.options.disk.free_bytes()
    }
}
