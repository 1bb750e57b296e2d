//! The committer's inbox: batches, and commands that change the set of partitions.
//!
//! The queue is bounded in bytes and never blocks its callers. It also records why it was closed,
//! so that "refused" is decided under the same lock as "queued": a batch is either taken by the
//! committer or refused, never lost between the two.
//!
//! No completion runs under the lock.

use std::{
    collections::{HashMap, VecDeque},
    sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError},
    time::Duration,
};

use store::{Batch, Completion, Durability, Error, Result};

use crate::{command::Command, options::Options, partition::LsmPartition, reply::Reply};

/// A queued batch.
pub(crate) struct Entry {
    pub(crate) partition: Arc<LsmPartition>,
    pub(crate) epoch: u64,
    pub(crate) batch: Batch,
    pub(crate) size_bytes: usize,
    pub(crate) durability: Durability,
    pub(crate) done: Completion,
}

enum Work {
    Batch(Entry),
    Command(Command),
}

/// The committer's next task.
pub(crate) enum Next {
    /// Commit these batches together.
    Group(Vec<Entry>),
    /// Execute this command; all batches queued before it have been taken.
    Command(Command),
    /// Nothing can be done now except housekeeping.
    Idle,
    /// The queue is empty, and a close was requested.
    Close(Reply<()>),
    /// The queue is empty, and the store was dropped.
    Stop,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Work>,
    /// Batches of partitions whose background work is behind. They wait here so that others do not
    /// wait for them.
    held: VecDeque<Entry>,
    bytes: usize,
    closing: Option<Reply<()>>,
    is_stopped: bool,
    /// The committer waits for something to do, and nobody has woken it yet.
    is_awaited: bool,
    /// The committer died: nothing will be taken any more.
    is_abandoned: bool,
    /// The error for new batches, if they are refused.
    refusal: Option<Error>,
    failure: Option<String>,
}

/// The committer's inbox.
pub(crate) struct Queue {
    state: Mutex<State>,
    wake: Condvar,
    bytes_max: usize,
    group_batches_max: usize,
    group_bytes_max: usize,
}

/// Batches up to this size are always accepted.
const SMALL_BYTES: usize = 4 << 10;

impl Queue {
    pub(crate) fn new(options: &Options) -> Self {
        Self {
            state: Mutex::default(),
            wake: Condvar::new(),
            bytes_max: options.queue_bytes_max,
            group_batches_max: options.group_batches_max,
            group_bytes_max: options.group_bytes_max,
        }
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // No code panics under this lock, so a poisoned one has consistent state.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Wakes the committer if it waits. A notification costs a system call even if nobody does.
    fn wake_committer(&self, mut state: MutexGuard<'_, State>) {
        let is_awaited = std::mem::take(&mut state.is_awaited);
        drop(state);
        if is_awaited {
            self.wake.notify_one();
        }
    }

    /// Queues a batch, or fails it immediately.
    pub(crate) fn push(&self, entry: Entry) {
        let mut state = self.lock();
        // Small batches are always accepted, because refusing one would fail those after it. A
        // batch larger than the queue is accepted when there is any room.
        let has_room = entry.size_bytes <= SMALL_BYTES || state.bytes < self.bytes_max;
        let refusal = state.refusal.clone().or_else(|| {
            let full = || Error::Unavailable("the queue of writes is full".to_owned());
            (!has_room).then(full)
        });
        if let Some(error) = refusal {
            drop(state);
            (entry.done)(Err(error));
            return;
        }
        state.bytes += entry.size_bytes;
        entry.partition.queued.add(entry.size_bytes);
        state.waiting.push_back(Work::Batch(entry));
        self.wake_committer(state);
    }

    /// Queues a command after the batches.
    pub(crate) fn push_command(&self, command: Command) -> Result<()> {
        let mut state = self.lock();
        if let Some(error) = &state.refusal {
            return Err(error.clone());
        }
        state.waiting.push_back(Work::Command(command));
        self.wake_committer(state);
        Ok(())
    }

    /// Refuses batches from now on, and lets the committer finish. Returns false if already
    /// closing.
    pub(crate) fn close(&self, reply: Reply<()>) -> bool {
        let mut state = self.lock();
        if state.is_abandoned {
            drop(state);
            reply.send(Err(abandoned()));
            return true;
        }
        if state.closing.is_some() || state.is_stopped {
            return false;
        }
        if state.failure.is_none() && state.refusal.is_some() {
            return false;
        }
        state.refusal = Some(Error::Closed("the store was closed".to_owned()));
        state.closing = Some(reply);
        self.wake_committer(state);
        true
    }

    /// Refuses batches from now on, and lets the committer end once it has taken everything.
    pub(crate) fn stop(&self) {
        let mut state = self.lock();
        state.refusal.get_or_insert_with(|| Error::Closed("the store was dropped".to_owned()));
        state.is_stopped = true;
        self.wake_committer(state);
    }

    /// Poisons the store: the group that met the error fails with it, and so does everything queued
    /// or submitted later.
    pub(crate) fn fail(&self, group: Vec<Entry>, error: &Error) {
        let reason = error.to_string();
        let behind = Error::Closed(format!("the store stopped accepting writes: {reason}"));
        let mut state = self.lock();
        state.failure.get_or_insert(reason);
        state.refusal = Some(behind.clone());
        let held = std::mem::take(&mut state.held);
        let waiting = std::mem::take(&mut state.waiting);
        state.bytes = 0;
        drop(state);
        for entry in group {
            entry.finish(Err(error.clone()));
        }
        for entry in held {
            entry.finish(Err(behind.clone()));
        }
        for work in waiting {
            match work {
                Work::Batch(entry) => entry.finish(Err(behind.clone())),
                Work::Command(command) => command.refuse(behind.clone()),
            }
        }
    }

    /// Called when the committer died. Poisons the store, and answers any close, pending or later,
    /// so that it does not wait for a dead thread.
    pub(crate) fn abandon(&self) {
        self.fail(Vec::new(), &abandoned());
        let mut state = self.lock();
        state.is_abandoned = true;
        let closing = state.closing.take();
        drop(state);
        if let Some(reply) = closing {
            reply.send(Err(abandoned()));
        }
    }

    /// Why the store was poisoned.
    pub(crate) fn failure(&self) -> Option<String> {
        self.lock().failure.clone()
    }

    /// Waits for something to do, at most `patience`. `is_behind` tells whether a partition must
    /// not get more writes now.
    pub(crate) fn next(
        &self,
        patience: Duration,
        is_behind: impl Fn(&LsmPartition) -> bool,
    ) -> Next {
        let mut state = self.lock();
        if state.is_quiet() {
            state.is_awaited = true;
            let waited = self.wake.wait_timeout_while(state, patience, |state| state.is_quiet());
            state = waited.unwrap_or_else(PoisonError::into_inner).0;
            state.is_awaited = false;
        }
        let group = self.take_group(&mut state, is_behind);
        if !group.is_empty() {
            return Next::Group(group);
        }
        if matches!(state.waiting.front(), Some(Work::Command(_)))
            && let Some(Work::Command(command)) = state.waiting.pop_front()
        {
            return Next::Command(command);
        }
        if !state.held.is_empty() || !state.waiting.is_empty() {
            return Next::Idle;
        }
        if let Some(reply) = state.closing.take() {
            return Next::Close(reply);
        }
        if state.is_stopped { Next::Stop } else { Next::Idle }
    }

    /// Takes batches in order, up to the limits or the next command. Batches of partitions that are
    /// behind go to `held`, as do all later batches of those partitions.
    fn take_group(
        &self,
        state: &mut State,
        is_behind: impl Fn(&LsmPartition) -> bool,
    ) -> Vec<Entry> {
        let mut group = Group { entries: Vec::new(), bytes: 0, verdicts: HashMap::new() };
        let mut still_held = VecDeque::new();
        for entry in std::mem::take(&mut state.held) {
            if group.is_full(self) || group.is_behind(&entry, &is_behind) {
                still_held.push_back(entry);
            } else {
                group.push(entry);
            }
        }
        state.held = still_held;
        while !group.is_full(self) && matches!(state.waiting.front(), Some(Work::Batch(_))) {
            let Some(Work::Batch(entry)) = state.waiting.pop_front() else { break };
            if group.is_behind(&entry, &is_behind) {
                state.held.push_back(entry);
            } else {
                group.push(entry);
            }
        }
        state.bytes -= group.bytes;
        group.entries
    }

    /// Whether some batches wait for their partition's background work.
    pub(crate) fn has_held(&self) -> bool {
        !self.lock().held.is_empty()
    }
}

fn abandoned() -> Error {
    Error::Io("the committer panicked".to_owned())
}

impl State {
    fn is_quiet(&self) -> bool {
        self.waiting.is_empty() && self.closing.is_none() && !self.is_stopped
    }
}

/// A commit group being collected. Each partition is checked once, so that one that catches up
/// meanwhile does not get its batches out of order.
struct Group {
    entries: Vec<Entry>,
    bytes: usize,
    verdicts: HashMap<u64, bool>,
}

impl Group {
    fn is_full(&self, queue: &Queue) -> bool {
        self.entries.len() >= queue.group_batches_max || self.bytes >= queue.group_bytes_max
    }

    fn is_behind(&mut self, entry: &Entry, judge: impl Fn(&LsmPartition) -> bool) -> bool {
        let partition = &entry.partition;
        *self.verdicts.entry(partition.id()).or_insert_with(|| judge(partition))
    }

    fn push(&mut self, entry: Entry) {
        self.bytes += entry.size_bytes;
        self.entries.push(entry);
    }
}

impl Entry {
    /// Reports the result to the submitter.
    pub(crate) fn finish(self, result: Result<()>) {
        self.partition.queued.remove(self.size_bytes);
        let done = self.done;
        // A panic in the completion must not kill this thread; the panic hook has reported it.
        let _ = std::panic::catch_unwind(std::panic::AssertUnwindSafe(move || done(result)));
    }
}

#[cfg(test)]
mod tests;
