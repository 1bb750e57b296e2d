//! Document numbers in ascending order, found in the index: lists, postings, and their unions and
//! intersections. A stream is asked for the first number at or behind a place, so an intersection
//! skips what only one side holds.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use protocol::{BoxFuture, Error, rid::DocNum};
use store::{Direction, PageLimit, Snapshot};

use crate::{
    errors,
    expiry::Expiry,
    keys::{SEQUENCE_MAX, docnum, u64_at},
    query::figures::Figures,
};

/// Entries that a posting list is read by: few at first, since most queries want few.
const FIRST_PAGE: usize = 32;
const PAGE_MAX: usize = 1024;

/// What a stream reads from: one partition's snapshot, within a range of slots.
pub(crate) struct Reach<'a> {
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) slots: Range<u32>,
    /// Which documents are gone, though they are still there.
    pub(crate) expiry: Expiry,
    pub(crate) figures: &'a Figures,
    /// What is read here, of all that the page reads.
    pub(crate) work: &'a AtomicU64,
}

/// What reading a document weighs, where an entry of the index weighs one.
const DOCUMENT_WORK: u64 = 1000;

impl Reach<'_> {
    /// A document was read.
    pub(crate) fn note_document(&self, bytes: usize) {
        self.figures.document(bytes);
        self.work.fetch_add(DOCUMENT_WORK, Ordering::Relaxed);
    }

    /// Entries of the index were read.
    pub(crate) fn note_index_entries(&self, count: usize) {
        self.figures.index_entries(count);
        self.work.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// The least number within reach.
    pub(crate) fn first(&self) -> DocNum {
        docnum(self.slots.start, 0)
    }

    /// The greatest number within reach. Only meaningful while there are slots.
    pub(crate) fn last(&self) -> DocNum {
        docnum(self.slots.end.saturating_sub(1), SEQUENCE_MAX)
    }

    pub(crate) fn contains(&self, number: DocNum) -> bool {
        (self.first()..=self.last()).contains(&number) && !self.slots.is_empty()
    }
}

/// Ascending document numbers, each at most once.
pub(crate) enum Stream {
    /// Known numbers, sorted.
    List(Vec<DocNum>),
    /// The documents of one term.
    Postings(Postings),
    Union(Vec<Stream>),
    Intersection(Vec<Stream>),
}

impl Stream {
    /// The first number that is not below `at_least`. Places only rise from call to call.
    pub(crate) fn seek<'a>(
        &'a mut self,
        reach: &'a Reach<'_>,
        at_least: DocNum,
    ) -> BoxFuture<'a, Result<Option<DocNum>, Error>> {
        Box::pin(async move {
            match self {
                Self::List(numbers) => {
                    let at = numbers.partition_point(|number| *number < at_least);
                    Ok(numbers.get(at).copied())
                }
                Self::Postings(postings) => postings.seek(reach, at_least).await,
                Self::Union(streams) => {
                    let mut least = None;
                    for stream in streams {
                        let found = stream.seek(reach, at_least).await?;
                        least = [least, found].into_iter().flatten().min();
                    }
                    Ok(least)
                }
                Self::Intersection(streams) => intersect(streams, reach, at_least).await,
            }
        })
    }
}

/// Lets each stream in turn skip to what the others have reached, until all agree.
async fn intersect(
    streams: &mut [Stream],
    reach: &Reach<'_>,
    at_least: DocNum,
) -> Result<Option<DocNum>, Error> {
    let (mut candidate, mut agreed) = (at_least, 0);
    for index in (0..streams.len()).cycle() {
        match streams[index].seek(reach, candidate).await? {
            None => return Ok(None),
            Some(found) if found == candidate && agreed > 0 => agreed += 1,
            Some(found) => (candidate, agreed) = (found, 1),
        }
        if agreed == streams.len() {
            return Ok(Some(candidate));
        }
    }
    Ok(None)
}

/// The documents of one term, read a page at a time.
pub(crate) struct Postings {
    /// The term's key up to the document number.
    term: Bytes,
    /// Numbers read and not passed yet.
    buffer: VecDeque<DocNum>,
    /// Everything below was read.
    read_to: DocNum,
    page: usize,
    is_done: bool,
}

impl Postings {
    pub(crate) fn new(term: Bytes) -> Self {
        Self { term, buffer: VecDeque::new(), read_to: 0, page: FIRST_PAGE, is_done: false }
    }

    async fn seek(&mut self, reach: &Reach<'_>, at_least: DocNum) -> Result<Option<DocNum>, Error> {
        loop {
            while self.buffer.front().is_some_and(|number| *number < at_least) {
                self.buffer.pop_front();
            }
            if let Some(number) = self.buffer.front() {
                return Ok(Some(*number));
            }
            if self.is_done || reach.slots.is_empty() {
                return Ok(None);
            }
            self.fill(reach, at_least.max(self.read_to).max(reach.first())).await?;
        }
    }

    async fn fill(&mut self, reach: &Reach<'_>, from: DocNum) -> Result<(), Error> {
        if from > reach.last() {
            self.is_done = true;
            return Ok(());
        }
        let bound =
            |number: DocNum| -> Bytes { [&self.term[..], &number.to_be_bytes()].concat().into() };
        let range = (
            std::ops::Bound::Included(bound(from)),
            std::ops::Bound::Included(bound(reach.last())),
        );
        let limit = PageLimit { entries: self.page, bytes: 1 << 20 };
        let page = reach.snapshot.scan(range, Direction::Forward, limit).await;
        let page = page.map_err(errors::from_store)?;
        reach.note_index_entries(page.entries.len());
        reach.figures.check_time()?;
        // The store never waits, so skipping through long lists must let others have the thread.
        tokio::task::yield_now().await;
        self.buffer.extend(page.entries.iter().filter_map(|(key, _)| number_of(key)));
        self.is_done = !page.has_more;
        self.read_to = self.buffer.back().map_or(from, |last| last + 1);
        self.page = (self.page * 4).min(PAGE_MAX);
        Ok(())
    }
}

/// The document number at the end of an index key.
pub(crate) fn number_of(key: &[u8]) -> Option<DocNum> {
    u64_at(key, key.len().checked_sub(8)?)
}
