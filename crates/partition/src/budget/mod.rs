//! Reserved throughput: who may come in, who must wait, and what was spent.
//!
//! A request is admitted at the partition it goes to before any work, and settled with its real
//! charge afterwards: see `bucket`. A partition spends its own share of its collection's
//! throughput, or, with all other partitions of the database, what the database shares; the engine
//! says which, whenever the catalog changes. Times are seconds since some beginning, and never fall.
//! What was spent is counted in any case: see `usage`.

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

/// Bytes of a body that tell a request from others.
const FINGERPRINT_BYTES: usize = 4096;

/// What asking a partition weighs, where reading a document weighs a thousand.
const ASKING_WORK: f64 = 1000.0;

/// The service's words.
const TOO_MANY: &str = "Request rate is large. More Request Units may be needed, so no changes \
     were made. Please retry this request later. Learn more: http://aka.ms/cosmosdb-error-429";

/// A partition's part in the throughput.
#[derive(Debug, Default)]
pub struct Budget(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    source: Source,
    /// Request units per second, enforced or not.
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

/// What the collections of a database share.
#[derive(Debug, Default)]
pub struct Shared(Mutex<SharedState>);

#[derive(Debug, Default)]
struct SharedState {
    /// `None` if nothing is enforced.
    bucket: Option<Bucket>,
    usage: Usage,
}

/// Figures of a partition's throughput.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spent {
    /// Request units of the last whole second.
    pub last_second: f64,
    /// Request units per second that are reserved.
    pub reserved: f64,
    /// Requests that were let in and settled since the partition was opened.
    pub admitted: u64,
    /// Requests that were refused since the partition was opened, for their throughput or because
    /// the partition was behind with its work.
    pub throttled: u64,
}

impl Budget {
    /// What the partition has spent up to now, for statistics.
    pub fn spent(&self, now_s: f64) -> Spent {
        let state = lock(&self.0);
        Spent {
            last_second: state.usage.last_second(now_s),
            reserved: state.reserved,
            admitted: state.admitted,
            throttled: state.throttled,
        }
    }

    /// Request units per second, if that is all there are.
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

    /// Notes what a request cost here, of all that it cost.
    fn settle(&self, kind: Kind, paid: Option<f64>, (charge, whole): (f64, f64), now_s: f64) {
        let mut state = lock(&self.0);
        state.admitted += 1;
        state.usage.add(charge, now_s);
        // What is shared learns what the whole request cost: that is what it is asked for.
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

    /// Counts a request that was sent away for another reason than its throughput.
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
    /// Does something with the bucket, if there is one.
    fn with<T>(&mut self, work: impl FnOnce(&mut Bucket) -> T) -> Option<T> {
        match self {
            Self::Unlimited => None,
            Self::Own(bucket) => Some(work(bucket)),
            Self::Shared(shared) => lock(&shared.0).bucket.as_mut().map(work),
        }
    }
}

/// A poisoned budget is still a budget: every change of one is complete before the next.
pub fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A request that wants request units.
pub struct Asked<'a> {
    kind: Kind,
    collection: &'a CollectionPath,
    /// The document's name, the body: what tells it from others of its kind.
    content: [&'a [u8]; 2],
    options: &'a Options,
    connection: Option<u64>,
}

impl<'a> Asked<'a> {
    /// A request of this kind. The collection, the contents and the options tell it from other
    /// requests, the meter knows its connection.
    pub fn new(
        kind: Kind,
        collection: &'a CollectionPath,
        content: [&'a [u8]; 2],
        options: &'a Options,
        meter: &Meter,
    ) -> Self {
        Self { kind, collection, content, options, connection: meter.connection }
    }

    /// A hash of the request: a repetition has an equal one, another request hardly ever does.
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

/// A request that was let in, and what it paid in advance. Unless it is settled, it cost that: a
/// caller who goes away has usually made the work.
#[must_use]
pub struct Ticket {
    budget: Arc<Budget>,
    kind: Kind,
    /// `None` if another ticket of the request has paid for what they share.
    paid: Option<f64>,
    is_over: bool,
}

impl Ticket {
    fn new(budget: &Arc<Budget>, kind: Kind, paid: Option<f64>) -> Self {
        Self { budget: Arc::clone(budget), kind, paid, is_over: false }
    }

    /// The work is done, and cost this here, of what it cost everywhere.
    fn settle(mut self, now_s: f64, charge: f64, whole: f64) {
        self.is_over = true;
        self.budget.settle(self.kind, self.paid, (charge, whole), now_s);
    }

    /// Nothing was done.
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

/// A request's way in, at one partition at a time.
pub struct Admission<'a> {
    asked: Asked<'a>,
    ticket: Option<Ticket>,
}

impl<'a> Admission<'a> {
    /// A request that has not come in anywhere yet.
    pub fn new(asked: Asked<'a>) -> Self {
        Self { asked, ticket: None }
    }

    /// Comes in at a partition, or is refused. A request that has to begin anew pays once.
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

    /// The work at the partition is done, and cost this.
    pub fn settle(&mut self, now_s: f64, charge: f64) {
        if let Some(ticket) = self.ticket.take() {
            ticket.settle(now_s, charge, charge);
        }
    }

    /// Nothing was done.
    fn leave(&mut self) {
        if let Some(ticket) = self.ticket.take() {
            ticket.give_back();
        }
    }
}

/// Comes in at the partitions of all these budgets, or at none. A caller that is refused finds a turn
/// at each when the last of them has one.
pub fn admit_all<'a>(
    now_s: f64,
    asked: &Asked<'_>,
    budgets: impl Iterator<Item = &'a Arc<Budget>>,
) -> Result<Tickets, Error> {
    let mut tickets = Vec::new();
    // What is shared is asked once, whoever shares it.
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

/// A request that was let in at several partitions.
#[must_use]
pub struct Tickets(Vec<Ticket>);

impl Tickets {
    /// The work is done. Each partition pays its part of the charge: a little for having been
    /// asked, and the rest by what was read there.
    pub fn settle(self, now_s: f64, charge: f64, work: &[u64]) {
        let part = |at: usize| ASKING_WORK + work.get(at).map_or(0.0, |work| *work as f64);
        let all: f64 = (0..self.0.len()).map(part).sum();
        for (at, ticket) in self.0.into_iter().enumerate() {
            ticket.settle(now_s, charge * part(at) / all, charge);
        }
    }

    /// The work is done, at those partitions that were read; the others pay nothing.
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

    /// Nothing was done.
    pub fn give_back(self) {
        self.0.into_iter().for_each(Ticket::give_back);
    }
}

/// The refusal, with the time to wait rounded up to whole milliseconds.
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
