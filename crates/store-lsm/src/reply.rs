//! A one-shot answer from the committer to a future, without a runtime.

use std::{
    future::Future,
    pin::Pin,
    sync::{Arc, Mutex, PoisonError},
    task::{Context, Poll, Waker},
};

use store::{Error, Result};

struct Slot<T> {
    answer: Option<Result<T>>,
    waker: Option<Waker>,
}

/// The sending end. If dropped without an answer, it sends `Closed`.
pub(crate) struct Reply<T>(Arc<Mutex<Slot<T>>>);

/// The receiving end. Cancel-safe: dropping it only discards the answer.
pub(crate) struct Answer<T>(Arc<Mutex<Slot<T>>>);

/// A connected pair.
pub(crate) fn reply<T>() -> (Reply<T>, Answer<T>) {
    let slot = Arc::new(Mutex::new(Slot { answer: None, waker: None }));
    (Reply(Arc::clone(&slot)), Answer(slot))
}

impl<T> Reply<T> {
    /// Sends the answer and wakes the receiver.
    pub(crate) fn send(self, answer: Result<T>) {
        self.put(answer);
    }

    /// Whether the receiver was dropped.
    pub(crate) fn is_forgotten(&self) -> bool {
        Arc::strong_count(&self.0) == 1
    }

    fn put(&self, answer: Result<T>) {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if slot.answer.is_none() {
            slot.answer = Some(answer);
        }
        let waker = slot.waker.take();
        drop(slot);
        if let Some(waker) = waker {
            waker.wake();
        }
    }
}

impl<T> Drop for Reply<T> {
    fn drop(&mut self) {
        // After `send` this changes nothing: the first answer stays.
        self.put(Err(Error::Closed("the store was closed".to_owned())));
    }
}

impl<T> Future for Answer<T> {
    type Output = Result<T>;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        let mut slot = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(answer) = slot.answer.take() {
            return Poll::Ready(answer);
        }
        slot.waker = Some(context.waker().clone());
        Poll::Pending
    }
}
