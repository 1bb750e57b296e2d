//! An order without an index: reads every document that can match, and keeps the first few after
//! the frontier. The page bounds the memory, however many documents there are.

use std::{collections::BinaryHeap, sync::Arc, time::Instant};

use protocol::{Error, rid::DocNum};
use sql::program::{Halt, Run};

use crate::execution::{
    ahead::{Ahead, Unit},
    documents::Documents,
    explain::Access,
    fetch::{Fetched, Wanted},
    job::{Fed, Job, Part, halted},
    merge::GROUPS_AHEAD,
    ordered::{Frontier, Order, SortKey, choice::is_dense, place_at, sort_bytes},
    page::{Page, Seen},
    stream::{Reach, Stream},
    token::Place,
};
use crate::held::Held;
use crate::together;

/// Most documents that one page keeps while it sorts, and most bytes of their sort keys.
const KEPT_MAX: usize = 100_000;
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Fills the page; `lists` are the documents of each partition that can match, if known.
pub(crate) async fn run(
    job: &Job<'_>,
    order: &Order,
    lists: Vec<Option<Vec<DocNum>>>,
    page: &mut Page,
    frontier: &Frontier,
    mut seen: Option<&mut Seen>,
    run: &mut Run<'_>,
) -> Result<Option<Place>, Error> {
    for (part, list) in job.parts.iter().zip(&lists) {
        job.recorder.note(part, Access::Sort(list.as_ref().map(Vec::len)));
    }
    let reaches: Vec<Reach<'_>> = job.parts.iter().map(|part| part.reach(&job.figures)).collect();
    // DISTINCT must see all returned rows again, so it begins at the start.
    let start = if seen.is_some() { SortKey::default() } else { frontier.key.clone() };
    let mut from = start;
    loop {
        let mut first = First::new(page.wants().saturating_add(1).min(KEPT_MAX), job.held());
        keep_first(job, order, &lists, &from, &mut first, run).await?;
        let (keys, has_more, _held) = first.finish();
        let mut ahead = Ahead::documents(job, true);
        let mut rest = keys.iter();
        let mut fetched = Fetched::default();
        loop {
            while ahead.is_hungry(page.wants(), || job.is_late()) {
                if fetched.is_empty() {
                    let batch = rest.by_ref().take(fetched.room(page.wants()));
                    let batch = batch.map(|key| (key, place_of(&reaches, order, key)));
                    fetched.fetch(batch.collect(), &reaches).await?;
                }
                let Some((key, text)) = fetched.next(&reaches).await? else {
                    ahead.end();
                    break;
                };
                let text = match text {
                    // The number does not say which of the partitions that share a slot has the
                    // document.
                    None if reaches.len() > 1 => job.load(order.number(key.number)).await?,
                    text => text,
                };
                if let Some(text) = text {
                    ahead.push((key, text.clone()), Unit::Document(text));
                }
            }
            let Some((key, text)) = ahead.next(run).await? else { break };
            match job.feed(&text, frontier.row_of(key), page, seen.as_deref_mut(), run)? {
                Fed::Whole => {}
                Fed::Over => return Ok(None),
                Fed::Full(row) => return Ok(Some(place_at(order, key, row))),
            }
            job.figures.turns.take().await;
        }
        let Some(last) = keys.last().filter(|_| has_more) else { return Ok(None) };
        // The page has taken all keys that were kept, and there are more: continue after the last.
        from = SortKey { values: last.values.clone(), number: last.number.saturating_add(1) };
        if job.is_late() && seen.is_none() {
            // After the last row of an existing document.
            return Ok(Some(place_at(order, last, u32::MAX)));
        }
    }
}

/// Reads every document that can match, and keeps the first of those that are not before `from`.
async fn keep_first(
    job: &Job<'_>,
    order: &Order,
    lists: &[Option<Vec<DocNum>>],
    from: &SortKey,
    first: &mut First,
    run: &mut Run<'_>,
) -> Result<(), Error> {
    let mut ahead = Ahead::documents(job, false);
    let parts: Vec<_> = job.parts.iter().zip(lists).collect();
    for parts in parts.chunks(GROUPS_AHEAD) {
        let opened = parts.iter().map(|(part, list)| opened(job, part, list.as_ref()));
        for (reach, mut documents) in together::all(opened).await? {
            ahead.reopen();
            loop {
                while ahead.is_hungry(usize::MAX, || false) {
                    match documents.next(&reach, usize::MAX).await? {
                        Some((number, text)) => {
                            ahead.push((number, text.clone()), Unit::Document(text));
                        }
                        None => ahead.end(),
                    }
                }
                let Some((number, text)) = ahead.next(run).await? else { break };
                let values = sort_bytes(job, order, &job.document(&text)?, run)?;
                if let Some(values) = values {
                    let key = SortKey { values, number: order.number(number) };
                    if key >= *from {
                        first.insert(key)?;
                    }
                }
                job.rest(Instant::now()).await?;
            }
        }
    }
    Ok(())
}

/// A reader of one partition's documents that can match, with its first documents read.
async fn opened<'a>(
    job: &'a Job<'_>,
    part: &'a Part,
    list: Option<&Vec<DocNum>>,
) -> Result<(Reach<'a>, Documents), Error> {
    let reach = part.reach(&job.figures);
    let list = list.filter(|list| !is_dense(list, part));
    let mut documents = Documents::new(list.cloned().map(Stream::List), 0);
    documents.read_ahead(&reach, usize::MAX).await?;
    Ok((reach, documents))
}

/// The place of a document in `reaches`, with its number.
fn place_of(reaches: &[Reach<'_>], order: &Order, key: &SortKey) -> Option<Wanted> {
    let number = order.number(key.number);
    reaches.iter().position(|reach| reach.contains(number)).map(|place| (place, number))
}

/// The memory of a key apart from its bytes.
const KEY_BYTES: usize = 48;

/// The memory reserved for the keys, released with them.
struct Share {
    held: Arc<Held>,
    bytes: usize,
}

impl Drop for Share {
    fn drop(&mut self) {
        self.held.give_back(self.bytes);
    }
}

/// Keeps the least of the keys added to it.
struct First {
    heap: BinaryHeap<SortKey>,
    share: Share,
    count_max: usize,
    has_more: bool,
}

impl First {
    fn new(count_max: usize, held: &Arc<Held>) -> Self {
        let share = Share { held: Arc::clone(held), bytes: 0 };
        Self { heap: BinaryHeap::new(), share, count_max, has_more: false }
    }

    fn insert(&mut self, key: SortKey) -> Result<(), Error> {
        let is_full = self.heap.len() >= self.count_max;
        if is_full && self.heap.peek().is_some_and(|last| key >= *last) {
            self.has_more = true;
            return Ok(());
        }
        let bytes = key.values.len() + KEY_BYTES;
        // A query that may not hold more memory keeps fewer keys, and finds the rest in another
        // round.
        while let Err(halt) = self.share.held.take(bytes) {
            if halt != Halt::OutOfMemory || self.heap.is_empty() {
                return Err(halted(halt));
            }
            self.drop_last();
        }
        self.share.bytes += bytes;
        self.heap.push(key);
        while self.heap.len() > self.count_max
            || self.share.bytes > KEPT_BYTES_MAX && self.heap.len() > 1
        {
            self.drop_last();
        }
        Ok(())
    }

    fn drop_last(&mut self) {
        self.has_more = true;
        if let Some(last) = self.heap.pop() {
            let bytes = last.values.len() + KEY_BYTES;
            self.share.bytes -= bytes;
            self.share.held.give_back(bytes);
            self.count_max = self.count_max.min(self.heap.len().max(1));
        }
    }

    /// The sorted keys, whether there were others, and their memory.
    fn finish(self) -> (Vec<SortKey>, bool, Share) {
        (self.heap.into_sorted_vec(), self.has_more, self.share)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::held::Memory;

    fn key(number: u64) -> SortKey {
        let mut values = number.to_be_bytes().to_vec();
        values.resize(4096, 0);
        SortKey { values, number }
    }

    /// A query that may not hold all keys that the page wants keeps the first few, and gets the
    /// rest later.
    #[test]
    fn a_sort_makes_do_with_less() {
        let memory = Arc::new(Memory::new(512 << 10));
        let held = memory.hold();
        let mut first = First::new(1000, &held);
        for number in (0..500).rev() {
            first.insert(key(number)).expect("it keeps fewer");
        }
        let (keys, has_more, share) = first.finish();
        assert!(has_more && (2..500).contains(&keys.len()), "{} keys", keys.len());
        assert!(keys.iter().zip(0..).all(|(kept, number)| *kept == key(number)));
        drop(share);
        assert_eq!(held.used(), 0);
    }

    #[test]
    fn a_sort_is_told_to_come_back_where_others_hold_the_memory() {
        let memory = Arc::new(Memory::new(512 << 10));
        let others = [memory.hold(), memory.hold()];
        for other in &others {
            other.take(256 << 10).expect("room");
        }
        let mut first = First::new(1000, &memory.hold());
        let refused = (0..500).find_map(|number| first.insert(key(number)).err());
        let refused = refused.expect("no room");
        assert_eq!(refused.code, protocol::Code::TooManyRequests);
        assert!(refused.meta.retry_after_ms.is_some());
    }
}
