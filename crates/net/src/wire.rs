//! The interface of a protocol that serves connections.

use std::{future::Future, net::SocketAddr, sync::Arc};

use tokio::{
    io::{AsyncRead, AsyncWrite},
    net::TcpStream,
    sync::watch,
};

use crate::{clients::Client, gate::Closed};

/// The other end of a connection.
#[derive(Clone, Debug)]
pub struct Peer {
    /// Its address and port.
    pub address: SocketAddr,
    /// Whether the connection is encrypted.
    pub is_tls: bool,
    /// The client whose limits the connection counts against.
    pub client: Arc<Client>,
}

/// Why a connection is refused.
#[derive(Clone, Copy, Debug)]
pub enum Refusal {
    /// The connection limit is reached.
    Busy,
    /// The server answers TLS only.
    TlsRequired,
    /// The client's network may not connect.
    Network,
    /// The client has reached its limit of connections.
    ClientBusy,
}

/// A protocol, served on admitted and opened connections.
pub trait Wire: Send + Sync + 'static {
    /// Serves a connection to its end. When `stop` turns true, it finishes the running requests.
    fn serve<S>(
        self: Arc<Self>,
        stream: S,
        peer: Peer,
        stop: watch::Receiver<bool>,
    ) -> impl Future<Output = ()> + Send
    where
        S: AsyncRead + AsyncWrite + Unpin + Send + 'static;

    /// Tells the client of a plain connection why it is refused, and closes the connection.
    fn refuse(stream: TcpStream, refusal: Refusal) -> impl Future<Output = ()> + Send;

    /// Called for each connection that the gate refused.
    fn closed(&self, peer: SocketAddr, why: Closed);
}
