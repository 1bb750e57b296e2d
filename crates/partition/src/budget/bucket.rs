//! A token bucket whose requests pay afterwards, and whose refusals are appointments.
//!
//! The cost of a request is known only when it is done. So an admitted request pays the usual cost
//! of its kind in advance, and the difference is settled later. The balance may fall below zero;
//! then nobody else is admitted until time has paid off the debt.
//!
//! A refused request gets a *turn*: the time at which the debt and all earlier turns will be paid
//! for. If the same request comes back then, it is admitted before newcomers, who get only what is
//! not promised to anyone. So a caller that waits as told succeeds, callers arrive one after the
//! other instead of all at once, and nobody starves. Callers that never come back cost nothing in
//! the long run: turns expire, and where they tend to expire, less is set aside for each.
//!
//! A caller may come back with a different request than the refused one: see [`strangers`]. It
//! takes the first due turn of its kind. Each caller that waited as told has a turn, so all of them
//! are admitted, no matter who takes whose; an owner whose turn is gone is admitted as well. Only
//! newcomers could get in between, and turns are made due together so that few of them do.
//!
//! The cost of a kind of request is learnt from the first ones that finish. Until then only a few
//! may run at a time, and others are told to come back a moment later. Everything admitted after
//! that has been paid for, so a burst is worth a second or two, whatever it is made of.
//!
//! The caller passes in the time, in seconds since an arbitrary start, so that tests are exact.

mod strangers;
mod turns;

use crate::budget::bucket::{
    strangers::Strangers,
    turns::{Aside, Turn, Turns},
};

/// Kinds of requests. Each has its own usual cost.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Point reads of documents, attachments and media.
    Read,
    /// Creations and upserts.
    Create,
    /// Replacements, including those of attachments and media.
    Replace,
    /// Deletions of one document or attachment.
    Delete,
    /// Pages of the list of documents and of the change feed.
    Feed,
    /// Pages of queries.
    Query,
    /// Batches, which do several operations at once.
    Batch,
    /// Runs of stored procedures.
    Script,
}

const KINDS: usize = 8;

/// How long a turn is kept for a late caller.
const TURN_PATIENCE_S: f64 = 0.5;

/// The most turns for one request from callers that cannot be told apart.
const ALIKE_MAX: usize = 16;

/// The assumed cost of a kind of request before one has finished.
const USUAL_FIRST: f64 = 1.0;

/// How many requests of a kind may run before its cost is known.
const UNKNOWN_MAX: usize = 4;

/// How long to wait until the cost of a kind is known: at first, and at most.
const UNKNOWN_WAIT_S: f64 = 0.01;
const UNKNOWN_WAIT_MAX_S: f64 = 1.0;

/// The usual cost is the average over up to `SEEN_MAX` requests, or over `RECENT` if costs have
/// changed by the factor `CHANGE`.
const SEEN_MAX: u32 = 256;
const RECENT: u32 = 8;
const CHANGE: f64 = 0.4;

/// A turn sets aside more than the average cost, by this factor divided by the square root of the
/// number of requests averaged: arriving a little after the turn is due is fine, arriving too early
/// is not.
const MARGIN: f64 = 1.5;

/// How much callers with a turn may overdraw, how much strangers may, and how much newcomers must
/// leave while others wait, in seconds' worth. Within these, costs that differ from the usual do
/// not matter.
const OVERDRAFT_S: f64 = 0.5;
const STRANGERS_OVERDRAFT_S: f64 = 0.3;
const LEFT_S: f64 = 0.05;

/// Strangers are trusted if at most this many turns are waiting, or if a turn's owner is this late.
const FEW: usize = 4;
const LATE_S: f64 = 0.05;

/// When some callers come back as strangers, turns are made due together, once per interval.
/// Callers that waited come then; newcomers come at any time and find few turns to take.
const TOGETHER_S: f64 = 0.04;

/// The minimum wait, because waits are sent in milliseconds.
const WAIT_MIN_S: f64 = 0.001;

/// When more than these seconds of turns are promised, turns used by strangers do not count as
/// taken: not that many callers wait that long.
const STRANGERS_QUEUE_S: f64 = 20.0;

/// The weight of the newest turn in the average of turns taken.
const TAKEN_WEIGHT: f64 = 1.0 / 16.0;

/// Caps how much one expensive request raises the usual cost that later ones pay in advance.
const USUAL_GROWTH_MAX: f64 = 4.0;

/// The minimum set aside per turn, so that callers who do come back find it.
const TAKEN_MIN: f64 = 0.05;

/// A turn may be taken twice: by a stranger and then by its owner.
const TAKEN_MAX: f64 = 2.0;

/// The throughput of one partition, or of a database that shares it.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Request units per second; also the most that can be saved.
    rate: f64,
    /// Request units available; negative means debt.
    balance: f64,
    /// The time up to which the balance has been refilled.
    filled_s: f64,
    kinds: [Experience; KINDS],
    turns: Turns,
    /// How often a turn is taken on average; below one if some expire.
    taken: f64,
    /// The last time given to a turn that turned out to be too early.
    postponed_s: f64,
    /// The last time given to a caller when no turn was left.
    overflow_s: f64,
}

/// What has been learnt about a kind of request.
#[derive(Clone, Copy, Debug, Default)]
struct Experience {
    /// The average cost of recent requests; `None` before the first.
    usual: Option<f64>,
    /// The average cost of the last few, which shows when costs change.
    recent: f64,
    /// How many requests `usual` averages over.
    seen: u32,
    at_work: usize,
    /// Since when requests of this kind have been running.
    busy_since_s: f64,
    strangers: Strangers,
}

/// A caller that asks to be admitted.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub kind: Kind,
    /// The connection, if it carries only one caller's requests.
    pub connection: Option<u64>,
    /// Identifies the request. Computed only when some callers must wait.
    pub fingerprint: &'a dyn Fn() -> u64,
}

/// A refusal: how long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WaitSeconds(pub f64);

impl Experience {
    /// Many turns rely on the usual cost and would all be wrong together. So it averages over many
    /// requests, unless the last few show that costs have changed.
    fn learn(&mut self, cost: f64) {
        let before = self.usual.unwrap_or(cost);
        let counted = cost.min(USUAL_GROWTH_MAX * before);
        if self.seen == 0 {
            self.recent = counted;
        }
        self.recent += (counted - self.recent) / f64::from(RECENT);
        self.seen = (self.seen + 1).min(SEEN_MAX);
        if (self.recent - before).abs() > CHANGE * before {
            self.seen = self.seen.min(RECENT);
        }
        self.usual = Some(before + (counted - before) / f64::from(self.seen));
    }

    /// An average cost that is unlikely to be exceeded.
    fn ample(&self) -> f64 {
        let margin = MARGIN / f64::from(self.seen.max(1)).sqrt();
        self.usual.unwrap_or(USUAL_FIRST) * (1.0 + margin)
    }
}

impl Bucket {
    /// Creates a bucket holding one second's worth.
    pub(super) fn new(rate: f64, now_s: f64) -> Self {
        Self {
            rate,
            balance: rate,
            filled_s: now_s,
            kinds: [Experience::default(); KINDS],
            turns: Turns::default(),
            taken: 1.0,
            postponed_s: 0.0,
            overflow_s: 0.0,
        }
    }

    /// Creates a bucket that replaces others: it gets its part of their balances or debts, and
    /// their experience.
    pub(super) fn heir(rate: f64, part: f64, parents: &mut [&mut Bucket], now_s: f64) -> Self {
        let mut heir = Self::new(rate, now_s);
        let mut balance = 0.0;
        for parent in parents.iter_mut() {
            parent.fill(now_s);
            balance += parent.balance * part;
            for (own, of_parent) in heir.kinds.iter_mut().zip(&parent.kinds) {
                // Take the higher cost: overpayment in advance is returned.
                if of_parent.usual > own.usual {
                    let Experience { usual, recent, seen, .. } = *of_parent;
                    *own = Experience { usual, recent, seen, ..*own };
                }
            }
            heir.taken = heir.taken.min(parent.taken);
        }
        if !parents.is_empty() {
            heir.balance = balance.min(rate);
        }
        heir
    }

    /// Changes the rate from now on. Debts and turns stay.
    pub(super) fn set_rate(&mut self, rate: f64, now_s: f64) {
        self.fill(now_s);
        self.rate = rate;
        self.balance = self.balance.min(rate);
    }

    /// Admits a request and returns what it paid in advance, or how long to wait.
    pub(super) fn admit(&mut self, caller: &Caller<'_>, now_s: f64) -> Result<f64, WaitSeconds> {
        self.fill(now_s);
        let is_unknown = self.is_held_up(caller.kind);
        if self.turns.is_empty() && self.balance > 0.0 && !is_unknown {
            return Ok(self.pay(caller.kind, now_s));
        }
        self.expire(now_s);
        let fingerprint = (caller.fingerprint)();
        let found = self.turns.find(fingerprint, caller.connection);
        if let Some(own) = found.claim() {
            let due_s = if is_unknown {
                now_s + self.unknown_wait_s(caller.kind, now_s)
            } else if self.balance > -OVERDRAFT_S * self.rate {
                self.claim(own, caller.kind);
                return Ok(self.pay(caller.kind, now_s));
            } else {
                // Earlier requests cost far more than usual: this one is first in line once they
                // are paid for, after others in the same situation.
                let step_s = self.taken * self.usual(caller.kind) / self.rate;
                self.postponed_s =
                    (now_s - self.balance / self.rate).max(self.postponed_s + step_s);
                self.postponed_s
            };
            self.turns.postpone(own, due_s);
            return Err(WaitSeconds(due_s - now_s));
        }
        if is_unknown {
            // Give no turn: the cost to set aside is unknown too.
            return Err(WaitSeconds(self.unknown_wait_s(caller.kind, now_s)));
        }
        if found.own_early.is_none() && self.use_as_stranger(caller.kind, now_s) {
            return Ok(self.pay(caller.kind, now_s));
        }
        let left = if self.turns.is_empty() { 0.0 } else { LEFT_S * self.rate };
        if self.balance - self.taken * self.turns.due() > left {
            if let Some(own) = found.own_early {
                self.turns.remove(own);
            }
            return Ok(self.pay(caller.kind, now_s));
        }
        if let Some(own) = found.own_early {
            let alike_max = if caller.connection.is_some() { 1 } else { ALIKE_MAX };
            if found.own_early_count >= alike_max {
                return Err(WaitSeconds(own.due_s() - now_s));
            }
        }
        self.kinds[caller.kind as usize].strangers.refused();
        let due_s = self.next_due_s(caller.kind, now_s);
        let due_s = self.promise(fingerprint, caller, due_s, now_s);
        Err(WaitSeconds(due_s - now_s))
    }

    /// A caller takes its own turn, which a stranger may already have used.
    fn claim(&mut self, own: Turn, kind: Kind) {
        let is_used = self.turns.remove(own).is_some_and(|aside| aside.is_used);
        self.kinds[kind as usize].strangers.claimed();
        if is_used {
            self.taken = (self.taken + TAKEN_WEIGHT).min(TAKEN_MAX);
        } else {
            self.learn_taken(1.0);
        }
    }

    /// Gives the first due turn to a caller without one, if it may be a refused caller that now
    /// sends another request.
    fn use_as_stranger(&mut self, kind: Kind, now_s: f64) -> bool {
        let Some(turn) = self.turns.first_unused(kind) else { return false };
        let is_late = now_s - turn.due_s() > LATE_S;
        let strangers = &mut self.kinds[kind as usize].strangers;
        let is_believed = is_late || self.turns.len() <= FEW || strangers.are_there();
        let has_room = self.balance > -STRANGERS_OVERDRAFT_S * self.rate;
        if !is_believed || !has_room || strangers.crowd_out_others() {
            return false;
        }
        if is_late {
            strangers.missed();
        }
        let is_queue_long = self.taken * self.turns.all() > STRANGERS_QUEUE_S * self.rate;
        self.learn_taken(if is_queue_long { 0.0 } else { 1.0 });
        self.turns.use_up(turn);
        true
    }

    /// When the debt and all turns will be paid for.
    fn next_due_s(&self, kind: Kind, now_s: f64) -> f64 {
        let wait_s = (self.taken * self.turns.all() - self.balance) / self.rate;
        let due_s = now_s + wait_s.max(WAIT_MIN_S);
        let is_dense = self.taken * self.usual(kind) < TOGETHER_S * self.rate;
        if is_dense && !self.turns.is_empty() && self.kinds[kind as usize].strangers.are_there() {
            return (due_s / TOGETHER_S).ceil() * TOGETHER_S;
        }
        due_s
    }

    /// Makes sure that a caller refused elsewhere finds a turn here at that time.
    pub(super) fn reserve(&mut self, caller: &Caller<'_>, due_s: f64, now_s: f64) {
        let fingerprint = (caller.fingerprint)();
        let found = self.turns.find(fingerprint, caller.connection);
        match found.own_early.or(found.own_due) {
            Some(own) => self.turns.postpone(own, due_s),
            None => {
                self.promise(fingerprint, caller, due_s, now_s);
            }
        }
    }

    /// An admitted request is done: replaces its advance payment by the real charge. `whole` is its
    /// cost in all the partitions that this bucket pays for.
    pub(super) fn settle(&mut self, kind: Kind, paid: f64, charge: f64, whole: f64) {
        self.balance += paid - charge;
        self.leave(kind);
        // A request refused before doing anything says nothing about its kind.
        if whole > 0.0 {
            self.kinds[kind as usize].learn(whole);
        }
    }

    /// Charges something admitted elsewhere.
    pub(super) fn take(&mut self, charge: f64) {
        self.balance -= charge;
    }

    /// Undoes an admission.
    pub(super) fn give_back(&mut self, kind: Kind, paid: f64) {
        self.balance += paid;
        self.leave(kind);
    }

    /// An admitted request is no longer running. It cost what it paid.
    pub(super) fn leave(&mut self, kind: Kind) {
        let at_work = &mut self.kinds[kind as usize].at_work;
        *at_work = at_work.saturating_sub(1);
    }

    fn pay(&mut self, kind: Kind, now_s: f64) -> f64 {
        let usual = self.usual(kind);
        self.balance -= usual;
        let experience = &mut self.kinds[kind as usize];
        experience.strangers.let_in();
        if experience.at_work == 0 {
            experience.busy_since_s = now_s;
        }
        experience.at_work += 1;
        usual
    }

    fn usual(&self, kind: Kind) -> f64 {
        self.kinds[kind as usize].usual.unwrap_or(USUAL_FIRST)
    }

    /// Whether this kind's cost is unknown and enough requests of it are running.
    fn is_held_up(&self, kind: Kind) -> bool {
        let Experience { usual, at_work, .. } = self.kinds[kind as usize];
        usual.is_none() && at_work >= UNKNOWN_MAX
    }

    /// What has run this long is assumed to run as long again.
    fn unknown_wait_s(&self, kind: Kind, now_s: f64) -> f64 {
        let busy_s = now_s - self.kinds[kind as usize].busy_since_s;
        busy_s.clamp(UNKNOWN_WAIT_S, UNKNOWN_WAIT_MAX_S)
    }

    /// Refills the balance for the time passed, up to one second's worth.
    fn fill(&mut self, now_s: f64) {
        let passed_s = (now_s - self.filled_s).max(0.0);
        self.filled_s = self.filled_s.max(now_s);
        self.balance = (self.balance + passed_s * self.rate).min(self.rate);
    }

    fn expire(&mut self, now_s: f64) {
        self.turns.pass(now_s);
        while let Some(aside) = self.turns.expire(TURN_PATIENCE_S) {
            self.kinds[aside.kind as usize].strangers.missed();
            if !aside.is_used {
                self.learn_taken(0.0);
            }
        }
    }

    /// Records that a turn was taken, or expired.
    fn learn_taken(&mut self, times: f64) {
        self.taken = (self.taken + (times - self.taken) * TAKEN_WEIGHT).max(TAKEN_MIN);
    }

    /// Books a turn at this time, if one is left; returns when to come back. When none is left,
    /// callers come back one after the other after the last turn, when there is room.
    fn promise(&mut self, fingerprint: u64, caller: &Caller<'_>, due_s: f64, now_s: f64) -> f64 {
        if !self.turns.is_full() {
            let cost = self.kinds[caller.kind as usize].ample();
            let aside = Aside { kind: caller.kind, cost, is_used: false };
            self.turns.insert(fingerprint, caller.connection, due_s, aside);
            return due_s;
        }
        let last_s = self.turns.last_due_s().unwrap_or(due_s).max(now_s);
        let step_s = self.taken * self.usual(caller.kind) / self.rate;
        self.overflow_s = self.overflow_s.max(last_s) + step_s;
        // Limits the wait to little more than all the turns take, however many callers come.
        if self.overflow_s - last_s > (last_s - now_s).max(1.0) {
            self.overflow_s = last_s + step_s;
        }
        self.overflow_s
    }
}

#[cfg(test)]
mod tests;
