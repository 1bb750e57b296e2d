//! A page of rows on its way out: what fits, what OFFSET skips, what LIMIT ends, what DISTINCT has
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

/// What the set takes for each row that it has room for: sixteen bytes, one of its own, and the
/// eighth that it leaves free.
const SEEN_BYTES: usize = 20;

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
    /// How long rows took to print; `None` if nobody wants to know.
    written: Option<Duration>,
    /// Whether a page that is full ends there, and leaves it to the next one to find that there is
    /// no more.
    ends_when_full: bool,
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
        let (items, bytes) = (Vec::new(), 0);
        Self { items, bytes, limit, skip, take, written: None, ends_when_full: true }
    }

    /// The page that a request for documents asks for.
    ///
    /// COMPAT: JavaScript, when it asks range by range and is taken up again by its own token, asks
    /// for ever if the last page of a range is empty. Those that ask so are told at once that there
    /// is no more.
    pub(crate) fn of(options: &Options, token: &Token) -> Self {
        let limit = options.max_item_count.unwrap_or(PAGE_ITEMS_DEFAULT) as usize;
        let ends_when_full = options.range_id.is_none() || !options.keeps_old_ranges;
        let written = options.query.populate_metrics.then_some(Duration::ZERO);
        Self { written, ends_when_full, ..Self::new(limit, token.skip, token.take) }
    }

    /// Whether it ends here, with or without more rows.
    pub(crate) fn is_at_end(&self) -> bool {
        self.ends_when_full && self.is_full()
    }

    /// How long rows took to print, as far as it was measured.
    pub(crate) fn written(&self) -> Duration {
        self.written.unwrap_or_default()
    }

    /// Whether no further row belongs to the answer.
    pub(crate) fn is_over(&self) -> bool {
        self.take == Some(0)
    }

    /// Whether it has as many rows as it may have.
    fn is_full(&self) -> bool {
        self.items.len() >= self.limit
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

    /// Makes room for as many again, which are counted before they are there.
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

/// A query that would need more memory than it may have.
pub(crate) fn too_large(what: &str) -> Error {
    Error::new(
        Code::BadRequest,
        format!("The query exceeds the maximum memory that it may use: {what}."),
    )
}
