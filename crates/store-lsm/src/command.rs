//! Commands to the committer, other than committing.

use std::sync::Arc;

use store::{Error, Result};

use crate::{partition::LsmPartition, reply::Reply};

/// Work that only the committer may do, because nothing may be committed meanwhile.
pub(crate) enum Command {
    /// Find a partition, creating it if needed.
    Create {
        /// Its name, already checked.
        name: String,
        /// Where to send the answer.
        reply: Reply<Arc<LsmPartition>>,
    },
    /// Delete a partition.
    Drop {
        /// Its name.
        name: String,
        /// Where to send the answer.
        reply: Reply<()>,
    },
    /// Make an epoch the owner of a partition, and shut out lower ones.
    Fence {
        /// The partition.
        partition: Arc<LsmPartition>,
        /// The epoch.
        epoch: u64,
        /// Where to send the answer.
        reply: Reply<()>,
    },
    /// Publish data that was ingested without the journal.
    Refresh {
        /// Where to send the answer.
        reply: Reply<()>,
    },
    /// Release versions and tables that only snapshots older than the published one could need.
    Settle {
        /// Where to send the answer.
        reply: Reply<()>,
    },
    /// Run a function between two groups, when nothing is half committed.
    Between {
        /// The function to run, or to tell why it may not.
        run: Box<dyn FnOnce(Result<()>) + Send>,
    },
}

impl Command {
    /// Answers with an error without doing anything.
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
