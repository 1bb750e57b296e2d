//! The memory that queries hold: one budget for all of them, and a share of it that one may have.
//!
//! Whatever a query keeps while it works (rows to sort, groups, rows that DISTINCT has met, lists of
//! candidates, answers of functions, the values of its expressions) is taken from the budget before
//! it is kept, a chunk at a time, and given back when the page is done. Nobody waits: a query that
//! finds the budget spent ends, and is told to come back if others hold it.

use std::sync::{
    Arc,
    atomic::{AtomicUsize, Ordering},
};

use sql::program::Halt;

/// What a query may hold uncounted. Most queries hold less, and never touch what all of them share.
const FREE_BYTES: usize = 64 << 10;

/// By how much a share grows.
const CHUNK_BYTES: usize = 64 << 10;

/// How much a share may be too large before the rest is given back.
const SPARE_BYTES: usize = 1 << 20;

/// What all queries may hold together.
#[derive(Debug)]
pub(crate) struct Memory {
    total: usize,
    /// What one query may hold.
    each: usize,
    taken: AtomicUsize,
}

/// What one page of a query holds. Given back when it is dropped.
#[derive(Debug, Default)]
pub(crate) struct Held {
    /// Where it is taken from; `None` if nobody counts.
    memory: Option<Arc<Memory>>,
    used: AtomicUsize,
    reserved: AtomicUsize,
    /// Of that, for the values of expressions.
    granted: AtomicUsize,
}

impl Memory {
    /// A budget of so many bytes, of which one query may have half.
    pub(crate) fn new(total: usize) -> Self {
        Self { total, each: total / 2, taken: AtomicUsize::new(0) }
    }

    /// The share of a new query.
    pub(crate) fn hold(self: &Arc<Self>) -> Arc<Held> {
        let mut held = Held::default();
        held.memory = Some(Arc::clone(self));
        Arc::new(held)
    }

    /// What is taken now.
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
    /// Takes so many bytes more.
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

    /// Gives so many bytes back.
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

    /// Takes what the values of expressions need beyond what they have: so many bytes in all. Says
    /// how many they may have now.
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
        // What is refused counts for nothing.
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
