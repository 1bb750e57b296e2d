//! The network without a protocol: listening sockets, who may connect, how many, and TLS.
//!
//! A protocol (HTTP today) implements [`Wire`] and gets connections that are already admitted and,
//! where the client asked for it, encrypted. Nothing here knows what the bytes of a connection
//! mean.
//!
//! In reading order:
//! - [`Wire`]: what a protocol does,
//! - [`Listener`]: the accept loop; [`Room`]: how many connections there may be,
//! - [`Gate`], [`Client`], [`Network`]: who may connect, and what one client may take,
//! - [`Tls`]: certificates and handshakes,
//! - [`BodyBudget`]: the memory that requests may take together.

mod budget;
mod clients;
mod gate;
mod listener;
mod network;
mod opening;
mod room;
pub mod tls;
mod wire;

use std::time::Duration;

use tokio::sync::watch;

pub use self::{
    budget::{BodyBudget, FREE_BYTES, Reserved, Waiting},
    clients::{Client, ClientLimits, Limit, RequestSlot},
    gate::{Closed, Gate},
    listener::{Listener, resolve},
    network::{Network, NotANetwork},
    room::Room,
    tls::{Acceptor, Tls},
    wire::{Peer, Refusal, Wire},
};

/// How long a client may take.
#[derive(Clone, Copy, Debug)]
pub struct Timeouts {
    /// Time for the first byte, for a TLS handshake, and for the head of a request.
    pub header: Duration,
    /// Time a request body or a response may make no progress.
    pub stall: Duration,
    /// Time a connection may stay open without a request.
    pub idle: Duration,
    /// Time that running requests get when the server stops.
    pub shutdown: Duration,
}

/// Waits until the server is told to stop. Cancel-safe.
pub async fn stopped(stop: &mut watch::Receiver<bool>) {
    // A dropped sender means that nobody is left to serve for.
    let _ = stop.wait_for(|is_stopping| *is_stopping).await;
}
