//! A byte stream that reports its progress to the connection's [`Activity`].

use std::{
    io,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll},
};

use tokio::{
    io::{AsyncRead, AsyncWrite, ReadBuf},
    time::Instant,
};

use super::activity::Activity;

/// How an HTTP/2 connection begins. No HTTP/1 method does.
const HTTP2_PREFACE_START: &[u8] = b"PRI ";

/// `S`, watched.
#[derive(Debug)]
pub(super) struct Transport<S> {
    stream: S,
    activity: Arc<Activity>,
    has_read: bool,
    /// The last write had to wait. Kept here so that ordinary writes need not take a lock.
    is_blocked: bool,
}

impl<S> Transport<S> {
    /// Watches `stream`.
    pub(super) fn new(stream: S, activity: Arc<Activity>) -> Self {
        Self { stream, activity, has_read: false, is_blocked: false }
    }

    fn note_write<T>(&mut self, outcome: Poll<T>) -> Poll<T> {
        if outcome.is_pending() != self.is_blocked {
            self.is_blocked = outcome.is_pending();
            if self.is_blocked {
                self.activity.write_blocked(Instant::now());
            } else {
                self.activity.write_moved();
            }
        }
        outcome
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for Transport<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.stream).poll_read(context, buffer);
        let fresh = &buffer.filled()[before..];
        if !fresh.is_empty() {
            if !self.has_read && fresh.starts_with(HTTP2_PREFACE_START) {
                self.activity.is_http2();
            }
            self.has_read = true;
            self.activity.read(Instant::now());
        }
        outcome
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for Transport<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write(context, bytes);
        self.note_write(outcome)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let outcome = Pin::new(&mut self.stream).poll_write_vectored(context, slices);
        self.note_write(outcome)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_flush(context);
        self.note_write(outcome)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let outcome = Pin::new(&mut self.stream).poll_shutdown(context);
        self.note_write(outcome)
    }
}
