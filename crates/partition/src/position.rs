//! A reader's position in the change feed: an LSN for each piece of the hash space.
//!
//! LSNs count the transactions of a partition. The children of a split continue from the parent's
//! LSN; the result of a merge continues above the higher of the two. So an LSN means the same in
//! every partition that has ever held a key, and a position survives splits and merges as long as
//! it records which LSN belongs to which keys.
//!
//! Most positions are a single LSN and go on the wire as a number. Others are a token with a
//! checksum, so that a damaged token or one from another collection is rejected. Tokens consist of
//! digits too, more than any LSN has: the Python SDK distinguishes a position from its own tokens
//! by that.

use catalog::area::{Area, Edge};
use value::{hash::murmur3_32, partition_key::Epk};

use crate::keys::SLOT_COUNT;

/// The first byte of a token.
const FORMAT: u8 = 1;

/// More digits than any LSN has.
const DIGITS_MIN: usize = 21;

/// More pieces than there can be partitions.
const PIECES_MAX: u64 = 100_000;

/// An LSN for each piece of the hash space: the reader has read everything up to it there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Position {
    /// Where each piece ends, and its LSN. Sorted; the last piece ends at the end of the space.
    pieces: Vec<(Edge, u64)>,
    /// The slot where the next page begins, so that no partition starves.
    pub turn: u32,
}

impl Position {
    /// A position with one LSN for the whole hash space.
    pub fn at(lsn: u64) -> Self {
        Self { pieces: vec![(Edge::slot(SLOT_COUNT), lsn)], turn: 0 }
    }

    /// The pieces within an area, with their LSNs.
    pub fn within(&self, area: &Area) -> Vec<(Area, u64)> {
        let mut start = Edge::default();
        let mut found = Vec::new();
        for (end, lsn) in &self.pieces {
            let piece = Area { start, end: end.clone() }.common(area);
            if !piece.is_empty() {
                found.push((piece, *lsn));
            }
            start = end.clone();
        }
        found
    }

    /// Advances an area to an LSN; never moves back.
    pub fn advance(&mut self, area: &Area, lsn: u64) {
        self.change(area, |known| known.max(lsn));
    }

    /// Sets the LSN of an area, even backwards.
    pub fn set(&mut self, area: &Area, lsn: u64) {
        self.change(area, |_| lsn);
    }

    fn change(&mut self, area: &Area, new: impl Fn(u64) -> u64) {
        if area.is_empty() {
            return;
        }
        let mut pieces: Vec<(Edge, u64)> = Vec::with_capacity(self.pieces.len() + 2);
        let mut start = Edge::default();
        for (end, lsn) in std::mem::take(&mut self.pieces) {
            let piece = Area { start, end: end.clone() };
            let common = piece.common(area);
            if common.is_empty() {
                put(&mut pieces, end.clone(), lsn);
            } else {
                if piece.start < common.start {
                    put(&mut pieces, common.start, lsn);
                }
                put(&mut pieces, common.end.clone(), new(lsn));
                if common.end < end {
                    put(&mut pieces, end.clone(), lsn);
                }
            }
            start = end;
        }
        self.pieces = pieces;
    }

    /// The part that matters to a reader of this area, as text: a plain number if possible.
    pub fn to_text(&self, area: &Area, collection: &[u8]) -> String {
        let mut pieces: Vec<(Edge, u64)> = Vec::new();
        for (piece, lsn) in self.within(area) {
            put(&mut pieces, piece.end, lsn);
        }
        if pieces.is_empty() {
            // The area is empty: the reader stays where it was.
            pieces.clone_from(&self.pieces);
        }
        match &pieces[..] {
            [(_, lsn)] => lsn.to_string(),
            pieces => {
                let mut bytes = vec![FORMAT];
                put_number(&mut bytes, u64::from(self.turn));
                write(pieces, &mut bytes);
                let sum = murmur3_32(&[&bytes[..], collection].concat(), 0x5EAF);
                bytes.extend_from_slice(&sum.to_be_bytes());
                to_digits(&bytes)
            }
        }
    }

    /// Parses such a text; `None` if it is damaged or from another collection.
    pub fn parse(text: &str, collection: &[u8]) -> Option<Self> {
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
            return None;
        }
        if text.len() < DIGITS_MIN {
            return text.parse().ok().map(Self::at);
        }
        let bytes = from_digits(text)?;
        let (content, sum) = bytes.split_last_chunk::<4>()?;
        if murmur3_32(&[content, collection].concat(), 0x5EAF).to_be_bytes() != *sum {
            return None;
        }
        let mut rest = content.strip_prefix(&[FORMAT])?;
        let turn = u32::try_from(take_number(&mut rest)?).ok()?;
        Some(Self { pieces: read(&mut rest)?, turn })
    }

    /// Encodes the position as a row, with all its pieces.
    pub(crate) fn encode(&self) -> Vec<u8> {
        let mut bytes = vec![FORMAT];
        write(&self.pieces, &mut bytes);
        bytes
    }

    /// Decodes such a row.
    pub fn decode(row: &[u8]) -> Option<Self> {
        let mut rest = row.strip_prefix(&[FORMAT])?;
        Some(Self { pieces: read(&mut rest)?, turn: 0 })
    }
}

/// Adds a piece, or extends the previous piece if it has the same LSN.
fn put(pieces: &mut Vec<(Edge, u64)>, end: Edge, lsn: u64) {
    match pieces.last_mut() {
        Some((last, same)) if *same == lsn => *last = end,
        _ => pieces.push((end, lsn)),
    }
}

/// Omits the end of the last piece, which is always the end of the space.
fn write(pieces: &[(Edge, u64)], out: &mut Vec<u8>) {
    put_number(out, pieces.len() as u64);
    let mut before = 0;
    for (at, (end, lsn)) in pieces.iter().enumerate() {
        put_number(out, *lsn);
        if at + 1 < pieces.len() {
            put_number(out, u64::from(end.slot - before));
            before = end.slot;
            let inside = end.inside.as_ref().map_or(&[][..], Epk::as_bytes);
            put_number(out, inside.len() as u64);
            out.extend_from_slice(inside);
        }
    }
}

fn read(rest: &mut &[u8]) -> Option<Vec<(Edge, u64)>> {
    let count = take_number(rest).filter(|count| (1..=PIECES_MAX).contains(count))?;
    let mut pieces: Vec<(Edge, u64)> = Vec::new();
    let mut slot = 0_u32;
    for _ in 1..count {
        let lsn = take_number(rest)?;
        slot = slot.checked_add(u32::try_from(take_number(rest)?).ok()?)?;
        let length = usize::try_from(take_number(rest)?).ok()?;
        let (inside, behind) = rest.split_at_checked(length)?;
        *rest = behind;
        let inside = (length > 0).then(|| Epk::from_bytes(inside.to_vec()));
        pieces.push((Edge { slot, inside }, lsn));
    }
    pieces.push((Edge::slot(SLOT_COUNT), take_number(rest)?));
    let is_sorted = pieces.windows(2).all(|pair| pair[0].0 < pair[1].0);
    (is_sorted && rest.is_empty()).then_some(pieces)
}

/// Encodes two bytes as five digits. Odd lengths are padded with a leading zero byte.
fn to_digits(bytes: &[u8]) -> String {
    let (first, pairs) = bytes.as_rchunks::<2>();
    let first = first.iter().map(|byte| u16::from(*byte));
    let pairs = pairs.iter().map(|pair| u16::from_be_bytes(*pair));
    let groups: Vec<String> = first.chain(pairs).map(|number| format!("{number:05}")).collect();
    groups.concat()
}

fn from_digits(text: &str) -> Option<Vec<u8>> {
    let (rest, groups) = text.as_bytes().as_rchunks::<5>();
    let mut bytes = Vec::with_capacity(groups.len() * 2);
    for group in groups {
        let number: u16 = str::from_utf8(group).ok()?.parse().ok()?;
        bytes.extend_from_slice(&number.to_be_bytes());
    }
    // Encoded bytes never begin with a zero.
    if bytes.first() == Some(&0) {
        bytes.remove(0);
    }
    rest.is_empty().then_some(bytes)
}

/// Seven bits per byte, lowest first: most numbers are small.
fn put_number(out: &mut Vec<u8>, mut number: u64) {
    loop {
        let [.., low] = number.to_be_bytes();
        number >>= 7;
        if number == 0 {
            out.push(low & 0x7f);
            return;
        }
        out.push(low | 0x80);
    }
}

fn take_number(rest: &mut &[u8]) -> Option<u64> {
    let mut number = 0_u64;
    for shift in (0..64).step_by(7) {
        let (byte, behind) = rest.split_first()?;
        *rest = behind;
        let bits = u64::from(byte & 0x7f);
        number |= bits.checked_shl(shift).filter(|shifted| shifted >> shift == bits)?;
        if byte & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    const RID: &[u8] = b"collection";

    fn slots(start: u32, end: u32) -> Area {
        Area::of_slots(start..end)
    }

    fn everywhere() -> Area {
        slots(0, SLOT_COUNT)
    }

    fn cut(slot: u32, inside: &str) -> Edge {
        Edge { slot, inside: Some(Epk::parse_hex(inside).expect("a key")) }
    }

    #[test]
    fn one_lsn_is_a_number() {
        let mut position = Position::at(0);
        position.advance(&everywhere(), 28);
        assert_eq!(position.to_text(&everywhere(), RID), "28");
        position.advance(&slots(5, 9), 20);
        assert_eq!(position.to_text(&everywhere(), RID), "28", "never back");
        position.advance(&slots(5, 9), 30);
        assert_eq!(position.to_text(&slots(5, 9), RID), "30");
        assert_eq!(position.to_text(&slots(6, 7), RID), "30");
        assert_eq!(position.to_text(&slots(10, 11), RID), "28");
        assert_eq!(Position::parse("28", RID), Some(Position::at(28)));
        // Both pieces are at the same LSN again.
        position.advance(&everywhere(), 30);
        assert_eq!(position, Position::at(30));
    }

    #[test]
    fn several_read_back() {
        let mut position = Position::at(7);
        position.turn = 300;
        position.advance(&slots(0, 100), 1 << 40);
        position.advance(&Area { start: cut(200, "AABB"), end: cut(300, "CC") }, u64::MAX);
        let text = position.to_text(&everywhere(), RID);
        assert_eq!(Position::parse(&text, RID).as_ref(), Some(&position));
        assert_eq!(Position::parse(&text, b"another"), None);
        let found = position.within(&Area { start: Edge::slot(50), end: cut(300, "CC") });
        let lsns: Vec<u64> = found.iter().map(|(_, lsn)| *lsn).collect();
        assert_eq!(lsns, [1 << 40, 7, u64::MAX]);
        let row = position.encode();
        assert_eq!(Position::decode(&row), Some(Position { turn: 0, ..position }));
        for length in 0..row.len() {
            assert_eq!(Position::decode(&row[..length]), None);
        }
        assert!(text.bytes().all(|byte| byte.is_ascii_digit()) && text.len() >= DIGITS_MIN);
        for at in 0..text.len() {
            let mut bad = text.clone().into_bytes();
            bad[at] = if bad[at] == b'9' { b'0' } else { bad[at] + 1 };
            let bad = String::from_utf8(bad).expect("text");
            assert_eq!(Position::parse(&bad, RID), None, "{bad}");
            assert_eq!(Position::parse(&text[..at], RID).is_some(), (1..DIGITS_MIN).contains(&at));
        }
    }

    #[test]
    fn what_is_no_position_is_refused() {
        for bad in [
            "",
            "-1",
            "1.5",
            "+3",
            "x",
            "18446744073709551616",
            "184467440737095516160000000",
            "\"5\"",
            "AQ",
            "*",
        ] {
            assert_eq!(Position::parse(bad, RID), None, "{bad}");
        }
        for bad in [&[][..], &[1], &[1, 0], &[2, 1, 5], &[1, 1, 5, 5]] {
            assert_eq!(Position::decode(bad), None);
        }
        // Pieces that are not sorted.
        assert_eq!(Position::decode(&[1, 3, 5, 9, 0, 6, 0, 0, 7]), None);
    }
}
