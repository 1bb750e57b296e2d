//! The accept loop: takes connections, caps their number, and ends them in good order.

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
    sync::{Semaphore, watch},
    time::{Instant, sleep, timeout},
};

use super::{
    BodyBudget, Gate, Handler, Timeouts, Tls,
    connection::{self, Shared, TLS_HANDSHAKE},
    refusal::{Refusal, refuse},
    stopped,
};

/// Connections above the cap that are told so at the same time; further ones are just closed.
const REFUSALS_MAX: usize = 64;
/// A pause after a failed accept, which mostly means that file descriptors ran out.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);

/// Listening sockets, all of the same port.
#[derive(Debug)]
pub(crate) struct Listener {
    sockets: Vec<TcpListener>,
    address: SocketAddr,
}

/// The addresses that a host name and a port stand for.
pub(crate) async fn resolve(host: &str, port: u16) -> io::Result<Vec<SocketAddr>> {
    // `[::1]` is how a URL writes the address `::1`.
    let host = host.trim_start_matches('[').trim_end_matches(']');
    Ok(lookup_host((host, port)).await?.collect())
}

impl Listener {
    /// Listens on the first of the addresses that is free. Connections queue up until
    /// [`Listener::run`] takes them.
    pub(crate) async fn bind(addresses: &[SocketAddr]) -> io::Result<Self> {
        let socket = TcpListener::bind(addresses).await?;
        let address = socket.local_addr()?;
        Ok(Self { sockets: vec![socket], address })
    }

    /// Listens on another address, too, on the port that there is already.
    pub(crate) async fn add(&mut self, address: IpAddr) -> io::Result<()> {
        let socket = TcpListener::bind((address, self.address.port())).await?;
        self.sockets.push(socket);
        Ok(())
    }

    /// The first address where it listens: the real port, also when any was asked for.
    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// Serves connections until `stop` turns true, then waits for those under way, but no longer
    /// than the bound says. Gives the number of connections that had to be left.
    pub(crate) async fn run<H: Handler>(
        self,
        handler: H,
        tls: Tls,
        timeouts: Timeouts,
        room: Room,
        budget: BodyBudget,
        stop: watch::Receiver<bool>,
    ) -> usize {
        let http = connection::http();
        let shared = Arc::new(Shared { handler, tls, timeouts, budget, http });
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

    /// The next connection, of the sockets in turn, beginning with this one. Cancel-safe.
    async fn accept(&self, first: usize) -> io::Result<(TcpStream, SocketAddr)> {
        poll_fn(|context| {
            let (before, from) = self.sockets.split_at(first % self.sockets.len());
            let mut polled = from.iter().chain(before).map(|socket| socket.poll_accept(context));
            polled.find(Poll::is_ready).unwrap_or(Poll::Pending)
        })
        .await
    }
}

/// The room for connections.
#[derive(Clone, Debug)]
pub(crate) struct Room {
    gate: Gate,
    connections_max: u32,
    connections: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

impl Room {
    /// Room for so many connections of those whom the gate lets in.
    pub(crate) fn new(connections_max: u32, gate: Gate) -> Self {
        // A u32 is never more than a semaphore takes, where a usize has 64 bits.
        let connections = (connections_max as usize).min(Semaphore::MAX_PERMITS);
        Self {
            gate,
            connections_max,
            connections: Arc::new(Semaphore::new(connections)),
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
        }
    }

    /// Connections that are open.
    pub(crate) fn taken(&self) -> usize {
        (self.connections_max as usize).saturating_sub(self.connections.available_permits())
    }

    /// Connections that were not let in.
    pub(crate) fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Serves a connection if there is room, refuses it otherwise.
    fn take<H: Handler>(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        shared: &Arc<Shared<H>>,
        stop: &watch::Receiver<bool>,
    ) {
        let seat = match self.gate.enter(peer.ip(), Instant::now()) {
            Ok(seat) => seat,
            Err(closed) => {
                tracing::debug!(%peer, why = closed.name(), "connection refused");
                shared.handler.closed(peer, closed);
                return self.refuse(stream, closed.refusal());
            }
        };
        if let Ok(slot) = Arc::clone(&self.connections).try_acquire_owned() {
            let (shared, stop) = (Arc::clone(shared), stop.clone());
            tokio::spawn(async move {
                let client = Arc::clone(&seat.client);
                connection::serve(stream, peer, client, shared, stop).await;
                drop((slot, seat));
            });
            return;
        }
        tracing::debug!(%peer, "connection refused: all are taken");
        self.refuse(stream, Some(Refusal::Busy));
    }

    /// Says why, if there is something to say and not too many are being told.
    fn refuse(&self, stream: TcpStream, refusal: Option<Refusal>) {
        let Some(refusal) = refusal else { return };
        if let Ok(slot) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(async move {
                refuse_plain(stream, refusal).await;
                drop(slot);
            });
        }
    }

    /// Waits until every slot is given back. Gives the number of those that were not in time.
    async fn drain(&self, patience: Duration) -> usize {
        let all = self.connections.acquire_many(self.connections_max);
        match timeout(patience, all).await {
            Ok(_) => 0,
            Err(_) => self.taken(),
        }
    }
}

/// Answers a client that speaks plain HTTP; a handshake just for that would cost too much.
async fn refuse_plain(stream: TcpStream, refusal: Refusal) {
    let mut first = [0];
    let peek = timeout(Duration::from_secs(1), stream.peek(&mut first)).await;
    if matches!(peek, Ok(Ok(1))) && first[0] != TLS_HANDSHAKE {
        refuse(stream, refusal).await;
    }
}
