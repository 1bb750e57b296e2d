//! The network side: from a listening socket to requests, with a bound on everything a client can
//! make the server hold.
//!
//! Nothing here knows what a request means; that is a [`Handler`]'s business.

mod activity;
mod answer;
mod body;
mod budget;
mod clients;
mod connection;
mod gate;
mod listener;
mod refusal;
pub(crate) mod tls;
mod transport;
mod unread;

use std::{future::Future, net::SocketAddr, sync::Arc, time::Duration};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Request, Response};
use tokio::sync::watch;

pub(crate) use self::{
    body::RequestBody,
    budget::BodyBudget,
    clients::{Client, ClientLimits, Limit},
    gate::{Closed, Gate},
    listener::{Listener, Room, resolve},
    tls::{Acceptor, Tls},
};

/// How a request came in.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// Who sent it.
    pub(crate) peer: SocketAddr,
    /// Whose limits it counts for.
    client: Arc<Client>,
}

/// What a request showed about its sender: an extension of its response, from a [`Handler`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It is somebody who may come in.
    Proven,
    /// It is nobody who proved anything.
    Stranger,
}

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Answers one request. Dropped half-way when the client goes away.
    fn handle(
        &self,
        origin: Origin,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Response<Full<Bytes>>> + Send;

    /// Told of a connection that was not let in.
    fn closed(&self, peer: SocketAddr, why: Closed);

    /// Told of a request that was refused because its client has too many, or failed too often.
    fn refused(&self, origin: &Origin, method: &hyper::Method, path: &str);
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
