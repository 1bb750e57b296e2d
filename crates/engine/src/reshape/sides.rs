//! Decides on which side of a cut a row belongs, if the cut is inside a slot.
//!
//! Most rows know their document only by its number. So the numbers that go right are determined
//! first, from the primary rows, which contain the key. Rows written meanwhile come with their key.

use std::{
    ops::{Bound, Range},
    sync::Arc,
};

use bytes::Bytes;
use catalog::area::{Area, Edge};
use partition::{
    errors,
    keys::{self, META_CLEAR, META_KEY, PRIMARY, SEQUENCE_MAX, UNIQUE},
    rows::{Damaged, Header, HistoryRow, Primary},
};
use protocol::{Error, rid::DocNum};
use query::served::Served;
use roaring::RoaringTreemap;
use store::{Change, Direction, PageLimit, Snapshot};
use value::{
    json,
    partition_key::{Component, Epk, Hashing, PartitionKey},
    path::Path,
};

/// Primary rows read at a time.
const PAGE: PageLimit = PageLimit { entries: 4096, bytes: 1 << 20 };

/// Finds and hashes the partition keys in a collection's rows.
#[derive(Clone)]
pub(crate) struct Keys {
    paths: Arc<[Path]>,
    hashing: Hashing,
}

impl Keys {
    pub(crate) fn of(collection: &Served) -> Self {
        let definition = &collection.definition.partition_key;
        Self { paths: definition.paths.clone().into(), hashing: definition.hashing }
    }

    /// Whether several keys share a slot because their first levels are equal.
    pub(crate) fn is_hierarchical(&self) -> bool {
        self.hashing == Hashing::MultiHash && self.paths.len() > 1
    }

    /// The effective key of a row that contains the key itself, or the document.
    pub(crate) fn epk_of_row(&self, key: &[u8], row: Option<&Bytes>) -> Option<Epk> {
        if key.first() == Some(&keys::DOCUMENT) {
            return self.epk_of_document(&Header::decode(row?).ok()?.1);
        }
        if key.first() == Some(&keys::HISTORY) {
            return self.epk_of_document(HistoryRow::decode(row?).ok()?.document());
        }
        let behind = key_at(key)?;
        let mut rest = key.get(behind + 3..)?;
        let mut components = Vec::with_capacity(self.paths.len());
        for _ in &*self.paths {
            let (component, behind) = Component::decode_key(rest).ok()?;
            components.push(component);
            rest = behind;
        }
        Some(PartitionKey(components).effective(self.hashing))
    }

    fn epk_of_document(&self, text: &[u8]) -> Option<Epk> {
        let document = json::parse(text).ok()?;
        let components = self.paths.iter().map(|path| Component::of(document.at(path)));
        Some(PartitionKey(components.collect()).effective(self.hashing))
    }

    /// The effective key of changes that were written together, which concern one logical key.
    pub(crate) fn epk_of_changes(&self, changes: &[Change]) -> Option<Epk> {
        let mut found = changes.iter();
        found.find_map(|change| self.epk_of_row(&change.key, change.value.as_ref()))
    }
}

/// The position of slot and logical key in the key of a row that has them.
fn key_at(key: &[u8]) -> Option<usize> {
    let prefixes: [&[u8]; 4] = [META_KEY, META_CLEAR, &[PRIMARY], &[UNIQUE]];
    prefixes.into_iter().find(|prefix| key.starts_with(prefix)).map(<[u8]>::len)
}

/// The documents of one slot that go right of a cut.
struct Cut {
    edge: Edge,
    right: Numbers,
}

/// On which side the documents of the cut slots go.
pub(crate) struct Sides {
    keys: Keys,
    cuts: Vec<Cut>,
}

impl Sides {
    /// Determines the sides of all documents in a snapshot, for these cuts.
    pub(crate) async fn new(
        keys: Keys,
        snapshot: &dyn Snapshot,
        cuts: &[Edge],
    ) -> Result<Self, Error> {
        let mut sides = Vec::new();
        for edge in cuts {
            let Some(inside) = &edge.inside else { continue };
            let mut right = Numbers::default();
            each_primary(snapshot, edge.slot, |key, row| {
                let epk = keys.epk_of_row(key, None).ok_or(Damaged("P"))?;
                if epk >= *inside {
                    right.insert(Primary::decode(row)?.docnum);
                }
                Ok(())
            })
            .await?;
            sides.push(Cut { edge: edge.clone(), right });
        }
        Ok(Self { keys, cuts: sides })
    }

    /// Whether a slot is cut.
    pub(crate) fn cuts(&self, slot: u32) -> bool {
        self.cuts.iter().any(|cut| cut.edge.slot == slot)
    }

    /// Whether a row of a cut slot is in an area; `None` if that cannot be decided. Edges of the
    /// area that are not cuts are those of the old partitions, which have no rows beyond them.
    pub(crate) fn is_in(&self, area: &Area, slot: u32, key: &[u8], row: &[u8]) -> Option<bool> {
        // The history includes documents that have no primary row any more.
        let is_past = key.first() == Some(&keys::HISTORY);
        if is_past || key_at(key).is_some() {
            let row = is_past.then(|| Bytes::copy_from_slice(row));
            let inside = Some(self.keys.epk_of_row(key, row.as_ref())?);
            return Some(area.contains(&Edge { slot, inside }));
        }
        let number = keys::number_at(key)?;
        let mut cuts = self.cuts.iter().filter(|cut| cut.edge.slot == slot);
        Some(cuts.all(|cut| {
            let is_right = cut.right.contains(number);
            if is_right { cut.edge < area.end } else { area.start < cut.edge }
        }))
    }
}

/// Calls `each` with every primary row of a slot.
async fn each_primary(
    snapshot: &dyn Snapshot,
    slot: u32,
    mut each: impl FnMut(&Bytes, &Bytes) -> Result<(), Damaged>,
) -> Result<(), Error> {
    let Range { start, end } = keys::slot_rows(&[PRIMARY], slot..slot + 1);
    let (mut start, end) = (Bound::Included(start), Bound::Excluded(end));
    loop {
        let page = snapshot.scan((start, end.clone()), Direction::Forward, PAGE).await;
        let page = page.map_err(errors::from_store)?;
        for (key, row) in &page.entries {
            each(key, row).map_err(errors::from_damaged)?;
        }
        match page.entries.last() {
            Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
            _ => return Ok(()),
        }
        tokio::task::yield_now().await;
    }
}

/// A set of document numbers of one slot. Compressed: dense ones take about a bit each, sparse ones
/// some bytes.
#[derive(Default)]
struct Numbers(RoaringTreemap);

impl Numbers {
    fn insert(&mut self, number: DocNum) {
        self.0.insert(number & SEQUENCE_MAX);
    }

    fn contains(&self, number: DocNum) -> bool {
        self.0.contains(number & SEQUENCE_MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use partition::keys::docnum;

    #[test]
    fn numbers_are_kept() {
        let mut numbers = Numbers::default();
        let sequences = [0, 1, 63, 64, 4095, 4096, 1 << 20, SEQUENCE_MAX];
        for sequence in sequences {
            numbers.insert(docnum(5, sequence));
        }
        for sequence in sequences {
            assert!(numbers.contains(docnum(5, sequence)), "{sequence}");
        }
        for sequence in [2, 62, 65, 4094, 4097, (1 << 20) + 1, SEQUENCE_MAX - 1] {
            assert!(!numbers.contains(docnum(5, sequence)), "{sequence}");
        }
        assert_eq!(numbers.0.len(), 8);
    }
}
