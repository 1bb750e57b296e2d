//! The documents of one partition that can match, in the order of their numbers.

use std::{collections::VecDeque, ops::Bound, time::Instant};

use bytes::Bytes;
use protocol::{Error, rid::DocNum};
use store::{Direction, PageLimit};

use crate::{
    errors,
    keys::{self, u64_at},
    query::stream::{Reach, Stream},
    rows::Header,
};

/// Rows that a scan is read by: few at first, since many queries stop early.
const FIRST_PAGE: usize = 16;
const PAGE_MAX: usize = 256;
const PAGE_BYTES: usize = 1 << 20;

/// Reads documents of one partition, ascending.
pub(crate) struct Documents {
    source: Source,
    /// Numbers below were given.
    next: DocNum,
}

enum Source {
    Scan { buffer: VecDeque<(Bytes, Bytes)>, page: usize, is_done: bool },
    Index(Stream),
}

impl Documents {
    /// The documents that `stream` finds, or all, from `start` on.
    pub(crate) fn new(stream: Option<Stream>, start: DocNum) -> Self {
        let source = match stream {
            Some(stream) => Source::Index(stream),
            None => Source::Scan { buffer: VecDeque::new(), page: FIRST_PAGE, is_done: false },
        };
        Self { source, next: start }
    }

    /// Numbers from here on are not given yet.
    pub(crate) fn position(&self) -> DocNum {
        self.next
    }

    /// The next document's number and text.
    pub(crate) async fn next(
        &mut self,
        reach: &Reach<'_>,
    ) -> Result<Option<(DocNum, Bytes)>, Error> {
        if reach.slots.is_empty() {
            return Ok(None);
        }
        while let Some((number, row)) = self.next_row(reach).await? {
            self.next = number + 1;
            let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
            if !reach.expiry.is_over(&header, &document) {
                reach.note_document(document.len());
                return Ok(Some((number, document)));
            }
            skip(reach).await?;
        }
        Ok(None)
    }

    /// The next row, of a document that may have expired.
    async fn next_row(&mut self, reach: &Reach<'_>) -> Result<Option<(DocNum, Bytes)>, Error> {
        let next = self.next.max(reach.first());
        Ok(match &mut self.source {
            Source::Index(stream) => from_index(stream, reach, next).await?,
            Source::Scan { buffer, page, is_done } => {
                let started = Instant::now();
                if buffer.is_empty() && !*is_done {
                    let range = (
                        Bound::Included(keys::document(next)),
                        Bound::Included(keys::document(reach.last())),
                    );
                    let limit = PageLimit { entries: *page, bytes: PAGE_BYTES };
                    let rows = reach.snapshot.scan(range, Direction::Forward, limit).await;
                    let rows = rows.map_err(errors::from_store)?;
                    *is_done = !rows.has_more;
                    buffer.extend(rows.entries);
                    *page = (*page * 2).min(PAGE_MAX);
                    reach.figures.load_time(started);
                    reach.figures.check_time()?;
                    // Store and parser never wait, so a long scan must let others have the thread.
                    tokio::task::yield_now().await;
                }
                buffer.pop_front().and_then(|(key, row)| Some((u64_at(&key, 1)?, row)))
            }
        })
    }
}

async fn from_index(
    stream: &mut Stream,
    reach: &Reach<'_>,
    mut at_least: DocNum,
) -> Result<Option<(DocNum, Bytes)>, Error> {
    loop {
        let started = Instant::now();
        let found = stream.seek(reach, at_least).await?;
        reach.figures.index_time(started);
        let Some(number) = found.filter(|number| reach.contains(*number)) else { return Ok(None) };
        if let Some(row) = row(reach, number).await? {
            return Ok(Some((number, row)));
        }
        at_least = number + 1;
    }
}

/// Passes a document that has expired. There may be many in a row, and they must let others have
/// the thread.
async fn skip(reach: &Reach<'_>) -> Result<(), Error> {
    reach.figures.check_time()?;
    tokio::task::yield_now().await;
    Ok(())
}

/// A document by its number.
pub(crate) async fn load(reach: &Reach<'_>, number: DocNum) -> Result<Option<Bytes>, Error> {
    let Some(row) = row(reach, number).await? else { return Ok(None) };
    let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
    if reach.expiry.is_over(&header, &document) {
        return Ok(None);
    }
    reach.note_document(document.len());
    Ok(Some(document))
}

async fn row(reach: &Reach<'_>, number: DocNum) -> Result<Option<Bytes>, Error> {
    let started = Instant::now();
    let rows = reach.snapshot.get_many(&[keys::document(number)]).await;
    reach.figures.load_time(started);
    Ok(rows.map_err(errors::from_store)?.into_iter().next().flatten())
}
