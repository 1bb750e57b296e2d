//! Which calls fail, and how.

use std::{collections::BTreeMap, sync::Mutex};

use super::lock;
use crate::testing::random::Random;

/// How a call fails. If a fault does not apply to a kind of call, the nearest one that does is
/// used.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// Not executed, and fails with [`Error::Unavailable`](crate::Error::Unavailable).
    Unavailable,
    /// Executed, but fails with [`Error::Unavailable`](crate::Error::Unavailable). For a read this
    /// is [`Fault::Unavailable`].
    Applied,
    /// Fences the handle used, as if another owner had opened the key space with the next epoch. A
    /// batch may still have been applied.
    Fenced,
    /// A batch that fails with [`Error::Unavailable`](crate::Error::Unavailable) at once and is
    /// applied later: at [`Flaky::release`](super::Flaky::release), or perhaps when the key space
    /// is opened with a higher epoch. For other calls this is [`Fault::Applied`].
    Late,
    /// A batch that waits, with all those after it, until [`Flaky::release`](super::Flaky::release)
    /// or until the key space is opened with a higher epoch. For other calls this is
    /// [`Fault::Unavailable`].
    Stalled,
}

/// How many calls per thousand fail, and how.
#[derive(Clone, Debug, Default)]
pub struct Chances {
    /// Of batches and barriers.
    pub writes: u64,
    /// Of reads through snapshots.
    pub reads: u64,
    /// Of all other calls of the store.
    pub calls: u64,
    /// The faults to choose from; if empty, nothing fails.
    pub faults: Vec<Fault>,
}

/// The planned faults.
pub(super) struct Plan {
    state: Mutex<State>,
}

struct State {
    random: Random,
    steps: u64,
    faults: u64,
    chosen: BTreeMap<u64, Fault>,
    chances: Chances,
}

impl Plan {
    pub(super) fn new(seed: u64) -> Self {
        let state = State {
            random: Random::new(seed),
            steps: 0,
            faults: 0,
            chosen: BTreeMap::new(),
            chances: Chances::default(),
        };
        Self { state: Mutex::new(state) }
    }

    pub(super) fn fail_in(&self, steps: u64, fault: Fault) {
        let mut state = lock(&self.state);
        let step = state.steps + steps;
        state.chosen.insert(step, fault);
    }

    pub(super) fn set_chances(&self, chances: Chances) {
        lock(&self.state).chances = chances;
    }

    pub(super) fn clear(&self) {
        let mut state = lock(&self.state);
        state.chosen.clear();
        state.chances = Chances::default();
    }

    pub(super) fn steps(&self) -> u64 {
        lock(&self.state).steps
    }

    pub(super) fn faults(&self) -> u64 {
        lock(&self.state).faults
    }

    pub(super) fn coin(&self) -> bool {
        lock(&self.state).random.coin()
    }

    /// The fault of the next call, which fails with this chance per thousand.
    pub(super) fn next(&self, per_mille: impl Fn(&Chances) -> u64) -> Option<Fault> {
        let mut state = lock(&self.state);
        let State { random, steps, faults, chosen, chances } = &mut *state;
        let mut fault = chosen.remove(steps);
        *steps += 1;
        if fault.is_none() && random.below(1000) < per_mille(chances) {
            let index = random.below(chances.faults.len() as u64);
            fault = chances.faults.get(usize::try_from(index).unwrap_or(0)).copied();
        }
        *faults += u64::from(fault.is_some());
        fault
    }
}
