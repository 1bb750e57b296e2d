//! The clock that a database lives by.

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// What monotonic time counts from.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The time, passed in so that tests control it.
pub trait Clock: Send + Sync {
    /// Seconds since the epoch.
    fn now_seconds(&self) -> u64;

    /// Milliseconds since the epoch.
    fn now_millis(&self) -> i64 {
        i64::try_from(self.now_seconds().saturating_mul(1000)).unwrap_or(i64::MAX)
    }

    /// Time since some beginning, which never goes back: throughput is measured by it. The
    /// machine's, unless a test needs its own.
    fn monotonic(&self) -> Duration {
        BEGINNING.elapsed()
    }
}

/// The machine's clock.
#[derive(Clone, Copy, Debug, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    fn now_seconds(&self) -> u64 {
        SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |elapsed| elapsed.as_secs())
    }

    #[expect(clippy::disallowed_methods, reason = "the one place that asks the machine")]
    fn now_millis(&self) -> i64 {
        let elapsed = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(elapsed.as_millis()).unwrap_or(i64::MAX)
    }
}
