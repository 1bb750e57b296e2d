//! Reopens partitions whose tenure ended with a failed write.
//!
//! Opening under a higher epoch settles every batch of the previous tenure: it is stored by then,
//! or never will be. So the new tenure reads its counters once and continues from there. Writers
//! that met the end of the old tenure stage their writes again on the new one. Writes that were
//! queued when the tenure ended were answered with an unknown outcome.

use std::{
    collections::HashSet,
    sync::{Arc, atomic::Ordering},
    time::Duration,
};

use partition::{Partition, tenure::End};
use protocol::{Code, Error, rid::CollectionRid};
use tokio::task::JoinSet;

use crate::Inner;

/// How long to wait before retrying a partition that could not be opened.
const RETRY_MIN: Duration = Duration::from_millis(20);
const RETRY_MAX: Duration = Duration::from_secs(1);

/// How often to look for ended partitions without a notification.
const ROUND: Duration = Duration::from_secs(5);

/// Partitions that are opened at the same time.
const CONCURRENT_OPENS: usize = 16;

/// Reopens partitions until the database closes.
pub(crate) async fn look_after(engine: Arc<Inner>) {
    let mut under_way: JoinSet<usize> = JoinSet::new();
    let mut opening: HashSet<usize> = HashSet::new();
    loop {
        tokio::select! {
            () = engine.closing() => return,
            () = engine.surroundings.bell.notified() => {}
            Some(done) = under_way.join_next() => {
                match done {
                    Ok(identity) => drop(opening.remove(&identity)),
                    // The task that panicked cannot be told from the others, so retry all
                    // partitions.
                    Err(_) => opening.clear(),
                }
            }
            () = tokio::time::sleep(ROUND) => {}
        }
        for (rid, partition) in ended(&engine) {
            if under_way.len() >= CONCURRENT_OPENS {
                break;
            }
            let identity = Arc::as_ptr(&partition).addr();
            if opening.insert(identity) {
                let engine = Arc::clone(&engine);
                under_way.spawn(async move {
                    reopen(engine, rid, partition).await;
                    identity
                });
            }
        }
    }
}

/// The partitions that can be reopened.
fn ended(engine: &Inner) -> Vec<(CollectionRid, Arc<Partition>)> {
    let view = engine.view();
    let ended = view.collections().flat_map(|collection| {
        let is_ended = |partition: &&Arc<Partition>| partition.end() == Some(End::Unsettled);
        let rid = collection.rid;
        collection.partitions.iter().filter(is_ended).map(move |it| (rid, Arc::clone(it)))
    });
    ended.collect()
}

/// Retries opening a partition until it succeeds or cannot succeed any more.
async fn reopen(engine: Arc<Inner>, rid: CollectionRid, old: Arc<Partition>) {
    let (mut epoch, mut pause) = (old.epoch, RETRY_MIN);
    loop {
        // A failed attempt may still have claimed its epoch.
        epoch += 1;
        match attempt(&engine, rid, &old, epoch).await {
            Ok(()) => return,
            Err(error) if error.code == Code::NotHere => return old.end_with(End::Fenced),
            // Unreadable data will not become readable later.
            Err(error) if error.code == Code::Internal || engine.store.failure().is_some() => {
                tracing::error!(%error, partition = old.name, "the partition cannot be opened again");
                return old.end_with(End::Broken);
            }
            Err(error) => {
                tracing::warn!(%error, partition = old.name, "the partition is not open again yet");
            }
        }
        tokio::select! {
            () = engine.closing() => return,
            () = tokio::time::sleep(pause) => {}
        }
        pause = (pause * 2).min(RETRY_MAX);
    }
}

/// Opens the key space of a partition under another epoch, and replaces the old partition by the
/// new one.
async fn attempt(
    engine: &Arc<Inner>,
    rid: CollectionRid,
    old: &Arc<Partition>,
    epoch: u64,
) -> Result<(), Error> {
    let (store, range) = (&*engine.store, Arc::clone(&old.range));
    let surroundings = &engine.surroundings;
    let mut opened = Partition::open(store, surroundings, old.name.clone(), range, epoch).await?;
    // Writes that are staged again were charged on the old one.
    opened.budget = Arc::clone(&old.budget);
    let opened = Arc::new(opened);
    let _turn = engine.control.lock().await;
    let view = engine.view();
    let Some(served) = view.by_rid(rid).filter(|served| served.is_served_by(old)) else {
        // It was deleted, split or replaced meanwhile. If its key space was dropped, opening has
        // made an empty one in its place.
        if !view.names(&old.name) {
            engine.give_back(vec![old.name.clone()]).await;
        }
        return Ok(());
    };
    // It was stopped for good meanwhile: it may be deleted or split already.
    if old.end() == Some(End::Broken) {
        return Ok(());
    }
    opened.require_generation(served.index_generation);
    if served.is_transforming() {
        opened.transformation.total.store(opened.counters().documents, Ordering::Relaxed);
    }
    // The sum includes media of the failed writes.
    engine.media.forget();
    engine.publish(view.with_partition(served, &opened));
    engine.moved.notify_waiters();
    tracing::info!(partition = old.name, epoch, "the partition is open again");
    Ok(())
}
