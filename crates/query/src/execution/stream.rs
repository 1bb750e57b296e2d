//! Document numbers in ascending order, found in the index: lists, postings, and their unions and
//! intersections. The caller asks a stream for the first number at or after a position, so an
//! intersection skips numbers that only one side has.

use std::{
    collections::VecDeque,
    ops::Range,
    sync::atomic::{AtomicU64, Ordering},
};

use bytes::Bytes;
use partition::{
    errors,
    keys::{SEQUENCE_MAX, docnum, u64_at},
};
use protocol::{Error, rid::DocNum};
use store::{Direction, KeyRange, Page, PageLimit, Snapshot};

use crate::{execution::figures::Figures, expiry::Expiry, together};

/// Entries per read of a posting list: few at first, since most queries want few.
const FIRST_PAGE: usize = 32;
const PAGE_MAX: usize = 1024;

/// The source of a stream: one partition's snapshot, within a range of slots.
pub(crate) struct Reach<'a> {
    pub(crate) snapshot: &'a dyn Snapshot,
    pub(crate) slots: Range<u32>,
    /// Which documents have expired but are not swept yet.
    pub(crate) expiry: Expiry,
    pub(crate) figures: &'a Figures,
    /// The work done in this partition.
    pub(crate) work: &'a AtomicU64,
}

/// The work of reading a document, relative to one index entry.
const DOCUMENT_WORK: u64 = 1000;

impl Reach<'_> {
    /// Counts a document read.
    pub(crate) fn note_document(&self, bytes: usize) {
        self.figures.document(bytes);
        self.work.fetch_add(DOCUMENT_WORK, Ordering::Relaxed);
    }

    /// Counts index entries read.
    pub(crate) fn note_index_entries(&self, count: usize) {
        self.figures.index_entries(count);
        self.work.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// The values of keys.
    pub(crate) async fn get_many(&self, keys: &[Bytes]) -> Result<Vec<Option<Bytes>>, Error> {
        let values = self.figures.waiting_for(self.snapshot.get_many(keys)).await;
        values.map_err(errors::from_store)
    }

    /// One page of the entries in a range.
    pub(crate) async fn scan(
        &self,
        range: KeyRange,
        direction: Direction,
        limit: PageLimit,
    ) -> Result<Page, Error> {
        let page = self.figures.waiting_for(self.snapshot.scan(range, direction, limit)).await;
        page.map_err(errors::from_store)
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
    Intersection(Intersection),
}

/// The state of a stream without further reading.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Known {
    /// This is the first number.
    Number(DocNum),
    /// There are no more.
    End,
    /// Entries have to be read first.
    Unread,
}

impl Stream {
    /// The first number that is not below `at_least`, which must not decrease from call to call.
    pub(crate) async fn seek(
        &mut self,
        reach: &Reach<'_>,
        at_least: DocNum,
    ) -> Result<Option<DocNum>, Error> {
        loop {
            match self.known(reach, at_least) {
                Known::Number(number) => return Ok(Some(number)),
                Known::End => return Ok(None),
                Known::Unread => {}
            }
            let mut unread = Vec::new();
            self.unread(&mut unread);
            together::all(unread.into_iter().map(|postings| postings.fill(reach))).await?;
        }
    }

    /// The first number that is not below `at_least`, if that is known without reading. `at_least`
    /// must not decrease from call to call.
    pub(crate) fn known(&mut self, reach: &Reach<'_>, at_least: DocNum) -> Known {
        match self {
            Self::List(numbers) => {
                let at = numbers.partition_point(|number| *number < at_least);
                numbers.get(at).map_or(Known::End, |number| Known::Number(*number))
            }
            Self::Postings(postings) => postings.known(reach, at_least),
            Self::Union(streams) => {
                let (mut least, mut is_unread) = (None, false);
                // Ask all of them, so that those that must be read are read together.
                for stream in streams {
                    match stream.known(reach, at_least) {
                        Known::Number(number) => least = Some(least.unwrap_or(number).min(number)),
                        Known::End => {}
                        Known::Unread => is_unread = true,
                    }
                }
                match least {
                    _ if is_unread => Known::Unread,
                    Some(number) => Known::Number(number),
                    None => Known::End,
                }
            }
            Self::Intersection(intersection) => intersection.known(reach, at_least),
        }
    }

    /// Collects the postings that must be read to know the next number.
    fn unread<'s>(&'s mut self, out: &mut Vec<&'s mut Postings>) {
        match self {
            Self::Postings(postings) => out.extend(Some(postings).filter(|it| it.from.is_some())),
            Self::Union(streams) => streams.iter_mut().for_each(|stream| stream.unread(out)),
            Self::Intersection(intersection) if intersection.is_waiting => {
                intersection.streams[intersection.turn].unread(out);
            }
            Self::List(_) | Self::Intersection(_) => {}
        }
    }
}

/// The numbers that are in all streams.
pub(crate) struct Intersection {
    streams: Vec<Stream>,
    /// The stream to ask next, for which number, and how many streams before it have that number.
    turn: usize,
    candidate: DocNum,
    agreed: usize,
    /// Whether that stream must be read first. It continues with the same stream afterwards, so
    /// that no stream is read for a number that another has already skipped.
    is_waiting: bool,
}

impl Intersection {
    /// The intersection of two or more streams.
    pub(crate) fn of(streams: Vec<Stream>) -> Self {
        Self { streams, turn: 0, candidate: 0, agreed: 0, is_waiting: false }
    }

    pub(crate) fn streams(&self) -> &[Stream] {
        &self.streams
    }

    /// Lets each stream in turn skip to what the others have reached, until all agree.
    fn known(&mut self, reach: &Reach<'_>, at_least: DocNum) -> Known {
        if !self.is_waiting || self.candidate < at_least {
            (self.turn, self.candidate, self.agreed) = (0, at_least, 0);
        }
        self.is_waiting = false;
        loop {
            match self.streams[self.turn].known(reach, self.candidate) {
                Known::End => return Known::End,
                Known::Unread => {
                    self.is_waiting = true;
                    return Known::Unread;
                }
                Known::Number(found) if found == self.candidate && self.agreed > 0 => {
                    self.agreed += 1;
                }
                Known::Number(found) => (self.candidate, self.agreed) = (found, 1),
            }
            if self.agreed == self.streams.len() {
                return Known::Number(self.candidate);
            }
            self.turn = (self.turn + 1) % self.streams.len();
        }
    }
}

/// The documents of one term, read a page at a time.
pub(crate) struct Postings {
    /// The term's key up to the document number.
    term: Bytes,
    /// Numbers that were read and not passed yet.
    buffer: VecDeque<DocNum>,
    /// Everything below was read.
    read_to: DocNum,
    /// Where to read from, to know the last requested number.
    from: Option<DocNum>,
    page: usize,
    is_done: bool,
}

impl Postings {
    pub(crate) fn new(term: Bytes) -> Self {
        let buffer = VecDeque::new();
        Self { term, buffer, read_to: 0, from: None, page: FIRST_PAGE, is_done: false }
    }

    fn known(&mut self, reach: &Reach<'_>, at_least: DocNum) -> Known {
        self.from = None;
        while self.buffer.front().is_some_and(|number| *number < at_least) {
            self.buffer.pop_front();
        }
        if let Some(number) = self.buffer.front() {
            return Known::Number(*number);
        }
        let from = at_least.max(self.read_to).max(reach.first());
        if self.is_done || reach.slots.is_empty() || from > reach.last() {
            return Known::End;
        }
        self.from = Some(from);
        Known::Unread
    }

    async fn fill(&mut self, reach: &Reach<'_>) -> Result<(), Error> {
        let Some(from) = self.from.take() else { return Ok(()) };
        let bound =
            |number: DocNum| -> Bytes { [&self.term[..], &number.to_be_bytes()].concat().into() };
        let range = (
            std::ops::Bound::Included(bound(from)),
            std::ops::Bound::Included(bound(reach.last())),
        );
        let limit = PageLimit { entries: self.page, bytes: 1 << 20 };
        let page = reach.scan(range, Direction::Forward, limit).await?;
        reach.note_index_entries(page.entries.len());
        reach.figures.check_time()?;
        reach.figures.turns.take().await;
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
