//! A memory store that can crash.

use std::sync::Arc;

use crate::{
    BoxFuture, Keep, KeySpace, Result, Snapshot, Statistics, Store, conformance::Disk,
    memory::MemoryStore,
};

/// A store in memory with one journal per key space. Buffered batches are visible, but a crash
/// loses them unless a later durable batch or barrier **of the same key space** has completed.
///
/// A caller that relies on a journal shared by all key spaces, or on the order of batches in
/// different key spaces, loses data here that it should not.
pub struct Journals(MemoryStore);

impl Default for Journals {
    fn default() -> Self {
        Self(MemoryStore::with_journals())
    }
}

impl Journals {
    /// An empty store.
    pub fn new() -> Self {
        Self::default()
    }

    /// The store as it would be found if the process died now. This store continues as if nothing
    /// had happened; the two share nothing.
    #[must_use]
    pub fn crash(&self) -> Self {
        Self(self.0.crashed())
    }

    /// Whether any handle of a key space is still held. An unused store can be replaced by the
    /// result of its crash.
    pub fn is_in_use(&self) -> bool {
        self.0.is_in_use()
    }
}

impl Disk for Journals {
    fn pause(&self) {
        self.0.set_paused(true);
    }

    fn resume(&self) {
        self.0.set_paused(false);
    }

    fn crash(&self) -> Arc<dyn Store> {
        Arc::new(Self::crash(self))
    }
}

impl Store for Journals {
    /// Epochs are forgotten at a crash: no other process can reach the store.
    fn open<'a>(
        &'a self,
        key_space: &'a str,
        epoch: u64,
    ) -> BoxFuture<'a, Result<Arc<dyn KeySpace>>> {
        self.0.open(key_space, epoch)
    }

    fn key_spaces(&self) -> BoxFuture<'_, Result<Vec<String>>> {
        self.0.key_spaces()
    }

    fn drop_key_space<'a>(&'a self, key_space: &'a str) -> BoxFuture<'a, Result<()>> {
        self.0.drop_key_space(key_space)
    }

    fn copy<'a>(
        &'a self,
        from: &'a dyn Snapshot,
        to: &'a str,
        keep: &'a Keep,
    ) -> BoxFuture<'a, Result<()>> {
        self.0.copy(from, to, keep)
    }

    fn queue_bytes(&self) -> usize {
        self.0.queue_bytes()
    }

    fn failure(&self) -> Option<String> {
        self.0.failure()
    }

    fn statistics(&self) -> Statistics {
        self.0.statistics()
    }

    /// Makes everything durable, as closing any store does.
    fn close(&self) -> BoxFuture<'_, Result<()>> {
        self.0.close()
    }
}
