//! Rounds of background tasks over all collections. They are left out while nothing happens, so that
//! thousands of collections that nobody uses cost nothing.

use std::{
    collections::BTreeSet,
    sync::{Arc, Weak},
    time::{Duration, Instant},
};

use protocol::rid::CollectionRid;

use crate::served::{Served, View};

/// A round takes place at least so often: what it depends on may change by other ways too.
const REST_MAX: Duration = Duration::from_mins(1);

/// What the last round of a task has seen.
#[derive(Default)]
pub struct Rounds {
    seen: Option<Seen>,
}

struct Seen {
    view: Weak<View>,
    written: u64,
    at: Instant,
}

impl Rounds {
    /// Whether there may be something new: a write, another catalog, or what a long time brought. The
    /// caller looks at everything then. `written` rises with each write.
    pub fn is_due(&mut self, view: &Arc<View>, written: u64) -> bool {
        let is_as_before = self.seen.as_ref().is_some_and(|seen| {
            seen.view.as_ptr() == Arc::as_ptr(view)
                && seen.written == written
                && seen.at.elapsed() < REST_MAX
        });
        if is_as_before {
            return false;
        }
        // Noted before the round: what is written meanwhile is for the next one.
        let view = Arc::downgrade(view);
        self.seen = Some(Seen { view, written, at: Instant::now() });
        true
    }

    /// Makes the next round due.
    pub fn again(&mut self) {
        self.seen = None;
    }
}

/// What the rounds look for, by id, so that no view is held.
impl View {
    /// The collections that have a history.
    pub fn with_history(&self) -> Vec<CollectionRid> {
        let has_history = |it: &&Arc<Served>| it.partitions.iter().any(|it| it.has_history());
        self.collections().filter(has_history).map(|it| it.rid).collect()
    }

    /// The partitions in which documents can expire. Thousands of collections may be empty, and
    /// looking into each costs a read.
    pub fn with_expiry(&self) -> BTreeSet<(CollectionRid, u32)> {
        let with_ttl = self.collections().filter(|it| it.definition.default_ttl.is_some());
        let partitions =
            with_ttl.flat_map(|it| it.partitions.iter().map(move |part| (it.rid, part)));
        let with_documents = partitions.filter(|(_, part)| part.counters().documents > 0);
        with_documents.map(|(rid, part)| (rid, part.range.id)).collect()
    }
}
