//! What is left of a request body that was refused for its size.
//!
//! Most clients send all of a request before they look at the answer. If the server stopped reading
//! and closed the connection, they would find it broken, and try again, rather than read why.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::time::timeout;

/// How much more than the largest body is read and thrown away. Who sends more may lose the answer.
const BYTES_MAX: u64 = 64 << 20;
/// How long that may take.
const TIME_MAX: Duration = Duration::from_secs(30);

/// The rest of a body, once its reader has dropped it.
#[derive(Debug)]
pub(super) struct Unread<B>(Mutex<Option<B>>);

impl<B> Default for Unread<B> {
    fn default() -> Self {
        Self(Mutex::new(None))
    }
}

impl<B> Unread<B> {
    /// Keeps what a reader has not read.
    pub(super) fn put(&self, body: B) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(body);
    }

    fn take(&self) -> Option<B> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).take()
    }
}

impl<B: Body + Unpin> Unread<B> {
    /// Reads the rest and throws it away, unless it is far larger than the largest body, or the
    /// client makes no progress for as long as `stall`.
    pub(super) async fn drain(&self, body_bytes_max: u64, stall: Duration) {
        let Some(body) = self.take() else { return };
        let bytes_max = body_bytes_max.saturating_add(BYTES_MAX);
        if body.size_hint().lower() <= bytes_max {
            let _ = timeout(TIME_MAX, throw_away(body, bytes_max, stall)).await;
        }
    }
}

async fn throw_away<B: Body + Unpin>(mut body: B, bytes_max: u64, stall: Duration) {
    let mut left = bytes_max;
    while let Ok(Some(Ok(frame))) = timeout(stall, body.frame()).await {
        let length = frame.data_ref().map_or(0, |data| bytes::Buf::remaining(data) as u64);
        match left.checked_sub(length) {
            Some(rest) => left = rest,
            None => return,
        }
    }
}

#[cfg(test)]
mod tests {
    use std::{
        convert::Infallible,
        pin::Pin,
        sync::{
            Arc,
            atomic::{AtomicU64, Ordering},
        },
        task::{Context, Poll},
    };

    use bytes::Bytes;
    use hyper::body::Frame;

    use super::*;

    const STALL: Duration = Duration::from_millis(20);
    const PIECE: u64 = 1 << 20;

    /// A body that gives pieces, counted, until it ends or stalls.
    struct Pieces {
        given: Arc<AtomicU64>,
        count: u64,
        stalls: bool,
    }

    impl Body for Pieces {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            self: Pin<&mut Self>,
            _: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            if self.given.load(Ordering::Relaxed) < self.count {
                self.given.fetch_add(1, Ordering::Relaxed);
                let piece = Bytes::from(vec![0; usize::try_from(PIECE).unwrap()]);
                return Poll::Ready(Some(Ok(Frame::data(piece))));
            }
            if self.stalls { Poll::Pending } else { Poll::Ready(None) }
        }
    }

    async fn drained(count: u64, stalls: bool) -> u64 {
        let given = Arc::new(AtomicU64::new(0));
        let unread = Unread::default();
        unread.put(Pieces { given: Arc::clone(&given), count, stalls });
        unread.drain(4 * PIECE, STALL).await;
        given.load(Ordering::Relaxed)
    }

    #[tokio::test]
    async fn the_rest_is_read_within_bounds() {
        assert_eq!(drained(10, false).await, 10);
        assert_eq!(drained(10, true).await, 10);
        assert_eq!(drained(1000, false).await, 4 + BYTES_MAX / PIECE + 1);
        // There is nothing left the second time.
        Unread::<Pieces>::default().drain(1, STALL).await;
    }
}
