//! Decides who may connect: which networks, and how much one client may take.

use std::{
    net::IpAddr,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
};

use tokio::time::Instant;

use crate::{
    clients::{ClientLimits, Clients, Seat},
    network::Network,
};

/// Checks every connection before a byte of it is read. Clones share the counters.
#[derive(Clone, Debug)]
pub struct Gate {
    /// `None` if every network may connect.
    networks: Option<Arc<[Network]>>,
    clients: Arc<Clients>,
    refused: Arc<[AtomicU64; 3]>,
}

/// Why a connection is not served.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Closed {
    /// It comes from a network that may not connect.
    Network,
    /// Its address has failed to authenticate too often.
    Away,
    /// Its address has reached its limit of connections.
    Client,
}

impl Closed {
    /// All reasons, with their names in metrics and the audit log.
    pub const ALL: [(Self, &str); 3] =
        [(Self::Network, "network"), (Self::Away, "failures"), (Self::Client, "client")];

    /// The reason's name in metrics and the audit log.
    pub fn name(self) -> &'static str {
        Self::ALL.iter().find(|(closed, _)| *closed == self).map_or("", |(_, name)| name)
    }
}

impl Gate {
    /// A gate for these networks and limits.
    pub fn new(networks: Option<Vec<Network>>, limits: ClientLimits) -> Self {
        Self {
            networks: networks.map(Arc::from),
            clients: Arc::new(Clients::new(limits)),
            refused: Arc::default(),
        }
    }

    /// Admits a connection, or returns why not.
    pub(crate) fn enter(&self, address: IpAddr, now: Instant) -> Result<Seat, Closed> {
        let entered = self.try_enter(address, now);
        if let Err(closed) = &entered {
            self.refused[*closed as usize].fetch_add(1, Ordering::Relaxed);
        }
        entered
    }

    /// The number of connections turned away for this reason.
    pub fn refused(&self, closed: Closed) -> u64 {
        self.refused[closed as usize].load(Ordering::Relaxed)
    }

    fn try_enter(&self, address: IpAddr, now: Instant) -> Result<Seat, Closed> {
        let is_in = |networks: &Arc<[Network]>| networks.iter().any(|it| it.contains(address));
        if !self.networks.as_ref().is_none_or(is_in) {
            return Err(Closed::Network);
        }
        let client = self.clients.at(address, now);
        if client.away_for(now).is_some() {
            return Err(Closed::Away);
        }
        Seat::take(&self.clients, client, address).ok_or(Closed::Client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_networks_on_the_list_come_in() {
        let networks = ["10.0.0.0/8", "::1"].map(|text| text.parse().unwrap()).to_vec();
        let gate = Gate::new(Some(networks), ClientLimits::default());
        let enters = |text: &str| gate.enter(text.parse().unwrap(), Instant::now()).err();
        assert_eq!((enters("10.1.2.3"), enters("::1")), (None, None));
        assert_eq!(enters("127.0.0.1"), Some(Closed::Network));
        assert_eq!((gate.refused(Closed::Network), gate.refused(Closed::Away)), (1, 0));
        let empty = Gate::new(Some(Vec::new()), ClientLimits::default());
        assert!(empty.enter("::1".parse().unwrap(), Instant::now()).is_err());
    }
}
