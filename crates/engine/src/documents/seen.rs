//! What a writer has read of what others had queued, and the wait until that is published.
//!
//! Under the lock of its key a writer decides on the newest rows, and these may not be durable yet.
//! Its own write is queued behind them: when that is published, they are. Any other answer (a
//! refusal, an error of a script, a success that changed nothing) would tell of them too early. So
//! the stage notes the highest ticket that it has read, and such an answer waits for it: after the
//! lock and the memory of the stage are given back, so that nobody waits for the one who waits. If
//! what was read comes to nothing, the answer is why.

use std::sync::{
    Arc, Mutex, PoisonError,
    atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use partition::{Partition, Refused, errors};
use protocol::{Code, Error};
use query::served::View;
use tokio::time::Instant;

use crate::documents::{Place, stage::Published};

/// The highest tickets that a writer has read.
#[derive(Default)]
pub(super) struct Seen {
    /// Of its own partition; zero if it has read nothing that is pending.
    own: AtomicU64,
    /// Of others.
    others: Mutex<Vec<(Arc<Partition>, u64)>>,
}

/// What an answer waits for before it is told.
pub(super) struct Unsettled {
    partition: Arc<Partition>,
    tickets: Vec<(Arc<Partition>, u64)>,
    /// When it stops waiting.
    until: Instant,
}

impl Unsettled {
    /// Waits until it is published; the LSN that readers can see then.
    pub(super) async fn lsn(self) -> Result<u64, Error> {
        settle(self.tickets, self.until).await?;
        Ok(self.partition.lsn())
    }
}

/// A refusal with the LSN that it was told at, if it tells one.
pub(super) fn at(mut error: Error, partition: &Partition, lsn: u64) -> Error {
    if !error.meta.partitions.is_empty() {
        error.meta.partitions = vec![partition.point(lsn)];
    }
    error
}

/// Waits until all these batches are published, but no longer than until then.
pub(super) async fn settle(
    tickets: Vec<(Arc<Partition>, u64)>,
    until: Instant,
) -> Result<(), Error> {
    for (partition, ticket) in tickets {
        partition.settled(ticket, until).await?;
    }
    Ok(())
}

/// All that is queued in any collection.
pub(super) fn everything(view: &View) -> Vec<(Arc<Partition>, u64)> {
    tickets(view.partitions())
}

/// The last tickets of some partitions.
fn tickets<'a>(partitions: impl Iterator<Item = &'a Arc<Partition>>) -> Vec<(Arc<Partition>, u64)> {
    partitions.map(|partition| (Arc::clone(partition), partition.last_ticket())).collect()
}

impl Place<'_> {
    /// The newest rows, published or not; notes what is not. Only for a writer that holds the
    /// key's lock.
    pub(super) async fn newest(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, Error> {
        let (rows, ticket) = self.partition.newest_and_ticket(keys).await?;
        self.seen.own.fetch_max(ticket, Ordering::Relaxed);
        Ok(rows)
    }

    /// Notes that a decision followed from the counters of the collection's partitions, which count
    /// what is queued.
    pub(super) fn note_counters(&self) {
        let mut others = self.seen.others.lock().unwrap_or_else(PoisonError::into_inner);
        *others = tickets(self.collection.partitions.iter());
    }

    /// What an answer must wait for that follows from what was read so far.
    pub(super) fn unsettled(&self) -> Unsettled {
        let others = self.seen.others.lock().unwrap_or_else(PoisonError::into_inner);
        let mut tickets = others.clone();
        let own = self.seen.own.load(Ordering::Relaxed);
        if own > 0 {
            tickets.push((Arc::clone(self.partition), own));
        }
        let until = Instant::now() + self.partition.patience;
        Unsettled { partition: Arc::clone(self.partition), tickets, until }
    }

    /// What was staged and queued, or else why not, with what it must wait for. Errors for which the
    /// writer begins anew are passed on: they tell nobody anything.
    pub(super) fn decided<T>(
        &self,
        staged: Result<(T, Published), Refused>,
    ) -> Result<(Result<T, Error>, Published), Refused> {
        match staged {
            Ok((done, published)) => Ok((Ok(done), published)),
            Err(Refused::Error(error)) if !errors::is_staged_again(error.code) => {
                Ok((Err(error), Published::Others(self.unsettled())))
            }
            Err(refused) => Err(refused),
        }
    }

    /// A refusal as it may be told: waits for what it follows from. Nothing may be held meanwhile. A
    /// write whose own outcome is unknown is no refusal, and must not be staged again.
    pub(super) async fn confirmed(&self, refused: Refused) -> Refused {
        match refused {
            Refused::Error(error)
                if !errors::is_staged_again(error.code) && error.code != Code::Unknown =>
            {
                let settled = self.unsettled().lsn().await;
                Refused::Error(
                    settled.map_or_else(|failure| failure, |lsn| at(error, self.partition, lsn)),
                )
            }
            refused => refused,
        }
    }
}
