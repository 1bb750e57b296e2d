//! Batches in flight to a key space, and answers on their way back.

use std::{
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicUsize, Ordering},
    },
    time::Instant,
};

use super::Pace;
use crate::{Debt, testing::timer::signal};

/// Actions that run in the order they were added, each after a delay.
#[derive(Default)]
pub(super) struct Line {
    /// When the last action runs.
    last: Mutex<Option<Instant>>,
}

impl Line {
    /// Runs `action` after a delay, and after everything added before.
    pub(super) fn add(&self, pace: &Pace, action: impl FnOnce() + Send + 'static) {
        let soonest = Instant::now() + pace.delay();
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let at = last.map_or(soonest, |last| last.max(soonest));
        *last = Some(at);
        // Locked until it is scheduled, so that of two actions at the same time the first runs
        // first.
        pace.timer.schedule(at, action);
    }
}

/// Both directions of a key space, shared by all its handles.
#[derive(Default)]
pub(super) struct Lines {
    pub(super) there: Line,
    pub(super) back: Line,
    batches: AtomicUsize,
    bytes: AtomicUsize,
}

impl Lines {
    /// Waits until everything submitted has reached the inner store.
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

    /// How much is in flight, with the pressure that the inner store reports.
    pub(super) fn debt(&self, inner: Debt) -> Debt {
        Debt {
            queued_batches: self.batches.load(Ordering::Relaxed),
            queued_bytes: self.bytes.load(Ordering::Relaxed),
            pressure_percent: inner.pressure_percent,
        }
    }
}
