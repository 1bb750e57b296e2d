//! The store on disk keeps the contract, even after a crash.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may as well panic")]

mod compact;
mod copy;
mod crash;
mod cycles;
mod examine;
mod groups;
mod image;
mod journals;
mod lost_journals;
mod partitions;
mod reopen;

use std::{
    path::Path,
    sync::{
        Arc, Mutex,
        mpsc::{Receiver, Sender, channel},
    },
    task::{Context, Poll, Wake, Waker},
    time::{Duration, Instant},
};

use bytes::Bytes;
use store::{Batch, BoxFuture, Durability, Error, KeySpace, Result, Store};
use store_lsm::{LsmStore, Options};

async fn run_conformance(options: Options) {
    let directories = Mutex::new(Vec::new());
    let place = || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("store");
        directories.lock().unwrap().push(directory);
        path
    };
    let open = || LsmStore::open(&place(), options.clone()).unwrap();
    store::conformance::run(|| open()).await;
    store::conformance::run_files(|| open()).await;
}

#[tokio::test]
async fn conforms() {
    run_conformance(Options::default()).await;
}

/// With constant flushes and compactions, which is when fjall's own snapshots are not frozen.
#[tokio::test]
async fn conforms_with_tiny_buffers() {
    run_conformance(Options { memtable_bytes: 8 << 10, ..Options::default() }).await;
}

/// All kinds of rows are kept, and few of them fit.
#[tokio::test]
async fn conforms_with_rows_at_hand() {
    let all: &[u8] = Vec::leak((0..=u8::MAX).collect());
    for row_cache_bytes in [64 << 10, 64 << 20] {
        let tiny = Options { memtable_bytes: 8 << 10, ..Options::default() };
        run_conformance(Options { row_cache_bytes, cached_kinds: all, ..tiny }).await;
    }
}

fn open(directory: &Path) -> Arc<LsmStore> {
    LsmStore::open(directory, Options::default()).unwrap()
}

/// Submits a batch and returns the channel for its result.
fn submit(partition: &dyn KeySpace, batch: Batch) -> Receiver<Result<()>> {
    let (sender, receiver) = channel();
    let done = Box::new(move |result| {
        let _ = sender.send(result);
    });
    partition.submit(batch, Durability::Durable, done);
    receiver
}

fn commit(partition: &dyn KeySpace, batch: Batch) -> Result<()> {
    submit(partition, batch).recv_timeout(Duration::from_mins(1)).unwrap()
}

fn put(partition: &dyn KeySpace, key: &str, value: impl Into<Bytes>) {
    let mut batch = Batch::default();
    batch.put(key.to_owned(), value);
    commit(partition, batch).unwrap();
}

async fn get(partition: &dyn KeySpace, key: &str) -> Option<Bytes> {
    let keys = [Bytes::from(key.to_owned())];
    partition.snapshot().get_many(&keys).await.unwrap().remove(0)
}

/// Signals through a channel that a future can make progress.
struct Signal(Sender<()>);

impl Wake for Signal {
    fn wake(self: Arc<Self>) {
        let _ = self.0.send(());
    }
}

/// Polls a future this many times, each time as soon as it can make progress, then cancels it:
/// immediately, or once its last request `is_done`. Returns the result if it finished.
fn advance<T>(mut future: BoxFuture<'_, T>, polls: usize, is_done: bool) -> Option<T> {
    let (sender, receiver) = channel();
    let waker = Waker::from(Arc::new(Signal(sender)));
    for poll in 1..=polls {
        if let Poll::Ready(value) = future.as_mut().poll(&mut Context::from_waker(&waker)) {
            return Some(value);
        }
        if poll < polls || is_done {
            receiver.recv_timeout(Duration::from_mins(1)).unwrap();
        }
    }
    None
}

/// Opens a directory that a thread of a dropped store may still use for a moment.
fn reopen(directory: &Path) -> Arc<LsmStore> {
    let started = Instant::now();
    loop {
        match LsmStore::open(directory, Options::default()) {
            Err(Error::Conflict(_)) if started.elapsed() < Duration::from_mins(1) => {
                std::thread::yield_now();
            }
            other => return other.unwrap(),
        }
    }
}

/// What the disk would hold if the process died now. Everything acknowledged is synced, so a copy
/// of the files is equivalent to a crash, and can be damaged on purpose.
fn copy_of(directory: &Path) -> tempfile::TempDir {
    fn copy(from: &Path, to: &Path) -> std::io::Result<()> {
        std::fs::create_dir_all(to)?;
        for entry in std::fs::read_dir(from)? {
            let entry = entry?;
            let target = to.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                copy(&entry.path(), &target)?;
            } else {
                std::fs::copy(entry.path(), target)?;
            }
        }
        Ok(())
    }
    loop {
        let target = tempfile::tempdir().unwrap();
        match copy(directory, target.path()) {
            Ok(()) => return target,
            // The store renamed or removed a file after it was listed: a copy without it is a state
            // that the disk never had.
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
            Err(error) => panic!("{error}"),
        }
    }
}
