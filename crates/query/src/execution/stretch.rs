//! In which order documents come when nobody asks for one: partition after partition, in each of
//! them by creation if it is small, else by number.
//!
//! A stretch is what is read in one go: a partition, several that share a slot, or what has become
//! of a partition that an earlier page began with. A page goes on in the order in which its stretch
//! was begun, whatever the partitions are by then: a place names slots and documents, never
//! partitions.

use std::ops::Range;

use partition::{
    creations::SMALL,
    keys::{Creation, SEQUENCE_MAX, docnum},
};
use protocol::rid::DocNum;

use crate::execution::token::{Place, Position};

/// A partition to be read: its slots in scope, and how many documents all its slots hold.
#[derive(Clone, Debug)]
pub(crate) struct Piece {
    pub(crate) slots: Range<u32>,
    pub(crate) documents: u64,
}

/// The order of the documents of a stretch, which decides what the numbers of its positions mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Sequence {
    /// Positions have document numbers.
    Number,
    /// Positions have [`Creation`]s.
    Creation,
}

/// Partitions, or parts of them, that are read as one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Stretch {
    /// Which partitions, by their place among all, and which of their slots.
    pub(crate) members: Vec<(usize, Range<u32>)>,
    pub(crate) sequence: Sequence,
    /// The first row that was not returned yet.
    pub(crate) start: Position,
    /// All its slots, those that are not in scope any more included.
    slots: Range<u32>,
}

/// A start behind everything.
const DONE: Position = Position { number: DocNum::MAX, row: 0 };

impl Stretch {
    /// Whether earlier pages have returned all of it.
    pub(crate) fn is_done(&self) -> bool {
        self.start == DONE
    }

    /// Where a page begins whose first row this is.
    pub(crate) fn place(&self, position: Position) -> Place {
        match self.sequence {
            Sequence::Number => Place::Row(position),
            Sequence::Creation => Place::Created { slots: self.slots.clone(), position },
        }
    }

    /// Where a page begins that has all of this behind it.
    pub(crate) fn behind(&self) -> Place {
        Place::Row(Position { number: docnum(self.slots.end, 0), row: 0 })
    }

    /// Partitions that nothing was read of yet, or that were begun in the order of numbers.
    fn by_number(members: Vec<(usize, Range<u32>)>, start: Position, documents: u64) -> Self {
        let slots = extent(&members);
        let (first, last) = (docnum(slots.start, 0), docnum(slots.end - 1, SEQUENCE_MAX));
        let is_begun = start.number > first || start.number == first && start.row > 0;
        // In one slot both orders are the same.
        let sequence = if is_begun || documents > SMALL || slots.len() < 2 {
            Sequence::Number
        } else {
            Sequence::Creation
        };
        let start = match (start.number > last, is_begun) {
            (true, _) => DONE,
            (false, true) => start,
            (false, false) => Position::default(),
        };
        Self { members, sequence, start, slots }
    }

    /// What has become of a stretch that was begun in the order of creation.
    fn by_creation(members: Vec<(usize, Range<u32>)>, slots: Range<u32>, start: Position) -> Self {
        let extent = extent(&members);
        if extent.len() > 1 {
            return Self { members, sequence: Sequence::Creation, start, slots };
        }
        // One slot of it: numbers are in the same order there.
        let (at, slot) = (Creation(start.number), extent.start);
        let sequence = (at.docnum() & SEQUENCE_MAX) + u64::from(slot < at.slot());
        let row = if slot == at.slot() { start.row } else { 0 };
        let start = if sequence > SEQUENCE_MAX {
            DONE
        } else {
            Position { number: docnum(slot, sequence), row }
        };
        Self { members, sequence: Sequence::Number, start, slots: extent }
    }
}

fn extent(members: &[(usize, Range<u32>)]) -> Range<u32> {
    let start = members.iter().map(|(_, slots)| slots.start).min().unwrap_or(0);
    let end = members.iter().map(|(_, slots)| slots.end).max().unwrap_or(0);
    start..end.max(start + 1)
}

/// Whether two neighbours share a slot.
pub(crate) fn do_share(left: &Range<u32>, right: &Range<u32>) -> bool {
    right.start < left.end
}

/// How partitions are read, in the order of their slots, by a page that begins at `place`.
pub(crate) fn stretches(pieces: &[Piece], place: &Place) -> Vec<Stretch> {
    let (begun, start) = match place {
        Place::Row(start) => (0..0, *start),
        Place::Created { slots, position } => (slots.clone(), *position),
        Place::Sorted { .. } | Place::Partial { .. } | Place::Ordinal(_) => {
            (0..0, Position::default())
        }
    };
    if begun.is_empty() {
        return fresh(pieces, &(0..u32::MAX), start);
    }
    let mut all = fresh(pieces, &(0..begun.start), DONE);
    let members = within(pieces, &begun);
    if !members.is_empty() {
        all.push(Stretch::by_creation(members, begun.clone(), start));
    }
    all.extend(fresh(pieces, &(begun.end..u32::MAX), Position::default()));
    all
}

/// The pieces' share of some slots.
fn within(pieces: &[Piece], slots: &Range<u32>) -> Vec<(usize, Range<u32>)> {
    let share = |(at, piece): (usize, &Piece)| {
        (at, piece.slots.start.max(slots.start)..piece.slots.end.min(slots.end))
    };
    pieces.iter().enumerate().map(share).filter(|(_, slots)| !slots.is_empty()).collect()
}

fn fresh(pieces: &[Piece], slots: &Range<u32>, start: Position) -> Vec<Stretch> {
    let members = within(pieces, slots);
    let groups = members.chunk_by(|(_, left), (_, right)| do_share(left, right));
    let stretch = |group: &[(usize, Range<u32>)]| {
        let documents = group.iter().map(|(at, _)| pieces[*at].documents);
        let documents = documents.fold(0, u64::saturating_add);
        Stretch::by_number(group.to_vec(), start, documents)
    };
    groups.map(stretch).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(slots: Range<u32>, documents: u64) -> Piece {
        Piece { slots, documents }
    }

    fn at(number: u64) -> Position {
        Position { number, row: 2 }
    }

    /// The slots of the members of each stretch, its sequence and its start.
    fn outline(pieces: &[Piece], place: &Place) -> Vec<(String, Sequence, Position)> {
        let of = |stretch: Stretch| {
            let slots = stretch.members.iter().map(|(_, slots)| format!("{slots:?}"));
            (slots.collect::<Vec<_>>().join(" "), stretch.sequence, stretch.start)
        };
        stretches(pieces, place).into_iter().map(of).collect()
    }

    #[test]
    fn small_partitions_go_by_creation() {
        let pieces = [piece(0..10, SMALL), piece(10..20, SMALL + 1), piece(20..21, 1)];
        let start = Position::default();
        let begin = outline(&pieces, &Place::default());
        assert_eq!(
            begin,
            [
                ("0..10".to_owned(), Sequence::Creation, start),
                ("10..20".to_owned(), Sequence::Number, start),
                ("20..21".to_owned(), Sequence::Number, start),
            ]
        );
        // Begun by number: it stays so. What lies before is done.
        let pieces = [piece(0..10, 5), piece(10..20, 5), piece(20..30, 5)];
        let begun = at(docnum(12, 7));
        assert_eq!(
            outline(&pieces, &Place::Row(begun)),
            [
                ("0..10".to_owned(), Sequence::Number, DONE),
                ("10..20".to_owned(), Sequence::Number, begun),
                ("20..30".to_owned(), Sequence::Creation, start),
            ]
        );
        let all = stretches(&pieces, &Place::default());
        let behind = outline(&pieces, &all[0].behind());
        assert_eq!(behind[0].2, DONE);
        assert_eq!(behind[1], ("10..20".to_owned(), Sequence::Creation, start));
    }

    #[test]
    fn what_shares_a_slot_is_one() {
        let pieces = [piece(0..8, 5), piece(7..8, 5), piece(7..20, 5), piece(20..30, 5)];
        let begin = outline(&pieces, &Place::default());
        assert_eq!(begin[0].0, "0..8 7..8 7..20");
        assert_eq!(begin[1].0, "20..30");
        let many = [piece(0..8, SMALL), piece(7..20, 1)];
        assert_eq!(outline(&many, &Place::default())[0].1, Sequence::Number);
    }

    #[test]
    fn what_was_begun_as_one_goes_on_as_one() {
        let position = at(Creation::of(docnum(4, 9)).0);
        let place = Place::Created { slots: 0..10, position };
        // Split, and grown.
        let pieces = [piece(0..3, SMALL * 2), piece(3..10, 5), piece(10..20, 5)];
        let all = outline(&pieces, &place);
        assert_eq!(all[0], ("0..3 3..10".to_owned(), Sequence::Creation, position));
        assert_eq!(all[1], ("10..20".to_owned(), Sequence::Creation, Position::default()));
        assert_eq!(all.len(), 2);
        // Merged with a neighbour on each side.
        let place = Place::Created { slots: 5..10, position };
        let all = outline(&[piece(0..20, 5)], &place);
        assert_eq!(all[0], ("0..5".to_owned(), Sequence::Number, DONE));
        assert_eq!(all[1], ("5..10".to_owned(), Sequence::Creation, position));
        assert_eq!(all[2], ("10..20".to_owned(), Sequence::Creation, Position::default()));
        // And the next place is in its slots again.
        let next = stretches(&[piece(0..20, 5)], &place)[1].place(position);
        assert_eq!(next, place);
    }

    #[test]
    fn one_slot_goes_by_number() {
        let place = |slot| {
            let position = at(Creation::of(docnum(slot, 9)).0);
            Place::Created { slots: 0..10, position }
        };
        let start = |place: Place| outline(&[piece(4..5, 5)], &place)[0].2;
        assert_eq!(start(place(4)), at(docnum(4, 9)));
        // With the same sequence, lower slots come first.
        assert_eq!(start(place(5)), Position { number: docnum(4, 10), row: 0 });
        assert_eq!(start(place(3)), Position { number: docnum(4, 9), row: 0 });
    }
}
