//! Callers that come back as strangers, and how far they are trusted.
//!
//! Most callers repeat the refused request, which identifies them. Some do not: an SDK that
//! generates a new id for every try sends a different request each time. Such a caller cannot be
//! recognized, but the turns give it away: strangers' turns are never claimed, and when one is due,
//! a caller without a turn arrives.

/// The weight of the newest turn or request.
const WEIGHT: f64 = 1.0 / 64.0;

/// The weight of the newest claim: claims are rare when waits are long.
const CLAIMS_WEIGHT: f64 = 1.0 / 1024.0;

/// One turn that only a stranger used is outweighed by some ninety that their owners claimed.
const SOME: f64 = WEIGHT / 4.0;

/// The share of admitted requests from which on some callers are known to claim their turns.
const KNOWN_FEW: f64 = 0.02;

/// Too many refusals per admitted request: a caller that waits as told is refused about once.
const REFUSALS_MANY: f64 = 4.0;

/// The most refusals to count between two admissions, so that a sudden crowd is not taken for a
/// flood.
const REFUSALS_MAX: u32 = 64;

/// What is known about the callers of one kind of request.
#[derive(Clone, Copy, Debug)]
pub(super) struct Strangers {
    /// The share of turns whose owners did not come.
    unclaimed: f64,
    /// The share of admitted requests that claimed a turn.
    claims: f64,
    /// Refusals per admitted request.
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

    /// An admitted request has claimed its turn.
    pub(super) fn claimed(&mut self) {
        self.claims += CLAIMS_WEIGHT;
        self.unclaimed -= self.unclaimed * WEIGHT;
    }

    /// The owner of a turn did not come in time.
    pub(super) fn missed(&mut self) {
        self.unclaimed += (1.0 - self.unclaimed) * WEIGHT;
    }

    /// Whether some callers come back as strangers.
    pub(super) fn are_there(&self) -> bool {
        self.unclaimed > SOME
    }

    /// Whether so many callers come without having waited that turns are kept for those who can
    /// claim them.
    pub(super) fn crowd_out_others(&self) -> bool {
        self.refusals > REFUSALS_MANY && self.claims > KNOWN_FEW
    }
}
