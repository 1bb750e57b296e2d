//! The rows of a change feed in their order: transaction after transaction.

use std::{
    collections::{BTreeSet, VecDeque},
    ops::{Bound, Range},
};

use bytes::Bytes;
use partition::{
    errors,
    keys::{self, u64_at},
    rows::{Damaged, Primary},
};
use protocol::{Error, rid::DocNum};
use store::{Direction, PageLimit, Snapshot};

/// Rows that are read at a time: few at first, since most pages are small.
const FIRST_PAGE: usize = 32;
const PAGE_MAX: usize = 1024;
const PAGE_BYTES: usize = 1 << 20;

/// Primary rows read at a time.
const PRIMARIES: PageLimit = PageLimit { entries: 4096, bytes: 1 << 20 };

/// Transactions that are kept in mind of those that matter.
const FEW_MAX: usize = 4096;

/// A change to a document.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) lsn: u64,
    pub(super) number: DocNum,
    pub(super) row: Bytes,
}

/// Reads the rows under a letter that have LSNs from here to there.
pub(super) struct Rows<'a> {
    pub(super) snapshot: &'a dyn Snapshot,
    letter: u8,
    /// Transactions behind this one are not given yet.
    after: u64,
    /// And none behind this one will be.
    last: u64,
    buffer: VecDeque<Entry>,
    /// Where the next rows are to be read; `None` if all were.
    from: Option<(u64, DocNum)>,
    /// The last transaction that is read meanwhile.
    until: u64,
    page: usize,
    /// Rows read.
    pub(super) scanned: usize,
    /// Only these transactions matter, up to the last of them or to the end.
    only: Option<Few>,
}

/// The next transactions in which a few documents have changed.
struct Few {
    lsns: VecDeque<u64>,
    /// Whether they are all.
    is_all: bool,
}

impl<'a> Rows<'a> {
    /// Transactions behind `after`, up to `last`.
    pub(super) fn new(snapshot: &'a dyn Snapshot, letter: u8, after: u64, last: u64) -> Self {
        Self {
            snapshot,
            letter,
            after,
            last,
            buffer: VecDeque::new(),
            from: (after < last).then(|| (after + 1, 0)),
            until: last,
            page: FIRST_PAGE,
            scanned: 0,
            only: None,
        }
    }

    /// Everything up to this LSN was given.
    pub(super) fn position(&self) -> u64 {
        self.after
    }

    /// Adds those changes of the next transaction that `admits` lets through; whether there was one.
    pub(super) async fn next(
        &mut self,
        out: &mut Vec<Entry>,
        admits: impl Fn(&Entry) -> bool,
    ) -> Result<bool, Error> {
        let lsn = loop {
            self.jump();
            if self.buffer.is_empty() {
                self.fill().await?;
            }
            match self.buffer.front() {
                Some(entry) => break entry.lsn,
                None if self.is_narrow() => {}
                None => {
                    self.after = self.last;
                    return Ok(false);
                }
            }
        };
        loop {
            while let Some(entry) = self.buffer.pop_front_if(|entry| entry.lsn == lsn) {
                if admits(&entry) {
                    out.push(entry);
                }
            }
            // It may go on behind what was read.
            if !self.buffer.is_empty() || self.from.is_none_or(|(next, _)| next > lsn) {
                break;
            }
            self.fill().await?;
        }
        self.after = lsn;
        Ok(true)
    }

    /// Goes to the next of a few transactions.
    fn jump(&mut self) {
        let Some(few) = &mut self.only else { return };
        match few.lsns.pop_front() {
            Some(lsn) => {
                self.after = lsn - 1;
                self.buffer.clear();
                self.from = Some((lsn, 0));
                self.until = lsn;
                self.page = FIRST_PAGE;
            }
            None if few.is_all => {
                self.buffer.clear();
                self.from = None;
            }
            None => {
                self.only = None;
                self.until = self.last;
                self.buffer.clear();
                self.from = (self.after < self.last).then(|| (self.after + 1, 0));
            }
        }
    }

    async fn fill(&mut self) -> Result<(), Error> {
        let Some((lsn, number)) = self.from else { return Ok(()) };
        let range = (
            Bound::Included(keys::change(self.letter, lsn, number)),
            Bound::Included(keys::change(self.letter, self.until, DocNum::MAX)),
        );
        let limit = PageLimit { entries: self.page, bytes: PAGE_BYTES };
        let page = self.snapshot.scan(range, Direction::Forward, limit).await;
        let page = page.map_err(errors::from_store)?;
        self.scanned += page.entries.len();
        self.page = (self.page * 2).min(PAGE_MAX);
        self.from = None;
        for (key, row) in page.entries {
            let place = u64_at(&key, 1).zip(u64_at(&key, 9));
            let (lsn, number) = place.ok_or_else(|| errors::from_damaged(Damaged("F")))?;
            self.from = page.has_more.then(|| (lsn, number + 1));
            self.buffer.push_back(Entry { lsn, number, row });
        }
        // Where the store has all at hand, nothing here waits: a long scan must let others have the
        // thread.
        tokio::task::yield_now().await;
        Ok(())
    }

    /// Whether it goes on with some transactions only, and then perhaps with the rest.
    pub(super) fn is_narrow(&self) -> bool {
        self.only.as_ref().is_some_and(|few| !few.lsns.is_empty() || !few.is_all)
    }

    /// Transactions that are left.
    pub(super) fn left(&self) -> usize {
        usize::try_from(self.last - self.after).unwrap_or(usize::MAX)
    }

    /// Goes on with those transactions only that wrote the current version of a document whose primary
    /// row is in this range: the next of them. Nothing changes where it has more than `most` rows;
    /// whether it has not.
    pub(super) async fn narrow(&mut self, range: Range<Bytes>, most: usize) -> Result<bool, Error> {
        let mut lsns = BTreeSet::new();
        let mut is_all = true;
        let mut read = 0;
        let (mut start, end) = (Bound::Included(range.start), Bound::Excluded(range.end));
        loop {
            let limit = PageLimit { entries: PRIMARIES.entries.min(most - read), ..PRIMARIES };
            let page = self.snapshot.scan((start, end.clone()), Direction::Forward, limit);
            let page = page.await.map_err(errors::from_store)?;
            read += page.entries.len();
            self.scanned += page.entries.len();
            for (_, row) in &page.entries {
                let lsn = Primary::decode(row).map_err(errors::from_damaged)?.lsn;
                if lsn > self.after && lsn <= self.last {
                    lsns.insert(lsn);
                    if lsns.len() > FEW_MAX {
                        lsns.pop_last();
                        is_all = false;
                    }
                }
            }
            match page.entries.last() {
                Some(_) if page.has_more && read >= most => return Ok(false),
                Some((key, _)) if page.has_more => start = Bound::Excluded(key.clone()),
                _ => break,
            }
            tokio::task::yield_now().await;
        }
        self.only = Some(Few { lsns: lsns.into_iter().collect(), is_all });
        Ok(true)
    }
}
