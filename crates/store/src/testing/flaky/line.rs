//! The batches in flight to a key space, and why they fail.
//!
//! All of them pass through one queue, one after the other, so that a stalled batch holds up those
//! after it. A thread that adds to the queue also passes on its contents, unless another thread is
//! already doing so. Neither calls to the inner store nor completions run under the lock.

use std::{
    collections::VecDeque,
    sync::{Arc, Mutex},
};

use super::{
    lock,
    plan::{Fault, Plan},
    unavailable,
};
use crate::{Batch, Completion, Durability, Error, KeySpace, Result};

/// A batch or barrier in flight.
pub(super) struct Sent {
    /// The inner store's handle.
    pub(super) inner: Arc<dyn KeySpace>,
    pub(super) epoch: u64,
    /// `None` for a barrier.
    pub(super) batch: Option<Batch>,
    pub(super) durability: Durability,
    pub(super) done: Completion,
}

impl Sent {
    fn pass(self) {
        match self.batch {
            Some(batch) => self.inner.submit(batch, self.durability, self.done),
            None => self.inner.barrier(self.durability, self.done),
        }
    }

    /// Passes it on, but reports an error.
    fn pass_and_fail(self, error: Error) {
        let done = self.done;
        Self { done: Box::new(move |_| done(Err(error))), ..self }.pass();
    }

    /// Reports an error, after everything passed on before has been answered.
    fn fail(self, error: Error) {
        let done = self.done;
        let done = move |result| match result {
            Err(Error::Fenced) => done(Err(Error::Fenced)),
            _ => done(Err(error)),
        };
        self.inner.barrier(Durability::Buffered, Box::new(done));
    }

    /// Reports an error now, and returns the batch, which may be applied later.
    fn fail_early(self, error: Error) -> Self {
        let (inner, epoch, durability) = (Arc::clone(&self.inner), self.epoch, self.durability);
        let late =
            Self { inner, epoch, batch: self.batch.clone(), durability, done: Box::new(|_| ()) };
        self.fail(error);
        late
    }
}

/// The queue to a key space.
pub(super) struct Line {
    plan: Arc<Plan>,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Handles of lower epochs are fenced.
    fence: u64,
    /// Handles up to this epoch have lost a batch, and fail.
    failed: Option<u64>,
    waiting: VecDeque<Sent>,
    /// Some thread is passing on what waits.
    is_passing: bool,
    /// The first one is stalled until released.
    is_stalled: bool,
    /// The first one has already stalled once, so it is spared.
    is_released: bool,
    /// Reported as failed, but not applied yet.
    late: Option<Sent>,
}

/// What happens to the first batch in the queue.
enum Fate {
    Pass,
    Fail(Error),
    PassAndFail(Error),
    Late(Error),
}

impl Line {
    pub(super) fn new(plan: Arc<Plan>) -> Self {
        Self { plan, state: Mutex::default() }
    }

    /// Adds a batch or a barrier.
    pub(super) fn send(&self, sent: Sent) {
        lock(&self.state).waiting.push_back(sent);
        self.go_on();
    }

    /// How many are waiting.
    pub(super) fn waiting(&self) -> usize {
        lock(&self.state).waiting.len()
    }

    /// Fences the handles of this epoch and lower ones.
    pub(super) fn fence(&self, epoch: u64) {
        let mut state = lock(&self.state);
        state.fence = state.fence.max(epoch.saturating_add(1));
    }

    /// Decides the fate of a read through a handle of this epoch.
    pub(super) fn read(&self, epoch: u64) -> Result<()> {
        match self.plan.next(|chances| chances.reads) {
            Some(Fault::Fenced) => {
                self.fence(epoch);
                Err(Error::Fenced)
            }
            Some(_) => Err(unavailable("the read was lost")),
            None => Ok(()),
        }
    }

    /// Releases a stalled batch, and applies a late one.
    pub(super) fn release(&self) {
        let mut state = lock(&self.state);
        state.is_released |= std::mem::take(&mut state.is_stalled);
        let late = state.late.take();
        drop(state);
        if let Some(late) = late {
            late.pass();
        }
        self.go_on();
    }

    /// Prepares an open: if it has a higher epoch, late and stalled batches are applied now or
    /// never.
    pub(super) fn settle(&self, epoch: u64) -> Result<()> {
        let mut state = lock(&self.state);
        if epoch < state.fence {
            return Err(Error::Fenced);
        }
        if epoch == state.fence {
            return Ok(());
        }
        state.fence = epoch;
        let late = state.late.take().filter(|_| self.plan.coin());
        let stalled = if std::mem::take(&mut state.is_stalled) && self.plan.coin() {
            // Nothing is passed on after a stalled batch, so this does not overtake.
            state.is_passing = true;
            state.waiting.pop_front()
        } else {
            None
        };
        let passes = stalled.is_some();
        drop(state);
        for sent in late.into_iter().chain(stalled) {
            sent.pass();
        }
        if passes {
            self.pass();
        } else {
            self.go_on();
        }
        Ok(())
    }

    fn go_on(&self) {
        if !std::mem::replace(&mut lock(&self.state).is_passing, true) {
            self.pass();
        }
    }

    fn pass(&self) {
        loop {
            let mut state = lock(&self.state);
            let first = if state.is_stalled { None } else { state.waiting.pop_front() };
            let Some(first) = first else {
                state.is_passing = false;
                return;
            };
            let Some(fate) = self.decide(&mut state, first.epoch) else {
                state.waiting.push_front(first);
                continue;
            };
            drop(state);
            match fate {
                Fate::Pass => first.pass(),
                Fate::Fail(error) => first.fail(error),
                Fate::PassAndFail(error) => first.pass_and_fail(error),
                Fate::Late(error) => {
                    let late = first.fail_early(error);
                    lock(&self.state).late = Some(late);
                }
            }
        }
    }

    /// Decides the fate of the first one; `None` if it stalls.
    fn decide(&self, state: &mut State, epoch: u64) -> Option<Fate> {
        let is_spared = std::mem::take(&mut state.is_released);
        if epoch < state.fence {
            return Some(Fate::Fail(Error::Fenced));
        }
        if state.failed.is_some_and(|failed| epoch <= failed) {
            return Some(Fate::Fail(unavailable("an earlier batch was lost")));
        }
        let fault = if is_spared { None } else { self.plan.next(|chances| chances.writes) };
        let Some(fault) = fault else { return Some(Fate::Pass) };
        if fault == Fault::Stalled {
            state.is_stalled = true;
            return None;
        }
        if fault == Fault::Fenced {
            state.fence = epoch.saturating_add(1);
            let fate = if self.plan.coin() { Fate::PassAndFail } else { Fate::Fail };
            return Some(fate(Error::Fenced));
        }
        state.failed = Some(epoch);
        Some(match fault {
            Fault::Applied => Fate::PassAndFail(unavailable("the answer was lost")),
            Fault::Late => Fate::Late(unavailable("the batch is late")),
            Fault::Unavailable | Fault::Fenced | Fault::Stalled => {
                Fate::Fail(unavailable("the batch was lost"))
            }
        })
    }
}
