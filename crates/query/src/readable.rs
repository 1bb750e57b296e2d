//! One partition, as whoever reads several of them sees it: open here, or with another process.
//!
//! Queries, feeds, the change feed and figures reach partitions through [`Readable`] only. A request
//! about one partition is carried out by its owner: see [`route`](crate::route).

use std::sync::Arc;

use catalog::range::Range;
use partition::{
    Partition, budget::Budget, creations::Creations, position::Position, rows::Counters,
};
use protocol::{BoxFuture, Error, PartitionPoint};
use store::Snapshot;

/// What a reader holds of a partition.
pub struct PartitionView {
    /// Its rows.
    pub snapshot: Arc<dyn Snapshot>,
    /// The LSN that the rows hold at least.
    pub lsn: u64,
    /// Counters that were read behind the snapshot: it holds nothing that they do not count.
    pub counters: Counters,
}

/// A partition that can be read.
pub trait Readable: Send + Sync {
    /// What the catalog says of it.
    fn range(&self) -> &Arc<Range>;

    /// What readers may spend there.
    fn budget(&self) -> &Arc<Budget>;

    /// Its rows as they are now.
    fn view(&self) -> BoxFuture<'_, Result<PartitionView, Error>>;

    /// How far back its history of all versions reaches. Ask once the rows are held: what is swept
    /// after that is in them.
    fn history_from(&self) -> BoxFuture<'_, Result<Position, Error>>;

    /// What is remembered of the order in which its documents were created.
    fn creations(&self) -> &Creations;

    /// The LSN that readers can see, for figures. If it is elsewhere, as its owner said last.
    fn lsn(&self) -> u64;

    /// How much it holds, for figures and estimates. If it is elsewhere, as its owner said last.
    fn counters(&self) -> Counters;

    /// The partition itself, if it is open here: it remembers what makes reading cheaper. Nothing
    /// but the cost of an answer may depend on it.
    fn here(&self) -> Option<&Partition>;

    /// Its place in a session token.
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
