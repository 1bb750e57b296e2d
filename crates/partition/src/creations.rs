//! Lists a partition's documents in creation order. Small partitions are read in this order, which
//! no key has: the numbers are collected from the primary rows, sorted, and kept in memory for the
//! next page.

use std::{
    collections::BinaryHeap,
    ops::{Bound, Range},
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
};

use bytes::Bytes;
use protocol::Error;
use store::{Direction, PageLimit, Snapshot};

use crate::{
    errors,
    keys::{self, Creation, FEED, PRIMARY, slot_rows, u64_at},
    rows::Primary,
};

/// The most documents a partition may have to be read in creation order.
pub const SMALL: u64 = 10_000;

/// The most documents in a list. More than a small partition has, because it may grow while being
/// read.
const LISTED_MAX: usize = 20_000;

/// The most changes to scan when bringing a list up to date.
const CHANGES_MAX: usize = 4096;

/// The most bytes of cached lists, over all partitions of the process.
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Rows to list at a time.
const PAGE: PageLimit = PageLimit { entries: 1024, bytes: 1 << 20 };

/// Fails when the request's time is up.
type CheckTime<'a> = dyn Fn() -> Result<(), Error> + Send + Sync + 'a;

static KEPT_BYTES: AtomicUsize = AtomicUsize::new(0);

/// The cached list of a partition.
#[derive(Default)]
pub struct Creations(Mutex<Option<Kept>>);

/// A list, and the LSN up to which it is current. It may still contain deleted documents.
#[derive(Clone)]
struct Kept {
    lsn: u64,
    list: Arc<Listed>,
}

/// The documents created between two points, sorted.
pub struct Listed {
    from: Creation,
    /// Documents created from here on are not listed; `None` if all are.
    pub until: Option<Creation>,
    /// The listed documents, ascending; some may have been deleted since.
    pub creations: Vec<Creation>,
    /// Bytes counted toward the cache limit.
    counted: usize,
}

impl Listed {
    fn new(from: Creation, until: Option<Creation>, creations: Vec<Creation>) -> Self {
        let counted = creations.len() * size_of::<Creation>();
        KEPT_BYTES.fetch_add(counted, Ordering::Relaxed);
        Self { from, until, creations, counted }
    }

    fn has(&self, creation: Creation) -> bool {
        self.from <= creation && self.until.is_none_or(|until| creation < until)
    }
}

impl Drop for Listed {
    fn drop(&mut self) {
        KEPT_BYTES.fetch_sub(self.counted, Ordering::Relaxed);
    }
}

impl Creations {
    fn lock(&self) -> MutexGuard<'_, Option<Kept>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn keep(&self, kept: Kept) {
        let has_room = KEPT_BYTES.load(Ordering::Relaxed) <= KEPT_BYTES_MAX;
        let mut place = self.lock();
        if !has_room {
            *place = None;
        } else if place.as_ref().is_none_or(|other| other.lsn <= kept.lsn) {
            *place = Some(kept);
        }
    }
}

/// A partition whose documents are to be listed.
pub struct Listing<'a> {
    /// The slots of the partition.
    pub slots: Range<u32>,
    /// Its approximate number of documents.
    pub documents: u64,
    /// A snapshot of its rows.
    pub snapshot: &'a dyn Snapshot,
    /// The snapshot holds everything up to this LSN.
    pub lsn: u64,
    /// Fails when the request's time is up.
    pub check_time: &'a CheckTime<'a>,
}

impl Creations {
    /// Lists documents created at or after `from`, at least the first of them.
    pub async fn since(&self, of: Listing<'_>, from: Creation) -> Result<Arc<Listed>, Error> {
        let (snapshot, lsn) = (of.snapshot, of.lsn);
        let kept = self.lock().clone().filter(|kept| kept.list.has(from));
        if let Some(kept) = kept {
            if kept.lsn >= lsn {
                return Ok(kept.list);
            }
            if let Some(list) = updated(&kept, snapshot).await? {
                self.keep(Kept { lsn, list: Arc::clone(&list) });
                return Ok(list);
            }
        }
        // All pages of a small partition share one list, so it starts at the beginning.
        let is_small = of.documents <= LISTED_MAX as u64;
        let first = if is_small { Creation::default() } else { from };
        let mut list = of.list(first).await?;
        if !list.has(from) {
            list = of.list(from).await?;
        }
        let list = Arc::new(list);
        self.keep(Kept { lsn, list: Arc::clone(&list) });
        Ok(list)
    }
}

impl Listing<'_> {
    /// Lists the first documents created at or after `from`.
    async fn list(&self, from: Creation) -> Result<Listed, Error> {
        let rows = slot_rows(&[PRIMARY], self.slots.clone());
        let (mut start, end) = (Bound::Included(rows.start), rows.end);
        let mut found = BinaryHeap::new();
        let mut until = None;
        loop {
            let range = (start, Bound::Excluded(end.clone()));
            let page = self.snapshot.scan(range, Direction::Forward, PAGE).await;
            let page = page.map_err(errors::from_store)?;
            for (_, row) in &page.entries {
                let primary = Primary::decode(row).map_err(errors::from_damaged)?;
                let creation = Creation::of(primary.docnum);
                if creation >= from && until.is_none_or(|until| creation < until) {
                    found.push(creation);
                    if found.len() > LISTED_MAX {
                        until = found.pop();
                    }
                }
            }
            match page.entries.last() {
                Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
                _ => break,
            }
            (self.check_time)()?;
            // If the store has everything in memory, nothing here waits; yield so that a long list
            // does not hog the thread.
            tokio::task::yield_now().await;
        }
        Ok(Listed::new(from, until, found.into_sorted_vec()))
    }
}

/// The list updated with later creations; `None` if it is cheaper to rebuild.
async fn updated(kept: &Kept, snapshot: &dyn Snapshot) -> Result<Option<Arc<Listed>>, Error> {
    let start = keys::feed(kept.lsn.saturating_add(1), 0);
    let range = (Bound::Included(start), Bound::Excluded(Bytes::from_static(&[FEED + 1])));
    let limit = PageLimit { entries: CHANGES_MAX, ..PAGE };
    let page = snapshot.scan(range, Direction::Forward, limit).await.map_err(errors::from_store)?;
    if page.has_more {
        return Ok(None);
    }
    let list = &kept.list;
    let changed = page.entries.iter().filter_map(|(key, _)| u64_at(key, 9)).map(Creation::of);
    let is_new = |creation: &Creation| {
        list.has(*creation) && list.creations.binary_search(creation).is_err()
    };
    let new: Vec<Creation> = changed.filter(is_new).collect();
    if new.is_empty() {
        return Ok(Some(Arc::clone(list)));
    }
    if list.creations.len() + new.len() > LISTED_MAX {
        return Ok(None);
    }
    let mut creations = [&list.creations[..], &new].concat();
    creations.sort();
    creations.dedup();
    Ok(Some(Arc::new(Listed::new(list.from, list.until, creations))))
}
