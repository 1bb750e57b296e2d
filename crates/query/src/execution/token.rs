//! Continuation tokens contain everything that the next page must know, since the server keeps no
//! state. They have less than 1 KB; they name slots and documents by number, never partitions, so
//! they stay valid through splits and merges.
//!
//! A token has a checksum over itself and the query it belongs to, so that a damaged one or one of
//! another query is rejected.

use std::ops::Range;

use base64::{Engine as _, engine::general_purpose::URL_SAFE_NO_PAD};
use catalog::area::{Area, Edge};
use partition::keys::{SLOT_COUNT, slot_of, u64_at};
use protocol::{Error, Options, rid::DocNum};
use sql::program::Shape;
use value::{hash::murmur3_32, partition_key::Epk};

use crate::{execution::continuation::unwrapped, scope::Origin};

/// The format of tokens that this build writes and reads.
const FORMAT: u8 = 1;

/// Most bytes of a sort key or of partial aggregates in a token: base64 makes 4 of 3, and tokens
/// must stay below 1,024.
pub(crate) const BYTES_MAX: usize = 580;

/// Where the next page begins.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Token {
    /// Rows that OFFSET still has to skip.
    pub(crate) skip: u64,
    /// Rows that TOP or LIMIT still let through.
    pub(crate) take: Option<u64>,
    /// The area that the first page was requested for.
    pub(crate) origin: Origin,
    pub(crate) place: Place,
}

/// A flag in slot numbers, which have 24 bits. It marks an edge inside the slot, whose bytes are at
/// the end of the token, before their length.
const PART: u32 = 1 << 31;
const INSIDE: u32 = 1 << 30;

/// A row: its document, and how many rows of that document come before it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Position {
    pub(crate) number: DocNum,
    pub(crate) row: u32,
}

/// The first row of the next page, in the order of the query's rows.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Place {
    /// By document number.
    Row(Position),
    /// By creation, within these slots, where the numbers of positions are [`Creation`]s. Rows in
    /// lower slots were returned, and none in higher ones.
    ///
    /// [`Creation`]: partition::keys::Creation
    Created { slots: Range<u32>, position: Position },
    /// By sort key, then document number.
    Sorted { key: Vec<u8>, is_cut: bool, position: Position },
    /// No row was returned yet: partial aggregates of everything before this row.
    Partial { position: Position, partials: Vec<u8> },
    /// By count, for answers that are recomputed for each page.
    Ordinal(u64),
}

impl Default for Place {
    fn default() -> Self {
        Self::Row(Position::default())
    }
}

impl Place {
    /// The first slot that has rows for the next page, if it is known.
    pub(crate) fn slot(&self) -> Option<u32> {
        match self {
            Self::Row(position) => Some(slot_of(position.number)),
            Self::Created { slots, .. } => Some(slots.start),
            Self::Sorted { .. } | Self::Partial { .. } | Self::Ordinal(_) => None,
        }
    }
}

impl Token {
    /// Where a page begins: where the client's last one ended, or at the start.
    pub(crate) fn of_page(
        options: &Options,
        identity: &[u8],
        shape: &Shape,
        origin: impl FnOnce() -> Origin,
    ) -> Result<Self, Error> {
        if let Some(text) = &options.continuation {
            return Self::decode(&unwrapped(text), identity);
        }
        let take = [shape.top, shape.limit].into_iter().flatten().min();
        Ok(Self { skip: shape.offset, take, origin: origin(), place: Place::default() })
    }

    /// The token's text; `identity` identifies the query.
    pub(crate) fn encode(&self, identity: &[u8]) -> String {
        let mut out = vec![FORMAT];
        out.extend_from_slice(&self.skip.to_be_bytes());
        // Add one, so that zero means no limit.
        let take = self.take.map_or(0, |take| take.saturating_add(1));
        out.extend_from_slice(&take.to_be_bytes());
        let Origin { area: Area { start, end }, is_part } = &self.origin;
        for (edge, flag) in [(start, 0), (end, if *is_part { PART } else { 0 })] {
            let inside = if edge.inside.is_some() { INSIDE } else { 0 };
            out.extend_from_slice(&(edge.slot | flag | inside).to_be_bytes());
        }
        match &self.place {
            Place::Row(position) => put(&mut out, 0, *position, &[]),
            // Earlier builds gave 1 and 2 to places with other sort keys.
            Place::Sorted { key, is_cut, position } => {
                put(&mut out, 6 + u8::from(*is_cut), *position, key);
            }
            Place::Partial { position, partials } => put(&mut out, 3, *position, partials),
            Place::Ordinal(count) => {
                put(&mut out, 4, Position { number: *count, row: 0 }, &[]);
            }
            Place::Created { slots, position } => {
                let slots = [slots.start.to_be_bytes(), slots.end.to_be_bytes()];
                put(&mut out, 5, *position, &slots.concat());
            }
        }
        for edge in [start, end] {
            if let Some(epk) = &edge.inside {
                out.extend_from_slice(epk.as_bytes());
                out.push(u8::try_from(epk.as_bytes().len()).unwrap_or(u8::MAX));
            }
        }
        let sum = checksum(&out, identity);
        out.extend_from_slice(&sum.to_be_bytes());
        URL_SAFE_NO_PAD.encode(out)
    }

    /// Reads a token of the same query.
    pub(crate) fn decode(text: &str, identity: &[u8]) -> Result<Self, Error> {
        Self::read(text, identity).ok_or_else(|| {
            Error::bad_request(
                "Invalid Continuation Token: it is damaged, belongs to another query or was given by \
                 an earlier version.",
            )
        })
    }

    fn read(text: &str, identity: &[u8]) -> Option<Self> {
        let bytes = URL_SAFE_NO_PAD.decode(text.trim()).ok()?;
        let (mut content, sum) = bytes.split_at_checked(bytes.len().checked_sub(4)?)?;
        if sum != checksum(content, identity).to_be_bytes() || content.first() != Some(&FORMAT) {
            return None;
        }
        let word_of = |content: &[u8], offset| {
            content.get(offset..offset + 4)?.try_into().ok().map(u32::from_be_bytes)
        };
        let (start, end) = (word_of(content, 17)?, word_of(content, 21)?);
        // The last one first: they are read from the end.
        let end_edge = take_edge(&mut content, end)?;
        let area = Area { start: take_edge(&mut content, start)?, end: end_edge };
        let origin = Origin { area, is_part: end & PART != 0 };
        let position = Position { number: u64_at(content, 26)?, row: word_of(content, 34)? };
        let rest = content.get(38..)?.to_vec();
        let place = match content.get(25)? {
            0 => Place::Row(position),
            kind @ (6 | 7) => Place::Sorted { key: rest, is_cut: *kind == 7, position },
            3 => Place::Partial { position, partials: rest },
            4 => Place::Ordinal(position.number),
            5 => {
                let slots = word_of(content, 38)?..word_of(content, 42)?;
                let is_valid = slots.start < slots.end && slots.end <= SLOT_COUNT;
                is_valid.then_some(Place::Created { slots, position })?
            }
            _ => return None,
        };
        let (skip, take) = (u64_at(content, 1)?, u64_at(content, 9)?.checked_sub(1));
        Some(Self { skip, take, origin, place })
    }
}

/// Decodes an edge of the area, and removes its bytes from the end if it has any.
fn take_edge(content: &mut &[u8], word: u32) -> Option<Edge> {
    let slot = word & !(PART | INSIDE);
    if slot > SLOT_COUNT {
        return None;
    }
    if word & INSIDE == 0 {
        return Some(Edge::slot(slot));
    }
    let (length, rest) = content.split_last()?;
    let (rest, epk) = rest.split_at_checked(rest.len().checked_sub(usize::from(*length))?)?;
    *content = rest;
    Some(Edge { slot, inside: Some(Epk::from_bytes(epk)) })
}

fn put(out: &mut Vec<u8>, kind: u8, position: Position, rest: &[u8]) {
    out.push(kind);
    out.extend_from_slice(&position.number.to_be_bytes());
    out.extend_from_slice(&position.row.to_be_bytes());
    out.extend_from_slice(rest);
}

fn checksum(content: &[u8], identity: &[u8]) -> u32 {
    murmur3_32(&[content, identity].concat(), 0x5EAF)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scope::EDGE_BYTES_MAX;

    #[test]
    fn tokens_read_back_and_stay_small() {
        let position = Position { number: u64::MAX, row: 7 };
        for place in [
            Place::default(),
            Place::Row(position),
            Place::Sorted { key: vec![0xff; BYTES_MAX], is_cut: true, position },
            Place::Partial { position, partials: vec![1; BYTES_MAX] },
            Place::Ordinal(12),
            Place::Created { slots: 3..SLOT_COUNT, position },
        ] {
            for take in [None, Some(0), Some(10)] {
                let inside = |byte: u8| Some(Epk::from_bytes(vec![byte; EDGE_BYTES_MAX]));
                let (start, end) = (Edge::slot(5), Edge::slot(1 << 24));
                for area in [
                    Area { start: start.clone(), end: end.clone() },
                    Area { start: start.clone(), end: Edge { slot: 5, inside: inside(3) } },
                    Area { start: Edge { slot: 5, inside: inside(1) }, end: end.clone() },
                    Area {
                        start: Edge { slot: 5, inside: inside(1) },
                        end: Edge { slot: 7, inside: inside(2) },
                    },
                ] {
                    let origin = Origin { area, is_part: take.is_none() };
                    let token = Token { skip: 3, take, origin, place: place.clone() };
                    let text = token.encode(b"query");
                    assert!(text.len() < 1024, "{}", text.len());
                    assert_eq!(Token::decode(&text, b"query").expect("the same"), token);
                }
            }
        }
    }

    #[test]
    fn other_and_damaged_tokens_are_refused() {
        let text = Token::default().encode(b"query");
        assert!(Token::decode(&text, b"other").is_err());
        // What an earlier build gave for a place in an order: its sort keys were others.
        let place = Place::Sorted { key: vec![0x20], is_cut: false, position: Position::default() };
        let sorted = Token { place, ..Token::default() }.encode(b"query");
        let mut bytes = URL_SAFE_NO_PAD.decode(sorted).expect("base64");
        bytes.truncate(bytes.len() - 4);
        for (kind, is_known) in [(6, true), (1, false), (2, false)] {
            bytes[25] = kind;
            let sum = checksum(&bytes, b"query").to_be_bytes();
            let text = URL_SAFE_NO_PAD.encode([&bytes[..], &sum].concat());
            assert_eq!(Token::decode(&text, b"query").is_ok(), is_known);
        }
        for bad in ["", "x", "!", &text[1..], &format!("{text}AAAA"), &text.to_lowercase()] {
            assert!(Token::decode(bad, b"query").is_err(), "{bad}");
        }
    }
}
