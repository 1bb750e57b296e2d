//! The highest value that a figure has ever had.

use std::sync::atomic::{AtomicU64, Ordering};

/// Raised whenever the figure is read; a clone starts at the original's mark.
#[derive(Debug, Default)]
pub struct HighWater(AtomicU64);

impl HighWater {
    /// Creates a mark from a stored value.
    pub(crate) fn new(mark: u64) -> Self {
        Self(AtomicU64::new(mark))
    }

    /// The highest value so far.
    pub(crate) fn get(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }

    /// Records a value, and returns the highest so far.
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
