//! Generates the etags of versions in this run of the database.

use std::sync::atomic::{AtomicU32, Ordering};

use protocol::etag::Etag;

pub(crate) struct Etags {
    /// Tells this run's etags from those of other runs.
    boot: u32,
    counter: AtomicU32,
}

impl Etags {
    pub(crate) fn new(boot: u32) -> Self {
        Self { boot, counter: AtomicU32::new(0) }
    }

    /// An etag that no version had before.
    pub(crate) fn next(&self, ts: u64) -> Etag {
        let counter = self.counter.fetch_add(1, Ordering::Relaxed);
        // Truncating is fine: time and counter only need to differ from their neighbours.
        Etag::compose((ts & 0xFFFF_FFFF) as u32, self.boot, counter)
    }
}
