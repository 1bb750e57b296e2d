//! What a query has read so far: counted where it reads, reported in the metrics headers and
//! charged at the end.

use std::{
    sync::{
        Arc, Mutex, PoisonError,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use protocol::{BoxFuture, Error};

use crate::{
    execution::{job::timed_out, turns::Turns},
    held::Held,
    together::Waits,
};

/// Counts of one page of a query, shared by all its readers.
#[derive(Debug, Default)]
pub(crate) struct Figures {
    index_entries: AtomicU64,
    documents: AtomicU64,
    document_bytes: AtomicU64,
    matched: AtomicU64,
    matched_bytes: AtomicU64,
    index: Stopwatch,
    load: Stopwatch,
    run_nanos: AtomicU64,
    listing: Stopwatch,
    calls: AtomicU64,
    call_messages: AtomicU64,
    call_nanos: AtomicU64,
    /// Whether the time of evaluation is measured.
    is_timed: bool,
    /// Whether some read of the store had to wait.
    waits: Waits,
    /// When all reading must end, and whether the caller has gone.
    end: Option<(Instant, Arc<AtomicBool>)>,
    /// The memory that the page holds.
    pub(crate) held: Arc<Held>,
    /// The page's turn on its thread.
    pub(crate) turns: Turns,
}

impl Figures {
    /// Figures of a page that must end by `timeout` or when nobody waits for it any more.
    pub(crate) fn until(timeout: Instant, is_abandoned: &Arc<AtomicBool>) -> Self {
        Self { end: Some((timeout, Arc::clone(is_abandoned))), ..Self::default() }
    }

    /// Figures of a page that holds memory from the shared budget.
    pub(crate) fn holding(self, held: Arc<Held>) -> Self {
        Self { held, ..self }
    }

    /// Figures that also measure the time of evaluation, if somebody asks for it: that takes a look
    /// at the clock before and after each document.
    pub(crate) fn timing(self, is_timed: bool) -> Self {
        Self { is_timed, ..self }
    }

    /// Separate figures for reads that count only if the page gets there.
    pub(crate) fn apart(&self) -> Self {
        Self { end: self.end.clone(), held: Arc::clone(&self.held), ..Self::default() }
    }

    /// Adds the counts of reads that the page has now reached.
    pub(crate) fn absorb(&self, other: &Self) {
        let Totals { index_entries, documents, document_bytes, .. } = other.totals();
        self.index_entries.fetch_add(index_entries, Ordering::Relaxed);
        self.documents.fetch_add(documents, Ordering::Relaxed);
        self.document_bytes.fetch_add(document_bytes, Ordering::Relaxed);
        for (to, from) in [
            (&self.index, &other.index),
            (&self.load, &other.load),
            (&self.listing, &other.listing),
        ] {
            add(&to.nanos, from.total());
        }
    }

    /// Awaits a read of the store, and notes whether it had to wait.
    pub(crate) async fn waiting_for<T>(&self, read: BoxFuture<'_, T>) -> T {
        self.waits.on(read).await
    }

    pub(crate) fn waits(&self) -> &Waits {
        &self.waits
    }

    /// Whether any read of the store had to wait.
    pub(crate) fn has_waited(&self) -> bool {
        self.waits.has_waited()
    }

    /// Fails when time is up.
    pub(crate) fn check_time(&self) -> Result<(), Error> {
        self.check_time_at(Instant::now())
    }

    /// Fails when time is up, for a caller that knows the time.
    pub(crate) fn check_time_at(&self, now: Instant) -> Result<(), Error> {
        match &self.end {
            Some((timeout, is_abandoned))
                if is_abandoned.load(Ordering::Relaxed) || now >= *timeout =>
            {
                Err(timed_out())
            }
            _ => Ok(()),
        }
    }

    /// Measures the time for listing matching documents from the index, until the result is
    /// dropped.
    pub(crate) fn lists(&self) -> Running<'_> {
        self.listing.start()
    }

    /// The time spent on listing. It must not count against a page's time: the next page would list
    /// again, and get no further.
    pub(crate) fn listing(&self) -> Duration {
        self.listing.total()
    }

    /// Counts index entries read.
    pub(crate) fn index_entries(&self, count: usize) {
        self.index_entries.fetch_add(count as u64, Ordering::Relaxed);
    }

    /// Counts a document read.
    pub(crate) fn document(&self, bytes: usize) {
        self.documents.fetch_add(1, Ordering::Relaxed);
        self.document_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Counts a document that passed the filter.
    pub(crate) fn matched(&self, bytes: usize) {
        self.matched.fetch_add(1, Ordering::Relaxed);
        self.matched_bytes.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    /// Measures the time for reading the index, until the result is dropped.
    pub(crate) fn reads_index(&self) -> Running<'_> {
        self.index.start()
    }

    /// Measures the time for reading documents, until the result is dropped.
    pub(crate) fn loads(&self) -> Running<'_> {
        self.load.start()
    }

    /// When an evaluation begins, if its time is measured.
    pub(crate) fn run_begins(&self) -> Option<Instant> {
        self.is_timed.then(Instant::now)
    }

    /// Adds the time since an evaluation began.
    pub(crate) fn run_ends(&self, began: Option<Instant>) {
        if let Some(began) = began {
            add(&self.run_nanos, began.elapsed());
        }
    }

    /// How many documents have passed the filter.
    pub(crate) fn matches(&self) -> u64 {
        self.matched.load(Ordering::Relaxed)
    }

    /// Counts an answered message with so many calls of a user-defined function, sent at `since`.
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
            index: self.index.total() + self.listing.total(),
            load: self.load.total(),
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

/// Measures the time in which at least one of several things runs: concurrent reads of partitions
/// take as long as the slowest of them.
#[derive(Debug, Default)]
struct Stopwatch {
    nanos: AtomicU64,
    /// How many are running, and since when.
    running: Mutex<Option<(usize, Instant)>>,
}

impl Stopwatch {
    fn start(&self) -> Running<'_> {
        let mut running = self.running.lock().unwrap_or_else(PoisonError::into_inner);
        running.get_or_insert_with(|| (0, Instant::now())).0 += 1;
        Running(self)
    }

    fn total(&self) -> Duration {
        Duration::from_nanos(self.nanos.load(Ordering::Relaxed))
    }
}

/// A measurement, which ends when this is dropped.
#[must_use]
pub(crate) struct Running<'a>(&'a Stopwatch);

impl Drop for Running<'_> {
    fn drop(&mut self) {
        let mut running = self.0.running.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((count, since)) = &mut *running {
            *count -= 1;
            if *count == 0 {
                add(&self.0.nanos, since.elapsed());
                *running = None;
            }
        }
    }
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
    /// Calls of user-defined functions, the number of messages, and their time.
    pub(crate) calls: u64,
    pub(crate) call_messages: u64,
    pub(crate) call: Duration,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn evaluation_is_timed_for_those_who_ask() {
        let figures = Figures::default();
        figures.run_ends(figures.run_begins());
        assert_eq!(figures.totals().run, Duration::ZERO);
        let figures = figures.timing(true);
        let began = figures.run_begins().and_then(|now| now.checked_sub(Duration::from_secs(1)));
        assert!(began.is_some());
        figures.run_ends(began);
        assert!(figures.totals().run >= Duration::from_secs(1));
    }
}
