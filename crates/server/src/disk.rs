//! Measures the free space of the data's disk once a second, and reports it to the database.

use std::{
    io,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use engine::{Disk, DiskLevel};
use tokio::{sync::watch, time::MissedTickBehavior};

/// How often to measure.
const INTERVAL: Duration = Duration::from_secs(1);

/// The default reserve: some seconds of writes at the speed of a disk.
const RESERVE_BYTES: u64 = 256 << 20;

/// On a small disk, the reserve is the disk's size divided by this.
const RESERVE_PART: u64 = 20;

/// The size of a file system.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Space {
    /// Bytes that this process can still write.
    pub(crate) free: u64,
    /// Total bytes.
    pub(crate) total: u64,
}

/// Watches the free space of a disk.
pub(crate) struct Watch {
    disk: Arc<Disk>,
    reserve_bytes: Option<u64>,
    path: PathBuf,
}

impl Watch {
    /// Watches the disk that `path` is on.
    pub(crate) fn new(disk: Arc<Disk>, reserve_bytes: Option<u64>, path: &Path) -> Self {
        Self { disk, reserve_bytes, path: path.to_owned() }
    }

    /// Measures once, synchronously: before anything is written.
    pub(crate) fn look(&self) {
        self.note(space(&self.path));
    }

    /// Measures until the server stops.
    pub(crate) async fn run(self, mut stop: watch::Receiver<bool>) {
        let watch = Arc::new(self);
        let mut ticks = tokio::time::interval(INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            tokio::select! {
                _ = ticks.tick() => {}
                _ = stop.changed() => return,
            }
            let looking = Arc::clone(&watch);
            // A network disk may block.
            let _ = tokio::task::spawn_blocking(move || looking.look()).await;
        }
    }

    /// Tells the database, and logs a change.
    fn note(&self, space: io::Result<Space>) {
        // If the space is unknown, nothing is refused, and the store reports its own failures.
        let Ok(Space { free, total }) = space else { return };
        let reserve = self.reserve_bytes.unwrap_or_else(|| RESERVE_BYTES.min(total / RESERVE_PART));
        let level = self.disk.note(free, reserve);
        let path = self.path.display();
        match level {
            Some(DiskLevel::Ample) => {
                tracing::info!(
                    %path, free, reserve,
                    "the disk has enough space again: writes continue"
                );
            }
            Some(DiskLevel::Low) => tracing::warn!(
                %path, free, reserve,
                "the disk is almost full: only reads and deletes continue (see --disk-reserve)",
            ),
            Some(DiskLevel::Out) => tracing::error!(
                %path, free, reserve,
                "the disk is full: only reads continue (see --disk-reserve)",
            ),
            None => {}
        }
    }
}

#[cfg(unix)]
fn space(path: &Path) -> io::Result<Space> {
    let found = rustix::fs::statvfs(path)?;
    let bytes = |blocks: u64| blocks.saturating_mul(found.f_frsize);
    Ok(Space { free: bytes(found.f_bavail), total: bytes(found.f_blocks) })
}

#[cfg(not(unix))]
fn space(_: &Path) -> io::Result<Space> {
    Err(io::ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn watch(reserve_bytes: Option<u64>) -> Watch {
        Watch::new(Arc::default(), reserve_bytes, Path::new("/somewhere"))
    }

    fn level(watch: &Watch, free: u64, total: u64) -> DiskLevel {
        watch.note(Ok(Space { free, total }));
        watch.disk.level()
    }

    #[test]
    fn the_reserve_suits_the_disk() {
        let large = watch(None);
        assert_eq!(level(&large, 256 << 20, 1 << 40), DiskLevel::Ample);
        assert_eq!(level(&large, 255 << 20, 1 << 40), DiskLevel::Low);
        let small = watch(None);
        assert_eq!(level(&small, 6 << 20, 100 << 20), DiskLevel::Ample);
        assert_eq!(level(&small, 4 << 20, 100 << 20), DiskLevel::Low);
        let said = watch(Some(1 << 30));
        assert_eq!(level(&said, 1 << 29, 100 << 30), DiskLevel::Low);
    }

    #[test]
    fn writes_come_back_by_themselves() {
        let watch = watch(Some(1 << 20));
        assert_eq!(level(&watch, 1 << 10, 1 << 30), DiskLevel::Out);
        assert_eq!(level(&watch, 1 << 29, 1 << 30), DiskLevel::Ample);
    }

    #[test]
    fn what_cannot_be_asked_changes_nothing() {
        let watch = watch(Some(1 << 20));
        let failure = || Err(io::ErrorKind::PermissionDenied.into());
        watch.note(failure());
        assert_eq!(watch.disk.level(), DiskLevel::Ample);
        assert_eq!(level(&watch, 0, 1 << 30), DiskLevel::Out);
        watch.note(failure());
        assert_eq!(watch.disk.level(), DiskLevel::Out);
    }

    #[cfg(unix)]
    #[test]
    fn a_disk_says_what_it_has() {
        let directory = tempfile::tempdir().unwrap();
        let Space { free, total } = space(directory.path()).unwrap();
        assert!(free > 0 && free <= total, "{free} of {total}");
        assert!(space(&directory.path().join("missing")).is_err());
    }
}
