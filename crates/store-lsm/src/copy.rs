//! Bulk-loads an empty partition without the journal.
//!
//! The source is sorted, so it can be written into tables directly. They become part of the
//! partition in one step at the end: after a crash the target has everything or nothing.
//!
//! fjall's table writer cannot move between threads, but a future may. So it gets its own thread
//! for the duration of the copy, and receives one page at a time.

use std::{
    ops::Bound,
    sync::{
        Arc,
        atomic::Ordering,
        mpsc::{Receiver, Sender, channel},
    },
};

use bytes::Bytes;
use store::{Direction, Error, Keep, PageLimit, Result, Snapshot};

use crate::{
    error::error_of,
    partition::LsmPartition,
    reply::{Reply, reply},
    shared::Shared,
};

/// How much of the source to read at a time.
const PAGE: PageLimit = PageLimit { entries: 4096, bytes: 1 << 20 };

/// The writing thread's next step. When there is none, it ends and discards what it wrote.
enum Step {
    Write(Vec<(Bytes, Bytes)>, Reply<()>),
    Finish(Reply<()>),
}

/// The exclusive right to bulk-load a partition: two copies into one partition would each find it
/// empty and then mix. Keeps the directory locked while tables are written.
pub(crate) struct Filling {
    partition: Arc<LsmPartition>,
    shared: Arc<Shared>,
}

impl Filling {
    /// Takes the right, unless another copy has it.
    pub(crate) fn start(partition: Arc<LsmPartition>, shared: Arc<Shared>) -> Result<Self> {
        if partition.is_filling.swap(true, Ordering::AcqRel) {
            let name = partition.keyspace.name();
            return Err(Error::Unavailable(format!("another copy fills partition `{name}`")));
        }
        Ok(Self { partition, shared })
    }
}

impl Drop for Filling {
    fn drop(&mut self) {
        self.partition.is_filling.store(false, Ordering::Release);
    }
}

/// Copies the entries that `keep` accepts. They become visible with the next publication.
///
/// The next copy into the partition must publish first: this one may have been cancelled after its
/// tables became part of the partition.
pub(crate) async fn copy(from: &dyn Snapshot, to: Filling, keep: &Keep) -> Result<()> {
    let anything = PageLimit { entries: 1, bytes: 0 };
    let range = (Bound::Unbounded, Bound::Unbounded);
    let present =
        to.shared.snapshot(&to.partition).scan(range, Direction::Forward, anything).await?;
    if !present.entries.is_empty() {
        let name = to.partition.keyspace.name();
        return Err(Error::Conflict(format!("partition `{name}` is not empty")));
    }
    let steps = start_writer(to)?;
    let mut start = Bound::Unbounded;
    loop {
        let page = from.scan((start, Bound::Unbounded), Direction::Forward, PAGE).await?;
        let next = page.entries.last().map(|(last, _)| Bound::Excluded(last.clone()));
        let kept = page.entries.into_iter().filter(|(key, value)| keep(key, value)).collect();
        ask(&steps, |reply| Step::Write(kept, reply)).await?;
        match next {
            Some(next) if page.has_more => start = next,
            _ => break,
        }
    }
    ask(&steps, Step::Finish).await
}

async fn ask(steps: &Sender<Step>, step: impl FnOnce(Reply<()>) -> Step) -> Result<()> {
    let (sender, receiver) = reply();
    // If the thread is gone, the reply is dropped with the step, which answers it.
    let _ = steps.send(step(sender));
    receiver.await
}

/// The thread keeps the partition reserved until it ends, even if nobody waits for it any more.
fn start_writer(to: Filling) -> Result<Sender<Step>> {
    let (sender, receiver) = channel();
    let builder = std::thread::Builder::new().name("copy".to_owned());
    let spawned = builder.spawn(move || write(to, &receiver));
    spawned.map_err(|error| Error::Io(error.to_string()))?;
    Ok(sender)
}

fn write(to: Filling, steps: &Receiver<Step>) {
    let keyspace = to.partition.keyspace.clone();
    let mut ingestion = keyspace.start_ingestion();
    while let Ok(step) = steps.recv() {
        match (step, ingestion) {
            (Step::Write(entries, reply), Ok(mut writer)) => {
                let mut entries = entries.into_iter();
                let written = entries.try_for_each(|(key, value)| writer.write(&*key, &*value));
                reply.send(written.map_err(error_of));
                ingestion = Ok(writer);
            }
            (Step::Finish(reply), Ok(writer)) => {
                let finished = writer.finish().map_err(error_of);
                drop(to);
                return reply.send(finished);
            }
            (Step::Write(_, reply) | Step::Finish(reply), Err(error)) => {
                return reply.send(Err(error_of(error)));
            }
        }
    }
}
