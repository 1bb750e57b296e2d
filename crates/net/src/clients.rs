//! What one client may take: connections, concurrent requests, failed attempts to authenticate.
//!
//! A client is an address; for IPv6 the first 64 bits, because a single user usually has all
//! addresses that share them. The server refuses an address for a while when it fails too often,
//! but never an address from which a user authenticated recently: many people may share it, and one
//! of them must not lock the others out.

use std::{
    collections::HashMap,
    net::IpAddr,
    sync::{
        Arc, Mutex, MutexGuard, PoisonError,
        atomic::{AtomicU32, Ordering},
    },
    time::Duration,
};

use tokio::time::Instant;

/// The time over which failures are counted, and for which an address that fails too often is
/// refused.
const WINDOW: Duration = Duration::from_mins(1);
/// How long an address counts as known after a successful authentication.
const PROOF: Duration = Duration::from_mins(10);
/// The most addresses to remember: about 10 MB. Requests from further ones are not counted.
const CLIENTS_MAX: usize = 65_536;
/// How often to drop addresses that need not be remembered, once there are that many.
const SWEEP_INTERVAL: Duration = Duration::from_secs(1);

/// What one client may take. Zero means no limit.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ClientLimits {
    /// Connections at a time.
    pub connections: Limit,
    /// Concurrent requests.
    pub requests: Limit,
    /// Unauthenticated requests in a minute.
    pub failures: Limit,
}

/// A limit, and whether it applies to this machine.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Limit {
    /// The most that is allowed; zero for no limit.
    pub max: u32,
    /// Clients on this machine are exempt: they could do worse, and tests run there.
    pub spares_loopback: bool,
}

impl Limit {
    fn of(self, address: IpAddr) -> u32 {
        let is_spared = self.spares_loopback && address.to_canonical().is_loopback();
        if self.max == 0 || is_spared { u32::MAX } else { self.max }
    }
}

/// All clients that are connected, or failed recently.
#[derive(Debug)]
pub(crate) struct Clients {
    limits: ClientLimits,
    known: Mutex<Known>,
}

#[derive(Debug)]
struct Known {
    clients: HashMap<u128, Arc<Client>>,
    swept: Option<Instant>,
}

impl Clients {
    pub(crate) fn new(limits: ClientLimits) -> Self {
        Self { limits, known: Mutex::new(Known { clients: HashMap::new(), swept: None }) }
    }

    /// The client at this address.
    pub(crate) fn at(&self, address: IpAddr, now: Instant) -> Arc<Client> {
        let id = id(address);
        let mut known = lock(&self.known);
        if let Some(client) = known.clients.get(&id) {
            return Arc::clone(client);
        }
        let client = Arc::new(Client::new(self.limits, address));
        known.make_room(now);
        if known.clients.len() < CLIENTS_MAX {
            known.clients.insert(id, Arc::clone(&client));
        }
        client
    }

    /// Forgets a client whose last connection ended, unless its record is needed.
    fn release(&self, address: IpAddr) {
        let id = id(address);
        let mut known = lock(&self.known);
        // The references of the map and of the ending connection.
        let is_last = |client: &Arc<Client>| Arc::strong_count(client) <= 2;
        if known.clients.get(&id).is_some_and(|client| is_last(client) && client.is_blank()) {
            known.clients.remove(&id);
        }
    }
}

impl Known {
    fn make_room(&mut self, now: Instant) {
        let is_due = self.swept.is_none_or(|at| now >= at + SWEEP_INTERVAL);
        if self.clients.len() < CLIENTS_MAX || !is_due {
            return;
        }
        self.swept = Some(now);
        self.clients.retain(|_, client| Arc::strong_count(client) > 1 || client.is_dangerous(now));
    }
}

/// One client.
#[derive(Debug)]
pub struct Client {
    connections_max: u32,
    requests_max: u32,
    failures_max: u32,
    connections: AtomicU32,
    requests: AtomicU32,
    record: Mutex<Record>,
}

/// The record of a client.
#[derive(Debug, Default)]
struct Record {
    /// When the counted failures began.
    since: Option<Instant>,
    failures: u32,
    /// The last successful authentication.
    proven: Option<Instant>,
    /// Until when the client is refused.
    away_until: Option<Instant>,
}

impl Client {
    fn new(limits: ClientLimits, address: IpAddr) -> Self {
        Self {
            connections_max: limits.connections.of(address),
            requests_max: limits.requests.of(address),
            failures_max: limits.failures.of(address),
            connections: AtomicU32::new(0),
            requests: AtomicU32::new(0),
            record: Mutex::default(),
        }
    }

    /// Reserves a request slot until the value is dropped.
    pub fn request(self: &Arc<Self>) -> Option<RequestSlot> {
        let is_taken = take(&self.requests, self.requests_max);
        is_taken.then(|| RequestSlot(Arc::clone(self)))
    }

    /// Records a successful authentication.
    pub fn prove(&self, now: Instant) {
        let mut record = lock(&self.record);
        record.proven = Some(now);
        record.away_until = None;
    }

    /// Records a failed authentication.
    pub fn fail(&self, now: Instant) {
        if self.failures_max == u32::MAX {
            return;
        }
        let mut record = lock(&self.record);
        if record.since.is_none_or(|since| now >= since + WINDOW) {
            (record.since, record.failures) = (Some(now), 0);
        }
        record.failures = record.failures.saturating_add(1);
        let is_known = record.proven.is_some_and(|at| now < at + PROOF);
        if record.failures > self.failures_max && !is_known {
            record.away_until = Some(now + WINDOW);
        }
    }

    /// How much longer this client is refused, if it is.
    pub fn away_for(&self, now: Instant) -> Option<Duration> {
        let until = lock(&self.record).away_until?;
        until.checked_duration_since(now).filter(|time| !time.is_zero())
    }

    fn is_blank(&self) -> bool {
        let record = lock(&self.record);
        record.since.is_none() && record.proven.is_none()
    }

    fn is_dangerous(&self, now: Instant) -> bool {
        let record = lock(&self.record);
        let is_counted = record.since.is_some_and(|since| now < since + WINDOW);
        is_counted || record.away_until.is_some_and(|until| now < until)
    }
}

/// A request slot.
#[derive(Debug)]
pub struct RequestSlot(Arc<Client>);

impl Drop for RequestSlot {
    fn drop(&mut self) {
        self.0.requests.fetch_sub(1, Ordering::Relaxed);
    }
}

/// A connection slot.
#[derive(Debug)]
pub(crate) struct Seat {
    pub(crate) client: Arc<Client>,
    clients: Arc<Clients>,
    address: IpAddr,
}

impl Seat {
    /// Reserves a connection slot until the value is dropped.
    pub(crate) fn take(
        clients: &Arc<Clients>,
        client: Arc<Client>,
        address: IpAddr,
    ) -> Option<Self> {
        let is_taken = take(&client.connections, client.connections_max);
        is_taken.then(|| Self { client, clients: Arc::clone(clients), address })
    }
}

impl Drop for Seat {
    fn drop(&mut self) {
        if self.client.connections.fetch_sub(1, Ordering::Relaxed) == 1 {
            self.clients.release(self.address);
        }
    }
}

/// Adds one, unless that would exceed the maximum.
fn take(count: &AtomicU32, max: u32) -> bool {
    let more = |taken: u32| (taken < max).then(|| taken + 1);
    count.fetch_update(Ordering::Relaxed, Ordering::Relaxed, more).is_ok()
}

fn id(address: IpAddr) -> u128 {
    match address.to_canonical() {
        IpAddr::V4(address) => address.to_ipv6_mapped().to_bits(),
        IpAddr::V6(address) => address.to_bits() >> 64 << 64,
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    // Every critical section leaves the state consistent, even if its thread panics.
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn clients(connections: u32, requests: u32, failures: u32) -> Arc<Clients> {
        let limit = |max| Limit { max, spares_loopback: true };
        Arc::new(Clients::new(ClientLimits {
            connections: limit(connections),
            requests: limit(requests),
            failures: limit(failures),
        }))
    }

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    #[test]
    fn connections_and_requests_are_counted_by_address() {
        let (clients, now) = (clients(2, 1, 0), Instant::now());
        let seat = |text: &str| {
            let address = address(text);
            Seat::take(&clients, clients.at(address, now), address)
        };
        let (one, two) = (seat("10.0.0.1").unwrap(), seat("::ffff:10.0.0.1").unwrap());
        assert!(seat("10.0.0.1").is_none() && seat("10.0.0.2").is_some());
        let turn = one.client.request().unwrap();
        assert!(two.client.request().is_none());
        drop(turn);
        assert!(two.client.request().is_some());
        drop(two);
        let again = seat("10.0.0.1").unwrap();
        drop((one, again));
        assert!(lock(&clients.known).clients.is_empty());
        // An IPv6 network is one client; this machine is not counted as a client.
        let _held = (seat("2001:db8::1").unwrap(), seat("2001:db8::2").unwrap());
        assert!(seat("2001:db8::3").is_none() && seat("2001:db8:0:1::3").is_some());
        let local: Vec<_> = (0..9).map(|_| seat("127.0.0.1").unwrap()).collect();
        assert_eq!(local.len(), 9);
    }

    #[test]
    fn strangers_who_fail_are_turned_away_for_a_while() {
        let (clients, start) = (clients(0, 0, 3), Instant::now());
        let client = clients.at(address("10.0.0.1"), start);
        for _ in 0..3 {
            client.fail(start);
        }
        assert_eq!(client.away_for(start), None);
        client.fail(start);
        assert_eq!(client.away_for(start), Some(WINDOW));
        assert_eq!(client.away_for(start + WINDOW), None);
        // Failures that are far apart never add up.
        for minute in 2..9 {
            client.fail(start + WINDOW * minute);
        }
        assert_eq!(client.away_for(start + WINDOW * 9), None);
    }

    #[test]
    fn who_shares_an_address_with_someone_known_is_not_turned_away() {
        let (clients, start) = (clients(0, 0, 3), Instant::now());
        let client = clients.at(address("10.0.0.1"), start);
        client.prove(start);
        for _ in 0..9 {
            client.fail(start + WINDOW);
        }
        assert_eq!(client.away_for(start + WINDOW), None);
        for _ in 0..9 {
            client.fail(start + PROOF);
        }
        assert!(client.away_for(start + PROOF).is_some());
        client.prove(start + PROOF);
        assert_eq!(client.away_for(start + PROOF), None);
    }

    #[test]
    fn the_list_of_clients_has_an_end() {
        let (clients, start) = (clients(0, 0, 3), Instant::now());
        let at = |number: u32, now| clients.at(IpAddr::from(number.to_be_bytes()), now);
        for number in 0..70_000 {
            at(number, start).fail(start);
        }
        assert_eq!(lock(&clients.known).clients.len(), CLIENTS_MAX);
        at(80_000, start + WINDOW).fail(start + WINDOW);
        assert_eq!(lock(&clients.known).clients.len(), 1);
    }
}
