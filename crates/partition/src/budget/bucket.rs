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
//! A caller may come back with another request than the one that was refused: see [`strangers`].
//! It takes the first turn of its kind that is due. There is one for each caller who waited as told,
//! so that all of them are let in, whoever takes whose; and if an owner comes to a turn that is gone,
//! it is let in nevertheless. Only newcomers could come in between, and turns are due together so
//! that few of them do.
//!
//! What a kind of request costs is learnt from the first that are done. Until then only a few of it
//! are at work at a time: the others come back a moment later, when it is known. What is at work
//! afterwards has been paid for, so that a burst is worth a second or two, whatever it is made of.
//!
//! Time is passed in, in seconds from any beginning, so that tests are exact.

mod strangers;
mod turns;

use crate::budget::bucket::{
    strangers::Strangers,
    turns::{Aside, Turn, Turns},
};

/// Kinds of requests, for what each usually costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Kind {
    /// Point reads of documents, attachments and media.
    Read,
    /// Creations and upserts.
    Create,
    /// Replacements, of attachments and media too.
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

/// How long a turn is kept for a caller who is late.
const TURN_PATIENCE_S: f64 = 0.5;

/// Turns for the same request from callers who cannot be told apart.
const ALIKE_MAX: usize = 16;

/// What a kind of request is taken to cost before one has been seen.
const USUAL_FIRST: f64 = 1.0;

/// Requests of a kind that may be at work before it is known what one costs.
const UNKNOWN_MAX: usize = 4;

/// When to come back for a request whose cost will be known by then: at first, and at the latest.
const UNKNOWN_WAIT_S: f64 = 0.01;
const UNKNOWN_WAIT_MAX_S: f64 = 1.0;

/// What is usual is the average of so many requests, or of so few if their costs have changed by
/// this part.
const SEEN_MAX: u32 = 256;
const RECENT: u32 = 8;
const CHANGE: f64 = 0.4;

/// What is set aside for a turn lies above the average by this part, divided by the root of how many
/// that is of: a turn that comes a little late is kept, one that comes too early is not.
const MARGIN: f64 = 1.5;

/// Seconds' worth that whoever has a turn may overdraw, and that others must leave while some wait.
/// In between, costs that differ from the usual do not matter.
const OVERDRAFT_S: f64 = 0.5;
const STRANGERS_OVERDRAFT_S: f64 = 0.3;
const LEFT_S: f64 = 0.05;

/// Strangers are believed where so few wait, and where a turn's owner is so late.
const FEW: usize = 4;
const LATE_S: f64 = 0.05;

/// Where some come back as strangers, turns are due together, once in this time. Whoever waited
/// comes then, newcomers come at any time and find few turns that they could take.
const TOGETHER_S: f64 = 0.04;

/// Nobody is told to wait for less: waits are told in milliseconds.
const WAIT_MIN_S: f64 = 0.001;

/// Where turns of more than these seconds are promised, those that strangers use do not count as
/// taken: so many do not wait that long.
const STRANGERS_QUEUE_S: f64 = 20.0;

/// How much the newest turn says about how many are taken.
const TAKEN_WEIGHT: f64 = 1.0 / 16.0;

/// One request that costs far more than others does not make all that follow pay for it in advance.
const USUAL_GROWTH_MAX: f64 = 4.0;

/// Never so little is set aside that those who do come back would not find it.
const TAKEN_MIN: f64 = 0.05;

/// A turn is taken twice where a stranger was there first.
const TAKEN_MAX: f64 = 2.0;

/// The throughput of one partition, or of a database that shares it.
#[derive(Debug)]
pub(super) struct Bucket {
    /// Request units per second; also the most that can be saved up.
    rate: f64,
    /// What can be spent; a debt when below zero.
    balance: f64,
    /// Up to when time has been paid in.
    filled_s: f64,
    kinds: [Experience; KINDS],
    turns: Turns,
    /// How often a turn is taken, on the average: less than once where some are left to expire.
    taken: f64,
    /// The last time that was given to a turn which came too early after all.
    postponed_s: f64,
    /// The last time that was given to a caller for whom there was no turn left.
    overflow_s: f64,
}

/// What is known of a kind of request.
#[derive(Clone, Copy, Debug, Default)]
struct Experience {
    /// What one costs, on the average of the last ones; `None` before the first.
    usual: Option<f64>,
    /// What the last few cost on the average, which shows when costs change.
    recent: f64,
    /// How many the average is of.
    seen: u32,
    at_work: usize,
    /// Since when some have been at work.
    busy_since_s: f64,
    strangers: Strangers,
}

/// Who wants to come in.
#[derive(Clone, Copy)]
pub(super) struct Caller<'a> {
    pub kind: Kind,
    /// The connection, if one caller has it to itself.
    pub connection: Option<u64>,
    /// What tells the request from others. Asked for only when some must wait.
    pub fingerprint: &'a dyn Fn() -> u64,
}

/// Refused: how long to wait.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct WaitSeconds(pub f64);

impl Experience {
    /// Many turns are promised by what is usual, and all would be wrong alike: so it is the average
    /// of many requests, unless the last few say that those were others.
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

    /// What one hardly costs more than, on the average.
    fn ample(&self) -> f64 {
        let margin = MARGIN / f64::from(self.seen.max(1)).sqrt();
        self.usual.unwrap_or(USUAL_FIRST) * (1.0 + margin)
    }
}

impl Bucket {
    /// A bucket with one second's worth in it.
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

    /// A bucket in the place of others: with its part of what they have or owe, and their
    /// experience.
    pub(super) fn heir(rate: f64, part: f64, parents: &mut [&mut Bucket], now_s: f64) -> Self {
        let mut heir = Self::new(rate, now_s);
        let mut balance = 0.0;
        for parent in parents.iter_mut() {
            parent.fill(now_s);
            balance += parent.balance * part;
            for (own, of_parent) in heir.kinds.iter_mut().zip(&parent.kinds) {
                // The dearer one: whoever pays too much in advance gets it back.
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

    /// Changes the rate from now on. Debts and promises stay.
    pub(super) fn set_rate(&mut self, rate: f64, now_s: f64) {
        self.fill(now_s);
        self.rate = rate;
        self.balance = self.balance.min(rate);
    }

    /// Lets a request in and returns what it paid in advance, or says how long to wait.
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
                // What came before cost far more than it usually does: first in line once that is
                // paid, behind others who found the same.
                let step_s = self.taken * self.usual(caller.kind) / self.rate;
                self.postponed_s =
                    (now_s - self.balance / self.rate).max(self.postponed_s + step_s);
                self.postponed_s
            };
            self.turns.postpone(own, due_s);
            return Err(WaitSeconds(due_s - now_s));
        }
        if is_unknown {
            // No turn: what to set aside for it is not known either.
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

    /// A caller takes its own turn. A stranger may have used it before.
    fn claim(&mut self, own: Turn, kind: Kind) {
        let is_used = self.turns.remove(own).is_some_and(|aside| aside.is_used);
        self.kinds[kind as usize].strangers.claimed();
        if is_used {
            self.taken = (self.taken + TAKEN_WEIGHT).min(TAKEN_MAX);
        } else {
            self.learn_taken(1.0);
        }
    }

    /// Gives the first turn that is due to a caller who has none, if it may be one who was refused
    /// and sends another request now.
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

    /// When the debt and all turns will have been paid for.
    fn next_due_s(&self, kind: Kind, now_s: f64) -> f64 {
        let wait_s = (self.taken * self.turns.all() - self.balance) / self.rate;
        let due_s = now_s + wait_s.max(WAIT_MIN_S);
        let is_dense = self.taken * self.usual(kind) < TOGETHER_S * self.rate;
        if is_dense && !self.turns.is_empty() && self.kinds[kind as usize].strangers.are_there() {
            return (due_s / TOGETHER_S).ceil() * TOGETHER_S;
        }
        due_s
    }

    /// Sees to it that a caller who was refused elsewhere finds a turn here at that time.
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

    /// The work of a request that was let in is done: puts the real charge in the place of what was
    /// paid in advance. `whole` is what it cost in all the partitions that this bucket pays for.
    pub(super) fn settle(&mut self, kind: Kind, paid: f64, charge: f64, whole: f64) {
        self.balance += paid - charge;
        self.leave(kind);
        // A request that was refused before it did anything says nothing about its kind.
        if whole > 0.0 {
            self.kinds[kind as usize].learn(whole);
        }
    }

    /// Takes a charge for something that came in elsewhere.
    pub(super) fn take(&mut self, charge: f64) {
        self.balance -= charge;
    }

    /// Undoes an admission.
    pub(super) fn give_back(&mut self, kind: Kind, paid: f64) {
        self.balance += paid;
        self.leave(kind);
    }

    /// A request that was let in is no longer at work. It cost what it paid.
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

    /// Whether enough of a kind are at work that nobody knows the cost of.
    fn is_held_up(&self, kind: Kind) -> bool {
        let Experience { usual, at_work, .. } = self.kinds[kind as usize];
        usual.is_none() && at_work >= UNKNOWN_MAX
    }

    /// What has taken long already will take as long again.
    fn unknown_wait_s(&self, kind: Kind, now_s: f64) -> f64 {
        let busy_s = now_s - self.kinds[kind as usize].busy_since_s;
        busy_s.clamp(UNKNOWN_WAIT_S, UNKNOWN_WAIT_MAX_S)
    }

    /// Pays in the time that has passed; what is above one second's worth is lost.
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

    /// A turn was taken, or left to expire.
    fn learn_taken(&mut self, times: f64) {
        self.taken = (self.taken + (times - self.taken) * TAKEN_WEIGHT).max(TAKEN_MIN);
    }

    /// Gives a turn at this time, if there is one left; returns when to come back. Where there is
    /// none, callers come back one after the other when the last turn is over, and find room.
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
        // However many come, nobody waits much longer than all the turns take.
        if self.overflow_s - last_s > (last_s - now_s).max(1.0) {
            self.overflow_s = last_s + step_s;
        }
        self.overflow_s
    }
}

#[cfg(test)]
mod tests;
