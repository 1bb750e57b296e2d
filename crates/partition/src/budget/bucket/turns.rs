//! The turns that a bucket has promised, indexed by owner, kind and due time, with running totals,
//! so that nothing needs a scan.

use std::{cmp::Ordering, collections::BTreeMap};

use crate::budget::bucket::Kind;

/// How many turns are kept: several for each connection that a server accepts.
pub(super) const TURNS_MAX: usize = 16_384;

/// An appointment. A caller's turns sort by time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Turn {
    fingerprint: u64,
    connection: Option<u64>,
    due: Moment,
    /// Distinguishes otherwise equal turns.
    number: u64,
}

/// A time in seconds.
#[derive(Clone, Copy, Debug)]
struct Moment(f64);

impl Ord for Moment {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0.total_cmp(&other.0)
    }
}

impl PartialOrd for Moment {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl PartialEq for Moment {
    fn eq(&self, other: &Self) -> bool {
        self.cmp(other) == Ordering::Equal
    }
}

impl Eq for Moment {}

/// The amount set aside for a turn.
#[derive(Clone, Copy, Debug)]
pub(super) struct Aside {
    pub(super) kind: Kind,
    pub(super) cost: f64,
    /// A stranger has used the amount. The turn is kept in case its owner comes.
    pub(super) is_used: bool,
}

/// The total set aside for several turns.
#[derive(Debug, Default)]
struct Sum {
    costs: f64,
    count: usize,
}

impl Sum {
    fn add(&mut self, cost: f64) {
        self.costs += cost;
        self.count += 1;
    }

    fn subtract(&mut self, cost: f64) {
        self.count = self.count.saturating_sub(1);
        // Rounding errors disappear with the last turn.
        self.costs = if self.count == 0 { 0.0 } else { self.costs - cost };
    }
}

/// The turns of one caller, and of others that sent the same request.
#[derive(Default)]
pub(super) struct Found {
    /// The first of the caller's turns that is due.
    pub(super) own_due: Option<Turn>,
    /// The first of its turns that is not due yet, and how many there are.
    pub(super) own_early: Option<Turn>,
    pub(super) own_early_count: usize,
    /// The turn for the same request from another connection, if it is the only one and due. A
    /// caller may come back on another connection than the one it was refused on; but if several
    /// callers sent the same request, none may take another's turn.
    only_other: Option<Turn>,
}

impl Found {
    /// The turn that the caller may take now.
    pub(super) fn claim(&self) -> Option<Turn> {
        let other = if self.own_early.is_none() { self.only_other } else { None };
        self.own_due.or(other)
    }
}

#[derive(Debug, Default)]
pub(super) struct Turns {
    by_caller: BTreeMap<Turn, Aside>,
    /// Turns that no stranger has used.
    unused: BTreeMap<(Kind, Moment, u64), Turn>,
    by_time: BTreeMap<(Moment, u64), Turn>,
    next_number: u64,
    /// The current time: turns up to here are due.
    reached_s: f64,
    due: Sum,
    all: Sum,
}

impl Turns {
    pub(super) fn is_empty(&self) -> bool {
        self.by_time.is_empty()
    }

    pub(super) fn is_full(&self) -> bool {
        self.all.count >= TURNS_MAX || self.by_time.len() >= 2 * TURNS_MAX
    }

    pub(super) fn len(&self) -> usize {
        self.by_time.len()
    }

    /// The total set aside for due turns.
    pub(super) fn due(&self) -> f64 {
        self.due.costs
    }

    /// The total set aside for all turns.
    pub(super) fn all(&self) -> f64 {
        self.all.costs
    }

    /// When the last turn is due.
    pub(super) fn last_due_s(&self) -> Option<f64> {
        self.by_time.last_key_value().map(|((due, _), _)| due.0)
    }

    /// Advances the time.
    pub(super) fn pass(&mut self, now_s: f64) {
        if now_s <= self.reached_s {
            return;
        }
        // Start after the numbers of all turns that were already due.
        let (from, to) = ((Moment(self.reached_s), u64::MAX), (Moment(now_s), u64::MAX));
        for turn in self.by_time.range(from..to).map(|(_, turn)| turn) {
            if let Some(aside) = self.by_caller.get(turn).filter(|aside| !aside.is_used) {
                self.due.add(aside.cost);
            }
        }
        self.reached_s = now_s;
    }

    /// Removes one turn that is overdue by more than this, and returns what was set aside for it.
    pub(super) fn expire(&mut self, patience_s: f64) -> Option<Aside> {
        let ((due, _), turn) = self.by_time.first_key_value()?;
        if self.reached_s <= due.0 + patience_s {
            return None;
        }
        let turn = *turn;
        self.remove(turn)
    }

    /// The first due turn of a kind that no stranger has used.
    pub(super) fn first_unused(&self, kind: Kind) -> Option<Turn> {
        let first = (kind, Moment(f64::NEG_INFINITY), 0);
        let last = (kind, Moment(self.reached_s), u64::MAX);
        self.unused.range(first..=last).next().map(|(_, turn)| *turn)
    }

    /// Gives the amount set aside for a turn to a stranger.
    pub(super) fn use_up(&mut self, turn: Turn) {
        if let Some(aside) = self.remove(turn) {
            self.put(turn, Aside { is_used: true, ..aside });
        }
    }

    pub(super) fn find(&self, fingerprint: u64, connection: Option<u64>) -> Found {
        let at = |connection, due_s, number| Turn {
            fingerprint,
            connection,
            due: Moment(due_s),
            number,
        };
        let first = at(connection, f64::NEG_INFINITY, 0);
        let last = at(connection, f64::INFINITY, u64::MAX);
        let mut found = Found::default();
        for (turn, _) in self.by_caller.range(first..=last) {
            if self.is_due(turn) {
                found.own_due = found.own_due.or(Some(*turn));
            } else {
                found.own_early = found.own_early.or(Some(*turn));
                found.own_early_count += 1;
            }
        }
        let (least, most) =
            (at(None, f64::NEG_INFINITY, 0), at(Some(u64::MAX), f64::INFINITY, u64::MAX));
        let before = self.by_caller.range(least..first);
        let mut others = before.chain(self.by_caller.range(last..=most)).map(|(turn, _)| *turn);
        if let (Some(other), None) = (others.next(), others.next()) {
            found.only_other = Some(other).filter(|other| self.is_due(other));
        }
        found
    }

    pub(super) fn insert(
        &mut self,
        fingerprint: u64,
        connection: Option<u64>,
        due_s: f64,
        aside: Aside,
    ) {
        let number = self.next_number;
        self.next_number += 1;
        self.put(Turn { fingerprint, connection, due: Moment(due_s), number }, aside);
    }

    fn put(&mut self, turn: Turn, aside: Aside) {
        if !aside.is_used {
            self.all.add(aside.cost);
            if self.is_due(&turn) {
                self.due.add(aside.cost);
            }
            self.unused.insert((aside.kind, turn.due, turn.number), turn);
        }
        self.by_time.insert((turn.due, turn.number), turn);
        self.by_caller.insert(turn, aside);
    }

    pub(super) fn remove(&mut self, turn: Turn) -> Option<Aside> {
        let aside = self.by_caller.remove(&turn)?;
        self.by_time.remove(&(turn.due, turn.number));
        if !aside.is_used {
            self.unused.remove(&(aside.kind, turn.due, turn.number));
            self.all.subtract(aside.cost);
            if self.is_due(&turn) {
                self.due.subtract(aside.cost);
            }
        }
        Some(aside)
    }

    /// Moves a turn to another time.
    pub(super) fn postpone(&mut self, turn: Turn, due_s: f64) {
        if let Some(aside) = self.remove(turn) {
            self.insert(turn.fingerprint, turn.connection, due_s, aside);
        }
    }

    fn is_due(&self, turn: &Turn) -> bool {
        turn.due.0 <= self.reached_s
    }
}

impl Turn {
    pub(super) fn due_s(&self) -> f64 {
        self.due.0
    }
}
