//! Opens a store for reading without changing a byte of it.
//!
//! fjall cannot open a directory without writing to it: it replays and truncates journals, removes
//! files that a crash left behind, flushes buffers and compacts. So it opens a copy in the system's
//! temporary directory. Tables are never changed in place, so the copy links to them. Everything
//! else is small and is copied, journals without their reserved space. No background thread runs,
//! so nothing is written there either, except a few bytes of journal.
//!
//! The files are checked in the original directory, so that errors name them.

use std::{
    fs::{File, OpenOptions},
    io::{ErrorKind, Read, Seek, SeekFrom, Write},
    path::Path,
    sync::Arc,
};

use store::{Error, Result};

use crate::{
    files::{VERSION, io_error},
    journal_list,
    open::{self, LOCK},
    options::Options,
    restore,
    scratch::Scratch,
    shared::Shared,
    torn,
};

/// Directories whose files are never changed in place.
const UNCHANGING: [&str; 2] = ["tables", "blobs"];

/// How much to copy at a time; zero runs of this size are not written.
const PIECE_BYTES: usize = 64 << 10;

/// Opens the store in `directory`.
pub(crate) fn open(directory: &Path, options: Options) -> Result<Arc<Shared>> {
    let directory = std::path::absolute(directory).map_err(|error| io_error(directory, &error))?;
    let version = directory.join(VERSION);
    if !version.metadata().is_ok_and(|file| file.len() > 0) {
        let path = version.display();
        return Err(Error::Corrupt(format!("`{path}` is missing or empty: this is not a store")));
    }
    restore::refuse_unfinished(&directory)?;
    let lock = lock(&directory)?;
    let listed = journal_list::check(&directory)?;
    let torn = torn::find(&directory, &listed)?;
    let scratch = Scratch::create(lock)?;
    copy(&directory, scratch.directory())?;
    if let Some(torn) = torn {
        torn.announce();
        torn.leave_out(scratch.directory())?;
    }
    open::open_copy(Options { workers: 0, ..options }, scratch)
}

/// Takes the lock of a directory without writing to it. If it was never opened there is none.
fn lock(directory: &Path) -> Result<Option<File>> {
    let path = directory.join(LOCK);
    match File::open(&path) {
        Ok(file) => open::take_lock(file, directory).map(Some),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(io_error(&path, &error)),
    }
}

fn copy(from: &Path, to: &Path) -> Result<()> {
    let is_unchanging =
        from.file_name().is_some_and(|name| UNCHANGING.iter().any(|it| name == *it));
    for entry in from.read_dir().map_err(|error| io_error(from, &error))? {
        let entry = entry.map_err(|error| io_error(from, &error))?;
        let (path, target) = (entry.path(), to.join(entry.file_name()));
        let io = |error: std::io::Error| io_error(&path, &error);
        if path.is_dir() {
            std::fs::create_dir(&target).map_err(|error| io_error(&target, &error))?;
            copy(&path, &target)?;
        } else if is_unchanging {
            link(&path, &target).map_err(io)?;
        } else if path.extension().is_none_or(|extension| extension != "torn") {
            copy_file(&path, &target).map_err(io)?;
        }
    }
    Ok(())
}

#[cfg(unix)]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    std::os::unix::fs::symlink(from, to)
}

#[cfg(not(unix))]
fn link(from: &Path, to: &Path) -> std::io::Result<()> {
    // Links need a privilege on some systems, and hard links do not reach another drive.
    std::fs::hard_link(from, to).or_else(|_| std::fs::copy(from, to).map(|_| ()))
}

/// Copies a file; long runs of zeros take no space.
fn copy_file(from: &Path, to: &Path) -> std::io::Result<()> {
    let mut source = File::open(from)?;
    let mut target = OpenOptions::new().write(true).create_new(true).open(to)?;
    let mut piece = vec![0; PIECE_BYTES];
    let mut length = 0;
    loop {
        let read = source.read(&mut piece)?;
        if read == 0 {
            return target.set_len(length);
        }
        length += read as u64;
        if piece[..read].iter().all(|byte| *byte == 0) {
            target.seek(SeekFrom::Start(length))?;
        } else {
            target.write_all(&piece[..read])?;
        }
    }
}
