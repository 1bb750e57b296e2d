//! Fetches documents ahead of their turn, a batch at a time.
//!
//! A store may take time for each read, so a page of documents must not need a read per document.
//! Only documents that the reader reaches without reading more of the index are fetched ahead, and
//! few at first: a page may want no more. Fetched documents count as read (in charges and figures)
//! when they are returned, not before.

use std::{collections::VecDeque, sync::Arc};

use bytes::Bytes;
use partition::{errors, keys, rows::Header};
use protocol::{Error, rid::DocNum};

use crate::{execution::stream::Reach, held::Held, together};

/// Documents to fetch at a time, first and maximum, and roughly the most bytes of them.
const FIRST: usize = 8;
const MOST: usize = 64;
const MOST_BYTES: usize = 1 << 20;

/// Decides how many documents to fetch at a time.
#[derive(Debug, Default)]
struct Pace {
    size: usize,
    /// Rows that were wanted at the last fetch.
    wanted: Option<usize>,
    /// Average bytes of a document in the last fetch.
    average: usize,
}

impl Pace {
    /// How many documents to fetch next, for a page that still wants so many rows. If most
    /// documents give a row, no more than that; if not, twice as many as last time.
    fn next(&mut self, wants: usize) -> usize {
        self.size = match self.wanted.replace(wants) {
            None => FIRST.min(wants),
            Some(before) if before.saturating_sub(wants).saturating_mul(2) >= self.size => {
                (2 * self.size).min(wants)
            }
            Some(_) => 2 * self.size,
        };
        self.size = self.size.clamp(1, MOST);
        self.size.min(MOST_BYTES.checked_div(self.average).unwrap_or(MOST)).max(1)
    }
}

/// A document to read: the index of its place in the reader, and its number.
pub(crate) type Wanted = (usize, DocNum);

/// Documents that were fetched but not returned yet. `K` is the reader's key for them.
pub(crate) struct Fetched<K> {
    ready: VecDeque<Entry<K>>,
    pace: Pace,
    share: Share,
}

struct Entry<K> {
    key: K,
    row: Row,
}

enum Row {
    /// Not to be fetched: the reader only wants to know when it gets here.
    Unwanted,
    /// To be fetched at its turn.
    Later(Wanted),
    /// The row of a document in this place, if it exists.
    Here(usize, Option<Bytes>),
}

/// The memory of fetched documents.
#[derive(Default)]
struct Share {
    held: Option<Arc<Held>>,
    bytes: usize,
}

impl Share {
    fn give_back(&mut self) {
        if let Some(held) = self.held.take() {
            held.give_back(self.bytes);
        }
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.give_back();
    }
}

impl<K> Default for Fetched<K> {
    fn default() -> Self {
        Self { ready: VecDeque::new(), pace: Pace::default(), share: Share::default() }
    }
}

impl<K> Fetched<K> {
    /// How many to fetch next, for a page that still wants so many rows.
    pub(crate) fn room(&mut self, wants: usize) -> usize {
        self.pace.next(wants)
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.ready.is_empty()
    }

    /// Discards what was not returned.
    pub(crate) fn clear(&mut self) {
        self.ready.clear();
        self.share.give_back();
    }

    /// Fetches documents, to be returned in this order. Reads the places concurrently.
    pub(crate) async fn fetch(
        &mut self,
        entries: Vec<(K, Option<Wanted>)>,
        places: &[Reach<'_>],
    ) -> Result<(), Error> {
        let wanted: Vec<Wanted> = entries.iter().filter_map(|(_, wanted)| *wanted).collect();
        let rows = rows_of(places, &wanted).await?;
        let bytes: usize = rows.iter().flatten().map(Bytes::len).sum();
        self.pace.average = bytes.checked_div(rows.len()).unwrap_or(0);
        let kept = self.keep(places, rows.len(), bytes);
        let mut rows = rows.into_iter().take(kept);
        for (key, wanted) in entries {
            let row = match wanted {
                None => Row::Unwanted,
                Some((place, number)) => match rows.next() {
                    Some(row) => Row::Here(place, row),
                    None => Row::Later((place, number)),
                },
            };
            self.ready.push_back(Entry { key, row });
        }
        Ok(())
    }

    /// How many of `count` rows with `bytes` in total may be kept. If the memory budget is used up,
    /// only one, since that must be in memory anyway.
    fn keep(&mut self, places: &[Reach<'_>], count: usize, bytes: usize) -> usize {
        let held = places.first().map(|reach| &reach.figures.held).filter(|_| count > 1);
        let Some(held) = held else { return count };
        self.share.give_back();
        if held.take(bytes).is_err() {
            self.pace.size = 1;
            return 1;
        }
        self.share = Share { held: Some(Arc::clone(held)), bytes };
        count
    }

    /// The next key, with its document if it was wanted and exists. Counts the document as read.
    pub(crate) async fn next(
        &mut self,
        places: &[Reach<'_>],
    ) -> Result<Option<(K, Option<Bytes>)>, Error> {
        let Some(Entry { key, row }) = self.ready.pop_front() else { return Ok(None) };
        if self.ready.is_empty() {
            self.share.give_back();
        }
        let document = match row {
            Row::Here(place, Some(row)) => open(&places[place], &row)?,
            Row::Later((place, number)) => one(&places[place], number).await?,
            Row::Unwanted | Row::Here(_, None) => None,
        };
        Ok(Some((key, document)))
    }
}

/// The rows of documents by their numbers.
pub(crate) async fn rows(
    reach: &Reach<'_>,
    numbers: &[DocNum],
) -> Result<Vec<Option<Bytes>>, Error> {
    if numbers.is_empty() {
        return Ok(Vec::new());
    }
    let wanted = keys::documents(numbers);
    let _loads = reach.figures.loads();
    reach.get_many(&wanted).await
}

/// The rows of documents in several places, read concurrently.
async fn rows_of(places: &[Reach<'_>], wanted: &[Wanted]) -> Result<Vec<Option<Bytes>>, Error> {
    if let [only] = places {
        let numbers: Vec<DocNum> = wanted.iter().map(|(_, number)| *number).collect();
        return rows(only, &numbers).await;
    }
    let mut numbers: Vec<Vec<DocNum>> = vec![Vec::new(); places.len()];
    for (place, number) in wanted {
        numbers[*place].push(*number);
    }
    if let Some(only) = numbers.iter().position(|numbers| numbers.len() == wanted.len()) {
        return rows(&places[only], &numbers[only]).await;
    }
    let read = places.iter().zip(&numbers).map(|(reach, numbers)| rows(reach, numbers));
    let mut found: Vec<_> = together::all(read).await?.into_iter().map(Vec::into_iter).collect();
    Ok(wanted.iter().map(|(place, _)| found[*place].next().flatten()).collect())
}

/// The document of a row; `None` if it has expired. Counts it as read.
pub(crate) fn open(reach: &Reach<'_>, row: &Bytes) -> Result<Option<Bytes>, Error> {
    let (header, document) = Header::decode(row).map_err(errors::from_damaged)?;
    if reach.expiry.is_over(&header, &document) {
        return Ok(None);
    }
    reach.note_document(document.len());
    Ok(Some(document))
}

/// A document by its number.
pub(crate) async fn one(reach: &Reach<'_>, number: DocNum) -> Result<Option<Bytes>, Error> {
    match rows(reach, &[number]).await?.into_iter().next().flatten() {
        Some(row) => open(reach, &row),
        None => Ok(None),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_are_fetched_at_first() {
        let mut pace = Pace::default();
        let sizes: Vec<usize> = (0..6).map(|_| pace.next(usize::MAX)).collect();
        assert_eq!(sizes, [FIRST, 16, 32, MOST, MOST, MOST]);
    }

    #[test]
    fn what_gives_a_row_each_is_not_fetched_beyond_the_page() {
        let mut pace = Pace::default();
        assert_eq!(pace.next(1), 1);
        let mut pace = Pace::default();
        let (mut wants, mut sizes) = (30, Vec::new());
        while wants > 0 {
            sizes.push(pace.next(wants));
            wants -= sizes[sizes.len() - 1];
        }
        assert_eq!(sizes, [8, 16, 6]);
    }

    #[test]
    fn what_gives_few_rows_is_fetched_faster() {
        let mut pace = Pace::default();
        let sizes: Vec<usize> = (0..5).map(|_| pace.next(1)).collect();
        assert_eq!(sizes, [1, 2, 4, 8, 16]);
    }

    #[test]
    fn large_documents_are_fetched_one_at_a_time() {
        let mut pace = Pace { average: 2 << 20, ..Pace::default() };
        assert_eq!(pace.next(100), 1);
        pace.average = 256 << 10;
        assert_eq!(pace.next(100), 4);
    }
}
