//! The memory that queries hold: one budget for all of them, and the share that one query may have.
//!
//! Anything that a query keeps while it runs (rows to sort, groups, rows that DISTINCT has seen,
//! lists of candidates, answers of functions, the values of its expressions) is first taken from
//! the budget, a chunk at a time, and released when the page is done. Queries never wait for
//! memory: a query that finds the budget used up ends, with an error that says to retry if others
//! hold the memory.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use sql::program::Halt;

/// Bytes that a query may hold uncounted. Most queries hold less, and never access the shared
/// budget.
const FREE_BYTES: usize = 64 << 10;

/// The step by which a share grows.
const CHUNK_BYTES: usize = 64 << 10;

/// How much a share may exceed its use before the rest is released.
const SPARE_BYTES: usize = 1 << 20;

/// The budget that all queries share.
#[derive(Debug)]
pub(crate) struct Memory {
    total: usize,
    /// Bytes that one query may hold.
    each: usize,
    taken: AtomicUsize,
}

/// The memory that one page of a query holds. Released when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// The budget it is taken from; `None` if it is not limited.
    memory: Option<Arc<Memory>>,
    used: AtomicUsize,
    reserved: AtomicUsize,
    /// The part of it that is for the values of expressions.
    granted: AtomicUsize,
}

impl Memory {
    /// A budget of `total` bytes. One query may have half of it.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, each: total / 2, taken: AtomicUsize::new(0) }
    }

    /// The share of a new query.
    pub(crate) fn hold(self: &Arc<Self>) -> Arc<Held> {
        let mut held = Held::default();
        held.memory = Some(Arc::clone(self));
        Arc::new(held)
    }

    /// Bytes that are taken now.
    #[cfg(test)]
    pub(crate) fn taken(&self) -> usize {
        self.taken.load(Ordering::Relaxed)
    }

    fn reserve(&self, bytes: usize) -> bool {
        let fits = |taken: usize| taken.checked_add(bytes).filter(|sum| *sum <= self.total);
        self.taken.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_ok()
    }
}

impl Held {
    /// Takes so many more bytes.
    pub(crate) fn take(&self, bytes: usize) -> Result<(), Halt> {
        let used = self.used.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes);
        let reserved = self.reserved.load(Ordering::Relaxed);
        if used <= reserved + FREE_BYTES {
            return Ok(());
        }
        let Some(memory) = &self.memory else { return Ok(()) };
        let more = (used - FREE_BYTES - reserved).next_multiple_of(CHUNK_BYTES);
        let halt = if used > memory.each {
            Halt::OutOfMemory
        } else if memory.reserve(more) {
            self.reserved.fetch_add(more, Ordering::Relaxed);
            return Ok(());
        } else {
            Halt::Busy
        };
        self.used.fetch_sub(bytes, Ordering::Relaxed);
        Err(halt)
    }

    /// Releases so many bytes.
    pub(crate) fn give_back(&self, bytes: usize) {
        let before = self.used.fetch_sub(bytes, Ordering::Relaxed);
        let wanted = before.saturating_sub(bytes).saturating_sub(FREE_BYTES);
        let reserved = self.reserved.load(Ordering::Relaxed);
        if let Some(memory) = self.memory.as_ref().filter(|_| reserved > wanted + SPARE_BYTES) {
            let rest = reserved - wanted.next_multiple_of(CHUNK_BYTES);
            self.reserved.fetch_sub(rest, Ordering::Relaxed);
            memory.taken.fetch_sub(rest, Ordering::Relaxed);
        }
    }

    /// Bytes that are held now.
    #[cfg(test)]
    pub(crate) fn used(&self) -> usize {
        self.used.load(Ordering::Relaxed)
    }

    /// Takes what the values of expressions need beyond what they have: so many bytes in all.
    /// Returns how many bytes they may have now.
    pub(crate) fn grant(&self, bytes: usize) -> Result<usize, Halt> {
        let granted = self.granted.load(Ordering::Relaxed);
        let wanted = bytes.next_multiple_of(CHUNK_BYTES);
        self.take(wanted.saturating_sub(granted))?;
        self.granted.fetch_max(wanted, Ordering::Relaxed);
        Ok(wanted)
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        if let Some(memory) = &self.memory {
            memory.taken.fetch_sub(*self.reserved.get_mut(), Ordering::Relaxed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MB: usize = 1 << 20;

    #[test]
    fn small_queries_touch_nothing_shared() {
        let memory = Arc::new(Memory::new(10 * MB));
        let held = memory.hold();
        held.take(FREE_BYTES).expect("free");
        assert_eq!(memory.taken(), 0);
        held.take(1).expect("room");
        assert_eq!(memory.taken(), CHUNK_BYTES);
        drop(held);
        assert_eq!(memory.taken(), 0);
    }

    #[test]
    fn one_query_has_a_part_and_all_have_no_more_than_there_is() {
        let memory = Arc::new(Memory::new(10 * MB));
        let (first, second, third) = (memory.hold(), memory.hold(), memory.hold());
        assert_eq!(first.take(5 * MB + 1), Err(Halt::OutOfMemory));
        first.take(5 * MB).expect("half");
        assert_eq!(first.take(1), Err(Halt::OutOfMemory));
        second.take(5 * MB).expect("the other half");
        assert_eq!(third.take(MB), Err(Halt::Busy), "others have it");
        assert!(memory.taken() <= 10 * MB);
        // A refused request takes nothing.
        assert_eq!(third.used(), 0);
        drop(first);
        third.take(MB).expect("room again");
    }

    #[test]
    fn what_is_given_back_can_be_taken_by_others() {
        let memory = Arc::new(Memory::new(10 * MB));
        let (first, second) = (memory.hold(), memory.hold());
        first.take(5 * MB).expect("room");
        first.give_back(4 * MB);
        assert!(memory.taken() <= MB + CHUNK_BYTES, "{}", memory.taken());
        second.take(5 * MB).expect("room");
        first.give_back(MB);
        drop((first, second));
        assert_eq!(memory.taken(), 0);
    }

    #[test]
    fn values_are_granted_what_they_hold_at_most() {
        let memory = Arc::new(Memory::new(10 * MB));
        let held = memory.hold();
        assert_eq!(held.grant(MB), Ok(MB));
        assert_eq!(held.grant(MB / 2), Ok(MB / 2));
        assert_eq!(held.used(), MB, "they have had it before");
        assert_eq!(held.grant(6 * MB), Err(Halt::OutOfMemory));
    }

    #[test]
    fn without_a_budget_nothing_is_refused() {
        let held = Held::default();
        held.take(usize::MAX / 2).expect("nobody counts");
        held.give_back(usize::MAX / 2);
    }
}
