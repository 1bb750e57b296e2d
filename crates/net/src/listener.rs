//! The accept loop: takes connections until the server stops, then waits for them to end.

use std::{
    future::poll_fn,
    io,
    net::{IpAddr, SocketAddr},
    sync::Arc,
    task::Poll,
    time::Duration,
};

use tokio::{
    net::{TcpListener, TcpStream, lookup_host},
    sync::watch,
    time::sleep,
};

use crate::{
    Timeouts,
    room::{Room, Shared},
    stopped,
    tls::Tls,
    wire::Wire,
};

/// The pause after a failed accept, which usually means that file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listening sockets, all of the same port.
#[derive(Debug)]
pub struct Listener {
    sockets: Vec<TcpListener>,
    address: SocketAddr,
}

/// Resolves a host name and port.
pub async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    // `[::1]` is how a URL writes the address `::1`.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok(lookup_host((host, port)).await?.collect())
}

impl Listener {
    /// Listens on the first of the addresses that is free. Connections queue up until
    /// [`Listener::run`] takes them.
    pub async fn bind(addresses: &[SocketAddr]) -> io::Result<Self> {
        let socket = TcpListener::bind(addresses).await?;
        let address = socket.local_addr()?;
        Ok(Self { sockets: vec![socket], address })
    }

    /// Also listens on another address, on the same port.
    pub async fn add(&mut self, address: IpAddr) -> io::Result<()> {
        let socket = TcpListener::bind((address, self.address.port())).await?;
        self.sockets.push(socket);
        Ok(())
    }

    /// The first address it listens on, with the actual port even if any port was requested.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves connections until `stop` turns true, then waits for the open ones, within the
    /// timeouts. Returns the number of connections that were still open.
    pub async fn run<W: Wire>(
        self,
        wire: W,
        tls: Tls,
        timeouts: Timeouts,
        room: Room,
        stop: watch::Receiver<bool>,
    ) -> usize {
        let shared = Shared { wire: Arc::new(wire), tls, timeouts };
        let mut stopping = stop.clone();
        for turn in (0..self.sockets.len()).cycle() {
            tokio::select! {
                accepted = self.accept(turn) => match accepted {
                    Ok((stream, peer)) => room.take(stream, peer, &shared, &stop),
                    Err(error) => {
                        tracing::warn!(%error, "cannot accept a connection");
                        sleep(ACCEPT_PAUSE).await;
                    }
                },
                () = stopped(&mut stopping) => break,
            }
        }
        drop(self.sockets);
        room.drain(timeouts.shutdown).await
    }

    /// Accepts the next connection, polling the sockets in turn from this one on. Cancel-safe.
    async fn accept(&self, first: usize) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| {
            let (before, from) = self.sockets.split_at(first % self.sockets.len());
            let mut polled = from.iter().chain(before).map(|socket| socket.poll_accept(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }
}
