//! The network side: from a listening socket to requests, with a bound on everything a client can
//! make the server hold.
//!
//! Nothing here knows what a request means; that is a [`Handler`]'s business.

mod activity;
mod answer;
mod body;
mod budget;
mod connection;
mod listener;
mod refusal;
pub(crate) mod tls;
mod transport;

use std::{future::Future, net::SocketAddr, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use tokio::sync::watch;

pub(crate) use self::{
    body::RequestBody,
    budget::BodyBudget,
    listener::{Listener, Room, resolve},
    tls::{Acceptor, Tls},
};

/// How a request came in.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Origin {
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// Who sent it.
    pub(crate) peer: SocketAddr,
}

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Answers one request. Dropped half-way when the client goes away.
    fn handle(
        &self,
        origin: Origin,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Timeouts {
    /// Time for the first byte, for a TLS handshake, and for the head of a request.
    pub(crate) header: Duration,
    /// Time a request body or a response may make no progress.
    pub(crate) stall: Duration,
    /// Time a connection may stay open without a request.
    pub(crate) idle: Duration,
    /// Time the requests under way get when the server stops.
    pub(crate) shutdown: Duration,
}

/// Waits until the server is told to stop. Cancel-safe.
pub(crate) async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A dropped sender means that nobody is left to serve for.
    let _ = stop.wait_for(|is_stopping| *is_stopping).await;
}
