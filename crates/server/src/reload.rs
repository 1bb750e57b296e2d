//! Reloads files while the server runs: checks them twice a second, and on SIGHUP.
//!
//! Checking a file is one system call. File notifications would be cheaper, but every system has
//! its own, and none reports a mounted volume that was replaced.

use std::{fs, path::PathBuf, sync::Arc, time::Duration};

use net::stopped;
use tokio::{sync::watch, time::sleep};

use crate::{
    audit::{Audit, Line},
    signals::Hangups,
};

/// How often to check files.
const INTERVAL: Duration = Duration::from_millis(500);
/// A change of this age has taken effect, unless the machine is overloaded.
pub(crate) const TAKEN_UP: Duration = Duration::from_secs(1);

/// State that is read from files.
pub(crate) trait Reload: Send + Sync {
    /// Its name, for the log.
    fn name(&self) -> &'static str;

    /// The files that it is read from.
    fn files(&self) -> Vec<PathBuf>;

    /// Reads the files again. On an error nothing changes.
    fn reload(&self) -> anyhow::Result<()>;
}

/// Reloads changed files until `stop` turns true.
pub(crate) async fn run(
    targets: Vec<Arc<dyn Reload>>,
    mut hangups: Hangups,
    audit: Arc<Audit>,
    mut stop: watch::Receiver<bool>,
) {
    let mut watched = Vec::new();
    let mut new = targets;
    let mut is_told = false;
    loop {
        // A disk or file server may block.
        let audit = Arc::clone(&audit);
        let looked = tokio::task::spawn_blocking(move || {
            for target in &mut watched {
                if Watched::look(target, is_told) {
                    audit.changed(Line::server("reloaded", target.target.name()));
                }
            }
            watched.extend(new.into_iter().map(Watched::new));
            watched
        });
        new = Vec::new();
        match looked.await {
            Ok(targets) => watched = targets,
            Err(error) => {
                tracing::error!(%error, "no longer watching files for changes");
                return;
            }
        }
        is_told = tokio::select! {
            () = sleep(INTERVAL) => false,
            () = hangups.received() => true,
            () = stopped(&mut stop) => return,
        };
    }
}

/// A target, and the stamps of its files when they were last read.
struct Watched {
    target: Arc<dyn Reload>,
    seen: Vec<Option<Stamp>>,
}

impl Watched {
    /// Reads the files once: they may have changed since the server began to start.
    fn new(target: Arc<dyn Reload>) -> Self {
        let seen = stamps(target.as_ref());
        let watched = Self { target, seen };
        if watched.seen.iter().any(Option::is_some) {
            watched.read();
        }
        watched
    }

    /// Reads the files if they have changed. Takes the stamps before reading, so that a file
    /// written during the read has a different one next time. Returns whether it has loaded
    /// something.
    fn look(&mut self, is_told: bool) -> bool {
        let stamps = stamps(self.target.as_ref());
        let is_there = stamps.iter().any(Option::is_some);
        if stamps == self.seen && !(is_told && is_there) {
            return false;
        }
        self.seen = stamps;
        let is_read = self.read();
        if is_read {
            tracing::info!("reloaded the {}", self.target.name());
        }
        is_read
    }

    fn read(&self) -> bool {
        let what = self.target.name();
        let outcome = self.target.reload();
        if let Err(error) = &outcome {
            let reason = format!("{error:#}");
            tracing::warn!(reason, "cannot reload the {what}; it stays as it was");
        }
        outcome.is_ok()
    }
}

/// Distinguishes versions of a file.
type Stamp = (u64, u64, i64, i64);

fn stamps(target: &dyn Reload) -> Vec<Option<Stamp>> {
    target.files().iter().map(|path| fs::metadata(path).ok().as_ref().map(stamp)).collect()
}

#[cfg(unix)]
fn stamp(metadata: &fs::Metadata) -> Stamp {
    use std::os::unix::fs::MetadataExt as _;
    (metadata.ino(), metadata.len(), metadata.ctime(), metadata.ctime_nsec())
}

#[cfg(not(unix))]
fn stamp(metadata: &fs::Metadata) -> Stamp {
    let modified =
        metadata.modified().ok().and_then(|at| at.duration_since(std::time::UNIX_EPOCH).ok());
    let modified = modified.unwrap_or_default();
    (0, metadata.len(), modified.as_secs().cast_signed(), i64::from(modified.subsec_nanos()))
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    struct Counting {
        path: PathBuf,
        reads: AtomicUsize,
    }

    impl Reload for Counting {
        fn name(&self) -> &'static str {
            "test file"
        }

        fn files(&self) -> Vec<PathBuf> {
            vec![self.path.clone()]
        }

        fn reload(&self) -> anyhow::Result<()> {
            self.reads.fetch_add(1, Ordering::Relaxed);
            fs::read(&self.path)?;
            Ok(())
        }
    }

    #[test]
    fn a_change_is_read_once() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("file");
        let target = Arc::new(Counting { path: path.clone(), reads: AtomicUsize::new(0) });
        let mut watched = Watched::new(Arc::clone(&target) as _);
        let mut look = |is_told| {
            watched.look(is_told);
            watched.look(false);
            target.reads.load(Ordering::Relaxed)
        };
        assert_eq!((look(false), look(true)), (0, 0));
        fs::write(&path, "one").unwrap();
        assert_eq!(look(false), 1);
        assert_eq!(look(true), 2);
        // Another file of the same length under the same name.
        let other = scratch.path().join("other");
        fs::write(&other, "two").unwrap();
        fs::rename(&other, &path).unwrap();
        assert_eq!(look(false), 3);
        fs::remove_file(&path).unwrap();
        assert_eq!(look(false), 4);
    }
}
