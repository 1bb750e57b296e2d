//! Tracks what was spent in each of the last seconds.

/// How many seconds are kept: the current one, and those that autoscale looks back on.
const SECONDS: usize = 64;

/// How far autoscale looks back.
const RECENT_S: usize = 60;

/// A ring of per-second sums.
#[derive(Debug)]
pub(super) struct Usage {
    sums: [f64; SECONDS],
    /// The latest second written.
    newest: usize,
}

impl Default for Usage {
    fn default() -> Self {
        Self { sums: [0.0; SECONDS], newest: 0 }
    }
}

impl Usage {
    /// Adds a charge to the current second.
    pub(super) fn add(&mut self, charge: f64, now_s: f64) {
        let second = second(now_s).max(self.newest);
        // The seconds since the last charge were idle.
        for idle in (self.newest + 1..=second).rev().take(SECONDS) {
            self.sums[idle % SECONDS] = 0.0;
        }
        self.newest = second;
        self.sums[second % SECONDS] += charge;
    }

    /// What was spent in the last whole second.
    pub(super) fn last_second(&self, now_s: f64) -> f64 {
        second(now_s).checked_sub(1).map_or(0.0, |last| self.of(last))
    }

    /// The most spent in any recent second, including the current one.
    pub(super) fn peak(&self, now_s: f64) -> f64 {
        let now = second(now_s).max(self.newest);
        let recent = now.saturating_sub(RECENT_S)..=now;
        recent.map(|second| self.of(second)).fold(0.0, f64::max)
    }

    fn of(&self, second: usize) -> f64 {
        let is_kept = second <= self.newest && second + SECONDS > self.newest;
        if is_kept { self.sums[second % SECONDS] } else { 0.0 }
    }
}

#[expect(
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "seconds of a process's life"
)]
fn second(now_s: f64) -> usize {
    now_s.max(0.0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;

    fn near(actual: f64, expected: f64) -> bool {
        (actual - expected).abs() < 1e-9
    }

    #[test]
    fn seconds_are_kept_apart() {
        let mut usage = Usage::default();
        usage.add(3.0, 10.1);
        usage.add(4.0, 10.9);
        usage.add(1.0, 11.0);
        assert!(near(usage.last_second(11.5), 7.0));
        assert!(near(usage.last_second(12.0), 1.0));
        assert!(near(usage.last_second(13.0), 0.0));
        assert!(near(usage.peak(11.0), 7.0));
    }

    #[test]
    fn what_is_long_past_is_forgotten() {
        let mut usage = Usage::default();
        usage.add(50.0, 5.0);
        assert!(near(usage.peak(65.9), 50.0));
        assert!(near(usage.peak(66.0), 0.0));
        usage.add(2.0, 1000.0);
        assert!(near(usage.peak(1000.5), 2.0));
        // A second that shares its slot in the ring with a stored one is not confused with it.
        assert!(near(usage.last_second(1000.0 - 63.0), 0.0));
    }

    #[test]
    fn a_clock_that_falls_behind_adds_to_the_newest_second() {
        let mut usage = Usage::default();
        usage.add(1.0, 20.0);
        usage.add(1.0, 19.9);
        assert!(near(usage.peak(20.0), 2.0));
    }
}
