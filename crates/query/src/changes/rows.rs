//! The rows of a change feed in their order: transaction after transaction.

use std::{
    collections::{BTreeSet, HashMap, VecDeque},
    ops::{Bound, Range},
    sync::Arc,
};

use bytes::Bytes;
use partition::{
    errors,
    keys::{self, u64_at},
    rows::{Damaged, Primary},
};
use protocol::{Error, rid::DocNum};
use store::{Direction, Page, PageLimit, Snapshot};

use crate::together::Waits;

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

impl Entry {
    fn of(key: &Bytes, row: Bytes) -> Result<Self, Error> {
        let place = u64_at(key, 1).zip(u64_at(key, 9));
        let (lsn, number) = place.ok_or_else(|| errors::from_damaged(Damaged("F")))?;
        Ok(Self { lsn, number, row })
    }
}

/// Reads the rows under a letter that have LSNs from here to there.
pub(super) struct Rows {
    snapshot: Arc<dyn Snapshot>,
    /// Whether the store has to be waited for.
    waits: Arc<Waits>,
    letter: u8,
    /// Transactions behind this one are not given yet.
    after: u64,
    /// And none behind this one will be.
    last: u64,
    buffer: VecDeque<Entry>,
    /// What was read before the page came here.
    ahead: Option<Box<Ahead>>,
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

/// What was read of a partition that the page may come to.
struct Ahead {
    /// The first rows, until the page comes to them.
    page: Option<Page>,
    /// Documents of them.
    documents: HashMap<DocNum, Option<Bytes>>,
}

/// The next transactions in which a few documents have changed.
struct Few {
    lsns: VecDeque<u64>,
    /// Whether they are all.
    is_all: bool,
}

impl Rows {
    /// Transactions behind `after`, up to `last`.
    pub(super) fn new(
        snapshot: Arc<dyn Snapshot>,
        waits: Arc<Waits>,
        letter: u8,
        (after, last): (u64, u64),
    ) -> Self {
        Self {
            snapshot,
            waits,
            letter,
            after,
            last,
            buffer: VecDeque::new(),
            ahead: None,
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
        let Some(from) = self.from else { return Ok(()) };
        let page = match self.ahead.as_mut().and_then(|ahead| ahead.page.take()) {
            Some(page) => page,
            None => self.scan(from, PAGE_BYTES).await?,
        };
        self.scanned += page.entries.len();
        self.page = (self.page * 2).min(PAGE_MAX);
        self.from = None;
        for (key, row) in page.entries {
            let entry = Entry::of(&key, row)?;
            self.from = page.has_more.then(|| (entry.lsn, entry.number + 1));
            self.buffer.push_back(entry);
        }
        // Where the store has all at hand, nothing here waits: a long scan must let others have the
        // thread.
        tokio::task::yield_now().await;
        Ok(())
    }

    async fn scan(&self, (lsn, number): (u64, DocNum), bytes: usize) -> Result<Page, Error> {
        let range = (
            Bound::Included(keys::change(self.letter, lsn, number)),
            Bound::Included(keys::change(self.letter, self.until, DocNum::MAX)),
        );
        let limit = PageLimit { entries: self.page, bytes };
        let page = self.waits.on(self.snapshot.scan(range, Direction::Forward, limit)).await;
        page.map_err(errors::from_store)
    }

    /// Reads the first rows before the page comes here, if they have no more than so many bytes.
    /// Nothing counts as read by that.
    pub(super) async fn read_ahead(&mut self, bytes: usize) -> Result<(), Error> {
        let Some(from) = self.from else { return Ok(()) };
        let page = self.scan(from, bytes).await?;
        // What was cut short is read as ever.
        let is_whole = !page.has_more || page.entries.len() >= self.page;
        let page = Some(page).filter(|_| is_whole);
        self.ahead = Some(Ahead { page, documents: HashMap::new() }.into());
        Ok(())
    }

    /// The changes that were read ahead.
    pub(super) fn coming(&self) -> impl Iterator<Item = Entry> {
        let page = self.ahead.iter().filter_map(|ahead| ahead.page.as_ref());
        let entries = page.flat_map(|page| &page.entries);
        entries.filter_map(|(key, row)| Entry::of(key, row.clone()).ok())
    }

    /// Loads documents of them.
    pub(super) async fn load_ahead(&mut self, numbers: Vec<DocNum>) -> Result<(), Error> {
        let documents = self.load(numbers.iter().copied()).await?;
        if let Some(ahead) = &mut self.ahead {
            ahead.documents = numbers.into_iter().zip(documents).collect();
        }
        Ok(())
    }

    /// The rows of the documents that these changes made.
    pub(super) async fn documents(&self, chunk: &[Entry]) -> Result<Vec<Option<Bytes>>, Error> {
        let numbers = chunk.iter().map(|entry| entry.number);
        let Some(ahead) = &self.ahead else { return self.load(numbers).await };
        let missing = numbers.clone().filter(|number| !ahead.documents.contains_key(number));
        let mut read = self.load(missing).await?.into_iter();
        let row = |number| match ahead.documents.get(&number) {
            Some(row) => row.clone(),
            None => read.next().flatten(),
        };
        Ok(numbers.map(row).collect())
    }

    async fn load(
        &self,
        numbers: impl Iterator<Item = DocNum>,
    ) -> Result<Vec<Option<Bytes>>, Error> {
        let wanted: Vec<Bytes> = numbers.map(keys::document).collect();
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        self.waits.on(self.snapshot.get_many(&wanted)).await.map_err(errors::from_store)
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
            let page = self.waits.on(page).await.map_err(errors::from_store)?;
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
