//! The least that a durable write can cost: its bytes, appended to a file together with those that
//! wait, one `write` and one `fdatasync` for all of them.

use std::{
    fs::File,
    io::Write as _,
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
};

use store::{Batch, Completion, Result};

/// A file with group commit.
#[derive(Clone)]
pub(crate) struct Raw {
    queue: Sender<(Batch, Completion)>,
    /// How many groups were written.
    pub(crate) groups: Arc<AtomicU64>,
}

impl Raw {
    /// Starts the thread that writes. It ends with the last handle.
    pub(crate) fn start(directory: &Path) -> std::io::Result<Self> {
        let file = File::create_new(directory.join("raw"))?;
        // As the store does it, so that a sync need not record a new length.
        file.set_len(1 << 30)?;
        file.sync_all()?;
        let (queue, receiver) = channel();
        let groups = Arc::<AtomicU64>::default();
        let counter = Arc::clone(&groups);
        let write = move || write_groups(file, &receiver, &counter);
        std::thread::Builder::new().name("committer".to_owned()).spawn(write)?;
        Ok(Self { queue, groups })
    }

    /// Queues a batch.
    pub(crate) fn submit(&self, batch: Batch, done: Completion) {
        let _ = self.queue.send((batch, done));
    }
}

fn write_groups(mut file: File, queue: &Receiver<(Batch, Completion)>, groups: &AtomicU64) {
    let mut bytes = Vec::new();
    while let Ok(first) = queue.recv() {
        let mut group = vec![first];
        group.extend(queue.try_iter());
        bytes.clear();
        for change in group.iter().flat_map(|(batch, _)| &batch.changes) {
            bytes.extend_from_slice(&change.key);
            bytes.extend_from_slice(change.value.as_deref().unwrap_or_default());
        }
        let written = file.write_all(&bytes).and_then(|()| file.sync_data());
        groups.fetch_add(1, Ordering::Relaxed);
        for (_, done) in group {
            let result: Result<()> = match &written {
                Ok(()) => Ok(()),
                Err(error) => Err(store::Error::Io(error.to_string())),
            };
            done(result);
        }
    }
}
