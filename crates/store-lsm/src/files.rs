//! The files of a store's directory: their names, and how they are made durable.

use std::{
    fs::{DirBuilder, File},
    path::{Path, PathBuf},
};

use store::{Error, Result};

/// Where fjall keeps the keyspaces.
pub(crate) const KEYSPACES: &str = "keyspaces";

/// The file with fjall's format version.
pub(crate) const VERSION: &str = "version";

/// Creates the directory, for this user only, and makes its name and those of all missing parents
/// durable. Existing names are synced too: their creator may have been killed before syncing.
pub(crate) fn create_directory(directory: &Path) -> Result<()> {
    let io = |error: std::io::Error| io_error(directory, &error);
    let absolute = std::path::absolute(directory).map_err(io)?;
    let mut changed = Vec::new();
    for (path, above) in absolute.ancestors().zip(absolute.ancestors().skip(1)) {
        changed.push(above);
        if path.try_exists().map_err(io)? {
            break;
        }
    }
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder.create(&absolute).map_err(io)?;
    changed.into_iter().rev().try_for_each(sync_directory)
}

/// The journal files, oldest first.
pub(crate) fn journals(directory: &Path) -> Result<Vec<(u64, PathBuf)>> {
    let mut journals = Vec::new();
    let entries = std::fs::read_dir(directory).map_err(|error| io_error(directory, &error))?;
    for entry in entries {
        let path = entry.map_err(|error| io_error(directory, &error))?.path();
        if let Some(number) = journal_number(&path) {
            journals.push((number, path));
        }
    }
    journals.sort_unstable();
    Ok(journals)
}

/// The number of a journal, from its file name.
pub(crate) fn journal_number(path: &Path) -> Option<u64> {
    path.file_name()?.to_str()?.strip_suffix(".jnl")?.parse().ok()
}

/// Makes all existing files durable before anything is built on them: a process killed between a
/// write and its sync left files that look whole but may not survive a power loss. For files
/// already synced it costs some microseconds each.
pub(crate) fn sync_tree(directory: &Path) -> Result<()> {
    for entry in std::fs::read_dir(directory).map_err(|error| io_error(directory, &error))? {
        let path = entry.map_err(|error| io_error(directory, &error))?.path();
        if path.is_dir() {
            sync_tree(&path)?;
        } else {
            let synced = File::open(&path).and_then(|file| file.sync_all());
            synced.map_err(|error| io_error(&path, &error))?;
        }
    }
    sync_directory(directory)
}

/// fsyncs a directory, so that creations, renames and deletions in it are durable.
pub(crate) fn sync_directory(directory: &Path) -> Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    let synced = File::open(directory).and_then(|file| file.sync_all());
    synced.map_err(|error| io_error(directory, &error))
}

/// An operating system error, with the path concerned.
pub(crate) fn io_error(path: &Path, error: &std::io::Error) -> Error {
    Error::Io(format!("`{}`: {error}", path.display()))
}
