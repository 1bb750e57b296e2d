//! Oversees a connection: until it ends, its time is up, or the server stops.
//!
//! Clients keep connections open that they do not use. hyper keeps its buffers and the memory for the
//! next request's work meanwhile, some thirty kilobytes. So an HTTP/1.1 connection that has been quiet
//! for a moment is taken from hyper and rests: it waits for the next byte with next to nothing. The
//! more connections are awake, the shorter that moment is.

use std::{
    future::poll_fn,
    io,
    mem::MaybeUninit,
    net::SocketAddr,
    pin::Pin,
    sync::Arc,
    task::{Context, Poll, ready},
    time::Duration,
};

use bytes::Bytes;
use hyper_util::server::graceful::GracefulConnection;
use net::{Timeouts, stopped};
use tokio::{
    io::{AsyncRead, AsyncWrite, AsyncWriteExt as _, ReadBuf},
    sync::watch,
    time::timeout,
};

use super::activity::{Activity, Awake, Cause, Watchdog};

/// How long an idle connection gets to close in good order.
const FAREWELL: Duration = Duration::from_secs(1);
/// The bytes that a resting connection reads at first: enough for most requests, so that hyper need
/// not read the rest.
const FIRST_BYTES: usize = 4096;

/// What can end a connection from this side.
pub(super) struct Watch {
    watchdog: Watchdog,
    stop: watch::Receiver<bool>,
    peer: SocketAddr,
}

/// How it goes on with a connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum End {
    /// The connection is over.
    Over,
    /// Nothing has been asked for a while: it can rest.
    Quiet,
}

impl Watch {
    /// Watches a connection from `peer`.
    pub(super) fn new(
        activity: &Arc<Activity>,
        (timeouts, awake): (Timeouts, Awake),
        stop: watch::Receiver<bool>,
        peer: SocketAddr,
    ) -> Self {
        Self { watchdog: Watchdog::new(Arc::clone(activity), timeouts, awake), stop, peer }
    }

    /// Drives a connection of hyper. Only HTTP/1.1 is ever found quiet.
    pub(super) async fn oversee<C>(&mut self, mut connection: Pin<&mut C>) -> End
    where
        C: GracefulConnection<Error = hyper::Error>,
    {
        let mut is_stopping = false;
        loop {
            tokio::select! {
                biased;
                outcome = connection.as_mut() => {
                    if let Err(error) = outcome {
                        tracing::debug!(peer = %self.peer, %error, "connection failed");
                    }
                    return End::Over;
                }
                cause = poll_fn(|context| self.watchdog.poll_expired(context)) => {
                    if cause == Cause::Quiet {
                        return End::Quiet;
                    }
                    self.note(cause);
                    if cause == Cause::Idle {
                        connection.as_mut().graceful_shutdown();
                        let _ = timeout(FAREWELL, connection).await;
                    }
                    return End::Over;
                }
                () = stopped(&mut self.stop), if !is_stopping => {
                    is_stopping = true;
                    connection.as_mut().graceful_shutdown();
                }
            }
        }
    }

    /// What a piece of work gives, unless the connection ends before.
    pub(super) async fn unless_over<T>(
        &mut self,
        work: impl Future<Output = io::Result<T>>,
    ) -> Option<T> {
        tokio::select! {
            biased;
            outcome = work => match outcome {
                Ok(done) => Some(done),
                Err(error) => {
                    tracing::debug!(peer = %self.peer, %error, "connection failed");
                    None
                }
            },
            cause = poll_fn(|context| self.watchdog.poll_expired(context)) => {
                self.note(cause);
                None
            }
            () = stopped(&mut self.stop) => None,
        }
    }

    /// Lets a quiet connection rest until the client sends something, which is returned. `None` if the
    /// connection is over.
    pub(super) async fn rest<S>(&mut self, stream: &mut S) -> Option<Bytes>
    where
        S: AsyncRead + AsyncWrite + Unpin,
    {
        self.watchdog.let_rest(true);
        let first = self.unless_over(poll_fn(|context| poll_first(stream, context))).await;
        self.watchdog.let_rest(false);
        match first {
            Some(first) if !first.is_empty() => Some(first),
            _ => {
                let _ = timeout(FAREWELL, stream.shutdown()).await;
                None
            }
        }
    }

    fn note(&self, cause: Cause) {
        tracing::debug!(peer = %self.peer, ?cause, "connection ended by timeout");
    }
}

/// Reads what has come. The room for it is on the stack, so that who waits for it keeps none.
fn poll_first<S>(stream: &mut S, context: &mut Context<'_>) -> Poll<io::Result<Bytes>>
where
    S: AsyncRead + Unpin,
{
    let mut room = [const { MaybeUninit::uninit() }; FIRST_BYTES];
    let mut first = ReadBuf::uninit(&mut room);
    ready!(Pin::new(stream).poll_read(context, &mut first))?;
    Poll::Ready(Ok(Bytes::copy_from_slice(first.filled())))
}
