//! An order that an index has: follows the index entries, those of all partitions merged, and reads
//! only documents that can match.

use std::{collections::VecDeque, ops::Bound, time::Instant};

use bytes::Bytes;
use protocol::{Error, rid::DocNum};
use sql::program::Run;
use store::{Direction, KeyRange, Page as StorePage, PageLimit};

use crate::{
    execution::{
        ahead::{Ahead, Unit},
        explain::Access,
        fetch::{Fetched, Wanted},
        job::{Fed, Job, Part},
        ordered::{
            Frontier, Order, OrderIndex, SortKey,
            absent::{Absent, Found},
            containers, invert, place_at,
        },
        page::{Page, Seen},
        stream::{Reach, number_of},
        token::Place,
    },
    together,
};

/// Entries per read of a cursor: few at first, since many queries stop early.
const FIRST_PAGE: usize = 16;
const PAGE_MAX: usize = 512;

/// The result of a walk.
pub(crate) enum Ended {
    /// The page is full, or the answer is complete.
    At(Option<Place>),
    /// It found a string that the index has truncated, or too many arrays and objects, so it cannot
    /// tell the order any more.
    Lost,
}

/// Fills the page from the frontier on.
pub(crate) async fn run(
    job: &Job<'_>,
    order: &Order,
    lists: &[Option<Vec<DocNum>>],
    page: &mut Page,
    frontier: &Frontier,
    mut seen: Option<&mut Seen>,
    run: &mut Run<'_>,
) -> Result<Ended, Error> {
    if is_unknown(&frontier.key, order) {
        return Ok(Ended::Lost);
    }
    // DISTINCT must see all returned rows again, so it begins at the start.
    let start = if seen.is_some() { SortKey::default() } else { frontier.key.clone() };
    let cursors = job.parts.iter().map(|part| Cursor::new(part, order, &start)).collect();
    let reaches: Vec<Reach<'_>> = job.parts.iter().map(|part| part.reach(&job.figures)).collect();
    let passed = (seen.is_none() && frontier.row == u32::MAX).then_some(&frontier.key);
    let mut walk = Walk { job, order, lists, cursors, passed, is_lost: false };
    let mut fetched = Fetched::default();
    for (part, list) in job.parts.iter().zip(lists) {
        job.recorder.note(part, Access::Walk(list.as_ref().map(Vec::len)));
    }
    let mut ahead = Ahead::documents(job, true);
    loop {
        while ahead.is_hungry(page.wants(), || job.is_late()) {
            if fetched.is_empty() {
                let entries = walk.entries(fetched.room(page.wants())).await?;
                fetched.fetch(entries, &reaches).await?;
            }
            let Some((key, text)) = fetched.next(&reaches).await? else {
                ahead.end();
                break;
            };
            if let Some(text) = text {
                ahead.push((key, text.clone()), Unit::Document(text));
                continue;
            }
            if job.is_late() && seen.is_none() && ahead.is_empty() {
                return Ok(Ended::At(Some(place_at(order, &key, u32::MAX))));
            }
            job.check_timeout()?;
            job.figures.turns.take().await;
        }
        let Some((key, text)) = ahead.next(run).await? else {
            return Ok(if walk.is_lost { Ended::Lost } else { Ended::At(None) });
        };
        match job.feed(&text, frontier.row_of(&key), page, seen.as_deref_mut(), run)? {
            Fed::Whole => {}
            Fed::Over => return Ok(Ended::At(None)),
            Fed::Full(row) => return Ok(Ended::At(Some(place_at(order, &key, row)))),
        }
        let now = Instant::now();
        if job.is_late_at(now) && seen.is_none() {
            return Ok(Ended::At(Some(place_at(order, &key, u32::MAX))));
        }
        job.rest(now).await?;
    }
}

/// Whether a document is in the list, if there is one.
fn is_in(list: Option<&[DocNum]>, number: DocNum) -> bool {
    list.is_none_or(|list| list.binary_search(&number).is_ok())
}

/// The entries of all partitions, merged.
struct Walk<'a> {
    job: &'a Job<'a>,
    order: &'a Order,
    lists: &'a [Option<Vec<DocNum>>],
    cursors: Vec<Cursor>,
    /// A document whose rows were all returned: it only marks the position.
    passed: Option<&'a SortKey>,
    /// Whether it ended because it cannot tell the order any more.
    is_lost: bool,
}

impl Walk<'_> {
    /// The next entries in the order, at most `most`, with the documents of those that the filter
    /// allows. Empty at the end. After the first entry, it returns only entries that were already
    /// read, since more may not be needed.
    async fn entries(&mut self, most: usize) -> Result<Vec<(SortKey, Option<Wanted>)>, Error> {
        let mut entries = Vec::with_capacity(most);
        while entries.len() < most {
            if entries.is_empty() {
                self.fill().await?;
            } else if self.cursors.iter().any(Cursor::is_unread) {
                break;
            }
            let Some(at) = self.least() else { break };
            if is_unknown(&self.cursors[at].buffer[0].key, self.order) {
                // Return the others first: the page may end with them.
                self.is_lost = entries.is_empty();
                break;
            }
            let Some(Found { key, is_row }) = self.cursors[at].buffer.pop_front() else { break };
            if self.passed == Some(&key) {
                continue;
            }
            let number = self.order.number(key.number);
            let is_wanted = is_row && is_in(self.lists[at].as_deref(), number);
            entries.push((key, is_wanted.then_some((at, number))));
        }
        Ok(entries)
    }

    /// Reads on in all partitions that have nothing left, concurrently.
    async fn fill(&mut self) -> Result<(), Error> {
        let Self { job, order, lists, cursors, .. } = self;
        let unread = cursors.iter_mut().enumerate().filter(|(_, cursor)| cursor.is_unread());
        let fill =
            unread.map(|(at, cursor)| cursor.fill(job, &job.parts[at], order, lists[at].as_ref()));
        together::all(fill).await?;
        self.is_lost = self.cursors.iter().any(|cursor| cursor.is_lost);
        Ok(())
    }

    /// The partition that has the first entry; `None` at the end, or if one of them is lost.
    fn least(&self) -> Option<usize> {
        let cursors = &self.cursors;
        let with_entries = (0..cursors.len()).filter(|at| !cursors[*at].buffer.is_empty());
        let least =
            with_entries.min_by(|a, b| cursors[*a].buffer[0].key.cmp(&cursors[*b].buffer[0].key));
        least.filter(|_| !self.is_lost)
    }
}

/// Whether entries do not determine the position of a key. A long key may contain a truncated
/// string, since an entry holds a limited part of it. Arrays and objects inside a composite entry
/// have no order there.
fn is_unknown(key: &SortKey, order: &Order) -> bool {
    key.values.len() >= index::STRING_BYTES_MAX
        || matches!(order.index, Some(OrderIndex::Composite { .. }))
            && containers::are_in(&key.values, order)
}

/// Follows the entries of one partition, and finds the documents that have none.
struct Cursor {
    /// The ranges of entries still to read, the next one first.
    ranges: VecDeque<KeyRange>,
    /// The ranges of arrays and objects still to read. They come last in the order, or first if it
    /// descends.
    containers: Vec<KeyRange>,
    /// Finds the documents without an entry. They are at the other end of the order.
    absent: Option<Absent>,
    /// Where the page begins.
    start: SortKey,
    direction: Direction,
    buffer: VecDeque<Found>,
    page: usize,
    /// There are too many arrays and objects to sort them.
    is_lost: bool,
}

impl Cursor {
    fn new(part: &Part, order: &Order, start: &SortKey) -> Self {
        let is_backward = order.descends.first() == Some(&true);
        let direction = if is_backward { Direction::Backward } else { Direction::Forward };
        let mut cursor = Self {
            ranges: VecDeque::new(),
            containers: Vec::new(),
            absent: None,
            start: start.clone(),
            direction,
            buffer: VecDeque::new(),
            page: FIRST_PAGE,
            is_lost: false,
        };
        let is_path = matches!(order.index, Some(OrderIndex::Path { .. }));
        let mut asks_for_value = false;
        if let Some(walked) = &part.order {
            let key_of = |value: &[u8]| Bytes::from([&walked.prefix[..], value].concat());
            let edge = edge(&walked.prefix, start, is_backward);
            let is_behind_containers =
                is_backward && start.values.first() > Some(&!index::CONTAINERS);
            asks_for_value = is_path && walked.own_ranges(&part.node).is_some();
            for span in walked.spans(&part.node, order) {
                let (low, mut high) = (key_of(&span.low), key_of(&span.high));
                let first_container = key_of(&[index::CONTAINERS]);
                if is_path && high > first_container {
                    if !is_behind_containers {
                        let low = low.clone().max(first_container.clone());
                        cursor.containers.push((Bound::Included(low), Bound::Excluded(high)));
                    }
                    high = first_container;
                }
                cursor.add(low, high, &edge);
            }
        }
        if let Some(OrderIndex::Path { path, has_absent: false }) = &order.index
            && !asks_for_value
        {
            cursor.absent = Absent::new(order, path, start);
        }
        cursor
    }

    /// Adds the part of a range at or after the edge.
    fn add(&mut self, low: Bytes, high: Bytes, edge: &Bytes) {
        if low >= high {
            return;
        }
        match self.direction {
            Direction::Backward if low <= *edge => {
                let end = if high <= *edge {
                    Bound::Excluded(high)
                } else {
                    Bound::Included(edge.clone())
                };
                self.ranges.push_front((Bound::Included(low), end));
            }
            Direction::Forward if high > *edge => {
                let first = low.max(edge.clone());
                self.ranges.push_back((Bound::Included(first), Bound::Excluded(high)));
            }
            _ => {}
        }
    }

    /// Whether the buffer is empty and there may be more.
    fn is_unread(&self) -> bool {
        self.buffer.is_empty()
            && !(self.ranges.is_empty() && self.containers.is_empty() && self.absent.is_none())
    }

    /// Reads more entries into the buffer.
    async fn fill(
        &mut self,
        job: &Job<'_>,
        part: &Part,
        order: &Order,
        list: Option<&Vec<DocNum>>,
    ) -> Result<(), Error> {
        let reach = part.reach(&job.figures);
        match self.direction {
            Direction::Forward => {
                self.fill_absent(job, part, order, list).await?;
                self.fill_entries(&reach, order).await?;
                self.fill_containers(&reach, order, list).await
            }
            Direction::Backward => {
                self.skip_containers(&reach, order).await?;
                self.fill_containers(&reach, order, list).await?;
                self.fill_entries(&reach, order).await?;
                self.fill_absent(job, part, order, list).await
            }
        }
    }

    async fn fill_absent(
        &mut self,
        job: &Job<'_>,
        part: &Part,
        order: &Order,
        list: Option<&Vec<DocNum>>,
    ) -> Result<(), Error> {
        if self.buffer.is_empty()
            && let Some(absent) = &mut self.absent
        {
            absent.fill(job, part, order, list, &mut self.buffer).await?;
            if self.buffer.is_empty() {
                self.absent = None;
            }
        }
        Ok(())
    }

    async fn fill_containers(
        &mut self,
        reach: &Reach<'_>,
        order: &Order,
        list: Option<&Vec<DocNum>>,
    ) -> Result<(), Error> {
        let Some(OrderIndex::Path { path, .. }) = &order.index else { return Ok(()) };
        if self.buffer.is_empty() && !self.containers.is_empty() {
            let ranges = std::mem::take(&mut self.containers);
            let sorted = containers::sorted(reach, ranges, (order, path), list, &self.start);
            match sorted.await? {
                Some(keys) => {
                    self.buffer.extend(keys.into_iter().map(|key| Found { key, is_row: true }));
                }
                None => self.is_lost = true,
            }
        }
        Ok(())
    }

    async fn fill_entries(&mut self, reach: &Reach<'_>, order: &Order) -> Result<(), Error> {
        while self.buffer.is_empty() {
            let Some(range) = self.ranges.pop_front() else { return Ok(()) };
            if reach.slots.is_empty() {
                continue;
            }
            let index = reach.figures.reads_index();
            let page = reach.scan(range.clone(), self.direction, self.limit()).await?;
            self.take(page, range, reach, order);
            drop(index);
            reach.figures.check_time()?;
            reach.figures.turns.take().await;
        }
        Ok(())
    }

    /// Backward, arrays and objects come first, but seldom are there any: reads the first entries
    /// with the range of those in front of them, and takes what was read if none is among it. To
    /// look for them alone would cost as much again.
    async fn skip_containers(&mut self, reach: &Reach<'_>, order: &Order) -> Result<(), Error> {
        let ([(Bound::Included(first), end)], Some((low, Bound::Excluded(high)))) =
            (&self.containers[..], self.ranges.front())
        else {
            return Ok(());
        };
        if !self.buffer.is_empty() || first != high || reach.slots.is_empty() {
            return Ok(());
        }
        let index = reach.figures.reads_index();
        let whole = (low.clone(), end.clone());
        let page = reach.scan(whole, self.direction, self.limit()).await?;
        if page.entries.first().is_none_or(|(greatest, _)| greatest < first) {
            self.containers.clear();
            if let Some(range) = self.ranges.pop_front() {
                self.take(page, range, reach, order);
            }
        }
        drop(index);
        reach.figures.check_time()
    }

    fn limit(&self) -> PageLimit {
        PageLimit { entries: self.page, bytes: 1 << 20 }
    }

    /// Takes the entries of a page of a range.
    fn take(&mut self, page: StorePage, range: KeyRange, reach: &Reach<'_>, order: &Order) {
        reach.note_index_entries(page.entries.len());
        self.page = (self.page * 2).min(PAGE_MAX);
        if let Some((last, _)) = page.entries.last().filter(|_| page.has_more) {
            let last = Bound::Excluded(last.clone());
            self.ranges.push_front(match self.direction {
                Direction::Forward => (last, range.1),
                Direction::Backward => (range.0, last),
            });
        }
        for (key, _) in &page.entries {
            let Some(number) = number_of(key) else { continue };
            if reach.contains(number) {
                let key = sort_key(key, number, order, self.direction);
                self.buffer.push_back(Found { key, is_row: true });
            }
        }
    }
}

/// The key at which a page begins. Backward, a page without a start begins at the greatest key.
fn edge(prefix: &[u8], start: &SortKey, is_backward: bool) -> Bytes {
    let mut values = start.values.clone();
    let mut number = start.number;
    if is_backward {
        invert(&mut values);
        number = !number;
        if values.is_empty() {
            values.push(u8::MAX);
        }
    }
    [prefix, &values, &number.to_be_bytes()].concat().into()
}

fn sort_key(key: &[u8], number: DocNum, order: &Order, direction: Direction) -> SortKey {
    let mut values = key[index::key::PREFIX_BYTES..key.len() - index::key::NUMBER_BYTES].to_vec();
    if direction == Direction::Backward {
        invert(&mut values);
    }
    SortKey { values, number: order.number(number) }
}
