//! The most that a figure has ever been.

use std::sync::atomic::{AtomicU64, Ordering};

/// Raised by whoever looks at the figure; a copy starts where the original stands.
#[derive(Debug, Default)]
pub struct HighWater(AtomicU64);

impl HighWater {
    /// A mark that begins at a figure which was stored.
    pub(crate) fn new(mark: u64) -> Self {
        Self(AtomicU64::new(mark))
    }

    /// The most so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Takes note of a figure, and says the most so far.
    pub fn raise(&self, figure: u64) -> u64 {
        self.0.fetch_max(figure, Ordering::Relaxed).max(figure)
    }
}

impl Clone for HighWater {
    fn clone(&self) -> Self {
        Self::new(self.get())
    }
}

impl PartialEq for HighWater {
    fn eq(&self, other: &Self) -> bool {
        self.get() == other.get()
    }
}
