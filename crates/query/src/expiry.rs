//! Time to live: whether a document has expired, as one request sees it.
//!
//! A document is gone in the second in which its time to live ends, even if it is still stored:
//! every reader and writer checks here, with one time for the whole request. The engine's sweep
//! removes the stored rows later.

use std::ops::Bound;

use bytes::Bytes;
use partition::{
    errors,
    keys::{self, EXPIRY},
    rows::Header,
    text::lenient_ttl,
};
use protocol::{Error, rid::DocNum};
use store::{Direction, PageLimit, Snapshot};
use value::json;

use crate::served::Served;

/// Decides which documents of a collection have expired at some moment.
#[derive(Clone, Copy, Debug)]
pub struct Expiry {
    default_ttl: Option<i32>,
    index_generation: u32,
    now: u64,
}

impl Expiry {
    /// Uses the definitions of a collection, at a given second.
    pub fn new(collection: &Served, now: u64) -> Self {
        Self {
            default_ttl: collection.definition.default_ttl,
            index_generation: collection.index_generation,
            now,
        }
    }

    /// Whether documents can expire at all.
    pub fn is_on(&self) -> bool {
        self.default_ttl.is_some()
    }

    /// Whether a document has expired.
    pub fn is_over(&self, header: &Header, document: &[u8]) -> bool {
        if self.default_ttl.is_none() {
            return false;
        }
        let mut header = *header;
        // It was written when the collection may have had no time to live, so its own was not read.
        if header.ttl == 0 && header.index_generation < self.index_generation {
            header.ttl = json::parse(document).map_or(0, |document| lenient_ttl(&document));
        }
        header.expiry(self.default_ttl).is_some_and(|expiry| expiry <= self.now)
    }

    /// A page of the expiry rows that are due by now, after the row `after`. A row may be out of
    /// date: only the document is authoritative.
    pub async fn due(
        &self,
        snapshot: &dyn Snapshot,
        after: Option<Bytes>,
        entries: usize,
    ) -> Result<Due, Error> {
        let start = match after {
            Some(key) => Bound::Excluded(key),
            None => Bound::Included(Bytes::from_static(&[EXPIRY])),
        };
        let range = (start, Bound::Included(keys::expiry(self.now, DocNum::MAX)));
        let limit = PageLimit { entries, bytes: 1 << 20 };
        let page = snapshot.scan(range, Direction::Forward, limit).await;
        let page = page.map_err(errors::from_store)?;
        let rows = page.entries.into_iter().map(|(key, _)| key).collect();
        Ok(Due { rows, has_more: page.has_more })
    }
}

/// Keys of rows that are due.
pub struct Due {
    /// The keys in order.
    pub rows: Vec<Bytes>,
    /// Whether there are more.
    pub has_more: bool,
}

/// Whether a document has expired, given its row.
pub fn is_expired(header: &Header, document: &[u8], collection: &Served, now: u64) -> bool {
    Expiry::new(collection, now).is_over(header, document)
}
