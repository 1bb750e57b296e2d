//! Callers who come back as strangers, and how far they are believed.
//!
//! Most callers repeat the request that was refused, and are known by it. Some do not: an SDK that
//! makes a new id for every try sends another request each time. Whether one like that was here
//! before cannot be seen. But it shows in the turns: those of strangers are never claimed, and when
//! one is due, somebody comes who has none.

/// How much the newest turn, or the newest request, says.
const WEIGHT: f64 = 1.0 / 64.0;

/// How much the newest claim says: claims come seldom where waits are long.
const CLAIMS_WEIGHT: f64 = 1.0 / 1024.0;

/// One turn that only a stranger used is remembered for some ninety that their owners claimed.
const SOME: f64 = WEIGHT / 4.0;

/// The part of requests let in from which on there are callers who claim their turns.
const KNOWN_FEW: f64 = 0.02;

/// More refusals than this for each request let in: whoever waits as told is refused about once.
const REFUSALS_MANY: f64 = 4.0;

/// Refusals between two requests let in that count: a crowd that comes at once is no flood.
const REFUSALS_MAX: u32 = 64;

/// What is known about those who ask for one kind of request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strangers {
    /// The share of turns whose owners did not come.
    unclaimed: f64,
    /// The share of requests let in that claimed a turn.
    claims: f64,
    /// Refusals for each request that is let in.
    refusals: f64,
    refused_since: u32,
}

impl Default for Strangers {
    fn default() -> Self {
        Self { unclaimed: 2.0 * SOME, claims: 0.0, refusals: 0.0, refused_since: 0 }
    }
}

impl Strangers {
    pub(super) fn refused(&mut self) {
        self.refused_since = (self.refused_since + 1).min(REFUSALS_MAX);
    }

    pub(super) fn let_in(&mut self) {
        self.refusals += (f64::from(self.refused_since) - self.refusals) * WEIGHT;
        self.refused_since = 0;
        self.claims -= self.claims * CLAIMS_WEIGHT;
    }

    /// A request that is let in has claimed its turn.
    pub(super) fn claimed(&mut self) {
        self.claims += CLAIMS_WEIGHT;
        self.unclaimed -= self.unclaimed * WEIGHT;
    }

    /// The owner of a turn did not come in time.
    pub(super) fn missed(&mut self) {
        self.unclaimed += (1.0 - self.unclaimed) * WEIGHT;
    }

    /// Whether some come back as strangers.
    pub(super) fn are_there(&self) -> bool {
        self.unclaimed > SOME
    }

    /// Whether so many come without having waited that turns are kept for those who can claim them.
    pub(super) fn crowd_out_others(&self) -> bool {
        self.refusals > REFUSALS_MANY && self.claims > KNOWN_FEW
    }
}
