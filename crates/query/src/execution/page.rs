//! Collects a page of rows: what fits, what OFFSET skips, where LIMIT ends, and what DISTINCT has
//! seen before.

use std::{
    collections::HashSet,
    sync::Arc,
    time::{Duration, Instant},
};

use bytes::Bytes;
use protocol::{
    Code, Error, Options,
    limits::{PAGE_BYTES_MAX, PAGE_ITEMS_DEFAULT},
};
use value::{Value, hash::murmur3_128, key};

use crate::{
    execution::{job::halted, token::Token},
    held::Held,
};

/// Most different rows that DISTINCT remembers.
const SEEN_MAX: usize = 4_000_000;

/// The memory of the set per row of capacity: sixteen bytes, one of metadata, and an eighth that it
/// keeps free.
const SEEN_BYTES: usize = 20;

/// The rows of a page.
#[derive(Debug)]
pub(crate) struct Page {
    pub(crate) items: Vec<Bytes>,
    bytes: usize,
    limit: usize,
    /// Rows still to skip.
    pub(crate) skip: u64,
    /// Rows still to return; `None` without a limit.
    pub(crate) take: Option<u64>,
    /// How long rows took to print; `None` if no metrics were requested.
    written: Option<Duration>,
    /// Whether a full page ends at once, so that the next one finds out whether there is more.
    ends_when_full: bool,
}

/// The result of offering a row.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Offered {
    /// It is in the page, or was skipped.
    Accepted,
    /// It belongs to the next page.
    Full,
    /// It comes after the last row of the answer.
    Over,
}

impl Page {
    pub(crate) fn new(limit: usize, skip: u64, take: Option<u64>) -> Self {
        let (items, bytes) = (Vec::new(), 0);
        Self { items, bytes, limit, skip, take, written: None, ends_when_full: true }
    }

    /// The page for a request.
    ///
    /// COMPAT: JavaScript, when it reads range by range and resumes from its own token, loops
    /// forever if the last page of a range is empty. Such requests are told at once that there is
    /// no more.
    pub(crate) fn of(options: &Options, token: &Token) -> Self {
        let limit = options.max_item_count.unwrap_or(PAGE_ITEMS_DEFAULT) as usize;
        let ends_when_full = options.range_id.is_none() || !options.keeps_old_ranges;
        let written = options.query.populate_metrics.then_some(Duration::ZERO);
        Self { written, ends_when_full, ..Self::new(limit, token.skip, token.take) }
    }

    /// Whether the page ends here, with or without more rows.
    pub(crate) fn is_at_end(&self) -> bool {
        self.ends_when_full && self.is_full()
    }

    /// How long rows took to print, if it was measured.
    pub(crate) fn written(&self) -> Duration {
        self.written.unwrap_or_default()
    }

    /// Whether the answer has all its rows.
    pub(crate) fn is_over(&self) -> bool {
        self.take == Some(0)
    }

    /// Whether it has as many rows as it may have.
    fn is_full(&self) -> bool {
        self.items.len() >= self.limit
    }

    /// Offers the next row of the answer.
    pub(crate) fn offer(&mut self, item: impl FnOnce() -> Bytes) -> Offered {
        if self.is_over() {
            return Offered::Over;
        }
        if self.skip > 0 {
            self.skip -= 1;
            return Offered::Accepted;
        }
        if self.is_full() {
            return Offered::Full;
        }
        let item = match &mut self.written {
            None => item(),
            Some(written) => {
                let started = Instant::now();
                let item = item();
                *written += started.elapsed();
                item
            }
        };
        if self.bytes + item.len() > PAGE_BYTES_MAX && !self.items.is_empty() {
            return Offered::Full;
        }
        self.bytes += item.len();
        self.items.push(item);
        self.take = self.take.map(|take| take - 1);
        Offered::Accepted
    }

    /// The number of rows that the page still wants, including those to skip.
    pub(crate) fn wants(&self) -> usize {
        let take = self.take.and_then(|take| usize::try_from(take).ok()).unwrap_or(usize::MAX);
        let skip = usize::try_from(self.skip).unwrap_or(usize::MAX);
        (self.limit - self.items.len().min(self.limit)).min(take).saturating_add(skip)
    }

    /// Discards the rows, to offer them again in another way.
    pub(crate) fn restart(&mut self, (skip, take): (u64, Option<u64>)) {
        self.items.clear();
        self.bytes = 0;
        (self.skip, self.take) = (skip, take);
    }

    /// The size of the rows.
    pub(crate) fn bytes(&self) -> usize {
        self.bytes
    }
}

/// The rows that DISTINCT has seen, by a hash of 128 bits.
#[derive(Debug)]
pub(crate) struct Seen {
    rows: HashSet<(u64, u64)>,
    held: Arc<Held>,
    bytes: usize,
}

impl Seen {
    pub(crate) fn new(held: &Arc<Held>) -> Self {
        Self { rows: HashSet::new(), held: Arc::clone(held), bytes: 0 }
    }

    /// Whether the row is new.
    pub(crate) fn insert(&mut self, row: &Value) -> Result<bool, Error> {
        let mut bytes = Vec::new();
        key::encode(row, &mut bytes);
        if self.rows.len() == self.rows.capacity() {
            self.grow()?;
        }
        let is_new = self.rows.insert(murmur3_128(&bytes, (0, 0)));
        if self.rows.len() > SEEN_MAX {
            return Err(too_large("DISTINCT has more than 4,000,000 different rows"));
        }
        Ok(is_new)
    }

    /// Doubles the capacity, reserving the memory first.
    fn grow(&mut self) -> Result<(), Error> {
        let before = self.rows.capacity();
        let more = SEEN_BYTES * (before + 1);
        self.held.take(more).map_err(halted)?;
        self.bytes += more;
        self.rows.reserve(before + 1);
        Ok(())
    }
}

impl Drop for Seen {
    fn drop(&mut self) {
        self.held.give_back(self.bytes);
    }
}

/// The error for a query that needs more memory than it may have.
pub(crate) fn too_large(what: &str) -> Error {
    Error::new(
        Code::BadRequest,
        format!("The query exceeds the maximum memory that it may use: {what}."),
    )
}
