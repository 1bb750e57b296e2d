//! HTTP on the connections that `net` admits: requests in, responses out, with a limit on everything
//! a client can make the server hold.
//!
//! Nothing here knows what a request means: that is up to a [`Handler`].

mod activity;
mod answer;
mod begun;
mod body;
mod connection;
mod refusal;
mod transport;
mod unread;
mod watch;

use std::{future::Future, net::SocketAddr};

use bytes::Bytes;
use http_body_util::Full;
use hyper::{Method, Request, Response};
use net::{Closed, Peer};

pub(crate) use self::{body::RequestBody, connection::Http};

/// The protocols that a TLS handshake offers, the preferred one first.
pub(crate) const ALPN: [&[u8]; 2] = [b"h2", b"http/1.1"];

/// Where a request came from.
#[derive(Clone, Debug)]
pub(crate) struct Origin {
    /// `http` or `https`.
    pub(crate) scheme: &'static str,
    /// The sender's address, and the client whose limits the request counts against.
    peer: Peer,
}

impl Origin {
    fn of(peer: Peer) -> Self {
        Self { scheme: if peer.is_tls { "https" } else { "http" }, peer }
    }

    /// The sender's address.
    pub(crate) fn address(&self) -> SocketAddr {
        self.peer.address
    }
}

/// What a request proved about its sender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The sender authenticated.
    Proven,
    /// The sender did not authenticate.
    Stranger,
}

/// An answer, and what its request proved, if anything.
pub(crate) type Answered = (Response<Full<Bytes>>, Option<Standing>);

/// Answers requests.
pub(crate) trait Handler: Send + Sync + 'static {
    /// Answers one request. The future is dropped when the client disconnects.
    fn handle(
        &self,
        origin: &Origin,
        request: Request<RequestBody>,
    ) -> impl Future<Output = Answered> + Send;

    /// Called for each connection that the gate turned away.
    fn closed(&self, peer: SocketAddr, why: Closed);

    /// Called for each request that was refused because its client sends too many, or failed too often.
    fn refused(&self, origin: &Origin, method: &Method, path: &str);
}
