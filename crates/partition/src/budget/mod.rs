//! Reserved throughput: admits requests, makes them wait, and counts what they spend.
//!
//! A partition admits a request before it does any work, and settles its real charge afterwards:
//! see `bucket`. A partition spends its own share of its collection's throughput or, together with
//! all other partitions of the database, the shared throughput of the database; the engine sets
//! which, whenever the catalog changes. Times are seconds since an arbitrary start and never
//! decrease. Spending is counted even when no limit is enforced: see `usage`.

mod bucket;
mod shares;
mod usage;

use std::{
    hash::{DefaultHasher, Hash, Hasher as _},
    sync::{Arc, Mutex, MutexGuard, PoisonError},
};

use protocol::{Code, Error, Options, request::CollectionPath};

pub use crate::budget::bucket::Kind;
use crate::{
    budget::{
        bucket::{Bucket, Caller, WaitSeconds},
        usage::Usage,
    },
    charge::Meter,
};

/// How many bytes of a body identify a request.
const FINGERPRINT_BYTES: usize = 4096;

/// The weight of asking a partition; reading one document weighs as much.
const ASKING_WORK: f64 = 1000.0;

/// The service's wording.
const TOO_MANY: &str = "Request rate is large. More Request Units may be needed, so no changes \
     were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429";

/// A partition's share of the throughput.
#[derive(Debug, Default)]
pub struct Budget(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    source: Source,
    /// Request units per second, whether enforced or not.
    reserved: f64,
    usage: Usage,
    admitted: u64,
    throttled: u64,
}

/// Where a partition's request units come from.
#[derive(Debug, Default)]
enum Source {
    /// Nothing is enforced.
    #[default]
    Unlimited,
    Own(Box<Bucket>),
    Shared(Arc<Shared>),
}

/// The throughput shared by the collections of a database.
#[derive(Debug, Default)]
pub struct Shared(Mutex<SharedState>);

#[derive(Debug, Default)]
struct SharedState {
    /// `None` if no limit is enforced.
    bucket: Option<Bucket>,
    usage: Usage,
}

/// Throughput statistics of a partition.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Request units spent in the last whole second.
    pub last_second: f64,
    /// Request units per second reserved.
    pub reserved: f64,
    /// Requests admitted and settled since the partition was opened.
    pub admitted: u64,
    /// Requests refused since the partition was opened, for lack of throughput or because the store
    /// was behind.
    pub throttled: u64,
}

impl Budget {
    /// The partition's spending so far, for statistics.
    pub fn spent(&self, now_s: f64) -> Spent {
        let state = lock(&self.0);
        Spent {
            last_second: state.usage.last_second(now_s),
            reserved: state.reserved,
            admitted: state.admitted,
            throttled: state.throttled,
        }
    }

    /// The enforced limit in request units per second; `None` if unlimited.
    pub fn enforced(&self) -> Option<f64> {
        let state = lock(&self.0);
        (!matches!(state.source, Source::Unlimited)).then_some(state.reserved)
    }

    fn admit(&self, caller: &Caller<'_>, now_s: f64) -> Result<f64, WaitSeconds> {
        let mut state = lock(&self.0);
        let admitted = state.source.with(|bucket| bucket.admit(caller, now_s)).unwrap_or(Ok(0.0));
        state.throttled += u64::from(admitted.is_err());
        admitted
    }

    fn reserve(&self, caller: &Caller<'_>, due_s: f64, now_s: f64) {
        lock(&self.0).source.with(|bucket| bucket.reserve(caller, due_s, now_s));
    }

    /// Records what a request cost here, and what it cost in total.
    fn settle(&self, kind: Kind, paid: Option<f64>, (charge, whole): (f64, f64), now_s: f64) {
        let mut state = lock(&self.0);
        state.admitted += 1;
        state.usage.add(charge, now_s);
        // A shared bucket learns the cost of the whole request, because that is what it admits.
        let whole = if matches!(state.source, Source::Shared(_)) { whole } else { charge };
        state.source.with(|bucket| match paid {
            Some(paid) => bucket.settle(kind, paid, charge, whole),
            None => bucket.take(charge),
        });
        if let Source::Shared(shared) = &state.source {
            lock(&shared.0).usage.add(charge, now_s);
        }
    }

    fn give_back(&self, kind: Kind, paid: f64) {
        lock(&self.0).source.with(|bucket| bucket.give_back(kind, paid));
    }

    fn leave(&self, kind: Kind) {
        lock(&self.0).source.with(|bucket| bucket.leave(kind));
    }

    /// Counts a request that was refused for a reason other than its throughput.
    pub fn note_throttled(&self) {
        lock(&self.0).throttled += 1;
    }

    fn shared(&self) -> Option<Arc<Shared>> {
        match &lock(&self.0).source {
            Source::Shared(shared) => Some(Arc::clone(shared)),
            Source::Own(_) | Source::Unlimited => None,
        }
    }
}

impl Source {
    /// Runs `work` on the bucket, if there is one.
    fn with<T>(&mut self, work: impl FnOnce(&mut Bucket) -> T) -> Option<T> {
        match self {
            Self::Unlimited => None,
            Self::Own(bucket) => Some(work(bucket)),
            Self::Shared(shared) => lock(&shared.0).bucket.as_mut().map(work),
        }
    }
}

/// A poisoned budget is still usable: every change to it is complete before the next.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that asks for request units.
pub struct Asked<'a> {
    kind: Kind,
    collection: &'a CollectionPath,
    /// The document's name and the body: they distinguish it from others of its kind.
    content: [&'a [u8]; 2],
    options: &'a Options,
    connection: Option<u64>,
}

impl<'a> Asked<'a> {
    /// Creates a request of this kind. The collection, contents and options distinguish it from
    /// other requests; the meter knows its connection.
    pub fn new(
        kind: Kind,
        collection: &'a CollectionPath,
        content: [&'a [u8]; 2],
        options: &'a Options,
        meter: &Meter,
    ) -> Self {
        Self { kind, collection, content, options, connection: meter.connection }
    }

    /// A hash of the request: equal for a repetition, almost always different for another request.
    fn fingerprint(&self) -> u64 {
        let mut hasher = DefaultHasher::new();
        (self.kind as u8).hash(&mut hasher);
        self.collection.database.0.hash(&mut hasher);
        self.collection.collection.hash(&mut hasher);
        for content in self.content {
            content.len().hash(&mut hasher);
            hasher.write(&content[..content.len().min(FINGERPRINT_BYTES)]);
        }
        self.options.partition_key.hash(&mut hasher);
        self.options.range_id.hash(&mut hasher);
        self.options.continuation.hash(&mut hasher);
        hasher.finish()
    }

    fn caller<T>(&self, with: impl FnOnce(&Caller<'_>) -> T) -> T {
        let (kind, connection) = (self.kind, self.connection);
        with(&Caller { kind, connection, fingerprint: &|| self.fingerprint() })
    }
}

/// An admitted request and its advance payment. If it is never settled, it cost that much: a caller
/// that goes away has usually caused the work.
#[must_use]
pub struct Ticket {
    budget: Arc<Budget>,
    kind: Kind,
    /// `None` if another ticket of the same request has paid into the shared bucket.
    paid: Option<f64>,
    is_over: bool,
}

impl Ticket {
    fn new(budget: &Arc<Budget>, kind: Kind, paid: Option<f64>) -> Self {
        Self { budget: Arc::clone(budget), kind, paid, is_over: false }
    }

    /// Settles the request: what it cost here, and in total.
    fn settle(mut self, now_s: f64, charge: f64, whole: f64) {
        self.is_over = true;
        self.budget.settle(self.kind, self.paid, (charge, whole), now_s);
    }

    /// Refunds the payment, because nothing was done.
    fn give_back(mut self) {
        self.is_over = true;
        if let Some(paid) = self.paid {
            self.budget.give_back(self.kind, paid);
        }
    }
}

impl Drop for Ticket {
    fn drop(&mut self) {
        if !self.is_over && self.paid.is_some() {
            self.budget.leave(self.kind);
        }
    }
}

/// A request's admission, at one partition at a time.
pub struct Admission<'a> {
    asked: Asked<'a>,
    ticket: Option<Ticket>,
}

impl<'a> Admission<'a> {
    /// Creates the admission of a request that has not been admitted anywhere yet.
    pub fn new(asked: Asked<'a>) -> Self {
        Self { asked, ticket: None }
    }

    /// Admits the request at a partition, or refuses it. A request that restarts pays only once.
    pub fn enter(&mut self, now_s: f64, budget: &Arc<Budget>) -> Result<(), Error> {
        match &self.ticket {
            Some(ticket) if Arc::ptr_eq(&ticket.budget, budget) => return Ok(()),
            _ => self.leave(),
        }
        let admitted = self.asked.caller(|caller| budget.admit(caller, now_s));
        let paid = admitted.map_err(too_many)?;
        self.ticket = Some(Ticket::new(budget, self.asked.kind, Some(paid)));
        Ok(())
    }

    /// Settles the cost of the work at the partition.
    pub fn settle(&mut self, now_s: f64, charge: f64) {
        if let Some(ticket) = self.ticket.take() {
            ticket.settle(now_s, charge, charge);
        }
    }

    /// Refunds the payment, because nothing was done.
    fn leave(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.give_back();
        }
    }
}

/// Admits a request at the partitions of all these budgets, or at none. A refused caller gets a
/// turn at each of them, at the time when the last one is ready.
pub fn admit_all<'a>(
    now_s: f64,
    asked: &Asked<'_>,
    budgets: impl Iterator<Item = &'a Arc<Budget>>,
) -> Result<Tickets, Error> {
    let mut tickets = Vec::new();
    // A shared bucket is asked only once.
    let mut shared: Vec<Arc<Shared>> = Vec::new();
    let mut asked_at = Vec::new();
    let mut longest: Option<f64> = None;
    asked.caller(|caller| {
        for budget in budgets {
            if let Some(of) = budget.shared() {
                if shared.iter().any(|it| Arc::ptr_eq(it, &of)) {
                    tickets.push(Ticket::new(budget, asked.kind, None));
                    continue;
                }
                shared.push(of);
            }
            asked_at.push(budget);
            match budget.admit(caller, now_s) {
                Ok(paid) => tickets.push(Ticket::new(budget, asked.kind, Some(paid))),
                Err(WaitSeconds(wait_s)) => {
                    longest = Some(longest.map_or(wait_s, |longest| longest.max(wait_s)));
                }
            }
        }
        let Some(wait_s) = longest else { return Ok(Tickets(tickets)) };
        tickets.into_iter().for_each(Ticket::give_back);
        for budget in asked_at {
            budget.reserve(caller, now_s + wait_s, now_s);
        }
        Err(too_many(WaitSeconds(wait_s)))
    })
}

/// A request admitted at several partitions.
#[must_use]
pub struct Tickets(Vec<Ticket>);

impl Tickets {
    /// Settles the request. Each partition pays its part of the charge: a little for being asked,
    /// and the rest in proportion to the work done there.
    pub fn settle(self, now_s: f64, charge: f64, work: &[u64]) {
        let part = |at: usize| ASKING_WORK + work.get(at).map_or(0.0, |work| *work as f64);
        let all: f64 = (0..self.0.len()).map(part).sum();
        for (at, ticket) in self.0.into_iter().enumerate() {
            ticket.settle(now_s, charge * part(at) / all, charge);
        }
    }

    /// Settles the request at the partitions that were read; the others pay nothing.
    pub fn settle_read(self, now_s: f64, charge: f64, work: &[Option<u64>]) {
        if work.iter().all(Option::is_none) {
            return self.settle(now_s, charge, &[]);
        }
        let (mut read, mut read_work) = (Vec::new(), Vec::new());
        for (at, ticket) in self.0.into_iter().enumerate() {
            match work.get(at) {
                Some(Some(work)) => {
                    read.push(ticket);
                    read_work.push(*work);
                }
                _ => ticket.give_back(),
            }
        }
        Self(read).settle(now_s, charge, &read_work);
    }

    /// Refunds the payments, because nothing was done.
    pub fn give_back(self) {
        self.0.into_iter().for_each(Ticket::give_back);
    }
}

/// The refusal error, with the wait rounded up to whole milliseconds.
fn too_many(WaitSeconds(wait_s): WaitSeconds) -> Error {
    let mut error = Error::new(Code::TooManyRequests, TOO_MANY);
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_sign_loss,
        reason = "a debt is of some seconds"
    )]
    let wait_ms = (wait_s * 1000.0).ceil().max(1.0) as u64;
    error.meta.retry_after_ms = Some(wait_ms);
    error
}
