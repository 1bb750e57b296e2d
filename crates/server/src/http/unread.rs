//! The rest of a request body, when the request was answered without reading all of it.
//!
//! Most clients send the whole request before they read the answer, and many send the head and the body
//! in two packets. If the server closed the connection at the end of its answer, they would see a broken
//! connection instead of the answer, or in the next request that they send on it.

use std::{
    sync::{Mutex, PoisonError},
    time::Duration,
};

use http_body_util::BodyExt as _;
use hyper::body::Body;
use tokio::time::timeout;

/// How much more than the largest body is read and thrown away. Who sends more may lose the answer.
const BYTES_MAX: u64 = 64 << 20;
/// How much of a body is read and thrown away for a sender that did not authenticate.
const STRANGER_BYTES_MAX: u64 = 64 << 10;
/// How long either may take.
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
        if let Some(body) = self.take() {
            throw_away(body, body_bytes_max.saturating_add(BYTES_MAX), stall).await;
        }
    }
}

impl<B: Body<Data: Send> + Send + Unpin + 'static> Unread<B> {
    /// Reads the rest and throws it away while the answer is being sent, up to `body_bytes_max` bytes,
    /// or up to a small number of bytes for a sender that did not authenticate. The connection can be
    /// used again after that; if more is left, it is closed.
    pub(super) fn drain_meanwhile(&self, proven: bool, body_bytes_max: u64, stall: Duration) {
        let bytes_max = if proven { body_bytes_max } else { STRANGER_BYTES_MAX };
        if let Some(body) = self.take() {
            tokio::spawn(throw_away(body, bytes_max, stall));
        }
    }
}

/// Reads a body to its end, unless it is longer than `bytes_max` or stalls.
async fn throw_away<B: Body + Unpin>(mut body: B, bytes_max: u64, stall: Duration) {
    if body.size_hint().lower() > bytes_max {
        return;
    }
    let reading = async {
        let mut left = bytes_max;
        while let Ok(Some(Ok(frame))) = timeout(stall, body.frame()).await {
            let length = frame.data_ref().map_or(0, |data| bytes::Buf::remaining(data) as u64);
            match left.checked_sub(length) {
                Some(rest) => left = rest,
                None => return,
            }
        }
    };
    let _ = timeout(TIME_MAX, reading).await;
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
