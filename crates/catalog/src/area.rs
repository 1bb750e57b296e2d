//! Areas of the hash space, cut between slots or inside one.
//!
//! Partitions are cut between slots, which the first bytes of a key show. Only a hierarchical key
//! whose first level outgrows a partition is cut inside its slot, by effective partition key (EPK).

use std::ops::Range;

use value::partition_key::{Epk, Hashing, slot_boundary, slot_of_epk};

/// The number of bits in a slot.
pub const SLOT_BITS: u32 = 24;

/// The number of slots in the hash space.
pub const SLOT_COUNT: u32 = 1 << SLOT_BITS;

/// A cut in the hash space: the start of a slot, or a point inside it. Edges sort in hash order.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Edge {
    /// The slot that begins here or, if `inside` is given, that is cut here.
    pub slot: u32,
    /// The first EPK after the edge; `None` if the edge is the start of the slot.
    pub inside: Option<Epk>,
}

impl Edge {
    /// The start of a slot.
    pub fn slot(slot: u32) -> Self {
        Self { slot, inside: None }
    }

    /// The edge just before an EPK.
    pub fn of_epk(epk: &Epk, hashing: Hashing) -> Option<Self> {
        if *epk >= Epk::max() {
            return Some(Self::slot(SLOT_COUNT));
        }
        let slot = slot_of_epk(epk, hashing)?;
        let inside = (*epk > slot_boundary(slot, hashing)).then(|| epk.clone());
        Some(Self { slot, inside })
    }

    /// The EPK at the edge, as SDKs compare it.
    pub(crate) fn to_epk(&self, hashing: Hashing) -> Epk {
        self.inside.clone().unwrap_or_else(|| slot_boundary(self.slot, hashing))
    }
}

/// A part of the hash space, from one edge up to but not including another.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Area {
    /// Where it begins, inclusive.
    pub start: Edge,
    /// Where it ends, exclusive.
    pub end: Edge,
}

impl Area {
    /// The area of whole slots.
    pub fn of_slots(slots: Range<u32>) -> Self {
        Self { start: Edge::slot(slots.start), end: Edge::slot(slots.end) }
    }

    /// The slots that it touches, of which the first and last may be partial.
    pub fn slots(&self) -> Range<u32> {
        self.start.slot..self.end.slot + u32::from(self.end.inside.is_some())
    }

    /// The slots that it shares with other areas.
    pub fn shared_slots(&self) -> impl Iterator<Item = u32> {
        let start = self.start.inside.is_some().then_some(self.start.slot);
        let end = self.end.inside.is_some().then_some(self.end.slot);
        start.into_iter().chain(end.filter(move |end| Some(*end) != start))
    }

    /// Whether it contains only a part of this slot.
    pub fn is_cut_inside(&self, slot: u32) -> bool {
        self.shared_slots().any(|shared| shared == slot)
    }

    /// Whether no key can be in it, like the intersection of two disjoint areas.
    pub fn is_empty(&self) -> bool {
        self.start >= self.end
    }

    /// The intersection of both areas.
    #[must_use]
    pub fn common(&self, other: &Self) -> Self {
        Self {
            start: self.start.clone().max(other.start.clone()),
            end: self.end.clone().min(other.end.clone()),
        }
    }

    /// Whether the areas intersect.
    pub fn overlaps(&self, other: &Self) -> bool {
        (&self.start).max(&other.start) < (&self.end).min(&other.end)
    }

    /// Whether it contains all of the other area.
    pub fn covers(&self, other: &Self) -> bool {
        self.start <= other.start && other.end <= self.end
    }

    /// Whether it contains the keys directly after an edge.
    pub fn contains(&self, edge: &Edge) -> bool {
        self.start <= *edge && *edge < self.end
    }

    /// Whether it contains a key of this slot. Computes the EPK only if needed.
    pub fn has_key(&self, slot: u32, epk: impl FnOnce() -> Epk) -> bool {
        if self.is_cut_inside(slot) {
            return self.contains(&Edge { slot, inside: Some(epk()) });
        }
        self.slots().contains(&slot)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(slot: u32, inside: &str) -> Edge {
        let inside = (!inside.is_empty()).then(|| Epk::parse_hex(inside).expect("a key"));
        Edge { slot, inside }
    }

    fn area(start: Edge, end: Edge) -> Area {
        Area { start, end }
    }

    #[test]
    fn slots_that_are_touched_and_shared() {
        let whole = Area::of_slots(3..7);
        assert_eq!(whole.slots(), 3..7);
        assert_eq!(whole.shared_slots().count(), 0);
        let left = area(Edge::slot(3), edge(7, "AA"));
        let middle = area(edge(7, "AA"), edge(7, "BB"));
        let right = area(edge(7, "BB"), Edge::slot(9));
        assert_eq!((left.slots(), middle.slots(), right.slots()), (3..8, 7..8, 7..9));
        for area in [&left, &middle, &right] {
            assert_eq!(area.shared_slots().collect::<Vec<_>>(), [7]);
        }
        let key = |text: &str| Epk::parse_hex(text).expect("a key");
        for (text, holder) in [("A9FF", &left), ("AA", &middle), ("BAFF", &middle), ("BB", &right)]
        {
            for area in [&left, &middle, &right] {
                assert_eq!(area.has_key(7, || key(text)), area == holder, "{text}");
            }
        }
        assert!(left.has_key(6, || unreachable!("the slot says it")));
        assert!(!right.has_key(6, || unreachable!("the slot says it")));
    }

    #[test]
    fn pieces_in_common() {
        let whole = Area::of_slots(7..8);
        let left = area(Edge::slot(3), edge(7, "AA"));
        let right = area(edge(7, "AA"), Edge::slot(9));
        assert!(!left.overlaps(&right) && left.common(&right).is_empty());
        assert!(left.overlaps(&whole) && !left.covers(&whole) && whole.overlaps(&right));
        assert_eq!(left.common(&whole), area(Edge::slot(7), edge(7, "AA")));
        assert!(whole.covers(&right.common(&whole)));
        assert!(right.contains(&edge(7, "AA")) && !left.contains(&edge(7, "AA")));
    }

    #[test]
    fn edges_are_effective_keys_and_back() {
        for hashing in [Hashing::V1, Hashing::V2, Hashing::MultiHash] {
            for slot in [0, 1, SLOT_COUNT / 2, SLOT_COUNT - 1, SLOT_COUNT] {
                let edge = Edge::slot(slot);
                assert_eq!(Edge::of_epk(&edge.to_epk(hashing), hashing), Some(edge));
            }
        }
        let inside = Epk::parse_hex("20000000AA").expect("a key");
        let edge = Edge::of_epk(&inside, Hashing::MultiHash).expect("an edge");
        assert_eq!(edge, Edge { slot: SLOT_COUNT / 2, inside: Some(inside.clone()) });
        assert_eq!(edge.to_epk(Hashing::MultiHash), inside);
    }
}
