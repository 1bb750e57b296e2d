//! A request body that fails when the client stops sending.
//!
//! This bounds the time without progress; whoever reads the body bounds its size and total time.

use std::{
    io,
    pin::Pin,
    task::{Context, Poll},
    time::Duration,
};

use bytes::Bytes;
use hyper::body::{Body, Frame, Incoming, SizeHint};
use tokio::time::{Sleep, sleep};

/// The body of a request. Its error is `TimedOut` when the client was too slow.
#[derive(Debug)]
pub(crate) struct RequestBody {
    incoming: Incoming,
    stall_timeout: Duration,
    /// Runs while the next frame is awaited. Most bodies arrive with their head and need none.
    timer: Option<Pin<Box<Sleep>>>,
}

impl RequestBody {
    /// Limits how long `incoming` may make no progress.
    pub(super) fn new(incoming: Incoming, stall_timeout: Duration) -> Self {
        Self { incoming, stall_timeout, timer: None }
    }

    fn poll_stalled(&mut self, context: &mut Context<'_>) -> Poll<()> {
        let stall_timeout = self.stall_timeout;
        let timer = self.timer.get_or_insert_with(|| Box::pin(sleep(stall_timeout)));
        timer.as_mut().poll(context)
    }
}

impl Body for RequestBody {
    type Data = Bytes;
    type Error = io::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, io::Error>>> {
        let outcome = Pin::new(&mut self.incoming).poll_frame(context);
        if let Poll::Ready(frame) = outcome {
            self.timer = None;
            return Poll::Ready(frame.map(|frame| frame.map_err(io::Error::other)));
        }
        self.poll_stalled(context).map(|()| {
            let message = "the request body did not arrive in time";
            Some(Err(io::Error::new(io::ErrorKind::TimedOut, message)))
        })
    }

    fn is_end_stream(&self) -> bool {
        self.incoming.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.incoming.size_hint()
    }
}
