//! A copy of the whole store in another directory, made while writes go on.
//!
//! fjall's snapshots span keyspaces, and the committer hands out the one it published last together
//! with the list of partitions, so the copy is of one instant. It is an ordinary store: a second
//! database, filled in bulk (past its journal) and closed in good order.
//!
//! A file marks the directory as unfinished from before the first byte until everything in it is
//! synced, and such a directory is not opened. It is filled in place rather than renamed at the end:
//! it may be a mount point, beside which nothing can be written.
//!
//! All this happens on one thread. fjall's table writer cannot move between threads, and only a
//! thread that does everything can be sure that nothing is written any more when it cleans up.

use std::{
    fs::OpenOptions,
    io::ErrorKind,
    panic::{AssertUnwindSafe, catch_unwind},
    path::Path,
    sync::Arc,
};

use fjall::{Keyspace, Readable};
use store::{Error, Result};

use crate::{
    command::View,
    committer,
    files::{io_error, sync_directory, sync_tree},
    open,
    options::Options,
    reply::Reply,
    shared::{Shared, error_of},
};

/// The file that marks a checkpoint that is not whole.
const UNFINISHED: &str = "checkpoint.unfinished";

/// The block cache of the copy, which nobody reads from but its own compactions.
const CACHE_BYTES: u64 = 1 << 20;

/// After how many entries the thread looks whether anybody still waits.
const LOOK_EVERY: usize = 4096;

/// Refuses a directory that a checkpoint did not get to finish.
pub(crate) fn refuse_unfinished(directory: &Path) -> Result<()> {
    let marker = directory.join(UNFINISHED);
    if !marker.try_exists().map_err(|error| io_error(&marker, &error))? {
        return Ok(());
    }
    let directory = directory.display();
    Err(Error::Corrupt(format!(
        "`{directory}` holds a checkpoint that was interrupted, not a whole store: remove it and \
         make another one"
    )))
}

/// Writes what `view` shows into `directory`, on a thread of its own. It stops soon after `reply` is
/// forgotten. Until then it keeps `shared`, and with it the lock of the directory it reads from.
pub(crate) fn start(
    shared: Arc<Shared>,
    view: View,
    directory: &Path,
    reply: Reply<()>,
) -> Result<()> {
    let directory = std::path::absolute(directory).map_err(|error| io_error(directory, &error))?;
    let run = move || {
        let written = catch_unwind(AssertUnwindSafe(|| write(&shared, view, &directory, &reply)));
        // Whoever waits may want to open the directory it was read from.
        drop(shared);
        let panicked = || Err(Error::Io("the checkpoint panicked".to_owned()));
        reply.send(written.unwrap_or_else(|_| panicked()));
    };
    let builder = std::thread::Builder::new().name("checkpoint".to_owned());
    builder.spawn(run).map_err(|error| Error::Io(error.to_string()))?;
    Ok(())
}

fn write(shared: &Shared, view: View, directory: &Path, reply: &Reply<()>) -> Result<()> {
    let target = Target::claim(directory)?;
    refuse_inside(directory, &shared.directory)?;
    let options = Options { cache_bytes: CACHE_BYTES, workers: 1, ..shared.options.clone() };
    // Declared behind the target: its files are synced or removed once the database has ended.
    let copy = Copy(open::open_unchecked(directory, options)?);
    fill(&copy.0, view, reply)?;
    drop(copy);
    check_wanted(reply)?;
    target.finish()
}

/// Fills a directory by `write`, as whole or not at all as a checkpoint.
pub(crate) fn fill_with<E: From<Error>>(
    directory: &Path,
    write: impl FnOnce(&Path) -> Result<(), E>,
) -> Result<(), E> {
    let target = Target::claim(directory)?;
    write(directory)?;
    Ok(target.finish()?)
}

/// The database of the checkpoint while it is written.
struct Copy(Arc<Shared>);

impl Drop for Copy {
    fn drop(&mut self) {
        self.0.forget_partitions();
    }
}

fn fill(copy: &Arc<Shared>, view: View, reply: &Reply<()>) -> Result<()> {
    for partition in view.partitions {
        check_wanted(reply)?;
        let source = &partition.keyspace;
        let target = committer::create(copy, source.name())?;
        copy_entries(&view.snapshot, source, &target.keyspace, reply)?;
    }
    committer::close(copy)
}

fn copy_entries(
    snapshot: &fjall::Snapshot,
    from: &Keyspace,
    to: &Keyspace,
    reply: &Reply<()>,
) -> Result<()> {
    let mut writer = to.start_ingestion().map_err(error_of)?;
    for (number, entry) in snapshot.iter(from).enumerate() {
        if number % LOOK_EVERY == 0 {
            check_wanted(reply)?;
        }
        let (key, value) = entry.into_inner().map_err(error_of)?;
        writer.write(key, value).map_err(error_of)?;
    }
    writer.finish().map_err(error_of)
}

/// Ends a checkpoint that was cancelled. The error reaches nobody.
fn check_wanted(reply: &Reply<()>) -> Result<()> {
    if reply.is_forgotten() {
        return Err(Error::Closed("nobody waits for the checkpoint any more".to_owned()));
    }
    Ok(())
}

/// Refuses to write among the files of the store itself. Both directories are there: only then do
/// links and `..` say where they lead.
fn refuse_inside(directory: &Path, own: &Path) -> Result<()> {
    let find = |path: &Path| path.canonicalize().map_err(|error| io_error(path, &error));
    if find(directory)?.starts_with(find(own)?) {
        let directory = directory.display();
        return Err(Error::Conflict(format!("`{directory}` is inside the store's own files")));
    }
    Ok(())
}

/// The directory of a checkpoint. Unless it is finished, it is left as it was found.
struct Target<'a> {
    directory: &'a Path,
    /// Directories that were not there before, the lowest first.
    created: Vec<&'a Path>,
    /// The mark is this checkpoint's, and so is everything beside it.
    is_marked: bool,
}

impl<'a> Target<'a> {
    /// Creates the directory if need be, and marks it. `Conflict` if there is anything in it.
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
        open::create_directory(directory)?;
        let marker = directory.join(UNFINISHED);
        let file = match OpenOptions::new().create_new(true).write(true).open(&marker) {
            // Another checkpoint was quicker.
            Err(error) if error.kind() == ErrorKind::AlreadyExists => return Err(not_empty()),
            other => other.map_err(|error| io_error(&marker, &error))?,
        };
        target.is_marked = true;
        file.sync_all().map_err(|error| io_error(&marker, &error))?;
        sync_directory(directory)?;
        Ok(target)
    }

    /// Makes everything durable, then takes the mark away.
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

    /// Removes what was written. The mark goes last, so that what remains of a removal that is
    /// itself cut short does not look whole.
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
            tracing::warn!(%error, "an unfinished checkpoint could not be removed");
        }
        for path in &self.created {
            // Refused if it holds anything, and then it is somebody else's too.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// The directories on the way to `directory` that are not there, the lowest first. `Conflict` if a
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

#[cfg(test)]
mod tests {
    use store::{Batch, Durability, Store as _};

    use super::*;
    use crate::{LsmStore, command::Command, reply::reply};

    /// Cancelled before it begins, so that it is certain to notice while it writes.
    #[tokio::test]
    async fn a_cancelled_one_stops_and_is_removed() {
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(&directory.path().join("store"), Options::default()).unwrap();
        let partition = store.open("p", 0).await.unwrap();
        let mut batch = Batch::default();
        batch.put("k", "v");
        partition.submit(batch, Durability::Durable, Box::new(|_| ()));
        partition.flush().await.unwrap();
        let place = directory.path().join("below/that");
        let (sender, receiver) = reply();
        drop(receiver);
        let view = store.command(|reply| Command::View { reply }).await.unwrap();
        let stopped = write(&store.shared, view, &place, &sender);
        assert!(matches!(stopped, Err(Error::Closed(_))), "{stopped:?}");
        assert!(!directory.path().join("below").try_exists().unwrap(), "nothing was left");

        let target = committer::create(&store.shared, "target").unwrap();
        let source = store.shared.partition("p").unwrap();
        let snapshot = store.shared.published();
        let stopped = copy_entries(&snapshot, &source.keyspace, &target.keyspace, &sender);
        assert!(matches!(stopped, Err(Error::Closed(_))), "between entries, too: {stopped:?}");
    }
}
