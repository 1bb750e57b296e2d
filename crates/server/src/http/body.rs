//! A request body that fails when the client stops sending, and that waits for room.
//!
//! This file bounds the time without progress and the memory of all bodies together. The reader of the
//! body bounds its size and total time.

use std::{
    error::Error,
    io,
    pin::Pin,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use net::{BodyBudget, FREE_BYTES, Reserved, Waiting};
use tokio::time::{Sleep, sleep};

use super::unread::Unread;

/// What outlives the body of a request, shared with the request.
#[derive(Debug)]
pub(super) struct Left<B = Incoming> {
    /// The bytes are kept until the request is answered.
    reserved: Reserved,
    /// What nobody has read of the body.
    pub(super) unread: Unread<B>,
    /// Whether the body was read to its end.
    is_read: AtomicBool,
}

impl<B> Left<B> {
    /// Whether the body was read to its end. If not, more of it may come.
    pub(super) fn is_read(&self) -> bool {
        self.is_read.load(Ordering::Relaxed)
    }
}

impl<B> Default for Left<B> {
    fn default() -> Self {
        let (reserved, unread) = (Reserved::default(), Unread::default());
        Self { reserved, unread, is_read: AtomicBool::new(false) }
    }
}

/// The body of a request. Its error is `TimedOut` when the client was too slow, or when other
/// requests left no room.
pub(crate) struct RequestBody<B: Body = Incoming> {
    /// Always there until it is dropped.
    incoming: Option<B>,
    stall_timeout: Duration,
    /// Runs while the next frame is awaited. Most bodies arrive with their head and need none.
    timer: Option<Pin<Box<Sleep>>>,
    budget: BodyBudget,
    left: Arc<Left<B>>,
    waiting: Option<Waiting>,
    /// Bytes that were handed out.
    length: u64,
}

impl<B: Body> RequestBody<B> {
    /// Limits how long `incoming` may make no progress, and takes its memory from `budget` for as
    /// long as `left` lives.
    pub(super) fn new(
        incoming: B,
        stall_timeout: Duration,
        budget: BodyBudget,
        left: &Arc<Left<B>>,
    ) -> Self {
        let (incoming, left) = (Some(incoming), Arc::clone(left));
        Self { incoming, stall_timeout, timer: None, budget, left, waiting: None, length: 0 }
    }

    fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let stall_timeout = self.stall_timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(stall_timeout)));
        timer.as_mut().poll(context)
    }

    /// Ready when the next frame may be read.
    fn poll_reserved(&mut self, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        // What is still to come, if the client said so.
        let rest = self.incoming.as_ref().and_then(|incoming| incoming.size_hint().exact());
        let length = rest.map(|rest| self.length.saturating_add(rest));
        let is_small = length.unwrap_or(self.length) <= FREE_BYTES;
        if is_small || self.left.reserved.get().is_some() {
            return Poll::Ready(Ok(()));
        }
        let (budget, patience) = (&self.budget, self.stall_timeout);
        let waiting = self.waiting.get_or_insert_with(|| budget.reserve(length, patience));
        let outcome = ready!(waiting.as_mut().poll(context));
        self.waiting = None;
        // Nobody else sets it: a request has one body.
        Poll::Ready(outcome.map(|permit| drop(self.left.reserved.set(permit))))
    }
}

impl<B> Body for RequestBody<B>
where
    B: Body<Data = Bytes, Error: Into<Box<dyn Error + Send + Sync>>> + Unpin,
{
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        if let Err(error) = ready!(self.poll_reserved(context)) {
            return Poll::Ready(Some(Err(error)));
        }
        let Some(incoming) = &mut self.incoming else { return Poll::Ready(None) };
        let outcome = Pin::new(incoming).poll_frame(context);
        if let Poll::Ready(frame) = outcome {
            self.timer = None;
            if frame.is_none() {
                self.left.is_read.store(true, Ordering::Relaxed);
            }
            let frame = frame.map(|frame| frame.map_err(io::Error::other));
            if let Some(data) = frame.as_ref().and_then(|frame| frame.as_ref().ok()?.data_ref()) {
                self.length += data.len() as u64;
            }
            return Poll::Ready(frame);
        }
        self.poll_stalled(context).map(|()| {
            let message = "the request body did not arrive in time";
            Some(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.as_ref().is_none_or(Body::is_end_stream)
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.as_ref().map_or_else(SizeHint::default, Body::size_hint)
    }
}

impl<B: Body> Drop for RequestBody<B> {
    fn drop(&mut self) {
        let Some(incoming) = self.incoming.take() else { return };
        if incoming.is_end_stream() {
            self.left.is_read.store(true, Ordering::Relaxed);
        } else if !self.left.is_read() {
            self.left.unread.put(incoming);
        }
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::{BodyExt as _, Full};

    use super::*;

    const PATIENCE: Duration = Duration::from_millis(50);

    type Shared = Arc<Left<Full<Bytes>>>;

    async fn read(budget: &BodyBudget, left: &Shared, length: usize) -> io::Result<usize> {
        let incoming = Full::new(Bytes::from(vec![b'x'; length]));
        let body = RequestBody::new(incoming, PATIENCE, budget.clone(), left);
        body.collect().await.map(|body| body.to_bytes().len())
    }

    #[tokio::test]
    async fn large_bodies_share_a_budget() {
        let budget = BodyBudget::of(1 << 20, 4 << 20);
        let (first, second) = (Shared::default(), Shared::default());
        assert_eq!(read(&budget, &first, 600 << 10).await.unwrap(), 600 << 10);
        // The first request is not answered yet, so its bytes are still there.
        let error = read(&budget, &second, 600 << 10).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
        assert_eq!(read(&budget, &second, 60 << 10).await.unwrap(), 60 << 10);
        drop(first);
        assert_eq!(read(&budget, &second, 600 << 10).await.unwrap(), 600 << 10);
        drop(second);
        // More than there is of everything.
        let third = Shared::default();
        assert_eq!(read(&budget, &third, 9 << 20).await.unwrap(), 9 << 20);
    }
}
