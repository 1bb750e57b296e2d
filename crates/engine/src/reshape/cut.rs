//! Where to cut a partition: at the boundary of a slot, so that each side has half of the bytes.

use std::{
    ops::{Bound, Range},
    sync::Arc,
};

use bytes::Bytes;
use protocol::Error;
use store::{Direction, PageLimit, Snapshot};

use crate::{
    errors,
    keys::{META_KEY, slot_at},
    partition::Partition,
    rows::KeyCounters,
};

/// Counters of logical keys read at a time.
const PAGE: PageLimit = PageLimit { entries: 4096, bytes: 1 << 20 };
/// The slots are counted in so many groups first, then one by one in the group that matters.
const GROUPS: u32 = 4096;

/// The slot that the right half begins with. `None` if all documents share one slot, or there is
/// only one.
pub(crate) async fn middle(partition: &Arc<Partition>) -> Result<Option<u32>, Error> {
    let (snapshot, _) = partition.read();
    let slots = partition.slots.clone();
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
    Ok(cut.best.map(|(_, slot)| slot))
}

/// The middle of the slots, whatever is in them.
pub(crate) fn halves(slots: &Range<u32>) -> Option<u32> {
    (slots.len() > 1).then(|| slots.start + (slots.end - slots.start) / 2)
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

/// The bytes of each logical key in these slots, in the order of their slots.
async fn each_slot(
    snapshot: &dyn Snapshot,
    slots: Range<u32>,
    mut each: impl FnMut(u32, u64),
) -> Result<(), Error> {
    let bound = |slot: u32| -> Bytes {
        let slot = slot.to_be_bytes();
        // A slot has three bytes; behind the last one comes what is longer than any key of it.
        match slot {
            [0, a, b, c] => [META_KEY, &[a, b, c]].concat().into(),
            _ => [META_KEY, &[u8::MAX; 4]].concat().into(),
        }
    };
    let mut start = Bound::Included(bound(slots.start));
    let end = Bound::Excluded(bound(slots.end));
    // One slot at a time: keys of one slot come together, and a boundary lies between slots.
    let mut current: Option<(u32, u64)> = None;
    loop {
        let page = snapshot.scan((start, end.clone()), Direction::Forward, PAGE).await;
        let page = page.map_err(errors::from_store)?;
        for (key, row) in &page.entries {
            let Some(slot) = slot_at(key, META_KEY.len()) else { continue };
            let counters = KeyCounters::decode(row).map_err(errors::from_damaged)?;
            // Empty documents count too: they have to go somewhere.
            let bytes = counters.bytes + counters.documents;
            match &mut current {
                Some((same, sum)) if *same == slot => *sum += bytes,
                _ => {
                    if let Some((slot, bytes)) = current.replace((slot, bytes)) {
                        each(slot, bytes);
                    }
                }
            }
        }
        match page.entries.last() {
            Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
            _ => break,
        }
        tokio::task::yield_now().await;
    }
    if let Some((slot, bytes)) = current {
        each(slot, bytes);
    }
    Ok(())
}
