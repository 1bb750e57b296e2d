//! A temporary directory for examining a store.

use std::{
    fs::{DirBuilder, File},
    io::ErrorKind,
    path::{Path, PathBuf},
};

use store::Result;

use crate::files::io_error;

/// A directory that is removed when dropped, and the lock of the directory it was copied from.
pub(crate) struct Scratch {
    directory: PathBuf,
    _lock: Option<File>,
}

impl Scratch {
    /// Creates the directory in the system's temporary directory.
    pub(crate) fn create(lock: Option<File>) -> Result<Self> {
        Ok(Self { directory: create(&std::env::temp_dir())?, _lock: lock })
    }

    pub(crate) fn directory(&self) -> &Path {
        &self.directory
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        if let Err(error) = std::fs::remove_dir_all(&self.directory) {
            let path = self.directory.display();
            tracing::warn!(%path, %error, "cannot remove a directory of temporary files");
        }
    }
}

/// Creates a directory with a unique name that only this user may enter.
fn create(above: &Path) -> Result<PathBuf> {
    let mut builder = DirBuilder::new();
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    let mut attempt = 0;
    loop {
        let path = above.join(format!("sheaf-look-{}-{attempt}", std::process::id()));
        match builder.create(&path) {
            Ok(()) => return Ok(path),
            Err(error) if error.kind() == ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(io_error(&path, &error)),
        }
    }
}
