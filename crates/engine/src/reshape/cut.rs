//! Where to cut a partition: at the boundary of a slot, so that each side has half of the bytes. Only
//! if all is in one slot, inside of it.

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
/// The slots are counted in so many groups first, then one by one in the group that matters.
const GROUPS: u32 = 4096;

/// The edge that the right half begins with. `None` if all documents have one key, or share one slot
/// and only that.
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

/// The middle of the slots, whatever is in them.
pub(crate) fn halves(slots: &Range<u32>) -> Option<Edge> {
    (slots.len() > 1).then(|| Edge::slot(slots.start + (slots.end - slots.start) / 2))
}

/// The best boundary so far.
struct Cut {
    total: u64,
    /// Bytes before the boundary that is looked at.
    left: u64,
    best: Option<(u64, u32)>,
}

impl Cut {
    /// A boundary is good if it leaves something on both sides.
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

/// The bytes in each of these slots, in their order.
async fn each_slot(
    snapshot: &dyn Snapshot,
    slots: Range<u32>,
    mut each: impl FnMut(u32, u64),
) -> Result<(), Error> {
    // One slot at a time: keys of one slot come together, and a boundary lies between slots.
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
            // Empty documents count too: they have to go somewhere.
            each(key, counters.bytes + counters.documents);
        }
        match page.entries.last() {
            Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
            _ => return Ok(()),
        }
        tokio::task::yield_now().await;
    }
}
