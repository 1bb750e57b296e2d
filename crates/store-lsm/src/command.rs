//! What the committer is asked to do beside committing.

use std::sync::Arc;

use store::{Error, Result};

use crate::{partition::LsmPartition, reply::Reply};

/// What only the committer may do, because nothing may be committed meanwhile.
pub(crate) enum Command {
    /// Find a partition, creating it if need be.
    Create {
        /// Its name, checked already.
        name: String,
        /// Who asked.
        reply: Reply<Arc<LsmPartition>>,
    },
    /// Delete a partition.
    Drop {
        /// Its name.
        name: String,
        /// Who asked.
        reply: Reply<()>,
    },
    /// Let an epoch own a partition, and no lower one.
    Fence {
        /// The partition.
        partition: Arc<LsmPartition>,
        /// The epoch.
        epoch: u64,
        /// Who asked.
        reply: Reply<()>,
    },
    /// Publish what was ingested past the journal.
    Refresh {
        /// Who asked.
        reply: Reply<()>,
    },
    /// Let go of versions and tables that only older snapshots than the published one could need.
    Settle {
        /// Who asked.
        reply: Reply<()>,
    },
    /// Run something between two groups, when nothing is half committed.
    Between {
        /// What is run, or told why it may not run.
        run: Box<dyn FnOnce(Result<()>) + Send>,
    },
}

impl Command {
    /// Answers with an error instead of doing anything.
    pub(crate) fn refuse(self, error: Error) {
        match self {
            Self::Create { reply, .. } => reply.send(Err(error)),
            Self::Drop { reply, .. }
            | Self::Fence { reply, .. }
            | Self::Refresh { reply }
            | Self::Settle { reply } => reply.send(Err(error)),
            Self::Between { run } => run(Err(error)),
        }
    }
}
