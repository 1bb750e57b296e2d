//! What a protocol does with the connections that it gets.

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
    /// All connections are taken.
    Busy,
    /// The server answers TLS only.
    TlsRequired,
    /// The client's network may not connect.
    Network,
    /// The client has as many connections as it may have.
    ClientBusy,
}

/// A protocol, served on connections that were admitted and opened.
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

    /// Called for each connection that the gate turned away.
    fn closed(&self, peer: SocketAddr, why: Closed);
}
