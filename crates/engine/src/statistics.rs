//! The database's statistics, for metrics and for people.

use partition::{Partition, keys::LogicalKey};
use protocol::operator::{HotKey, PartitionStatistics, Reshapes};

use crate::Engine;

/// Hot keys reported per partition.
const HOTTEST_MAX: usize = 5;

impl Engine {
    /// The number of splits and merges since the start.
    pub fn reshapes(&self) -> Reshapes {
        self.inner.reshaping.done()
    }

    /// Figures of every partition.
    pub fn statistics(&self) -> Vec<PartitionStatistics> {
        let view = self.inner.view();
        let (now, now_s) = (self.inner.clock.now_millis(), self.inner.now_s());
        view.collections()
            .flat_map(|collection| {
                collection.partitions.iter().map(|partition| {
                    let counters = partition.counters();
                    let spent = partition.budget.spent(now_s);
                    PartitionStatistics {
                        database: collection.database_id.clone(),
                        collection: collection.definition.id.clone(),
                        range_id: partition.range.id,
                        documents: counters.documents,
                        bytes: counters.bytes,
                        index_bytes: counters.index_bytes,
                        lsn: partition.lsn(),
                        queued: partition.queued(),
                        is_unsplittable: partition.is_unsplittable(),
                        used_per_second: spent.last_second,
                        reserved_per_second: spent.reserved,
                        admitted: spent.admitted,
                        throttled: spent.throttled,
                        hottest: hottest(partition, now),
                    }
                })
            })
            .collect()
    }
}

fn hottest(partition: &Partition, now: i64) -> Vec<HotKey> {
    let keys = partition.hot.top(HOTTEST_MAX, now).into_iter();
    let known = keys.filter_map(|(key, units_per_second)| {
        Some(HotKey { key: LogicalKey::decode(&key)?, units_per_second })
    });
    known.collect()
}
