//! A disk that tests can pause: durable groups wait for it.

use std::{
    path::{Path, PathBuf},
    sync::{Arc, Condvar, Mutex},
};

use store::{Store, conformance::Disk};

use crate::{LsmStore, Options};

/// Where the committer waits while the disk is paused.
#[derive(Default)]
pub(crate) struct Pause {
    is_paused: Mutex<bool>,
    changed: Condvar,
}

impl Pause {
    /// Waits for the end of a pause.
    pub(crate) fn wait(&self) {
        let is_paused = self.is_paused.lock().unwrap();
        drop(self.changed.wait_while(is_paused, |is_paused| *is_paused).unwrap());
    }

    fn set(&self, is_paused: bool) {
        *self.is_paused.lock().unwrap() = is_paused;
        self.changed.notify_all();
    }
}

/// The directory of a store, and copies of it.
struct Directory {
    store: Arc<LsmStore>,
    path: PathBuf,
    /// Removed together with the store that the test started with.
    directories: Mutex<Vec<tempfile::TempDir>>,
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in std::fs::read_dir(from).unwrap() {
        let entry = entry.unwrap();
        let target = to.join(entry.file_name());
        if entry.file_type().unwrap().is_dir() {
            copy(&entry.path(), &target);
        } else {
            std::fs::copy(entry.path(), target).unwrap();
        }
    }
}

impl Disk for Directory {
    fn pause(&self) {
        self.store.shared.pause.set(true);
    }

    fn resume(&self) {
        self.store.shared.pause.set(false);
    }

    /// The files' contents are what a dying process leaves. This cannot tell whether they are
    /// synced; the power loss tests do.
    fn crash(&self) -> Arc<dyn Store> {
        let directory = tempfile::tempdir().unwrap();
        copy(&self.path, directory.path());
        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        self.directories.lock().unwrap().push(directory);
        store
    }
}

#[tokio::test]
async fn visible_means_durable() {
    let disks = Mutex::new(Vec::new());
    let new = || {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_owned();
        let store = LsmStore::open(&path, Options::default()).unwrap();
        let directories = Mutex::new(vec![directory]);
        let disk = Arc::new(Directory { store: Arc::clone(&store), path, directories });
        disks.lock().unwrap().push(Arc::clone(&disk));
        (store as Arc<dyn Store>, disk as Arc<dyn Disk>)
    };
    store::conformance::run_disk(new).await;
}
