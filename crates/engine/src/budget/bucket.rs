//! A token bucket whose requests pay afterwards, and whose refusals are appointments.
//!
//! What a request costs is known only when it is done. So one that is let in pays what its kind
//! usually costs, and the difference is settled later; the balance may fall below zero, and then
//! time pays the debt before anyone else comes in.
//!
//! A request that is refused gets a *turn*: the moment at which the debt and all turns promised
//! before it will be paid for. When the same request comes back at that moment it is let in, ahead
//! of newcomers, who get only what nobody was promised. So a caller who waits as told succeeds,
//! callers come one after the other rather than all at once, and nobody starves. Callers who never
//! come back cost nothing in the end: a turn expires, and where turns tend to expire, less is set
//! aside for each.
//!
//! Time is passed in, in seconds from any beginning, so that tests are exact.

/// Kinds of requests, for what each usually costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Read,
    Create,
    Replace,
    Delete,
    Feed,
    Query,
    Batch,
}

const KINDS: usize = 7;

/// Turns that are remembered. Beyond them callers are told how long to wait, without a promise.
const TURNS_MAX: usize = 1024;

/// How long a turn is kept for a caller who is late.
const TURN_PATIENCE_S: f64 = 0.5;

/// Turns for the same request from callers who cannot be told apart.
const ALIKE_MAX: usize = 16;

/// What a kind of request is taken to cost before one has been seen.
const USUAL_FIRST: f64 = 1.0;

/// How much the newest request says about what is usual, and the newest turn about how many are
/// taken.
const USUAL_WEIGHT: f64 = 1.0 / 8.0;
const TAKEN_WEIGHT: f64 = 1.0 / 16.0;

/// One request that costs far more than others does not make all that follow pay for it in advance.
const USUAL_GROWTH_MAX: f64 = 4.0;

/// Never so little is set aside that those who do come back would not find it.
const TAKEN_MIN: f64 = 0.05;

/// The throughput of one partition, or of a database that shares it.
#[derive(Debug)]
pub(crate) struct Bucket {
    /// Request units per second; also the most that can be saved up.
    rate: f64,
    /// What can be spent; a debt when below zero.
    balance: f64,
    /// Up to when time has been paid in.
    filled_s: f64,
    usual: [Option<f64>; KINDS],
    turns: Vec<Turn>,
    /// The share of turns that are taken rather than left to expire.
    taken: f64,
}

/// An appointment.
#[derive(Clone, Copy, Debug)]
struct Turn {
    fingerprint: u64,
    connection: Option<u64>,
    due_s: f64,
    /// What is set aside for it.
    cost: f64,
}

/// Who wants to come in.
#[derive(Clone, Copy)]
pub(crate) struct Caller<'a> {
    pub(crate) kind: Kind,
    /// The connection, if one caller has it to itself.
    pub(crate) connection: Option<u64>,
    /// What tells the request from others. Asked for only when some must wait.
    pub(crate) fingerprint: &'a dyn Fn() -> u64,
}

/// Refused: how long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct WaitSeconds(pub(crate) f64);

/// What the turns come to, from the point of view of one caller.
#[derive(Default)]
struct Overview {
    /// Set aside for turns that are due now, and for all.
    due: f64,
    all: f64,
    /// The first of the caller's turns that are due.
    own_due: Option<usize>,
    /// The first of those that are still to come, and how many there are.
    own_early: Option<usize>,
    own_early_count: usize,
    /// The turn for the same request by another connection, if there is only one. A caller may
    /// come back by another connection than the one it was refused on; but of several callers who
    /// ask for the same, none must take another's turn.
    other: Option<usize>,
    other_count: usize,
}

impl Overview {
    fn claim(&self) -> Option<usize> {
        let is_only = self.own_early.is_none() && self.other_count == 1;
        self.own_due.or(if is_only { self.other } else { None })
    }
}

impl Bucket {
    /// A bucket with one second's worth in it.
    pub(crate) fn new(rate: f64, now_s: f64) -> Self {
        Self {
            rate,
            balance: rate,
            filled_s: now_s,
            usual: [None; KINDS],
            turns: Vec::new(),
            taken: 1.0,
        }
    }

    /// Changes the rate from now on. Debts and promises stay.
    pub(crate) fn set_rate(&mut self, rate: f64, now_s: f64) {
        self.fill(now_s);
        self.rate = rate;
        self.balance = self.balance.min(rate);
    }

    /// Lets a request in and returns what it paid in advance, or says how long to wait.
    pub(crate) fn admit(&mut self, caller: &Caller<'_>, now_s: f64) -> Result<f64, WaitSeconds> {
        self.fill(now_s);
        if self.turns.is_empty() && self.balance > 0.0 {
            return Ok(self.pay(caller.kind));
        }
        self.expire(now_s);
        let fingerprint = (caller.fingerprint)();
        let overview = self.overview(fingerprint, caller.connection, now_s);
        if let Some(own) = overview.claim() {
            if self.balance > -self.rate {
                self.turns.swap_remove(own);
                self.taken += (1.0 - self.taken) * TAKEN_WEIGHT;
                return Ok(self.pay(caller.kind));
            }
            // What came before cost far more than it usually does: first in line once that is paid.
            let wait_s = -self.balance / self.rate;
            self.turns[own].due_s = now_s + wait_s;
            return Err(WaitSeconds(wait_s));
        }
        if self.balance - self.taken * overview.due > 0.0 {
            if let Some(own) = overview.own_early {
                self.turns.swap_remove(own);
            }
            return Ok(self.pay(caller.kind));
        }
        if let Some(own) = overview.own_early {
            let alike_max = if caller.connection.is_some() { 1 } else { ALIKE_MAX };
            if overview.own_early_count >= alike_max {
                return Err(WaitSeconds(self.turns[own].due_s - now_s));
            }
        }
        let wait_s = (self.taken * overview.all - self.balance).max(0.0) / self.rate;
        self.promise(fingerprint, caller, now_s + wait_s);
        Err(WaitSeconds(wait_s))
    }

    /// Sees to it that a caller who was refused elsewhere finds a turn here at that time.
    pub(crate) fn reserve(&mut self, caller: &Caller<'_>, due_s: f64, now_s: f64) {
        let fingerprint = (caller.fingerprint)();
        let overview = self.overview(fingerprint, caller.connection, now_s);
        match overview.own_early.or(overview.own_due) {
            Some(own) => self.turns[own].due_s = due_s,
            None => self.promise(fingerprint, caller, due_s),
        }
    }

    /// Puts the real charge in the place of what was paid in advance.
    pub(crate) fn settle(&mut self, kind: Kind, paid: f64, charge: f64) {
        self.balance += paid - charge;
        // A request that was refused before it did anything says nothing about its kind.
        if charge > 0.0 {
            let usual = &mut self.usual[kind as usize];
            let before = usual.unwrap_or(charge);
            let counted = charge.min(USUAL_GROWTH_MAX * before);
            *usual = Some(before + (counted - before) * USUAL_WEIGHT);
        }
    }

    /// Undoes an admission.
    pub(crate) fn give_back(&mut self, paid: f64) {
        self.balance += paid;
    }

    fn pay(&mut self, kind: Kind) -> f64 {
        let usual = self.usual(kind);
        self.balance -= usual;
        usual
    }

    fn usual(&self, kind: Kind) -> f64 {
        self.usual[kind as usize].unwrap_or(USUAL_FIRST)
    }

    /// Pays in the time that has passed; what is above one second's worth is lost.
    fn fill(&mut self, now_s: f64) {
        let passed_s = (now_s - self.filled_s).max(0.0);
        self.filled_s = self.filled_s.max(now_s);
        self.balance = (self.balance + passed_s * self.rate).min(self.rate);
    }

    fn expire(&mut self, now_s: f64) {
        let taken = &mut self.taken;
        self.turns.retain(|turn| {
            let is_kept = now_s <= turn.due_s + TURN_PATIENCE_S;
            if !is_kept {
                *taken = (*taken - *taken * TAKEN_WEIGHT).max(TAKEN_MIN);
            }
            is_kept
        });
    }

    fn overview(&self, fingerprint: u64, connection: Option<u64>, now_s: f64) -> Overview {
        let mut overview = Overview::default();
        for (at, turn) in self.turns.iter().enumerate() {
            let is_due = turn.due_s <= now_s;
            overview.all += turn.cost;
            overview.due += if is_due { turn.cost } else { 0.0 };
            if turn.fingerprint != fingerprint {
                continue;
            }
            let own = match (turn.connection == connection, is_due) {
                (true, true) => &mut overview.own_due,
                (true, false) => {
                    overview.own_early_count += 1;
                    &mut overview.own_early
                }
                (false, _) => {
                    overview.other_count += 1;
                    overview.other = is_due.then_some(at);
                    continue;
                }
            };
            if own.is_none_or(|best| turn.due_s < self.turns[best].due_s) {
                *own = Some(at);
            }
        }
        overview
    }

    fn promise(&mut self, fingerprint: u64, caller: &Caller<'_>, due_s: f64) {
        if self.turns.len() < TURNS_MAX {
            let (connection, cost) = (caller.connection, self.usual(caller.kind));
            self.turns.push(Turn { fingerprint, connection, due_s, cost });
        }
    }
}

#[cfg(test)]
mod tests;
