//! How a partition in memory ends.
//!
//! A [`Partition`](crate::Partition) is one *tenure*: one process serving one key space under one
//! epoch. Locks, sequencer, overlay, counters and caches belong to the tenure and die with it. Only
//! the range in the catalog and the rows in the store outlive it. A tenure ends for one of three
//! reasons.

use std::sync::atomic::{AtomicU8, Ordering};

use protocol::Error;

use crate::errors;

/// Why a partition no longer takes writes. Later variants outweigh earlier ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum End {
    /// Temporary: a batch failed in a way that may pass, so the state in memory may be ahead of the
    /// stored state or behind it. To recover, open the key space under a higher epoch, which
    /// settles every earlier batch, and continue from the stored state.
    Unsettled,
    /// Moved: a newer owner has the key space. Reads here may be out of date.
    Fenced,
    /// Broken: the store itself cannot continue. Only a restart re-enables writes.
    Broken,
}

impl End {
    /// What a failed batch means to the partition.
    pub fn of(error: &store::Error) -> Self {
        match error {
            store::Error::Unavailable(_) => Self::Unsettled,
            store::Error::Fenced => Self::Fenced,
            store::Error::Conflict(_)
            | store::Error::Corrupt(_)
            | store::Error::Closed(_)
            | store::Error::Io(_) => Self::Broken,
        }
    }

    /// The error for a request that wrote nothing.
    pub fn error(self) -> Error {
        match self {
            Self::Unsettled => errors::not_now(),
            Self::Fenced => errors::not_here(),
            Self::Broken => errors::writes_stopped(),
        }
    }
}

/// Whether and why a tenure has ended. Every write reads it, so it is one atomic byte.
#[derive(Debug, Default)]
pub(crate) struct Ending(AtomicU8);

const ENDS: [End; 3] = [End::Unsettled, End::Fenced, End::Broken];

impl Ending {
    /// Why the tenure ended; `None` while it lasts.
    pub(crate) fn get(&self) -> Option<End> {
        let place = self.0.load(Ordering::Acquire).checked_sub(1)?;
        ENDS.get(usize::from(place)).copied()
    }

    /// Ends the tenure. Returns whether that changed anything.
    pub(crate) fn set(&self, end: End) -> bool {
        let place = ENDS.iter().position(|it| *it == end).unwrap_or_default();
        let byte = u8::try_from(place + 1).unwrap_or(u8::MAX);
        self.0.fetch_max(byte, Ordering::AcqRel) < byte
    }
}

#[cfg(test)]
mod tests {
    use protocol::Code;

    use super::*;

    #[test]
    fn a_worse_end_outweighs_a_better_one() {
        let ending = Ending::default();
        assert_eq!(ending.get(), None);
        assert!(ending.set(End::Unsettled));
        assert!(!ending.set(End::Unsettled), "it was over already");
        assert!(ending.set(End::Broken));
        assert!(!ending.set(End::Fenced));
        assert_eq!(ending.get(), Some(End::Broken));
    }

    #[test]
    fn each_end_has_its_own_answer_and_none_leaves_a_write_unknown() {
        let codes = ENDS.map(|end| end.error().code);
        assert_eq!(codes, [Code::NotNow, Code::NotHere, Code::Unavailable]);
        assert!(!codes.into_iter().any(Code::leaves_write_unknown));
    }

    #[test]
    fn failures_lead_to_one_of_three_exits() {
        let unavailable = store::Error::Unavailable("a test".to_owned());
        assert_eq!(End::of(&unavailable), End::Unsettled);
        assert_eq!(End::of(&store::Error::Fenced), End::Fenced);
        assert_eq!(End::of(&store::Error::Io("a test".to_owned())), End::Broken);
    }
}
