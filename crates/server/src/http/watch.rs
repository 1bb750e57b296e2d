//! Oversees a connection: until it ends, its time is up, or the server stops.
//!
//! Clients keep connections open that they do not use. hyper keeps its buffers and the memory for the
//! next request's work meanwhile, some thirty kilobytes. So an HTTP/1.1 connection that has been quiet
//! for a moment is taken from hyper and rests: it waits for the next byte with next to nothing.

use std::{future::poll_fn, io, net::SocketAddr, pin::Pin, sync::Arc, time::Duration};

use bytes::Bytes;
use hyper_util::server::graceful::GracefulConnection;
use net::{Timeouts, stopped};
use tokio::{
    io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _},
    sync::watch,
    time::timeout,
};

use super::activity::{Activity, Cause, Watchdog};

/// How long an idle connection gets to close in good order.
const FAREWELL: Duration = Duration::from_secs(1);
/// The bytes that a resting connection reads at first: it gets its buffers when there is something.
const FIRST_BYTES: usize = 64;

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
        timeouts: Timeouts,
        stop: watch::Receiver<bool>,
        peer: SocketAddr,
    ) -> Self {
        Self { watchdog: Watchdog::new(Arc::clone(activity), timeouts), stop, peer }
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
        let mut first = [0; FIRST_BYTES];
        let read = self.unless_over(stream.read(&mut first)).await;
        self.watchdog.let_rest(false);
        match read {
            Some(count) if count > 0 => Some(Bytes::copy_from_slice(&first[..count])),
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
