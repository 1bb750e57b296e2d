//! What a query has read so far. Counted where it happens, reported in the metrics headers and
//! charged in the end.

use std::{
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use protocol::Error;

use crate::query::{held::Held, job::timed_out};

/// Counts of one page of a query. Shared by all that read for it.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    index_entries: AtomicU64,
    documents: AtomicU64,
    document_bytes: AtomicU64,
    matched: AtomicU64,
    matched_bytes: AtomicU64,
    index_nanos: AtomicU64,
    load_nanos: AtomicU64,
    run_nanos: AtomicU64,
    listing_nanos: AtomicU64,
    calls: AtomicU64,
    call_messages: AtomicU64,
    call_nanos: AtomicU64,
    /// When all reading must end, and whether whoever asked has gone.
    end: Option<(Instant, Arc<AtomicBool>)>,
    /// The memory that the page holds.
    pub(crate) held: Arc<Held>,
}

impl Figures {
    /// Of a page that must end by then, or when nobody waits for it any more.
    pub(crate) fn until(timeout: Instant, is_abandoned: &Arc<AtomicBool>) -> Self {
        Self { end: Some((timeout, Arc::clone(is_abandoned))), ..Self::default() }
    }

    /// Of a page that holds memory which others want, too.
    pub(crate) fn holding(self, held: Arc<Held>) -> Self {
        Self { held, ..self }
    }

    /// Refuses to read on when time is up.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        match &self.end {
            Some((timeout, is_abandoned))
                if is_abandoned.load(Ordering::Relaxed) || Instant::now() >= *timeout =>
            {
                Err(timed_out())
            }
            _ => Ok(()),
        }
    }

    /// Time went into finding out which documents can match since then, by reading the index.
    pub(crate) fn listing_time(&self, since: Instant) {
        add(&self.listing_nanos, since.elapsed());
    }

    /// That time. It must not count against a page: the next one would list again, and get no
    /// further.
    pub(crate) fn listing(&self) -> Duration {
        Duration::from_nanos(self.listing_nanos.load(Ordering::Relaxed))
    }

    /// Entries of the index were read.
    pub(crate) fn index_entries(&self, count: usize) {
        self.index_entries.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// A document was read.
    pub(crate) fn document(&self, bytes: usize) {
        self.documents.fetch_add(1, Ordering::Relaxed);
        self.document_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// A document that was read passed the filter.
    pub(crate) fn matched(&self, bytes: usize) {
        self.matched.fetch_add(1, Ordering::Relaxed);
        self.matched_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Time went into reading the index since then.
    pub(crate) fn index_time(&self, since: Instant) {
        add(&self.index_nanos, since.elapsed());
    }

    /// Time went into reading documents since then.
    pub(crate) fn load_time(&self, since: Instant) {
        add(&self.load_nanos, since.elapsed());
    }

    /// Time went into evaluating the query since then.
    pub(crate) fn run_time(&self, since: Instant) {
        add(&self.run_nanos, since.elapsed());
    }

    /// A message with so many calls of a user-defined function was answered, sent then.
    pub(crate) fn calls(&self, count: usize, since: Instant) {
        self.calls.fetch_add(count as u64, Ordering::Relaxed);
        self.call_messages.fetch_add(1, Ordering::Relaxed);
        add(&self.call_nanos, since.elapsed());
    }

    pub(crate) fn totals(&self) -> Totals {
        let load = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Totals {
            index_entries: load(&self.index_entries),
            documents: load(&self.documents),
            document_bytes: load(&self.document_bytes),
            matched: load(&self.matched),
            matched_bytes: load(&self.matched_bytes),
            index: Duration::from_nanos(load(&self.index_nanos) + load(&self.listing_nanos)),
            load: Duration::from_nanos(load(&self.load_nanos)),
            run: Duration::from_nanos(load(&self.run_nanos)),
            calls: load(&self.calls),
            call_messages: load(&self.call_messages),
            call: Duration::from_nanos(load(&self.call_nanos)),
        }
    }
}

fn add(counter: &AtomicU64, elapsed: Duration) {
    let nanos = u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX);
    counter.fetch_add(nanos, Ordering::Relaxed);
}

/// The counts at one moment.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Totals {
    pub(crate) index_entries: u64,
    pub(crate) documents: u64,
    pub(crate) document_bytes: u64,
    /// Documents read that passed the filter.
    pub(crate) matched: u64,
    pub(crate) matched_bytes: u64,
    pub(crate) index: Duration,
    pub(crate) load: Duration,
    pub(crate) run: Duration,
    /// Calls of user-defined functions, the messages that they were sent in, and their time.
    pub(crate) calls: u64,
    pub(crate) call_messages: u64,
    pub(crate) call: Duration,
}
