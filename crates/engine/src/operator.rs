//! The engine as its operator sees it: health and figures, as plain data of `protocol`.

use protocol::operator::{HotKey, Operator, PartitionStatistics, Reshapes};

use crate::{Engine, statistics};

impl Operator for Engine {
    fn failure(&self) -> Option<String> {
        Self::failure(self)
    }

    fn partitions(&self) -> Vec<PartitionStatistics> {
        self.statistics().into_iter().map(partition).collect()
    }

    fn reshapes(&self) -> Reshapes {
        let statistics::Reshapes { splits, merges, longest_pause } = Self::reshapes(self);
        Reshapes { splits, merges, longest_pause }
    }

    fn disk_free_bytes(&self) -> u64 {
        self.inner.options.disk.free_bytes()
    }
}

fn partition(figures: statistics::PartitionStatistics) -> PartitionStatistics {
    let hot = |statistics::HotKey { key, units_per_second }| HotKey { key, units_per_second };
    PartitionStatistics {
        database: figures.database,
        collection: figures.collection,
        range_id: figures.range_id,
        documents: figures.documents,
        bytes: figures.bytes,
        index_bytes: figures.index_bytes,
        lsn: figures.lsn,
        queued: figures.queued,
        is_unsplittable: figures.is_unsplittable,
        used_per_second: figures.used_per_second,
        reserved_per_second: figures.reserved_per_second,
        admitted: figures.admitted,
        throttled: figures.throttled,
        hottest: figures.hottest.into_iter().map(hot).collect(),
    }
}
