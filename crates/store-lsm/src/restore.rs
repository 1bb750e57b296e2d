//! Builds a store from files that the caller writes: all of it or nothing.
//!
//! A file marks the directory as unfinished from before the first byte until everything is synced,
//! and marked directories are not opened. The directory is filled in place instead of being renamed
//! at the end, because it may be a mount point with nothing writable beside it.

use std::{fs::OpenOptions, io::ErrorKind, path::Path};

use store::{Error, Result};

use crate::files::{create_directory, io_error, sync_directory, sync_tree};

/// The file that marks a directory with an unfinished restore.
const UNFINISHED: &str = "checkpoint.unfinished";

/// Fails if a restore of this directory was not finished.
pub(crate) fn refuse_unfinished(directory: &Path) -> Result<()> {
    let marker = directory.join(UNFINISHED);
    if !marker.try_exists().map_err(|error| io_error(&marker, &error))? {
        return Ok(());
    }
    let directory = directory.display();
    Err(Error::Corrupt(format!(
        "`{directory}` contains an interrupted restore, not a complete store: remove it and restore \
         again"
    )))
}

/// Fills a directory with `write`. If that fails, the directory is restored to its previous state.
pub(crate) fn restore<E: From<Error>>(
    directory: &Path,
    write: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let target = Target::claim(directory)?;
    write(directory)?;
    Ok(target.finish()?)
}

/// The directory being filled. Unless finished, it is restored to its previous state.
struct Target<'a> {
    directory: &'a Path,
    /// Directories that had to be created, deepest first.
    created: Vec<&'a Path>,
    /// Whether the mark was created by us, so that everything beside it was too.
    is_marked: bool,
}

impl<'a> Target<'a> {
    /// Creates the directory if needed, and marks it. Fails with `Conflict` if it is not empty.
    fn claim(directory: &'a Path) -> Result<Self> {
        let created = missing(directory)?;
        let not_empty = || Error::Conflict(format!("`{}` is not empty", directory.display()));
        if created.is_empty() {
            refuse_unfinished(directory).map_err(|error| Error::Conflict(error.to_string()))?;
            let mut entries = directory.read_dir().map_err(|error| io_error(directory, &error))?;
            if entries.next().is_some() {
                return Err(not_empty());
            }
        }
        let mut target = Self { directory, created, is_marked: false };
        create_directory(directory)?;
        let marker = directory.join(UNFINISHED);
        let file = match OpenOptions::new().create_new(true).write(true).open(&marker) {
            // Another restore was first.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(not_empty()),
            other => other.map_err(|error| io_error(&marker, &error))?,
        };
        target.is_marked = true;
        file.sync_all().map_err(|error| io_error(&marker, &error))?;
        sync_directory(directory)?;
        Ok(target)
    }

    /// Makes everything durable, then removes the mark.
    fn finish(mut self) -> Result<()> {
        sync_tree(self.directory)?;
        self.unmark()?;
        self.created.clear();
        Ok(())
    }

    fn unmark(&mut self) -> Result<()> {
        let marker = self.directory.join(UNFINISHED);
        std::fs::remove_file(&marker).map_err(|error| io_error(&marker, &error))?;
        self.is_marked = false;
        sync_directory(self.directory)
    }

    /// Removes what was written. The mark goes last, so that the rest of an interrupted removal
    /// does not look complete.
    fn clear(&mut self) -> Result<()> {
        let directory = self.directory;
        let io = |error: std::io::Error| io_error(directory, &error);
        for entry in directory.read_dir().map_err(io)? {
            let entry = entry.map_err(io)?;
            if entry.file_name() == UNFINISHED {
                continue;
            }
            let is_directory = entry.file_type().map_err(io)?.is_dir();
            let remove = if is_directory { std::fs::remove_dir_all } else { std::fs::remove_file };
            remove(entry.path()).map_err(io)?;
        }
        sync_directory(directory)?;
        self.unmark()
    }
}

impl Drop for Target<'_> {
    fn drop(&mut self) {
        if self.is_marked
            && let Err(error) = self.clear()
        {
            tracing::warn!(%error, "cannot remove an unfinished restore");
        }
        for path in &self.created {
            // Fails if it is not empty, because someone else uses it too.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// The missing directories on the path to `directory`, deepest first. Fails with `Conflict` if a
/// file is in the way.
fn missing(directory: &Path) -> Result<Vec<&Path>> {
    let mut missing = Vec::new();
    for path in directory.ancestors() {
        match path.metadata() {
            Ok(metadata) if metadata.is_dir() => break,
            Ok(_) => return Err(Error::Conflict(format!("`{}` is a file", path.display()))),
            // If something above is a file, a later round finds it.
            Err(error) if is_absent(&error) => missing.push(path),
            Err(error) => return Err(io_error(path, &error)),
        }
    }
    Ok(missing)
}

fn is_absent(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory)
}
