//! Limits the share of refusals in the audit log.
//!
//! Any client can cause refusals without limit. Only some per second are logged. They also have a
//! limited share of bytes, since old files are removed: otherwise an attacker could push the record
//! of changes out of the log within minutes.

use std::time::{Duration, Instant};

use super::AuditSettings;

/// Refusals to log per second.
const LINES_MAX: u32 = 100;
const SECOND: Duration = Duration::from_secs(1);
/// Refusals alone take at least this long to replace all files.
const TURN: Duration = Duration::from_hours(7 * 24);

/// The remaining quota. The default is empty.
#[derive(Default)]
pub(super) struct Quota {
    /// The current second, and the lines logged in it.
    since: Option<Instant>,
    taken: u32,
    /// A token bucket of bytes: its contents, its capacity, and its refill per second.
    bytes: f64,
    bytes_max: f64,
    bytes_a_second: f64,
    filled: Option<Instant>,
}

impl Quota {
    /// Half a file at once, and all files in a week.
    #[expect(clippy::cast_precision_loss, reason = "sizes of files are far below 2^53")]
    pub(super) fn new(settings: &AuditSettings) -> Self {
        let file = settings.bytes_max as f64;
        let bytes_max = file / 2.0;
        let bytes_a_second = file * f64::from(settings.files_max) / TURN.as_secs_f64();
        Self { bytes: bytes_max, bytes_max, bytes_a_second, ..Self::default() }
    }

    /// Whether another line may be logged in this second.
    pub(super) fn take_line(&mut self, now: Instant) -> bool {
        if self.since.is_none_or(|since| now.duration_since(since) >= SECOND) {
            (self.since, self.taken) = (Some(now), 0);
        }
        self.taken = self.taken.saturating_add(1);
        self.taken <= LINES_MAX
    }

    /// Whether a line of this length may be logged.
    #[expect(clippy::cast_precision_loss, reason = "the length of a line")]
    pub(super) fn take_bytes(&mut self, length: usize, now: Instant) -> bool {
        let passed = self.filled.replace(now).map_or(Duration::ZERO, |at| now.duration_since(at));
        let more = passed.as_secs_f64() * self.bytes_a_second;
        self.bytes = (self.bytes + more).min(self.bytes_max);
        let is_left = self.bytes >= length as f64;
        if is_left {
            self.bytes -= length as f64;
        }
        is_left
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quota() -> Quota {
        let path = "audit.log".into();
        Quota::new(&AuditSettings { path, bytes_max: 16 << 20, files_max: 5 })
    }

    #[test]
    fn so_many_lines_a_second() {
        let (mut quota, start) = (quota(), Instant::now());
        let second = |quota: &mut Quota, at| (0..1000).filter(|_| quota.take_line(at)).count();
        assert_eq!(second(&mut quota, start), 100);
        assert_eq!(second(&mut quota, start + SECOND / 2), 0);
        assert_eq!(second(&mut quota, start + SECOND), 100);
    }

    #[test]
    fn a_flood_leaves_the_files_to_others() {
        let (mut quota, start) = (quota(), Instant::now());
        let mut written = 0_u64;
        // A flood for a day: a line of 1,300 bytes every second.
        for second in 0..24 * 60 * 60 {
            let is_written = quota.take_bytes(1300, start + SECOND * second);
            written += if is_written { 1300 } else { 0 };
        }
        // Half a file at first, then a seventh of five files.
        let expected = (8 << 20) + (80 << 20) / 7;
        assert!((expected - (64 << 10)..=expected).contains(&written), "{written} of {expected}");
        // Lines are never cut off for good.
        assert!(quota.take_bytes(1300, start + SECOND * (24 * 60 * 60 + 10)));
    }
}
