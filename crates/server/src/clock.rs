//! The machine's clock, passed to all code that needs the time.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

/// The time of day.
#[derive(Clone, Copy, Debug)]
pub(crate) struct MachineClock;

impl MachineClock {
    /// The time since 1970; zero if the machine's clock is earlier.
    pub(crate) fn since_epoch(self) -> Duration {
        gateway::Clock::now(&self).duration_since(UNIX_EPOCH).unwrap_or_default()
    }
}

impl gateway::Clock for MachineClock {
    #[expect(clippy::disallowed_methods, reason = "this is where the clock comes from")]
    fn now(&self) -> SystemTime {
        SystemTime::now()
    }
}

impl engine::Clock for MachineClock {
    fn now_seconds(&self) -> u64 {
        self.since_epoch().as_secs()
    }

    fn now_millis(&self) -> i64 {
        i64::try_from(self.since_epoch().as_millis()).unwrap_or(i64::MAX)
    }
}
