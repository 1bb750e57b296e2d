//! One lock per logical partition key, made when it is wanted and gone when it is not.
//!
//! Exact, not striped: a script may hold its key for seconds, and must not hold up another key
//! that happens to share a stripe.

use std::{
    collections::HashMap,
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use tokio::sync::OwnedMutexGuard;

type Locks = HashMap<Box<[u8]>, Arc<tokio::sync::Mutex<()>>>;

/// The locks of one partition.
#[derive(Debug, Default)]
pub(crate) struct KeyLocks {
    locks: Mutex<Locks>,
}

/// Holds one key. Dropping it lets the next writer of the key in.
#[derive(Debug)]
pub(crate) struct KeyGuard<'a> {
    owner: &'a KeyLocks,
    key: Box<[u8]>,
    /// `None` while waiting and while being dropped.
    guard: Option<OwnedMutexGuard<()>>,
}

impl KeyLocks {
    /// Waits for the key. Waiters are served in order.
    pub(crate) async fn lock(&self, key: &[u8]) -> KeyGuard<'_> {
        let lock = {
            let mut locks = self.table();
            match locks.get(key) {
                Some(lock) => Arc::clone(lock),
                None => Arc::clone(locks.entry(key.into()).or_default()),
            }
        };
        // Made before the wait, so that a waiter who is cancelled tidies up like a holder.
        let mut held = KeyGuard { owner: self, key: key.into(), guard: None };
        held.guard = Some(lock.lock_owned().await);
        held
    }

    /// The key, if nobody holds it or waits for it.
    pub(crate) fn try_lock(&self, key: &[u8]) -> Option<KeyGuard<'_>> {
        let mut locks = self.table();
        if locks.contains_key(key) {
            return None;
        }
        let lock = Arc::clone(locks.entry(key.into()).or_default());
        let guard = lock.try_lock_owned().ok()?;
        Some(KeyGuard { owner: self, key: key.into(), guard: Some(guard) })
    }

    fn table(&self) -> MutexGuard<'_, Locks> {
        self.locks.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for KeyGuard<'_> {
    fn drop(&mut self) {
        let mut locks = self.owner.table();
        self.guard = None;
        // Counted under the table's lock, so nobody can be between finding it and waiting on it.
        if locks.get(&self.key).is_some_and(|lock| Arc::strong_count(lock) == 1) {
            locks.remove(&self.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[tokio::test]
    async fn one_holder_per_key_and_nothing_left_behind() {
        let locks = Arc::new(KeyLocks::default());
        let first = locks.lock(b"a").await;
        assert!(locks.try_lock(b"a").is_none());
        let other_key = locks.try_lock(b"b").expect("a free key");
        let waiter = {
            let locks = Arc::clone(&locks);
            tokio::spawn(async move { drop(locks.lock(b"a").await) })
        };
        tokio::time::sleep(Duration::from_millis(20)).await;
        assert!(!waiter.is_finished());
        drop(first);
        waiter.await.expect("the waiter gets its turn");
        drop(other_key);
        assert!(locks.table().is_empty());
    }

    #[tokio::test]
    async fn a_cancelled_waiter_leaves_nothing_behind() {
        let locks = KeyLocks::default();
        let first = locks.lock(b"a").await;
        let waited = tokio::time::timeout(Duration::from_millis(5), locks.lock(b"a")).await;
        assert!(waited.is_err());
        drop(first);
        assert!(locks.table().is_empty());
    }
}
