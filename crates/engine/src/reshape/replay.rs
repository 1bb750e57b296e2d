//! Following the logs of the old partitions in the new ones.

use std::sync::Arc;

use protocol::Error;
use store::Batch;

use crate::{
    errors,
    keys::{self, Home},
    partition::{
        Partition,
        log::{self, Entry},
    },
    rows::Counters,
};

/// The copy is nearly level when so few rows were left: they take a few milliseconds.
const LEVEL: usize = 64;
/// Rounds after which the switch is made anyway: writers who are that fast wait for the rest.
const ROUNDS_MAX: usize = 50;

/// An old partition, and the row of its log that comes next.
pub(crate) struct Parent {
    pub(crate) partition: Arc<Partition>,
    pub(crate) next: u64,
}

/// A new partition, and what it holds so far.
pub(crate) struct Child {
    pub(crate) partition: Arc<Partition>,
    pub(crate) counters: Counters,
}

/// Replays the logs while they grow, until little is left.
pub(crate) async fn until_level(
    parents: &mut [Parent],
    children: &mut [Child],
) -> Result<(), Error> {
    for _ in 0..ROUNDS_MAX {
        if catch_up(parents, children).await? <= LEVEL {
            break;
        }
    }
    Ok(())
}

/// Replays what is in the logs now; gives the number of rows.
pub(crate) async fn catch_up(
    parents: &mut [Parent],
    children: &mut [Child],
) -> Result<usize, Error> {
    let mut rows = 0;
    for parent in parents {
        let (snapshot, _) = parent.partition.read();
        loop {
            let page = log::page(&*snapshot, parent.next).await.map_err(errors::from_store)?;
            let Some((last, _)) = page.last() else { break };
            parent.next = keys::u64_at(last, 1).unwrap_or(parent.next) + 1;
            rows += page.len();
            let entries: Result<Vec<Entry>, _> =
                page.iter().map(|(_, row)| log::decode(row)).collect();
            apply(entries.map_err(errors::from_damaged)?, children).await?;
        }
    }
    Ok(rows)
}

/// Gives each row to the partition that holds its slot.
async fn apply(entries: Vec<Entry>, children: &mut [Child]) -> Result<(), Error> {
    let mut batches: Vec<Batch> = children.iter().map(|_| Batch::default()).collect();
    for Entry { counted, changes } in entries {
        // A batch is about documents of one logical key, or about none.
        let mut counted = Some(counted);
        for change in changes {
            match keys::home(&change.key) {
                Some(Home::Slot(slot)) => {
                    let holds = |child: &Child| child.partition.slots.contains(&slot);
                    if let Some(index) = children.iter().position(holds) {
                        batches[index].changes.push(change);
                        if let Some(counted) = counted.take() {
                            counted.add_to(&mut children[index].counters);
                        }
                    }
                }
                Some(Home::Everywhere) => {
                    for batch in &mut batches {
                        batch.changes.push(change.clone());
                    }
                }
                Some(Home::Nowhere) | None => {}
            }
        }
    }
    for (child, batch) in children.iter().zip(batches) {
        if !batch.changes.is_empty() {
            child.partition.follow(batch).await?;
        }
    }
    Ok(())
}
