//! The documents of one partition that can match, in the order of their numbers.

use std::{collections::VecDeque, ops::Bound, slice};

use bytes::Bytes;
use partition::keys::{self, u64_at};
use protocol::{Error, rid::DocNum};
use store::{Direction, PageLimit};

use crate::execution::{
    fetch::{self, Fetched},
    stream::{Known, Reach, Stream},
};

/// Rows per page of a scan: few at first, since many queries stop early.
const FIRST_PAGE: usize = 16;
const PAGE_MAX: usize = 256;
const PAGE_BYTES: usize = 1 << 20;

/// Reads documents of one partition, ascending.
pub(crate) struct Documents {
    source: Source,
    /// Lower numbers were already returned.
    next: DocNum,
}

enum Source {
    Scan { buffer: VecDeque<(Bytes, Bytes)>, page: usize, is_done: bool },
    Index { stream: Stream, fetched: Fetched<DocNum> },
}

impl Documents {
    /// Reads the documents that `stream` finds, or all, from `start` on.
    pub(crate) fn new(stream: Option<Stream>, start: DocNum) -> Self {
        let source = match stream {
            Some(stream) => Source::Index { stream, fetched: Fetched::default() },
            None => Source::Scan { buffer: VecDeque::new(), page: FIRST_PAGE, is_done: false },
        };
        Self { source, next: start }
    }

    /// The first number that was not returned yet.
    pub(crate) fn position(&self) -> DocNum {
        self.next
    }

    /// The next document's number and text, for a page that still wants so many rows.
    pub(crate) async fn next(
        &mut self,
        reach: &Reach<'_>,
        wants: usize,
    ) -> Result<Option<(DocNum, Bytes)>, Error> {
        if reach.slots.is_empty() {
            return Ok(None);
        }
        self.read_ahead(reach, wants).await?;
        while let Some((number, document)) = self.take(reach).await? {
            self.next = number + 1;
            if let Some(document) = document {
                return Ok(Some((number, document)));
            }
            skip(reach).await?;
            self.read_ahead(reach, wants).await?;
        }
        Ok(None)
    }

    /// The next document that was read ahead; its text is `None` if it has expired.
    async fn take(&mut self, reach: &Reach<'_>) -> Result<Option<(DocNum, Option<Bytes>)>, Error> {
        match &mut self.source {
            Source::Index { fetched, .. } => fetched.next(slice::from_ref(reach)).await,
            Source::Scan { buffer, .. } => {
                let next = buffer.pop_front().and_then(|(key, row)| Some((u64_at(&key, 1)?, row)));
                let Some((number, row)) = next else { return Ok(None) };
                Ok(Some((number, fetch::open(reach, &row)?)))
            }
        }
    }

    /// Reads ahead if nothing read is left, for a page that still wants so many rows.
    pub(crate) async fn read_ahead(
        &mut self,
        reach: &Reach<'_>,
        wants: usize,
    ) -> Result<(), Error> {
        if reach.slots.is_empty() {
            return Ok(());
        }
        let next = self.next.max(reach.first());
        match &mut self.source {
            Source::Index { stream, fetched } if fetched.is_empty() => {
                let room = fetched.room(wants);
                let numbers = numbers(stream, reach, next, room).await?;
                let wanted = numbers.into_iter().map(|number| (number, Some((0, number))));
                fetched.fetch(wanted.collect(), slice::from_ref(reach)).await
            }
            Source::Scan { buffer, page, is_done: is_done @ false } if buffer.is_empty() => {
                let range = (
                    Bound::Included(keys::document(next)),
                    Bound::Included(keys::document(reach.last())),
                );
                let limit = PageLimit { entries: *page, bytes: PAGE_BYTES };
                let loads = reach.figures.loads();
                let rows = reach.scan(range, Direction::Forward, limit).await?;
                drop(loads);
                *is_done = !rows.has_more;
                buffer.extend(rows.entries);
                *page = (*page * 2).min(PAGE_MAX);
                reach.figures.check_time()?;
                reach.figures.turns.take().await;
                Ok(())
            }
            _ => Ok(()),
        }
    }
}

/// The next numbers in a stream: the first, and those that then are known without another read.
async fn numbers(
    stream: &mut Stream,
    reach: &Reach<'_>,
    at_least: DocNum,
    most: usize,
) -> Result<Vec<DocNum>, Error> {
    let _index = reach.figures.reads_index();
    let mut numbers = Vec::with_capacity(most);
    let mut found = stream.seek(reach, at_least).await?;
    while let Some(number) = found.filter(|number| reach.contains(*number)) {
        numbers.push(number);
        if numbers.len() >= most {
            break;
        }
        // Do not read more entries until the reader has come so far.
        found = match stream.known(reach, number + 1) {
            Known::Number(number) => Some(number),
            Known::End | Known::Unread => None,
        };
    }
    Ok(numbers)
}

/// Skips an expired document. There may be many in a row, so it yields the thread.
async fn skip(reach: &Reach<'_>) -> Result<(), Error> {
    reach.figures.check_time()?;
    reach.figures.turns.take().await;
    Ok(())
}
