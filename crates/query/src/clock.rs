//! The database's clock.

use std::{
    sync::LazyLock,
    time::{Duration, Instant, SystemTime, UNIX_EPOCH},
};

/// The zero of monotonic time.
static BEGINNING: LazyLock<Instant> = LazyLock::new(Instant::now);

/// The time, as a trait so that tests can control it.
pub trait Clock: Send + Sync {
    /// Seconds since the epoch.
    fn now_seconds(&self) -> u64;

    /// Milliseconds since the epoch.
    fn now_millis(&self) -> i64 {
        i64::try_from(self.now_seconds().saturating_mul(1000)).unwrap_or(i64::MAX)
    }

    /// Monotonic time since an arbitrary zero, for measuring throughput. By default the machine's;
    /// tests may replace it.
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
