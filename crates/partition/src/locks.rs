//! One lock per logical partition key, created on demand and removed when free.
//!
//! Locks are exact, not striped: a script may hold its key for seconds, and must not block another
//! key that happens to share a stripe. Each key has two queues of waiters, by how long they will
//! hold it. Short turns go first, so a short turn waits for at most one long turn. After a number
//! of short turns a long one gets the key, so it does not starve. Waiters hold no thread and may be
//! dropped at any time.

use std::{
    collections::{BTreeMap, HashMap},
    sync::{Mutex, MutexGuard, PoisonError},
};

use foldhash::fast::RandomState;
use tokio::sync::oneshot;

/// How long a key will be held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    /// As long as a few rows take.
    Short,
    /// Perhaps seconds, for a script.
    Long,
}

/// How many short turns may run in a row while a long one waits.
const SHORT_TURNS_MAX: u32 = 64;

/// The locks of one partition. The table contains the keys that are held.
#[derive(Debug, Default)]
pub struct KeyLocks {
    held: Mutex<HashMap<Box<[u8]>, Queue, RandomState>>,
}

/// The waiters for a key that is held, in arrival order.
#[derive(Debug, Default)]
struct Queue {
    short: BTreeMap<u64, oneshot::Sender<()>>,
    long: BTreeMap<u64, oneshot::Sender<()>>,
    /// Waiters that have arrived so far.
    count: u64,
    /// Short turns since the last long one.
    passed: u32,
}

impl Queue {
    fn of(&mut self, turn: Turn) -> &mut BTreeMap<u64, oneshot::Sender<()>> {
        match turn {
            Turn::Short => &mut self.short,
            Turn::Long => &mut self.long,
        }
    }

    /// The next waiter to get the key; `None` if there is none.
    fn next(&mut self) -> Option<oneshot::Sender<()>> {
        let is_long =
            self.short.is_empty() || !self.long.is_empty() && self.passed >= SHORT_TURNS_MAX;
        if is_long {
            self.passed = 0;
            return self.long.pop_first().map(|(_, next)| next);
        }
        self.passed = if self.long.is_empty() { 0 } else { self.passed + 1 };
        self.short.pop_first().map(|(_, next)| next)
    }
}

/// Holds one key. Dropping it passes the key to the next writer.
#[derive(Debug)]
pub struct KeyGuard<'a> {
    owner: &'a KeyLocks,
    key: Box<[u8]>,
}

/// A place in a queue. Dropping it leaves the queue, or passes the key on if it was already
/// granted.
struct Waiting<'a> {
    owner: &'a KeyLocks,
    key: Box<[u8]>,
    turn: Turn,
    number: u64,
    is_over: bool,
}

impl KeyLocks {
    /// Waits for the key and locks it.
    pub async fn lock(&self, key: &[u8], turn: Turn) -> KeyGuard<'_> {
        let (number, given) = {
            let mut held = self.table();
            let Some(queue) = held.get_mut(key) else {
                held.insert(key.into(), Queue::default());
                return KeyGuard { owner: self, key: key.into() };
            };
            let (sender, receiver) = oneshot::channel();
            queue.count += 1;
            let number = queue.count;
            queue.of(turn).insert(number, sender);
            (number, receiver)
        };
        let waiting = Waiting { owner: self, key: key.into(), turn, number, is_over: false };
        // Only the waiter itself drops its sender.
        let _ = given.await;
        waiting.taken()
    }

    /// Locks the key if it is free.
    pub fn try_lock(&self, key: &[u8]) -> Option<KeyGuard<'_>> {
        let mut held = self.table();
        if held.contains_key(key) {
            return None;
        }
        held.insert(key.into(), Queue::default());
        Some(KeyGuard { owner: self, key: key.into() })
    }

    /// Gives the key to its next waiter.
    fn pass_on(held: &mut HashMap<Box<[u8]>, Queue, RandomState>, key: &[u8]) {
        let Some(queue) = held.get_mut(key) else { return };
        match queue.next() {
            // If the waiter is being dropped, it passes the key on.
            Some(next) => drop(next.send(())),
            None => drop(held.remove(key)),
        }
    }

    fn table(&self) -> MutexGuard<'_, HashMap<Box<[u8]>, Queue, RandomState>> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<'a> Waiting<'a> {
    fn taken(mut self) -> KeyGuard<'a> {
        self.is_over = true;
        KeyGuard { owner: self.owner, key: std::mem::take(&mut self.key) }
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        if self.is_over {
            return;
        }
        let mut held = self.owner.table();
        let queue = held.get_mut(&self.key);
        let is_given = queue.is_some_and(|it| it.of(self.turn).remove(&self.number).is_none());
        if is_given {
            KeyLocks::pass_on(&mut held, &self.key);
        }
    }
}

impl Drop for KeyGuard<'_> {
    fn drop(&mut self) {
        KeyLocks::pass_on(&mut self.owner.table(), &self.key);
    }
}

#[cfg(test)]
mod tests {
    use std::{
        future::Future,
        pin::Pin,
        task::{Context, Poll, Waker},
    };

    use super::*;

    type Wait<'a> = Pin<Box<dyn Future<Output = KeyGuard<'a>> + 'a>>;

    fn polled<'a>(wait: &mut Wait<'a>) -> Option<KeyGuard<'a>> {
        match wait.as_mut().poll(&mut Context::from_waker(Waker::noop())) {
            Poll::Ready(guard) => Some(guard),
            Poll::Pending => None,
        }
    }

    /// Queues waiters for the key `a` in this order.
    fn queue<'a>(locks: &'a KeyLocks, turns: &[Turn]) -> Vec<(usize, Wait<'a>)> {
        let wait = |turn: &Turn| Box::pin(locks.lock(b"a", *turn)) as Wait<'a>;
        let mut waits: Vec<_> = turns.iter().map(wait).enumerate().collect();
        for (_, wait) in &mut waits {
            assert!(polled(wait).is_none(), "it is held");
        }
        waits
    }

    /// Frees the key and returns the order in which the waiters get it.
    fn order<'a>(mut held: KeyGuard<'a>, mut waits: Vec<(usize, Wait<'a>)>) -> Vec<usize> {
        let mut order = Vec::new();
        while !waits.is_empty() {
            drop(held);
            let mut got = None;
            for (at, (_, wait)) in waits.iter_mut().enumerate() {
                if let Some(guard) = polled(wait) {
                    assert!(got.is_none(), "two hold it");
                    got = Some((at, guard));
                }
            }
            let (at, guard) = got.expect("somebody has it");
            held = guard;
            order.push(waits.remove(at).0);
        }
        order
    }

    #[test]
    fn one_holder_per_key_and_nothing_left_behind() {
        let locks = KeyLocks::default();
        let first = locks.try_lock(b"a").expect("a free key");
        assert!(locks.try_lock(b"a").is_none());
        let other_key = locks.try_lock(b"b").expect("a free key");
        assert_eq!(order(first, queue(&locks, &[Turn::Short; 3])), [0, 1, 2]);
        drop(other_key);
        assert!(locks.table().is_empty());
    }

    #[test]
    fn short_turns_pass_a_queue_of_long_ones() {
        let locks = KeyLocks::default();
        let script = locks.try_lock(b"a").expect("a free key");
        let turns = [Turn::Long, Turn::Long, Turn::Short, Turn::Long, Turn::Short];
        assert_eq!(order(script, queue(&locks, &turns)), [2, 4, 0, 1, 3]);
    }

    #[test]
    fn long_turns_are_not_passed_for_ever() {
        let locks = KeyLocks::default();
        let held = locks.try_lock(b"a").expect("a free key");
        let mut turns = vec![Turn::Long, Turn::Long];
        turns.extend([Turn::Short; 2 * SHORT_TURNS_MAX as usize + 1]);
        let order = order(held, queue(&locks, &turns));
        let place = |number| order.iter().position(|it| *it == number);
        assert_eq!(place(0), Some(SHORT_TURNS_MAX as usize));
        assert_eq!(place(1), Some(2 * SHORT_TURNS_MAX as usize + 1));
    }

    #[test]
    fn who_goes_away_leaves_nothing_behind() {
        let locks = KeyLocks::default();
        let first = locks.try_lock(b"a").expect("a free key");
        drop(queue(&locks, &[Turn::Short, Turn::Long]));
        assert!(
            locks.table().values().all(|queue| queue.short.is_empty() && queue.long.is_empty())
        );
        drop(first);
        assert!(locks.table().is_empty());
    }

    /// A waiter that is dropped after the key was granted, before it notices, passes the key on.
    #[test]
    fn who_goes_away_with_the_key_passes_it_on() {
        let locks = KeyLocks::default();
        let first = locks.try_lock(b"a").expect("a free key");
        let mut waits = queue(&locks, &[Turn::Short, Turn::Short]);
        drop(first);
        let (_, gone) = waits.remove(0);
        drop(gone);
        let guard = polled(&mut waits[0].1).expect("its turn");
        drop(guard);
        assert!(locks.table().is_empty());
    }
}
