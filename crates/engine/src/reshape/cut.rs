//! Chooses where to cut a partition: at a slot boundary that leaves half of the bytes on each side.
//! It cuts inside a slot only if all documents are in one.

use std::{
    ops::{Bound, Range},
    sync::Arc,
};

use catalog::area::Edge;
use partition::{
    Partition, errors,
    keys::{META_KEY, slot_at, slot_rows},
    rows::KeyCounters,
};
use protocol::Error;
use query::served::Served;
use store::{Direction, PageLimit, Snapshot};

use crate::reshape::inside;

/// Counters of logical keys read at a time.
const PAGE: PageLimit = PageLimit { entries: 4096, bytes: 1 << 20 };
/// First counts the bytes of so many groups of slots, then of each slot in the group that has the
/// middle.
const GROUPS: u32 = 4096;

/// The edge at which the right half begins. `None` if all documents have one key, or if they share
/// one slot that cannot be cut inside.
pub(crate) async fn middle(
    collection: &Served,
    partition: &Arc<Partition>,
) -> Result<Option<Edge>, Error> {
    let (snapshot, _) = partition.read()?;
    let slots = partition.range.slots.clone();
    let width = (slots.end - slots.start).div_ceil(GROUPS).max(1);
    let mut groups = vec![0_u64; slots.len().div_ceil(width as usize)];
    each_slot(&*snapshot, slots.clone(), |slot, bytes| {
        groups[((slot - slots.start) / width) as usize] += bytes;
    })
    .await?;
    let total: u64 = groups.iter().sum();
    if total == 0 {
        return Ok(halves(&slots));
    }
    let mut left = 0;
    let mut group = 0_u32;
    for bytes in &groups {
        if left + bytes > total / 2 {
            break;
        }
        left += bytes;
        group += 1;
    }
    let start = slots.start + group * width;
    let mut cut = Cut { total, left, best: None };
    // The nearest boundary before the group, if there is anything before it.
    cut.offer(start);
    each_slot(&*snapshot, start..(start + width).min(slots.end), |slot, bytes| {
        cut.offer(slot);
        cut.left += bytes;
        cut.offer(slot + 1);
    })
    .await?;
    match cut.best {
        Some((_, slot)) => Ok(Some(Edge::slot(slot))),
        None => inside::middle(collection, partition, &*snapshot).await,
    }
}

/// The middle of the slots, whatever they contain.
pub(crate) fn halves(slots: &Range<u32>) -> Option<Edge> {
    (slots.len() > 1).then(|| Edge::slot(slots.start + (slots.end - slots.start) / 2))
}

/// The best boundary so far.
struct Cut {
    total: u64,
    /// Bytes before the boundary being considered.
    left: u64,
    best: Option<(u64, u32)>,
}

impl Cut {
    /// Considers a boundary, which must leave something on both sides.
    fn offer(&mut self, slot: u32) {
        if self.left == 0 || self.left >= self.total {
            return;
        }
        let distance = (2 * self.left).abs_diff(self.total);
        if self.best.is_none_or(|(best, _)| distance < best) {
            self.best = Some((distance, slot));
        }
    }
}

/// The bytes in each of these slots, in slot order.
async fn each_slot(
    snapshot: &dyn Snapshot,
    slots: Range<u32>,
    mut each: impl FnMut(u32, u64),
) -> Result<(), Error> {
    // Keys of one slot are adjacent, so one slot is summed at a time.
    let mut current: Option<(u32, u64)> = None;
    each_key(snapshot, slots, |key, bytes| {
        let Some(slot) = slot_at(key, META_KEY.len()) else { return };
        match &mut current {
            Some((same, sum)) if *same == slot => *sum += bytes,
            _ => {
                if let Some((slot, bytes)) = current.replace((slot, bytes)) {
                    each(slot, bytes);
                }
            }
        }
    })
    .await?;
    if let Some((slot, bytes)) = current {
        each(slot, bytes);
    }
    Ok(())
}

/// The bytes of each logical key in these slots, by the key of its counters.
pub(super) async fn each_key(
    snapshot: &dyn Snapshot,
    slots: Range<u32>,
    mut each: impl FnMut(&[u8], u64),
) -> Result<(), Error> {
    let Range { start, end } = slot_rows(META_KEY, slots);
    let (mut start, end) = (Bound::Included(start), Bound::Excluded(end));
    loop {
        let page = snapshot.scan((start, end.clone()), Direction::Forward, PAGE).await;
        let page = page.map_err(errors::from_store)?;
        for (key, row) in &page.entries {
            let counters = KeyCounters::decode(row).map_err(errors::from_damaged)?;
            // Counts each document in addition to its bytes, so that empty documents count, too.
            each(key, counters.bytes + counters.documents);
        }
        match page.entries.last() {
            Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
            _ => return Ok(()),
        }
        tokio::task::yield_now().await;
    }
}
