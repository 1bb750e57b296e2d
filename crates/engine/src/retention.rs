//! Sweeps expired entries of the change history.
//!
//! It runs in the background, some rows at a time, without a charge.

use std::{sync::Arc, time::Duration};

use partition::Partition;
use protocol::rid::CollectionRid;
use query::{changes::retention, rounds::Rounds, served::Served};

use crate::Inner;

/// How often to look for expired entries.
const ROUND: Duration = Duration::from_secs(1);

/// Sweeps all partitions until the database closes.
pub(crate) async fn look_after(engine: Arc<Inner>) {
    let (mut rounds, mut known) = (Rounds::default(), Vec::new());
    loop {
        if engine.is_due(&mut rounds) {
            known = engine.view().with_history();
        }
        let mut has_more = false;
        // Takes one step per partition, then checks again: the policy may have changed meanwhile.
        for (partition, before) in due(&engine, &known) {
            has_more |= sweep(&engine, partition, before).await;
        }
        let pause = if has_more { Duration::ZERO } else { ROUND };
        tokio::select! {
            () = tokio::time::sleep(pause) => {}
            () = engine.closing() => return,
        }
    }
}

/// The partitions that have a history, and the second before which entries may be removed.
fn due(engine: &Inner, known: &[CollectionRid]) -> Vec<(Arc<Partition>, u64)> {
    let (view, now) = (engine.view(), engine.clock.now_seconds());
    let of = |collection: &Arc<Served>| {
        // If the policy was removed, nothing is kept.
        let kept = retention(engine, collection);
        let before = kept.map_or(u64::MAX, |kept| now.saturating_sub(kept.as_secs()));
        let partitions = collection.partitions.iter().filter(|it| it.has_history());
        partitions.map(|it| (Arc::clone(it), before)).collect::<Vec<_>>()
    };
    known.iter().filter_map(|rid| view.by_rid(*rid)).flat_map(of).collect()
}

/// Removes some rows; returns whether there may be more.
async fn sweep(engine: &Inner, partition: Arc<Partition>, before: u64) -> bool {
    if engine.is_closed() {
        return false;
    }
    tokio::task::yield_now().await;
    partition.sweep_history(before).await.unwrap_or_else(|error| {
        // A partition that was split or dropped no longer needs this.
        tracing::debug!(%error, partition.name, "cannot remove old history");
        false
    })
}
