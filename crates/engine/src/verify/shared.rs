//! Checks the partitions of a collection against each other: no gaps, and no two documents with one
//! number in a slot that they share.

use std::{ops::Bound, sync::Arc};

use bytes::Bytes;
use catalog::{area::Edge, numbers::Class};
use partition::{
    Partition,
    keys::{self, SEQUENCE_MAX, docnum},
};
use query::served::Served;
use store::{Direction, PageLimit};

use crate::{
    OpenError,
    verify::{Report, place},
};

/// Checks the ranges of a collection.
pub(super) async fn check(collection: &Served, report: &mut Report) -> Result<(), OpenError> {
    let mut next = Edge::default();
    for partition in &collection.partitions {
        let place = place(collection, partition);
        if partition.range.area.start != next || partition.range.area.is_empty() {
            report.problem(&place, "the ranges of the collection leave a gap or overlap");
        }
        next = partition.range.area.end.clone();
    }
    if next != Edge::slot(keys::SLOT_COUNT) {
        report.problem(&collection.definition.id, "the ranges do not reach the last slot");
    }
    for (at, left) in collection.partitions.iter().enumerate() {
        for slot in left.range.area.shared_slots() {
            let right = collection.partitions[at + 1..].iter();
            for right in right.take_while(|right| right.range.slots.start <= slot) {
                check_pair(collection, slot, left, right, report).await?;
            }
        }
    }
    Ok(())
}

/// Checks that two partitions that share a slot allocate different numbers and hold different ones.
async fn check_pair(
    collection: &Served,
    slot: u32,
    left: &Arc<Partition>,
    right: &Arc<Partition>,
    report: &mut Report,
) -> Result<(), OpenError> {
    let class = |partition: &Partition| {
        let shared = partition.range.shared.iter().find(|shared| shared.slot == slot);
        shared.map_or(Class::ALL, |shared| shared.class)
    };
    let range = right.range.id;
    let place = place(collection, left);
    if class(left).overlaps(class(right)) {
        report.problem(&place, format!("it assigns the same document numbers as range {range}"));
    }
    let (ours, _) = left.read()?;
    let (theirs, _) = right.read()?;
    let mut start = Bound::Included(keys::document(docnum(slot, 0)));
    let end = Bound::Included(keys::document(docnum(slot, SEQUENCE_MAX)));
    let limit = PageLimit { entries: 256, bytes: 4 << 20 };
    loop {
        let page = ours.scan((start, end.clone()), Direction::Forward, limit).await?;
        let numbers: Vec<Bytes> = page.entries.iter().map(|(key, _)| key.clone()).collect();
        let found = theirs.get_many(&numbers).await?;
        for (key, _) in numbers.iter().zip(found).filter(|(_, row)| row.is_some()) {
            report.problem(&place, format!("document {key:02x?} is in range {range}, too"));
        }
        match numbers.last() {
            Some(last) if page.has_more => start = Bound::Excluded(last.clone()),
            _ => return Ok(()),
        }
    }
}
