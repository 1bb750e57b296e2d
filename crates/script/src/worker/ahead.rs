//! What a script asked for and has no answer to yet. It may go ahead with what the host promised not
//! to refuse, so several operations travel together, and so do their answers.

use std::{
    cell::{Cell, RefCell},
    io,
    rc::Rc,
};

use super::Pipe;
use crate::{
    host::{Answer, Promise, Reply},
    wire::{Answered, Ask, Told},
};

/// The host's answer.
pub(crate) enum Asked {
    Refused,
    Invalid(String),
    Done(Reply),
}

/// What is under way between a script and the host.
pub(crate) struct Ahead {
    pipe: Rc<RefCell<Pipe>>,
    promise: Cell<Promise>,
    queued: RefCell<Queued>,
    /// Operations that were sent and are not answered. Until they are, nothing else is sent: neither
    /// side writes while the other one does, so two full pipes cannot stop both.
    sent: Cell<usize>,
}

/// Operations that are not sent yet.
#[derive(Default)]
struct Queued {
    count: usize,
    messages: Vec<u8>,
    /// Where the last message begins.
    last_at: usize,
}

impl Ahead {
    pub(crate) fn new(pipe: Rc<RefCell<Pipe>>, promise: Promise) -> Ahead {
        let (promise, queued) = (Cell::new(promise), RefCell::default());
        Ahead { pipe, promise, queued, sent: Cell::new(0) }
    }

    /// Uses the host's promise for the creation of a document of so many bytes.
    pub(crate) fn take(&self, bytes: usize) -> bool {
        let mut promise = self.promise.get();
        let is_enough = promise.take(bytes);
        self.promise.set(promise);
        is_enough
    }

    /// Queues an operation behind the others. False if it is too large to be sent.
    pub(crate) fn queue(&self, ask: &Ask) -> bool {
        let Some(message) = ask.encode() else { return false };
        let Queued { count, messages, last_at } = &mut *self.queued.borrow_mut();
        if *count > 0 {
            Ask::mark_followed(&mut messages[*last_at..]);
        }
        *count += 1;
        *last_at = messages.len();
        if messages.is_empty() {
            *messages = message;
        } else {
            messages.extend_from_slice(&message);
        }
        true
    }

    /// Whether an answer is still to come.
    pub(crate) fn is_waiting(&self) -> bool {
        self.sent.get() > 0 || self.queued.borrow().count > 0
    }

    /// Sends what is queued, unless answers have to be read first.
    pub(crate) fn send(&self) -> io::Result<()> {
        if self.sent.get() > 0 || self.queued.borrow().count == 0 {
            return Ok(());
        }
        let Queued { count, messages, .. } = self.queued.take();
        self.sent.set(count);
        // With the last answer comes another promise, which may be smaller.
        self.promise.take();
        self.pipe.borrow_mut().send(&messages)
    }

    /// Has all that is queued carried out for a script that has ended.
    pub(crate) fn finish(&self) -> io::Result<()> {
        while self.is_waiting() {
            self.receive()?;
        }
        Ok(())
    }

    /// The next answer, if one [is still to come](Self::is_waiting).
    pub(crate) fn receive(&self) -> io::Result<Asked> {
        self.send()?;
        let Told { answered, promise } = Told::decode(&self.pipe.borrow_mut().receive()?)?;
        self.sent.update(|count| count.saturating_sub(1));
        if !self.is_waiting() {
            self.promise.set(promise);
        }
        Ok(match answered {
            Answered::Answer(Answer::Refused) => Asked::Refused,
            Answered::Invalid(message) => Asked::Invalid(message),
            Answered::Answer(Answer::Done(reply)) => Asked::Done(reply),
        })
    }
}
