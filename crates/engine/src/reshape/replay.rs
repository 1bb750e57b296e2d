//! Applies the logs of the old partitions to the new ones.

use std::{collections::HashMap, sync::Arc};

use bytes::Bytes;
use catalog::{area::Edge, range::Range};
use partition::{
    Partition, errors,
    keys::{self, Home},
    log::{self, Entry},
    rows::{Counters, Damaged},
};
use protocol::Error;
use store::{Batch, Change};

use crate::reshape::{contradictory_names, sides::Keys, unknown_row};

/// The copy is nearly up to date when at most so many rows were left: they take a few milliseconds.
const LEVEL: usize = 64;
/// Rounds after which the switch happens anyway: writers that are so fast must wait for the rest.
const ROUNDS_MAX: usize = 50;

/// An old partition, and the next row of its log to replay.
pub(crate) struct Parent {
    pub(crate) partition: Arc<Partition>,
    pub(crate) next: u64,
}

/// A new partition, and its counters so far.
pub(crate) struct Child {
    pub(crate) partition: Arc<Partition>,
    pub(crate) counters: Counters,
}

/// Replays the logs while they grow, until little is left.
pub(crate) async fn until_level(
    keys: &Keys,
    parents: &mut [Parent],
    children: &mut [Child],
) -> Result<(), Error> {
    for _ in 0..ROUNDS_MAX {
        if catch_up(keys, parents, children).await? <= LEVEL {
            break;
        }
    }
    Ok(())
}

/// Replays the current contents of the logs; returns the number of rows.
pub(crate) async fn catch_up(
    key_reader: &Keys,
    parents: &mut [Parent],
    children: &mut [Child],
) -> Result<usize, Error> {
    let mut rows = 0;
    for parent in parents {
        let (snapshot, _) = parent.partition.read()?;
        loop {
            let page = log::page(&*snapshot, parent.next).await.map_err(errors::from_store)?;
            let Some((last, _)) = page.last() else { break };
            parent.next = keys::u64_at(last, 1).unwrap_or(parent.next) + 1;
            rows += page.len();
            let entries: Result<Vec<Entry>, _> =
                page.iter().map(|(_, row)| log::decode(row)).collect();
            apply(key_reader, entries.map_err(errors::from_damaged)?, children).await?;
        }
    }
    Ok(rows)
}

/// Applies each row to the partition that holds its slot, or its part of the slot.
async fn apply(
    key_reader: &Keys,
    entries: Vec<Entry>,
    children: &mut [Child],
) -> Result<(), Error> {
    let mut batches: Vec<Batch> = children.iter().map(|_| Batch::default()).collect();
    let mut names = Vec::new();
    for Entry { counted, changes } in entries {
        // A batch concerns documents of one logical key, or none.
        let holder = holder(key_reader, &changes, children)?;
        let mut counted = Some(counted);
        for change in changes {
            match keys::home(&change.key) {
                Some(Home::Slot(_)) => {
                    if let Some(index) = holder {
                        batches[index].changes.push(change);
                        if let Some(counted) = counted.take() {
                            counted.add_to(&mut children[index].counters);
                        }
                    }
                }
                Some(Home::Everywhere) => {
                    names.push(change.clone());
                    for batch in &mut batches {
                        batch.changes.push(change.clone());
                    }
                }
                Some(Home::Nowhere) => {}
                None => return Err(unknown_row()),
            }
        }
    }
    check_names(children, &names).await?;
    for (child, batch) in children.iter().zip(batches) {
        if !batch.changes.is_empty() {
            child.partition.follow(batch).await?;
        }
    }
    Ok(())
}

/// Refuses ids that another of the old partitions gave to other paths.
async fn check_names(children: &[Child], names: &[Change]) -> Result<(), Error> {
    if names.is_empty() {
        return Ok(());
    }
    let mut given: HashMap<&Bytes, &Option<Bytes>> = HashMap::new();
    for Change { key, value } in names {
        if given.insert(key, value).is_some_and(|earlier| earlier != value) {
            return Err(contradictory_names());
        }
    }
    let keys: Vec<Bytes> = names.iter().map(|name| name.key.clone()).collect();
    for child in children {
        let (snapshot, _) = child.partition.read()?;
        let rows = snapshot.get_many(&keys).await.map_err(errors::from_store)?;
        let mut pairs = names.iter().zip(rows);
        if pairs.any(|(name, row)| row.is_some() && row != name.value) {
            return Err(contradictory_names());
        }
    }
    Ok(())
}

/// The partition that holds the documents of these changes.
fn holder(
    key_reader: &Keys,
    changes: &[Change],
    children: &[Child],
) -> Result<Option<usize>, Error> {
    let slot = changes.iter().find_map(|change| match keys::home(&change.key) {
        Some(Home::Slot(slot)) => Some(slot),
        _ => None,
    });
    let Some(slot) = slot else { return Ok(None) };
    let is_whole = |child: &Child| {
        let Range { slots, area, .. } = &*child.partition.range;
        slots.contains(&slot) && !area.is_cut_inside(slot)
    };
    if let Some(index) = children.iter().position(is_whole) {
        return Ok(Some(index));
    }
    let epk = key_reader.epk_of_changes(changes);
    let edge = Edge { slot, inside: Some(epk.ok_or_else(|| errors::from_damaged(Damaged("S")))?) };
    Ok(children.iter().position(|child| child.partition.range.area.contains(&edge)))
}
