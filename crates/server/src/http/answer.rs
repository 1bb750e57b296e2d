//! A response body whose request counts as running until the last byte is written.
//!
//! An HTTP/2 client that opens no window makes the server keep the answer, and the transport has
//! nothing to write that could block. So the bytes carry the request's guard wherever hyper queues
//! them, and HTTP/2 gets them in pieces: hyper asks for the next one when the client's window is
//! open again, which is how progress of one stream shows.

use std::{
    convert::Infallible,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use bytes::Bytes;
use hyper::{
    Version,
    body::{Body, Frame, SizeHint},
};
use tokio::time::Instant;

use super::activity::{Activity, AnswerId, RequestGuard};

/// What HTTP/2 sends in one frame, unless the client asks for more.
const HTTP2_PIECE_BYTES: usize = 16 * 1024;

/// The body of a response.
#[derive(Debug)]
pub(super) struct AnswerBody {
    rest: Bytes,
    piece_bytes: usize,
    activity: Arc<Activity>,
    id: AnswerId,
}

impl AnswerBody {
    /// Answers the request of `guard`, which began at `began`, with `bytes`.
    pub(super) fn new(
        mut guard: RequestGuard,
        version: Version,
        began: Instant,
        bytes: Bytes,
    ) -> Self {
        // Nobody asks when a piece of an answer in HTTP/1 was taken.
        let (piece_bytes, taken) = if version == Version::HTTP_2 {
            (HTTP2_PIECE_BYTES, Instant::now())
        } else {
            (usize::MAX, began)
        };
        let (activity, id) = guard.answer(taken);
        // Without bytes there is nothing to keep, and the request ends here.
        let rest = if bytes.is_empty() { bytes } else { Bytes::from_owner(Kept { bytes, guard }) };
        Self { rest, piece_bytes, activity, id }
    }
}

/// Bytes during which their request still counts as running.
struct Kept {
    bytes: Bytes,
    #[expect(dead_code, reason = "only dropped, with the bytes")]
    guard: RequestGuard,
}

impl AsRef<[u8]> for Kept {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Body for AnswerBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        if self.rest.is_empty() {
            return Poll::Ready(None);
        }
        if self.piece_bytes != usize::MAX {
            self.activity.answer_moved(self.id, Instant::now());
        }
        let length = self.rest.len().min(self.piece_bytes);
        // The last piece takes the bytes along: nothing may keep the guard once it is written.
        let piece = if length == self.rest.len() {
            std::mem::take(&mut self.rest)
        } else {
            self.rest.split_to(length)
        };
        Poll::Ready(Some(Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.rest.len() as u64)
    }
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    #[tokio::test]
    async fn the_request_lasts_until_its_bytes_are_gone() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let guard = activity.request(Version::HTTP_2);
        let bytes = Bytes::from(vec![b'x'; HTTP2_PIECE_BYTES + 1]);
        let mut body = AnswerBody::new(guard, Version::HTTP_2, Instant::now(), bytes);
        assert_eq!(body.size_hint().exact(), Some(HTTP2_PIECE_BYTES as u64 + 1));
        let first = body.frame().await.unwrap().unwrap().into_data().unwrap();
        let last = body.frame().await.unwrap().unwrap().into_data().unwrap();
        assert_eq!((first.len(), last.len()), (HTTP2_PIECE_BYTES, 1));
        assert!(body.is_end_stream() && body.frame().await.is_none());
        drop((first, body));
        assert_eq!(activity.requests(), 1);
        drop(last);
        assert_eq!(activity.requests(), 0);
    }

    #[tokio::test]
    async fn without_bytes_it_ends_at_once() {
        let activity = Arc::new(Activity::new(Instant::now()));
        let guard = activity.request(Version::HTTP_11);
        let body = AnswerBody::new(guard, Version::HTTP_11, Instant::now(), Bytes::new());
        assert!(body.is_end_stream());
        assert_eq!(activity.requests(), 0);
    }
}
