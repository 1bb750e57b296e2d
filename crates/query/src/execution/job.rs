//! One page of one query: what it reads, from where, and until when.

use std::{
    ops::{Bound, Range},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::Instant,
};

use bytes::Bytes;
use partition::{
    Partition,
    creations::{Listed, Listing},
    errors,
    keys::{Creation, META_KEY},
    presence::Seen,
    rows::Damaged,
};
use protocol::{Code, Error, PartitionPoint, rid::DocNum};
use sql::program::{Halt, Program, Row, Run};
use store::{Direction, PageLimit, Snapshot};
use value::{
    Value,
    json::{self, Wanted},
};

use crate::held::Held;
use crate::{
    execution::{
        ahead::Ahead,
        candidates::Node,
        explain::Recorder,
        figures::Figures,
        functions::Functions,
        merge,
        ordered::walked::Walked,
        page::{self, Offered, Page, too_large},
        stream::Reach,
    },
    expiry::Expiry,
    readable::Readable,
    scope::Scope,
    served::Served,
};

/// When a query that found no memory may be retried.
const MEMORY_RETRY_MS: u64 = 1000;

/// A page being made.
pub(crate) struct Job<'a> {
    pub(crate) collection: &'a Served,
    pub(crate) program: &'a Program,
    pub(crate) scope: &'a Scope,
    /// The members of a document that the program and the scope look at.
    pub(crate) needs: Wanted,
    /// The partitions to read, in the order of their slots.
    pub(crate) parts: Arc<[Part]>,
    pub(crate) figures: Arc<Figures>,
    /// The user-defined functions of the collection.
    pub(crate) functions: Arc<Functions<'a>>,
    /// Records what the page does, for an explanation.
    pub(crate) recorder: Arc<Recorder>,
    /// When a page ends that can be continued.
    pub(crate) page_end: Instant,
    /// When a query ends that cannot be continued.
    pub(crate) timeout: Instant,
}

/// A partition's share of a page.
pub(crate) struct Part {
    pub(crate) partition: Arc<dyn Readable>,
    pub(crate) snapshot: Arc<dyn Snapshot>,
    pub(crate) slots: Range<u32>,
    /// What the index knows of the filter.
    pub(crate) node: Node,
    /// The index that ORDER BY may walk; `None` if the partition has no entry of it.
    pub(crate) order: Option<Walked>,
    /// Documents in these slots, roughly, and in the whole partition.
    pub(crate) documents: u64,
    pub(crate) partition_documents: u64,
    /// Whether some documents are not in the index.
    pub(crate) has_unindexed: bool,
    /// Which documents have expired but are not swept yet.
    pub(crate) expiry: Expiry,
    pub(crate) point: PartitionPoint,
    /// The transactions that the snapshot includes; `None` for a transaction's own view.
    pub(crate) seen: Option<Seen>,
    /// Whether the page has read anything here: a full page does not reach the remaining
    /// partitions.
    pub(crate) is_read: AtomicBool,
    /// The work of reading here, relative to that in other partitions.
    pub(crate) work: AtomicU64,
}

impl Part {
    /// The partition that caches facts about the rows, and the transactions that the rows include.
    /// `None` if it is in another process, or if the rows are a transaction's own.
    pub(crate) fn memory(&self) -> Option<(&Partition, Seen)> {
        self.partition.here().zip(self.seen)
    }

    pub(crate) fn reach<'a>(&'a self, figures: &'a Figures) -> Reach<'a> {
        self.reach_in(self.slots.clone(), figures)
    }

    /// A reach of some of its slots.
    pub(crate) fn reach_in<'a>(&'a self, slots: Range<u32>, figures: &'a Figures) -> Reach<'a> {
        self.is_read.store(true, Ordering::Relaxed);
        self.reach_ahead(slots, figures)
    }

    /// A reach of some of its slots, before it is known whether the page gets there.
    pub(crate) fn reach_ahead<'a>(&'a self, slots: Range<u32>, figures: &'a Figures) -> Reach<'a> {
        Reach { snapshot: &*self.snapshot, slots, expiry: self.expiry, figures, work: &self.work }
    }

    /// The work of reading here; `None` if the page did not get to this partition.
    pub(crate) fn work_done(&self) -> Option<u64> {
        self.is_read.load(Ordering::Relaxed).then(|| self.work.load(Ordering::Relaxed))
    }

    /// The documents of the whole partition that were created at or after `from`, or the first of
    /// them.
    pub(crate) async fn created(
        &self,
        reach: &Reach<'_>,
        from: Creation,
    ) -> Result<Arc<Listed>, Error> {
        let _lists = reach.figures.lists();
        let check_time = || reach.figures.check_time();
        let listing = Listing {
            slots: self.partition.range().slots.clone(),
            documents: self.partition_documents,
            snapshot: &*self.snapshot,
            lsn: self.point.lsn,
            check_time: &check_time,
        };
        self.partition.creations().since(listing, from).await
    }
}

/// How many rows of a document were processed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fed {
    /// All of them.
    Whole,
    /// Up to this one, which belongs to the next page.
    Full(u32),
    /// The answer is complete.
    Over,
}

impl Job<'_> {
    /// The partitions that the page read; all of them if it read none.
    pub(crate) fn parts_read(&self) -> Vec<&Part> {
        let read: Vec<&Part> =
            self.parts.iter().filter(|part| part.work_done().is_some()).collect();
        if read.is_empty() { self.parts.iter().collect() } else { read }
    }

    /// The memory that the page holds.
    pub(crate) fn held(&self) -> &Arc<Held> {
        &self.figures.held
    }

    /// The set for DISTINCT; `None` without DISTINCT.
    pub(crate) fn seen(&self) -> Option<page::Seen> {
        self.program.shape().is_distinct.then(|| page::Seen::new(self.held()))
    }

    /// Whether the page should end as soon as it can be continued.
    pub(crate) fn is_late(&self) -> bool {
        self.is_late_at(Instant::now())
    }

    /// Whether the page should end as soon as it can be continued, for a caller that knows the time.
    pub(crate) fn is_late_at(&self, now: Instant) -> bool {
        now >= self.page_end + self.figures.listing()
    }

    /// Fails when time is up, for work that the next page cannot continue.
    pub(crate) fn check_timeout(&self) -> Result<(), Error> {
        self.figures.check_time()
    }

    /// Between two documents: fails when time is up, and lets others run now and then. The caller
    /// looks at the clock once for each document.
    pub(crate) async fn rest(&self, now: Instant) -> Result<(), Error> {
        self.figures.check_time_at(now)?;
        self.figures.turns.take_at(now).await;
        Ok(())
    }

    /// This job with another program, over the same documents.
    pub(crate) fn of_program<'a>(&'a self, program: &'a Program) -> Job<'a> {
        Job {
            program,
            needs: self.scope.needs(self.collection, program.needs()),
            parts: Arc::clone(&self.parts),
            figures: Arc::clone(&self.figures),
            functions: Arc::clone(&self.functions),
            recorder: Arc::clone(&self.recorder),
            collection: self.collection,
            scope: self.scope,
            page_end: self.timeout,
            timeout: self.timeout,
        }
    }

    /// Whether the slot of the one requested key has no other key in this partition.
    pub(crate) async fn is_only_key(&self, part: &Part) -> Result<bool, Error> {
        let Some(key) = self.scope.full_key(self.collection) else { return Ok(false) };
        let first = [META_KEY, &key.as_bytes()[..3]].concat();
        let mut end = first.clone();
        end.extend_from_slice(&[u8::MAX; 2]);
        let range = (Bound::Included(first.into()), Bound::Included(end.into()));
        let limit = PageLimit { entries: 2, bytes: 1 << 20 };
        let page = part.snapshot.scan(range, Direction::Forward, limit).await;
        let entries = page.map_err(errors::from_store)?.entries;
        Ok(entries.iter().all(|(found, _)| *found == key.counters()))
    }

    /// Calls `each` with every document that can match, in the order of their numbers. For work
    /// that the next page cannot continue.
    pub(crate) async fn documents(
        &self,
        run: &mut Run<'_>,
        mut each: impl FnMut(DocNum, &Bytes, &mut Run<'_>) -> Result<(), Error>,
    ) -> Result<(), Error> {
        let mut ahead = Ahead::documents(self, true);
        let groups: Vec<&[Part]> = merge::groups(&self.parts).collect();
        for groups in groups.chunks(merge::GROUPS_AHEAD) {
            for mut readers in merge::readers(self, groups, 0).await? {
                ahead.reopen();
                while let Some((number, text)) = readers.next_of(self, &mut ahead, run).await? {
                    each(number, &text, run)?;
                    self.rest(Instant::now()).await?;
                }
            }
        }
        Ok(())
    }

    /// A stored document as a value, with what the program and the scope look at.
    pub(crate) fn document(&self, text: &[u8]) -> Result<Value, Error> {
        parse(text, &self.needs)
    }

    /// Calls `each` with every row of a document.
    pub(crate) fn rows(
        &self,
        document: &Value,
        bytes: usize,
        run: &mut Run<'_>,
        each: &mut dyn FnMut(&Row<'_>, &mut Run<'_>) -> Result<(), Halt>,
    ) -> Result<(), Error> {
        let mut is_matched = false;
        let result = self.rows_uncounted(document, run, &mut |row, run| {
            is_matched = true;
            each(row, run)
        });
        if is_matched {
            self.figures.matched(bytes);
        }
        result
    }

    /// Calls `each` with every row of a document that will be evaluated again, without counting a
    /// match.
    pub(crate) fn rows_uncounted(
        &self,
        document: &Value,
        run: &mut Run<'_>,
        each: &mut dyn FnMut(&Row<'_>, &mut Run<'_>) -> Result<(), Halt>,
    ) -> Result<(), Error> {
        let began = self.figures.run_begins();
        let result = if self.scope.admits(self.collection, document) {
            self.program.rows(document, run, each)
        } else {
            Ok(())
        };
        self.figures.run_ends(began);
        match result {
            Ok(()) | Err(Halt::Stopped) => Ok(()),
            Err(halt) => Err(halted(halt)),
        }
    }

    /// Puts the rows of a document into the page, from `from_row` on; earlier ones were returned
    /// before. With `seen`, only rows that are new.
    pub(crate) fn feed(
        &self,
        text: &Bytes,
        from_row: u32,
        page: &mut Page,
        mut seen: Option<&mut page::Seen>,
        run: &mut Run<'_>,
    ) -> Result<Fed, Error> {
        let document = self.document(text)?;
        let is_document = self.program.shape().projects_document;
        let (mut index, mut fed, mut failure) = (0_u32, Fed::Whole, None);
        self.rows(&document, text.len(), run, &mut |row, run| {
            let here = index;
            index += 1;
            if here < from_row && seen.is_none() {
                return Ok(());
            }
            let value = if is_document && seen.is_none() {
                None
            } else {
                let value = self.program.project(row, run)?;
                if value.is_undefined() {
                    return Ok(());
                }
                Some(value)
            };
            if let (Some(seen), Some(value)) = (&mut seen, &value) {
                match seen.insert(value) {
                    Ok(true) => {}
                    Ok(false) => return Ok(()),
                    Err(error) => {
                        failure = Some(error);
                        return Err(Halt::Stopped);
                    }
                }
                if here < from_row {
                    return Ok(());
                }
            }
            let item = || match value.filter(|_| !is_document) {
                Some(value) => json::print(&value).into(),
                None => text.clone(),
            };
            fed = match page.offer(item) {
                Offered::Accepted if !page.is_over() => return Ok(()),
                Offered::Accepted | Offered::Over => Fed::Over,
                Offered::Full => Fed::Full(here),
            };
            Err(Halt::Stopped)
        })?;
        match failure {
            Some(error) => Err(error),
            None => Ok(fed),
        }
    }
}

/// The wanted members of a stored document.
pub(crate) fn parse(text: &[u8], wanted: &Wanted) -> Result<Value, Error> {
    json::parse_wanted(text, wanted).map_err(|_| errors::from_damaged(Damaged("D")))
}

/// The client's error for a query that ended early.
pub fn halted(halt: Halt) -> Error {
    match halt {
        Halt::Cancelled | Halt::Stopped => timed_out(),
        Halt::OutOfMemory => too_large("intermediate values are too large"),
        Halt::Busy => {
            let message = "The memory for queries is in use by other queries.";
            let mut error = Error::new(Code::TooManyRequests, message);
            error.meta.retry_after_ms = Some(MEMORY_RETRY_MS);
            error
        }
        Halt::Udf(message) => Error::bad_request(message),
        Halt::Waiting => Error::new(Code::Internal, "A user-defined function did not run in time."),
        other => Error::bad_request(other.to_string()),
    }
}

/// The service's error for a query that takes too long.
pub(crate) fn timed_out() -> Error {
    Error::new(Code::Timeout, "The request timed out: the query did not end in time.")
}
