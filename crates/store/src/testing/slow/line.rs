//! What is on its way to a key space, and what is on its way back.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use super::Pace;
use crate::{Debt, testing::timer::signal};

/// Actions that run in the order in which they were added, each after a delay.
#[derive(Default)]
pub(super) struct Line {
    /// When the last one runs.
    last: Mutex<Option<Instant>>,
}

impl Line {
    /// Runs `action` after a while, and after everything that was added before.
    pub(super) fn add(&self, pace: &Pace, action: impl FnOnce() + Send + 'static) {
        let soonest = Instant::now() + pace.delay();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let at = last.map_or(soonest, |last| last.max(soonest));
        *last = Some(at);
        // Locked until it is scheduled: of two at the same time, the first is to run first.
        pace.timer.schedule(at, action);
    }
}

/// Both ways of a key space, shared by all its handles.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) there: Line,
    pub(super) back: Line,
    batches: AtomicUsize,
    bytes: AtomicUsize,
}

impl Lines {
    /// Waits until everything that was submitted has reached the other store.
    pub(super) async fn on_the_way(&self, pace: &Pace) {
        let (end, waiting) = signal();
        self.there.add(pace, end);
        waiting.await;
    }

    /// Counts a batch that was submitted.
    pub(super) fn count(&self, bytes: usize) {
        self.batches.fetch_add(1, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    /// Counts a batch as completed.
    pub(super) fn discount(&self, bytes: usize) {
        self.batches.fetch_sub(1, Ordering::Relaxed);
        self.bytes.fetch_sub(bytes, Ordering::Relaxed);
    }

    /// How much is on the way, with the pressure that the other store reports.
    pub(super) fn debt(&self, inner: Debt) -> Debt {
        Debt {
            queued_batches: self.batches.load(Ordering::Relaxed),
            queued_bytes: self.bytes.load(Ordering::Relaxed),
            pressure_percent: inner.pressure_percent,
        }
    }
}
