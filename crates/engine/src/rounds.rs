//! Rounds of background tasks over all collections. They are left out while nothing happens, so that
//! thousands of collections that nobody uses cost nothing.

use std::{
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use query::served::View;

use crate::Inner;

/// A round takes place at least so often: what it depends on may change by other ways too.
const REST_MAX: Duration = Duration::from_mins(1);

/// What the last round of a task has seen.
#[derive(Default)]
pub(crate) struct Rounds {
    seen: Option<Seen>,
}

struct Seen {
    view: Weak<View>,
    written: u64,
    at: Instant,
}

impl Rounds {
    /// Whether there may be something new: a write, another catalog, or what a long time brought. The
    /// caller looks at everything then.
    pub(crate) fn is_due(&mut self, engine: &Inner) -> bool {
        let (view, written) = (engine.view(), engine.surroundings.room.written());
        let is_as_before = self.seen.as_ref().is_some_and(|seen| {
            seen.view.as_ptr() == Arc::as_ptr(&view)
                && seen.written == written
                && seen.at.elapsed() < REST_MAX
        });
        if is_as_before {
            return false;
        }
        // Noted before the round: what is written meanwhile is for the next one.
        let view = Arc::downgrade(&view);
        self.seen = Some(Seen { view, written, at: Instant::now() });
        true
    }

    /// Makes the next round due.
    pub(crate) fn again(&mut self) {
        self.seen = None;
    }
}
