//! Finds the documents without a value to order by if the index has no entries for them: those of
//! the documents that can match which have no entry of the path.
//!
//! If the partition has cached which documents lack the path (`partition::presence`), it reads
//! those. Otherwise it reads the documents in order, since usually either many lack the path, or
//! there are few documents. If too few of them lack it, it compares all entries with all documents
//! once, and the partition caches the result.

use std::{collections::VecDeque, ops::Bound};

use bytes::Bytes;
use partition::{
    errors,
    keys::{self, FEED, META_COUNTERS, u64_at},
    rows::{Counters, Header},
};
use protocol::{Error, rid::DocNum};
use store::{Direction, PageLimit};
use value::{Value, json::Wanted};

use crate::execution::{
    job::{Job, Part, parse},
    ordered::{Order, SortKey},
    stream::{Reach, number_of},
};
use crate::sought::DEFINED;

/// Documents to read before the share of those without a value is trusted, and per such document.
const READ_BEFORE: u64 = 64;
const READ_PER_FOUND: u64 = 16;

/// Documents per read.
const CHUNK: usize = 32;

/// Entries per read, and the most entries to compare.
const PAGE_ENTRIES: usize = 1024;
const ENTRIES_MAX: usize = 4 << 20;

/// How many cached documents must be stale before the partition is told.
const STALE_MIN: usize = 64;

/// A result of a cursor.
pub(super) struct Found {
    pub(super) key: SortKey,
    /// Whether it is a document that may be returned; if not, it only marks how far the search got.
    pub(super) is_row: bool,
}

/// Finds these documents in one partition, in the direction of the order.
pub(super) struct Absent {
    /// The sort bytes of an absent value.
    values: Vec<u8>,
    path: index::Path,
    direction: Direction,
    /// The first number, in this direction, that was not examined.
    next: DocNum,
    source: Source,
    /// Whether a comparison may still narrow the search.
    is_undecided: bool,
    looked: u64,
    found: u64,
    /// Cached documents that do have the path.
    stale: Vec<DocNum>,
    is_done: bool,
}

enum Source {
    /// Nothing was read yet.
    Unopened,
    /// These documents, in the direction of the order.
    Numbers { numbers: VecDeque<DocNum>, is_remembered: bool },
    /// All documents.
    Scan,
}

impl Absent {
    /// Finds the documents at or after `start`; `None` if there are none.
    pub(super) fn new(order: &Order, path: &index::Path, start: &SortKey) -> Option<Self> {
        let values = order.bytes(&[Value::Undefined]);
        let is_backward = order.descends.first() == Some(&true);
        let (direction, extreme) = if is_backward {
            (Direction::Backward, DocNum::MAX)
        } else {
            (Direction::Forward, DocNum::MIN)
        };
        let next = match start.values.cmp(&values) {
            std::cmp::Ordering::Less => extreme,
            std::cmp::Ordering::Equal => order.number(start.number),
            std::cmp::Ordering::Greater => return None,
        };
        Some(Self {
            values,
            path: path.clone(),
            direction,
            next,
            source: Source::Unopened,
            is_undecided: false,
            looked: 0,
            found: 0,
            stale: Vec::new(),
            is_done: false,
        })
    }

    /// Examines more documents until it finds some, or none are left.
    pub(super) async fn fill(
        &mut self,
        job: &Job<'_>,
        part: &Part,
        order: &Order,
        list: Option<&Vec<DocNum>>,
        buffer: &mut VecDeque<Found>,
    ) -> Result<(), Error> {
        let reach = part.reach(&job.figures);
        if reach.slots.is_empty() {
            self.is_done = true;
        }
        while buffer.is_empty() && !self.is_done {
            if matches!(self.source, Source::Unopened) {
                self.open(part, list);
            }
            let rows = self.read(&reach).await?;
            let Some((last, _)) = rows.last() else {
                self.is_done = true;
                break;
            };
            let last = *last;
            for (number, row) in rows {
                if self.lacks_path(&reach, number, row)? {
                    let key = SortKey { values: self.values.clone(), number: order.number(number) };
                    buffer.push_back(Found { key, is_row: true });
                }
            }
            self.pass(last);
            if self.is_undecided && self.looked > READ_BEFORE + READ_PER_FOUND * self.found {
                self.is_undecided = false;
                self.compare(part, &reach, list).await?;
            }
            if buffer.is_empty() && job.is_late() {
                let key = SortKey { values: self.values.clone(), number: order.number(last) };
                buffer.push_back(Found { key, is_row: false });
            }
            reach.figures.check_time()?;
            reach.figures.turns.take().await;
        }
        if self.is_done || self.stale.len() >= STALE_MIN {
            self.tell_stale(part);
        }
        Ok(())
    }

    /// Chooses the source to read first.
    fn open(&mut self, part: &Part, list: Option<&Vec<DocNum>>) {
        let remembered =
            part.order.as_ref().zip(part.memory()).and_then(|(walked, (memory, seen))| {
                memory.presence.lacking(walked.path_id(), seen)
            });
        self.source = match (remembered, list) {
            (Some(numbers), list) => self.numbers(numbers, list, true),
            (None, Some(list)) => self.numbers(list.clone(), None, false),
            (None, None) => Source::Scan,
        };
        // Comparing is useless without an index, since all documents lack the path, and in a
        // transaction's view, since its documents are few.
        let is_remembered = matches!(self.source, Source::Numbers { is_remembered: true, .. });
        self.is_undecided = !is_remembered && part.order.is_some() && part.memory().is_some();
    }

    /// Those of the ascending `numbers` that were not passed yet and that the filter allows.
    fn numbers(
        &self,
        mut numbers: Vec<DocNum>,
        list: Option<&Vec<DocNum>>,
        is_remembered: bool,
    ) -> Source {
        numbers.retain(|number| {
            let is_ahead = match self.direction {
                Direction::Forward => *number >= self.next,
                Direction::Backward => *number <= self.next,
            };
            is_ahead && list.is_none_or(|list| list.binary_search(number).is_ok())
        });
        if self.direction == Direction::Backward {
            numbers.reverse();
        }
        Source::Numbers { numbers: numbers.into(), is_remembered }
    }

    /// Continues after a number.
    fn pass(&mut self, number: DocNum) {
        let next = match self.direction {
            Direction::Forward => number.checked_add(1),
            Direction::Backward => number.checked_sub(1),
        };
        match next {
            Some(next) => self.next = next,
            None => self.is_done = true,
        }
    }

    /// The next documents to examine, with their rows if they exist.
    async fn read(&mut self, reach: &Reach<'_>) -> Result<Vec<(DocNum, Option<Bytes>)>, Error> {
        let _loads = reach.figures.loads();
        let rows = match &mut self.source {
            Source::Numbers { numbers, .. } => {
                let mut wanted = Vec::with_capacity(CHUNK);
                while wanted.len() < CHUNK {
                    let Some(number) = numbers.pop_front() else { break };
                    if reach.contains(number) {
                        wanted.push(number);
                    }
                }
                let keys: Vec<Bytes> = wanted.iter().map(|it| keys::document(*it)).collect();
                let rows = reach.get_many(&keys).await?;
                wanted.into_iter().zip(rows).collect()
            }
            Source::Unopened | Source::Scan => {
                let (first, last) = match self.direction {
                    Direction::Forward => (self.next.max(reach.first()), reach.last()),
                    Direction::Backward => (reach.first(), self.next.min(reach.last())),
                };
                if first > last {
                    return Ok(Vec::new());
                }
                let bound = |number| Bound::Included(keys::document(number));
                let limit = PageLimit { entries: CHUNK, bytes: 1 << 20 };
                let range = (bound(first), bound(last));
                let entries = reach.scan(range, self.direction, limit).await?.entries;
                let numbered = |(key, row): (Bytes, Bytes)| Some((u64_at(&key, 1)?, Some(row)));
                entries.into_iter().filter_map(numbered).collect()
            }
        };
        Ok(rows)
    }

    /// Whether a document exists and has no value to order by.
    fn lacks_path(
        &mut self,
        reach: &Reach<'_>,
        number: DocNum,
        row: Option<Bytes>,
    ) -> Result<bool, Error> {
        self.looked += 1;
        let lacks = match row {
            None => false,
            Some(row) => {
                let (header, document) = Header::decode(&row).map_err(errors::from_damaged)?;
                let lacks = !reach.expiry.is_over(&header, &document)
                    && index::value_at(&parse(&document, &Wanted::All)?, &self.path.0)
                        .is_undefined();
                if !lacks {
                    // A document that lacks it is read again, and counted then.
                    reach.note_document(document.len());
                }
                lacks
            }
        };
        if lacks {
            self.found += 1;
        } else if matches!(self.source, Source::Numbers { is_remembered: true, .. }) {
            self.stale.push(number);
        }
        Ok(lacks)
    }

    /// Compares all entries of the path with all documents, and continues with those that have
    /// none.
    async fn compare(
        &mut self,
        part: &Part,
        reach: &Reach<'_>,
        list: Option<&Vec<DocNum>>,
    ) -> Result<(), Error> {
        let (Some(walked), Some((memory, seen))) = (&part.order, part.memory()) else {
            return Ok(());
        };
        let _lists = reach.figures.lists();
        let tracking = memory.track_presence(walked.path_id());
        let lacking = without_entry(reach, &walked.prefix).await?;
        if let Some(lacking) = lacking {
            memory.presence.complete(tracking, seen, &lacking);
            self.source = self.numbers(lacking, list, false);
        }
        Ok(())
    }

    /// Tells the partition which documents it need not cache.
    fn tell_stale(&mut self, part: &Part) {
        let stale = std::mem::take(&mut self.stale);
        if let (Some(walked), Some((memory, seen))) = (&part.order, part.memory())
            && stale.len() >= STALE_MIN
        {
            memory.presence.forget(walked.path_id(), seen, &stale);
        }
    }
}

/// The numbers of all documents of a partition that have no entry of a path, ascending; `None` if
/// there are too many entries to compare.
async fn without_entry(reach: &Reach<'_>, prefix: &[u8]) -> Result<Option<Vec<DocNum>>, Error> {
    let mut with_entry = Vec::new();
    let range = |first: u8, end: u8| {
        let bound = |byte: u8| -> Bytes { [prefix, &[byte]].concat().into() };
        (Bound::Included(bound(first)), Bound::Excluded(bound(end)))
    };
    let all = each_key(reach, range(DEFINED, u8::MAX), |key| {
        with_entry.extend(number_of(key));
        with_entry.len() <= ENTRIES_MAX
    });
    if !all.await? {
        return Ok(None);
    }
    let counters = [Bytes::from_static(META_COUNTERS)];
    let rows = reach.get_many(&counters).await?;
    let documents = match rows.first() {
        Some(Some(row)) => Counters::decode(row).map_err(errors::from_damaged)?.documents,
        _ => 0,
    };
    // A document has at most one entry of a path.
    if with_entry.len() as u64 == documents {
        return Ok(Some(Vec::new()));
    }
    with_entry.sort_unstable();
    let mut without = Vec::new();
    // The change feed has one short row per document.
    let feed = |letter: u8| Bytes::copy_from_slice(&[letter]);
    let range = (Bound::Included(feed(FEED)), Bound::Excluded(feed(FEED + 1)));
    let all = each_key(reach, range, |key| {
        let number = number_of(key).filter(|number| with_entry.binary_search(number).is_err());
        without.extend(number);
        without.len() <= ENTRIES_MAX
    });
    if !all.await? {
        return Ok(None);
    }
    without.sort_unstable();
    Ok(Some(without))
}

/// Calls `each` with every key of a range while it returns true; returns whether it saw all keys.
async fn each_key(
    reach: &Reach<'_>,
    (mut first, end): (Bound<Bytes>, Bound<Bytes>),
    mut each: impl FnMut(&[u8]) -> bool,
) -> Result<bool, Error> {
    let limit = PageLimit { entries: PAGE_ENTRIES, bytes: 1 << 20 };
    loop {
        let page = reach.scan((first, end.clone()), Direction::Forward, limit).await?;
        reach.note_index_entries(page.entries.len());
        reach.figures.check_time()?;
        if !page.entries.iter().all(|(key, _)| each(key)) {
            return Ok(false);
        }
        match page.entries.last() {
            Some((key, _)) if page.has_more => first = Bound::Excluded(key.clone()),
            _ => return Ok(true),
        }
        // A store that answers at once never yields, so a long walk must yield the thread itself.
        reach.figures.turns.take().await;
    }
}
