//! Limits the number of connections over all clients.

use std::{net::SocketAddr, sync::Arc, time::Duration};

use tokio::{
    net::TcpStream,
    sync::{Semaphore, watch},
    time::{Instant, timeout},
};

use crate::{
    Timeouts,
    gate::{Closed, Gate},
    opening::{self, TLS_HANDSHAKE},
    tls::Tls,
    wire::{Refusal, Wire},
};

/// How many refused connections may get an answer at a time; others are just closed.
const REFUSALS_MAX: usize = 64;

/// The limit on connections.
#[derive(Clone, Debug)]
pub struct Room {
    gate: Gate,
    connections_max: u32,
    connections: Arc<Semaphore>,
    refusals: Arc<Semaphore>,
}

/// State shared by the connections of one listener.
pub(crate) struct Shared<W> {
    pub(crate) wire: Arc<W>,
    pub(crate) tls: Tls,
    pub(crate) timeouts: Timeouts,
}

impl Room {
    /// Room for this many connections from clients that the gate admits.
    pub fn new(connections_max: u32, gate: Gate) -> Self {
        // A u32 is never more than a semaphore takes, where a usize has 64 bits.
        let connections = (connections_max as usize).min(Semaphore::MAX_PERMITS);
        Self {
            gate,
            connections_max,
            connections: Arc::new(Semaphore::new(connections)),
            refusals: Arc::new(Semaphore::new(REFUSALS_MAX)),
        }
    }

    /// The number of open connections.
    pub fn taken(&self) -> usize {
        (self.connections_max as usize).saturating_sub(self.connections.available_permits())
    }

    /// The gate, which counts the connections it refused.
    pub fn gate(&self) -> &Gate {
        &self.gate
    }

    /// Serves a connection if there is room; otherwise refuses it.
    pub(crate) fn take<W: Wire>(
        &self,
        stream: TcpStream,
        peer: SocketAddr,
        shared: &Shared<W>,
        stop: &watch::Receiver<bool>,
    ) {
        let seat = match self.gate.enter(peer.ip(), Instant::now()) {
            Ok(seat) => seat,
            Err(closed) => {
                tracing::debug!(%peer, why = closed.name(), "connection refused");
                shared.wire.closed(peer, closed);
                return self.refuse::<W>(stream, refusal(closed));
            }
        };
        if let Ok(slot) = Arc::clone(&self.connections).try_acquire_owned() {
            let (wire, stop) = (Arc::clone(&shared.wire), stop.clone());
            let tls = (shared.tls.clone(), shared.timeouts.header);
            tokio::spawn(async move {
                let client = Arc::clone(&seat.client);
                opening::serve(stream, peer, client, wire, tls, stop).await;
                drop((slot, seat));
            });
            return;
        }
        tracing::debug!(%peer, "connection refused: all connections are in use");
        self.refuse::<W>(stream, Some(Refusal::Busy));
    }

    /// Tells the client why, unless there is nothing to say or too many are being told already.
    fn refuse<W: Wire>(&self, stream: TcpStream, refusal: Option<Refusal>) {
        let Some(refusal) = refusal else { return };
        if let Ok(slot) = Arc::clone(&self.refusals).try_acquire_owned() {
            tokio::spawn(async move {
                refuse_plain::<W>(stream, refusal).await;
                drop(slot);
            });
        }
    }

    /// Waits until every connection has ended. Returns the number of those still open at the
    /// timeout.
    pub(crate) async fn drain(&self, patience: Duration) -> usize {
        let all = self.connections.acquire_many(self.connections_max);
        match timeout(patience, all).await {
            Ok(_) => 0,
            Err(_) => self.taken(),
        }
    }
}

/// The answer to a client that the gate refused; `None` if an answer would only help a flood.
fn refusal(closed: Closed) -> Option<Refusal> {
    match closed {
        Closed::Network => Some(Refusal::Network),
        Closed::Away => None,
        Closed::Client => Some(Refusal::ClientBusy),
    }
}

/// Answers a client that does not begin with a TLS handshake: a handshake just to refuse costs too
/// much.
async fn refuse_plain<W: Wire>(stream: TcpStream, refusal: Refusal) {
    let mut first = [0];
    let peek = timeout(Duration::from_secs(1), stream.peek(&mut first)).await;
    if matches!(peek, Ok(Ok(1))) && first[0] != TLS_HANDSHAKE {
        W::refuse(stream, refusal).await;
    }
}
