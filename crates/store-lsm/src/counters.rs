//! Statistics that the store counts as it works.

use std::sync::atomic::AtomicU64;

/// Counters updated by the committer and the readers.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) groups: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) micros: AtomicU64,
    pub(crate) keys_written: AtomicU64,
    pub(crate) keys_read: AtomicU64,
    pub(crate) slow_reads: AtomicU64,
}
