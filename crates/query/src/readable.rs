//! The interface for reading a partition, whether it is open here or in another process.
//!
//! Queries, feeds, the change feed and statistics access partitions through [`Readable`] only. A
//! request for one partition is carried out by its owner: see [`route`](crate::route).

use std::sync::Arc;

use catalog::range::Range;
use partition::{
    Partition, budget::Budget, creations::Creations, position::Position, rows::Counters,
};
use protocol::{BoxFuture, Error, PartitionPoint};
use store::Snapshot;

/// A partition's rows at one moment.
pub struct PartitionView {
    /// Its rows.
    pub snapshot: Arc<dyn Snapshot>,
    /// The rows include at least this LSN.
    pub lsn: u64,
    /// Counters read after the snapshot: they count everything in it.
    pub counters: Counters,
}

/// A partition that can be read.
pub trait Readable: Send + Sync {
    /// The catalog's entry of the partition.
    fn range(&self) -> &Arc<Range>;

    /// The request units that readers may spend there.
    fn budget(&self) -> &Arc<Budget>;

    /// A snapshot of its current rows.
    fn view(&self) -> BoxFuture<'_, Result<PartitionView, Error>>;

    /// How far back its history of all versions reaches. Call it after taking the snapshot: rows
    /// that are swept later are in the snapshot.
    fn history_from(&self) -> BoxFuture<'_, Result<Position, Error>>;

    /// The cache of the order in which its documents were created.
    fn creations(&self) -> &Creations;

    /// The LSN that readers can see, for statistics. For a remote partition, the last one its owner
    /// reported.
    fn lsn(&self) -> u64;

    /// Its size, for statistics and estimates. For a remote partition, the last one its owner
    /// reported.
    fn counters(&self) -> Counters;

    /// The partition itself, if it is open here: it caches what makes reading cheaper. Only the
    /// cost of an answer may depend on it.
    fn here(&self) -> Option<&Partition>;

    /// Its entry in a session token.
    fn point(&self, lsn: u64) -> PartitionPoint {
        PartitionPoint { range_id: self.range().id, lsn }
    }
}

impl Readable for Partition {
    fn range(&self) -> &Arc<Range> {
        &self.range
    }

    fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    fn view(&self) -> BoxFuture<'_, Result<PartitionView, Error>> {
        Box::pin(async {
            let (snapshot, lsn) = self.read()?;
            Ok(PartitionView { snapshot, lsn, counters: self.counters() })
        })
    }

    fn history_from(&self) -> BoxFuture<'_, Result<Position, Error>> {
        Box::pin(async { Ok(self.history_from()) })
    }

    fn lsn(&self) -> u64 {
        self.lsn()
    }

    fn creations(&self) -> &Creations {
        &self.creations
    }

    fn counters(&self) -> Counters {
        self.counters()
    }

    fn here(&self) -> Option<&Partition> {
        Some(self)
    }
}
