//! Tracks whether a partition's write times rise with its LSNs.
//!
//! They nearly do, until someone sets the clock back. A search by time must know from which LSN on
//! it works, and which times can occur before.

use crate::keys::u64_at;

/// How many seconds a writer may be in flight and so get an earlier time but a later LSN than
/// others.
pub const SLACK_S: u64 = 60;

/// What is known about the times of a partition's transactions. Part of its counters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Times {
    /// From this transaction on, none is earlier than a previous one by more than the slack.
    pub step: u64,
    /// No transaction before `step` is later than this second.
    pub before: u64,
    /// No transaction from `step` on is later than this second.
    latest: u64,
}

impl Times {
    pub(super) const LENGTH: usize = 24;

    /// Records the second in which a transaction wrote a document.
    pub fn note(&mut self, lsn: u64, second: u64) {
        if second.saturating_add(SLACK_S) < self.latest {
            *self = Self { step: lsn, before: self.before.max(self.latest), latest: second };
        }
        self.latest = self.latest.max(second);
    }

    /// The combined knowledge for a partition made from others; its own transactions come after
    /// this LSN.
    pub fn merged(all: &[Self], lsn: u64) -> Self {
        if let [one] = all {
            return *one;
        }
        let last = all.iter().map(|times| times.before.max(times.latest)).max();
        Self { step: lsn, before: last.unwrap_or_default(), latest: 0 }
    }

    pub(super) fn to_numbers(self) -> [u64; 3] {
        [self.step, self.before, self.latest]
    }

    /// Decodes from the end of a row; older builds did not write it.
    pub(super) fn decode(bytes: &[u8]) -> Option<Self> {
        if bytes.is_empty() {
            return Some(Self::default());
        }
        let times =
            Self { step: u64_at(bytes, 0)?, before: u64_at(bytes, 8)?, latest: u64_at(bytes, 16)? };
        (bytes.len() == Self::LENGTH).then_some(times)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_that_is_set_back_is_a_step() {
        let mut times = Times::default();
        for (lsn, second) in [(1, 1000), (2, 1100), (3, 1050), (4, 1040)] {
            times.note(lsn, second);
        }
        assert_eq!((times.step, times.before), (0, 0), "writers overtake one another");
        times.note(5, 1039);
        assert_eq!((times.step, times.before), (5, 1100));
        times.note(6, 1080);
        times.note(7, 500);
        assert_eq!((times.step, times.before), (7, 1100), "the latest of all before");
        times.note(8, 2000);
        assert_eq!((times.step, times.before), (7, 1100));
        assert_eq!(Times::merged(&[times], 9), times);
        let merged = Times::merged(&[times, Times::default()], 9);
        assert_eq!((merged.step, merged.before), (9, 2000));
    }
}
