//! A page of rows on its way out: what fits, what OFFSET skips, what LIMIT ends, what DISTINCT has
//! seen before.

use std::collections::HashSet;

use bytes::Bytes;
use protocol::{Code, Error, limits::PAGE_BYTES_MAX};
use value::{Value, hash::murmur3_128, key};

/// Most different rows that DISTINCT remembers: sixteen bytes each, and what the set needs.
const SEEN_MAX: usize = 4_000_000;

/// The rows of a page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Bytes>,
    bytes: usize,
    limit: usize,
    /// Rows still to be skipped.
    pub(crate) skip: u64,
    /// Rows still to be let through; `None` without a limit.
    pub(crate) take: Option<u64>,
}

/// What became of a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It is in the page, or was skipped.
    Accepted,
    /// It belongs to the next page.
    Full,
    /// It is behind the last row of the answer.
    Over,
}

impl Page {
    pub(crate) fn new(limit: usize, skip: u64, take: Option<u64>) -> Self {
        Self { items: Vec::new(), bytes: 0, limit, skip, take }
    }

    /// Whether no further row belongs to the answer.
    pub(crate) fn is_over(&self) -> bool {
        self.take == Some(0)
    }

    /// Takes the next row of the answer.
    pub(crate) fn offer(&mut self, item: impl FnOnce() -> Bytes) -> Offered {
        if self.is_over() {
            return Offered::Over;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Offered::Accepted;
        }
        if self.items.len() >= self.limit {
            return Offered::Full;
        }
        let item = item();
        if self.bytes + item.len() > PAGE_BYTES_MAX && !self.items.is_empty() {
            return Offered::Full;
        }
        self.bytes += item.len();
        self.items.push(item);
        self.take = self.take.map(|take| take - 1);
        Offered::Accepted
    }

    /// Rows that the page still wants, those to be skipped included.
    pub(crate) fn wants(&self) -> usize {
        let take = self.take.and_then(|take| usize::try_from(take).ok()).unwrap_or(usize::MAX);
        let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
        (self.limit - self.items.len().min(self.limit)).min(take).saturating_add(skip)
    }

    /// Gives the rows back, to be offered again in another way.
    pub(crate) fn restart(&mut self, (skip, take): (u64, Option<u64>)) {
        self.items.clear();
        self.bytes = 0;
        (self.skip, self.take) = (skip, take);
    }

    /// Bytes of the rows.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The rows that DISTINCT has met, by a hash of 128 bits.
#[derive(Debug, Default)]
pub(crate) struct Seen(HashSet<(u64, u64)>);

impl Seen {
    /// Whether the row is new.
    pub(crate) fn insert(&mut self, row: &Value) -> Result<bool, Error> {
        let mut bytes = Vec::new();
        key::encode(row, &mut bytes);
        let is_new = self.0.insert(murmur3_128(&bytes, (0, 0)));
        if self.0.len() > SEEN_MAX {
            return Err(too_large("DISTINCT has more than 4,000,000 different rows"));
        }
        Ok(is_new)
    }
}

/// A query that would need more memory than it may have.
pub(crate) fn too_large(what: &str) -> Error {
    Error::new(
        Code::BadRequest,
        format!("The query exceeds the maximum memory that it may use: {what}."),
    )
}
