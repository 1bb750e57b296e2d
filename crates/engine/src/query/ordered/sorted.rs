//! An order without an index: every document that can match is looked at, and the first few behind
//! the frontier are kept. Memory is bounded by the page, however many documents there are.

use std::collections::BinaryHeap;

use protocol::{Error, rid::DocNum};
use sql::program::Run;

use crate::query::{
    ahead::{Ahead, Unit},
    documents::Documents,
    explain::Access,
    job::{Fed, Job, Turns, parse},
    ordered::{Frontier, Order, SortKey, place_at, sort_bytes},
    page::{Page, Seen},
    stream::Stream,
    token::Place,
};

/// Most documents that one page keeps while it sorts, and most bytes of their sort keys.
const KEPT_MAX: usize = 100_000;
const KEPT_BYTES_MAX: usize = 64 << 20;

/// Fills the page; `lists` are the documents of each partition that can match, where known.
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
    // DISTINCT must meet again what was returned before, and so begins at the beginning.
    let start = if seen.is_some() { SortKey::default() } else { frontier.key.clone() };
    let mut from = start;
    loop {
        let mut first = First::new(page.wants().saturating_add(1).min(KEPT_MAX));
        keep_first(job, order, &lists, &from, &mut first, run).await?;
        let (keys, has_more) = first.finish();
        let mut turns = Turns::default();
        let mut ahead = Ahead::documents(job, true);
        let mut rest = keys.iter();
        loop {
            while ahead.is_hungry(page.wants(), job.is_late()) {
                let Some(key) = rest.next() else {
                    ahead.end();
                    break;
                };
                if let Some(text) = job.load(order.number(key.number)).await? {
                    ahead.push((key, text.clone()), Unit::Document(text));
                }
            }
            let Some((key, text)) = ahead.next(run).await? else { break };
            match job.feed(&text, frontier.row_of(key), page, seen.as_deref_mut(), run)? {
                Fed::Whole => {}
                Fed::Over => return Ok(None),
                Fed::Full(row) => return Ok(Some(place_at(order, key, row))),
            }
            turns.take().await;
        }
        let Some(last) = keys.last().filter(|_| has_more) else { return Ok(None) };
        // All that was kept is in the page, and there is more: behind the last of it.
        from = SortKey { values: last.values.clone(), number: last.number.saturating_add(1) };
        if job.is_late() && seen.is_none() {
            // By a document that is there: behind its last row.
            return Ok(Some(place_at(order, last, u32::MAX)));
        }
    }
}

/// Looks at every document that can match, and keeps the first of those that are not before `from`.
async fn keep_first(
    job: &Job<'_>,
    order: &Order,
    lists: &[Option<Vec<DocNum>>],
    from: &SortKey,
    first: &mut First,
    run: &mut Run<'_>,
) -> Result<(), Error> {
    let mut turns = Turns::default();
    let mut ahead = Ahead::documents(job, false);
    for (part, list) in job.parts.iter().zip(lists) {
        let reach = part.reach(&job.figures);
        // Documents lie together: most of them are read faster all than one by one.
        let is_dense = |list: &&Vec<DocNum>| list.len() as u64 * 4 > part.documents;
        let list = list.as_ref().filter(|list| !is_dense(list));
        let mut documents = Documents::new(list.cloned().map(Stream::List), 0);
        ahead.reopen();
        loop {
            while ahead.is_hungry(usize::MAX, false) {
                match documents.next(&reach).await? {
                    Some((number, text)) => {
                        ahead.push((number, text.clone()), Unit::Document(text));
                    }
                    None => ahead.end(),
                }
            }
            let Some((number, text)) = ahead.next(run).await? else { break };
            let values = sort_bytes(job, order, &parse(&text)?, run)?;
            if let Some(values) = values {
                let key = SortKey { values, number: order.number(number) };
                if key >= *from {
                    first.insert(key);
                }
            }
            job.check_timeout()?;
            turns.take().await;
        }
    }
    Ok(())
}

/// Keeps the least of the keys that it is given.
struct First {
    heap: BinaryHeap<SortKey>,
    bytes: usize,
    count_max: usize,
    has_more: bool,
}

impl First {
    fn new(count_max: usize) -> Self {
        Self { heap: BinaryHeap::new(), bytes: 0, count_max, has_more: false }
    }

    fn insert(&mut self, key: SortKey) {
        let is_full = self.heap.len() >= self.count_max;
        if is_full && self.heap.peek().is_some_and(|last| key >= *last) {
            self.has_more = true;
            return;
        }
        self.bytes += key.values.len();
        self.heap.push(key);
        while self.heap.len() > self.count_max || self.bytes > KEPT_BYTES_MAX && self.heap.len() > 1
        {
            self.has_more = true;
            if let Some(last) = self.heap.pop() {
                self.bytes -= last.values.len();
                self.count_max = self.count_max.min(self.heap.len().max(1));
            }
        }
    }

    /// The keys in order, and whether there were others.
    fn finish(self) -> (Vec<SortKey>, bool) {
        (self.heap.into_sorted_vec(), self.has_more)
    }
}
