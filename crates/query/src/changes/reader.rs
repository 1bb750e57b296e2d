//! Fills a page of the change feed from one partition after another.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use catalog::{
    area::{Area, Edge},
    range::Range,
};
use partition::{
    charge::Meter,
    errors,
    keys::{self, slot_of},
    position::Position,
    rows::{Header, HistoryRow, feed_time},
    text::user_bytes,
};
use protocol::{Error, limits::PAGE_BYTES_MAX, request::ChangeMode};
use value::{Value, partition_key::Epk};

use crate::{
    changes::{
        item,
        rows::{Entry, Rows},
        start,
    },
    execution::job,
    expiry::Expiry,
    readable::{PartitionView, Readable},
    scope::{Scope, document_key, key_members},
    served::Served,
    together::{self, Waits},
};

/// Changes that are gathered, rows that are looked at for them, and documents that are loaded at
/// once: a page is never much larger in memory than it may be.
const CHUNK: usize = 64;
const FIRST_CHUNK: usize = 8;
const LOADED: usize = 16;
const CHUNK_ROWS: usize = 4096;

/// Rows that are read one after the other before it is asked which of them can matter at all.
const NARROW_AFTER: usize = 256;

/// Rows after which a page is given that has something.
const SCANNED_ROWS_MAX: usize = 1_000_000;

/// What a page is asked for.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    pub(super) collection: &'a Served,
    pub(super) scope: &'a Scope,
    pub(super) mode: ChangeMode,
    /// Only what was written behind this second.
    pub(super) since: Option<u64>,
    /// The second in which it is read.
    pub(super) now: u64,
    /// A page is given by then, even if nothing was found.
    pub(super) until: Instant,
    /// Most items, unless one transaction has more.
    pub(super) limit: usize,
}

/// A page, and what it holds so far.
pub(super) struct Reader<'a> {
    wanted: Wanted<'a>,
    pub(super) items: Vec<Bytes>,
    bytes: usize,
    /// Rows looked at, and documents loaded.
    scanned: usize,
    loaded: usize,
    /// Whether the store has to be waited for.
    waits: Arc<Waits>,
}

/// A partition that is begun: what it holds and, if they were read ahead, its first rows.
pub(super) struct Begun {
    pub(super) view: PartitionView,
    rows: Option<Box<Rows>>,
}

/// How far a partition was read.
pub(super) struct Read {
    /// What it had published.
    pub(super) lsn: u64,
    /// Everything up to here is in this page or an earlier one.
    pub(super) position: u64,
    /// What that took.
    pub(super) work: u64,
}

/// A piece of the partition and how far it was read before.
type Pieces = Vec<(Area, u64)>;

impl<'a> Reader<'a> {
    pub(super) fn new(wanted: Wanted<'a>) -> Self {
        Self { wanted, items: Vec::new(), bytes: 0, scanned: 0, loaded: 0, waits: Arc::default() }
    }

    /// Whether the page takes no more.
    pub(super) fn is_full(&self) -> bool {
        self.items.len() >= self.wanted.limit
            || self.bytes >= PAGE_BYTES_MAX
            || self.scanned >= SCANNED_ROWS_MAX && !self.items.is_empty()
            // Something was looked at: so the position moves on.
            || self.scanned > 0 && Instant::now() >= self.wanted.until
    }

    /// Whether it is worth while to begin partitions before the page comes to them.
    pub(super) fn has_waited(&self) -> bool {
        self.waits.has_waited()
    }

    /// Begins with a partition that the page has come to.
    pub(super) async fn begin(&self, partition: &dyn Readable) -> Result<Begun, Error> {
        let view = self.waits.on(partition.view()).await?;
        Ok(Begun { view, rows: None })
    }

    /// Begins with some that it may come to, side by side, and reads a page's worth ahead at most:
    /// so many first rows, and as many documents as it would load next. What cannot be read is tried
    /// again if the page does come to it.
    pub(super) async fn begin_ahead(
        &self,
        partitions: &[&Arc<dyn Readable>],
        position: &Position,
    ) -> Vec<Option<Begun>> {
        let bytes = PAGE_BYTES_MAX / partitions.len().max(1);
        let begin = partitions.iter().map(|partition| async {
            let mut begun = self.begin(&***partition).await?;
            let pieces = self.pieces(&***partition, position);
            if let Ok(mut rows) = self.rows(&***partition, &begun.view, &pieces).await
                && rows.read_ahead(bytes).await.is_ok()
            {
                begun.rows = Some(rows.into());
            }
            Ok::<_, Error>(begun)
        });
        let begin = begin.map(|begin| async { Ok::<_, Error>(begin.await.ok()) });
        let mut begun = together::all(begin).await.unwrap_or_default();
        if self.wanted.mode == ChangeMode::Latest {
            let mut room = self.chunk();
            let mut loads = Vec::new();
            for (partition, begun) in partitions.iter().zip(&mut begun) {
                let rows = begun.as_mut().and_then(|begun| begun.rows.as_mut());
                let Some(rows) = rows.filter(|_| room > 0) else { continue };
                let pieces = self.pieces(&***partition, position);
                let slots = self.wanted.scope.slots_in(partition.range());
                let entries = rows.coming().filter(|entry| self.admits(&slots, &pieces, entry));
                let numbers: Vec<_> = entries.take(room).map(|entry| entry.number).collect();
                room -= numbers.len();
                loads.push((rows, numbers));
            }
            let load = loads.into_iter().map(|(rows, numbers)| async {
                // They are loaded in their turn otherwise.
                Ok::<_, Error>(rows.load_ahead(numbers).await.ok())
            });
            drop(together::all(load).await);
        }
        begun
    }

    /// Reads on in a partition, as far as the page has room.
    pub(super) async fn read(
        &mut self,
        partition: &dyn Readable,
        begun: Begun,
        position: &Position,
        meter: &mut Meter,
    ) -> Result<Read, Error> {
        let Begun { view, rows } = begun;
        let (range, lsn) = (&**partition.range(), view.lsn);
        let pieces = self.pieces(partition, position);
        let mut rows = match rows {
            Some(rows) => *rows,
            None => self.rows(partition, &view, &pieces).await?,
        };
        let before = (self.items.len(), self.loaded);
        let position = self.fill(&mut rows, range, &pieces, meter).await?;
        meter.feed_entries(rows.scanned.saturating_sub(self.items.len() - before.0));
        let work = 1000 * (self.loaded - before.1) + rows.scanned;
        Ok(Read { lsn, position, work: work as u64 })
    }

    fn pieces(&self, partition: &dyn Readable, position: &Position) -> Pieces {
        position.within(&self.wanted.scope.place().common(&partition.range().area))
    }

    /// The rows of a partition that are to be read.
    async fn rows(
        &self,
        partition: &dyn Readable,
        view: &PartitionView,
        pieces: &Pieces,
    ) -> Result<Rows, Error> {
        let after = self.start(partition, view, pieces).await?;
        let letter = match self.wanted.mode {
            ChangeMode::Latest => keys::FEED,
            ChangeMode::All => keys::HISTORY,
        };
        let (snapshot, waits) = (Arc::clone(&view.snapshot), Arc::clone(&self.waits));
        Ok(Rows::new(snapshot, waits, letter, (after, view.lsn)))
    }

    /// Everything up to the LSN that this gives was read before, or is not asked for.
    async fn start(
        &self,
        partition: &dyn Readable,
        view: &PartitionView,
        pieces: &Pieces,
    ) -> Result<u64, Error> {
        let lsn = view.lsn;
        if pieces.iter().any(|(_, position)| *position > lsn) {
            return Err(start::ahead());
        }
        if self.wanted.mode == ChangeMode::All {
            // Asked once the rows are held: what is swept from now on is in the snapshot.
            let history = self.waits.on(partition.history_from()).await?;
            start::check_history(&history, pieces)?;
        }
        let after = pieces.iter().map(|(_, position)| *position).min().unwrap_or(lsn);
        let Some(since) = self.wanted.since else { return Ok(after) };
        let collection = self.wanted.collection;
        let rows = start::Look { view, waits: &self.waits };
        start::of_time(collection, partition.range(), rows, since, after).await
    }

    /// Adds transactions to the page until it is full or there are no more; gives the LSN up to
    /// which it has everything.
    async fn fill(
        &mut self,
        rows: &mut Rows,
        range: &Range,
        pieces: &Pieces,
        meter: &mut Meter,
    ) -> Result<u64, Error> {
        let narrowing = self.narrowing(range);
        let mut narrow_at = NARROW_AFTER;
        let slots = self.wanted.scope.slots_in(range);
        while !self.is_full() {
            let (want, seen) = (self.chunk(), rows.scanned);
            let room = PAGE_BYTES_MAX.saturating_sub(self.bytes);
            let (mut chunk, mut bytes, mut has_more) = (Vec::new(), 0, true);
            while has_more && chunk.len() < want && bytes < room && rows.scanned - seen < CHUNK_ROWS
            {
                let admits = |entry: &Entry| self.admits(&slots, pieces, entry);
                let before = chunk.len();
                has_more = rows.next(&mut chunk, admits).await?;
                bytes += chunk[before..].iter().map(|entry| entry.row.len()).sum::<usize>();
            }
            self.scanned += rows.scanned - seen;
            if let Some(position) = self.take_all(rows, pieces, chunk, meter).await? {
                return Ok(position);
            }
            if !has_more {
                break;
            }
            if rows.scanned >= narrow_at
                && !rows.is_narrow()
                && let Some(range) = &narrowing
            {
                // Neither is worth much more than what was read, nor than what is left to be read.
                let (most, seen) = ((rows.scanned * 4).min(rows.left()), rows.scanned);
                let is_done = most > NARROW_AFTER && rows.narrow(range.clone(), most).await?;
                self.scanned += rows.scanned - seen;
                narrow_at = if is_done { rows.scanned + NARROW_AFTER } else { rows.scanned * 4 };
            }
        }
        Ok(rows.position())
    }

    /// Loads changes and adds them to the page, a few at a time; gives the LSN up to which it has
    /// everything if that fills it.
    async fn take_all(
        &mut self,
        rows: &Rows,
        pieces: &Pieces,
        mut chunk: Vec<Entry>,
        meter: &mut Meter,
    ) -> Result<Option<u64>, Error> {
        while !chunk.is_empty() {
            let rest = chunk.split_off(whole(&chunk));
            for transaction in self.load(rows, pieces, chunk).await? {
                let lsn = transaction.lsn;
                if !self.take(transaction, meter) {
                    // It is not torn: the next page begins with it.
                    return Ok(Some(lsn - 1));
                }
                if self.is_full() {
                    return Ok(Some(lsn));
                }
            }
            chunk = rest;
        }
        Ok(None)
    }

    /// How many documents are loaded next: few at first, and not many more than fit.
    fn chunk(&self) -> usize {
        let free = self.wanted.limit - self.items.len();
        let average = self.bytes.checked_div(self.items.len());
        let fitting = average.map_or(FIRST_CHUNK, |average| {
            PAGE_BYTES_MAX.saturating_sub(self.bytes) / average.max(1) + 1
        });
        free.min(fitting).clamp(1, CHUNK)
    }

    /// Adds a transaction to the page, if it fits or the page is empty.
    fn take(&mut self, transaction: Loaded, meter: &mut Meter) -> bool {
        let size: usize = transaction.items.iter().map(Bytes::len).sum();
        let is_large = self.items.len() + transaction.items.len() > self.wanted.limit
            || self.bytes + size > PAGE_BYTES_MAX;
        if is_large && !self.items.is_empty() {
            return false;
        }
        for item in &transaction.items {
            meter.feed_document(user_bytes(item.len()));
        }
        self.bytes += size;
        self.items.extend(transaction.items);
        true
    }

    /// Where the primary rows lie of the few documents that are asked for, if they are few: the
    /// latest versions of a key are found by them where the rest of the partition changes a lot.
    fn narrowing(&self, range: &Range) -> Option<std::ops::Range<Bytes>> {
        let is_latest = self.wanted.mode == ChangeMode::Latest;
        is_latest.then(|| self.wanted.scope.primaries_in(range)).flatten()
    }

    /// Whether a change may be asked for.
    fn admits(&self, slots: &std::ops::Range<u32>, pieces: &Pieces, entry: &Entry) -> bool {
        slots.contains(&slot_of(entry.number)) && self.is_recent(entry) && may_be_new(pieces, entry)
    }

    fn is_recent(&self, entry: &Entry) -> bool {
        self.wanted.since.is_none_or(|since| match self.wanted.mode {
            ChangeMode::Latest => feed_time(&entry.row).is_none_or(|time| time > since),
            ChangeMode::All => true,
        })
    }

    /// The items of some changes, by transaction. What is not asked for is left out.
    async fn load(
        &mut self,
        rows: &Rows,
        pieces: &Pieces,
        chunk: Vec<Entry>,
    ) -> Result<Vec<Loaded>, Error> {
        let mut loaded: Vec<Loaded> = Vec::new();
        self.loaded += chunk.len();
        let documents = match self.wanted.mode {
            ChangeMode::Latest => rows.documents(&chunk).await?,
            ChangeMode::All => vec![None; chunk.len()],
        };
        for (entry, row) in chunk.into_iter().zip(documents) {
            let Some(item) = self.item(pieces, &entry, row)? else { continue };
            match loaded.last_mut().filter(|last| last.lsn == entry.lsn) {
                Some(last) => last.items.push(item),
                None => loaded.push(Loaded { lsn: entry.lsn, items: vec![item] }),
            }
        }
        Ok(loaded)
    }

    fn item(
        &self,
        pieces: &Pieces,
        entry: &Entry,
        row: Option<Bytes>,
    ) -> Result<Option<Bytes>, Error> {
        let Some(row) = row else { return self.past(pieces, entry) };
        let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
        let Wanted { collection, now, .. } = self.wanted;
        if Expiry::new(collection, now).is_over(&header, &document) {
            return Ok(None);
        }
        if !self.is_asked_for(pieces, entry, &document)? {
            return Ok(None);
        }
        Ok(Some(item::latest(&document, entry.lsn)?))
    }

    /// A change of the history.
    fn past(&self, pieces: &Pieces, entry: &Entry) -> Result<Option<Bytes>, Error> {
        if self.wanted.mode == ChangeMode::Latest {
            return Ok(None);
        }
        let row = HistoryRow::decode(&entry.row).map_err(errors::from_damaged)?;
        if !self.is_asked_for(pieces, entry, row.document())? {
            return Ok(None);
        }
        Ok(Some(item::change(self.wanted.collection, &row, entry.lsn)?))
    }

    /// Whether a document is in the scope, and its change is news there.
    fn is_asked_for(&self, pieces: &Pieces, entry: &Entry, text: &Bytes) -> Result<bool, Error> {
        let is_sure = is_new(pieces, entry, None).is_some_and(|is_new| is_new);
        if self.wanted.scope.is_whole_slots() && is_sure {
            return Ok(true);
        }
        let document = job::parse(text, &key_members(self.wanted.collection))?;
        if !self.wanted.scope.admits(self.wanted.collection, &document) {
            return Ok(false);
        }
        Ok(is_sure || is_new(pieces, entry, Some(&self.epk(&document))).unwrap_or(false))
    }

    fn epk(&self, document: &Value) -> Epk {
        let hashing = self.wanted.collection.definition.partition_key.hashing;
        document_key(self.wanted.collection, document).effective(hashing)
    }
}

/// A transaction's items.
struct Loaded {
    lsn: u64,
    items: Vec<Bytes>,
}

/// How many of these changes are loaded at once: whole transactions.
fn whole(chunk: &[Entry]) -> usize {
    let mut count = chunk.len().min(LOADED);
    while count < chunk.len() && chunk[count].lsn == chunk[count - 1].lsn {
        count += 1;
    }
    count
}

/// Whether a change may be behind what was read before.
fn may_be_new(pieces: &Pieces, entry: &Entry) -> bool {
    is_new(pieces, entry, None).unwrap_or(true)
}

/// Whether it is; `None` if the document's number does not tell, since its slot is in two pieces.
fn is_new(pieces: &Pieces, entry: &Entry, epk: Option<&Epk>) -> Option<bool> {
    let slot = slot_of(entry.number);
    if let [(_, position)] = &pieces[..] {
        return Some(entry.lsn > *position);
    }
    let mut touching = pieces.iter().filter(|(area, _)| area.slots().contains(&slot));
    let (area, position) = touching.next()?;
    let (first, rest) = ((area, position), touching);
    let Some(epk) = epk else {
        let is_one = rest.count() == 0;
        return is_one.then_some(entry.lsn > *first.1);
    };
    let edge = Edge { slot, inside: Some(epk.clone()) };
    let mut pieces = std::iter::once(first).chain(rest.map(|(area, position)| (area, position)));
    let (_, position) = pieces.find(|(area, _)| area.contains(&edge))?;
    Some(entry.lsn > *position)
}
