//! Figures that the store counts while it works.

use std::sync::atomic::AtomicU64;

/// Figures that the committer and the readers count up.
#[derive(Default)]
pub(crate) struct Counters {
    pub(crate) groups: AtomicU64,
    pub(crate) batches: AtomicU64,
    pub(crate) micros: AtomicU64,
    pub(crate) keys_written: AtomicU64,
    pub(crate) keys_read: AtomicU64,
    pub(crate) slow_reads: AtomicU64,
}
