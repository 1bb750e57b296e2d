//! A directory of backups.
//!
//! ```text
//! DIR/sheaf-backups      marks the directory, and names its format
//! DIR/lock               held while a backup is written or removed, shared while one is read
//! DIR/backups/NAME       the list of a backup's files: written last, so a backup with a list is complete
//! DIR/files/ab…-123      the files, each once, by checksum and length
//! DIR/incoming/          files that are being written
//! ```

use std::{
    collections::HashSet,
    fs::{self, File, TryLockError},
    io::{self, Write as _},
    path::{Component, Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};

use super::{
    manifest::{Manifest, Name},
    pool::Pool,
};
use crate::data_dir::{create_private, private_file, sync_directory, write_private};

const MARK: &str = "sheaf-backups";
const MARK_DRAFT: &str = "sheaf-backups.new";
const MARK_TEXT: &str = "sheaf backups 1\n";

/// A directory of backups that this process may use until the value is dropped.
#[derive(Debug)]
pub(crate) struct Series {
    directory: PathBuf,
    pub(crate) pool: Pool,
    /// `None` where nothing can be written, and so nobody can change anything.
    _lock: Option<File>,
}

impl Series {
    /// Claims a directory to add backups to, and creates it if it is missing. It must be outside
    /// the data of `source`.
    pub(crate) fn claim(directory: &Path, source: &Path) -> anyhow::Result<Self> {
        let shown = directory.display();
        ensure!(directory.is_absolute(), "`{shown}` is not an absolute path");
        let is_plain = |part| matches!(part, Component::RootDir | Component::Normal(_));
        let is_plain = directory
            .components()
            .all(|part| is_plain(part) || cfg!(windows) && matches!(part, Component::Prefix(_)));
        ensure!(is_plain, "`{shown}` contains `..`: write the path without it");
        let (place, source) = (resolve(directory)?, resolve(source)?);
        if place.starts_with(&source) || source.starts_with(&place) {
            bail!("`{shown}` and the data directory contain each other: choose a separate place");
        }
        if !is_series(directory)? {
            refuse_strangers(directory)?;
            create_private(directory).with_context(|| format!("cannot create `{shown}`"))?;
            let marked = write_private(&directory.join(MARK), MARK_TEXT);
            marked.with_context(|| format!("cannot write to `{shown}`"))?;
        }
        let series = Self::own(directory)?;
        for folder in ["backups", "files", "incoming"] {
            create_private(&directory.join(folder))?;
        }
        series.clear_incoming()?;
        Ok(series)
    }

    /// Opens a series to remove backups from it.
    pub(crate) fn own(directory: &Path) -> anyhow::Result<Self> {
        ensure!(is_series(directory)?, "`{}` contains no backups", directory.display());
        let path = directory.join("lock");
        let lock = private_file().create(true).truncate(false).open(&path);
        let lock = lock.with_context(|| format!("cannot write to `{}`", directory.display()))?;
        check_lock(directory, lock.try_lock())?;
        Ok(Self::at(directory, Some(lock)))
    }

    /// Opens a series to read backups, from a place that may be read-only.
    pub(crate) fn read(directory: &Path) -> anyhow::Result<Self> {
        ensure!(is_series(directory)?, "`{}` contains no backups", directory.display());
        let lock = match File::open(directory.join("lock")) {
            Ok(lock) => Some(lock),
            // A copy of a series may lack the lock file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                let directory = directory.display();
                return Err(error).with_context(|| format!("cannot read `{directory}`"));
            }
        };
        if let Some(lock) = &lock {
            check_lock(directory, lock.try_lock_shared())?;
        }
        Ok(Self::at(directory, lock))
    }

    fn at(directory: &Path, lock: Option<File>) -> Self {
        let pool = Pool::new(directory.join("files"), directory.join("incoming"));
        Self { directory: directory.to_owned(), pool, _lock: lock }
    }

    /// The names of the backups, the oldest first.
    pub(crate) fn names(&self) -> anyhow::Result<Vec<Name>> {
        let folder = self.directory.join("backups");
        let mut names = Vec::new();
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // An earlier process was killed before its first backup.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(names),
            Err(error) => {
                return Err(error).with_context(|| format!("cannot read `{}`", folder.display()));
            }
        };
        for entry in entries {
            names.extend(entry?.file_name().to_str().and_then(Name::parse));
        }
        names.sort_unstable();
        Ok(names)
    }

    /// The list of a backup's files.
    pub(crate) fn manifest(&self, name: &Name) -> anyhow::Result<Manifest> {
        let path = self.path(name);
        let read = || -> anyhow::Result<Manifest> {
            let manifest = Manifest::parse(&fs::read_to_string(&path)?)?;
            ensure!(manifest.name == *name, "it belongs to another backup");
            Ok(manifest)
        };
        read().with_context(|| format!("cannot use `{}`", path.display()))
    }

    /// The backup of this name, or the newest.
    pub(crate) fn find(&self, name: Option<&str>) -> anyhow::Result<Manifest> {
        let directory = self.directory.display();
        let names = self.names()?;
        let found = match name {
            Some(text) => names.iter().find(|name| name.to_string() == text),
            None => names.last(),
        };
        match (found, name) {
            (Some(found), _) => self.manifest(found),
            (None, Some(name)) => bail!("`{directory}` contains no backup `{name}`"),
            (None, None) => bail!("`{directory}` contains no complete backup"),
        }
    }

    /// Adds a backup, all of whose files are there. It exists from now on.
    pub(crate) fn add(&self, manifest: &Manifest) -> anyhow::Result<()> {
        let draft = self.directory.join("incoming").join("list");
        let mut file = private_file().create(true).truncate(true).open(&draft)?;
        file.write_all(manifest.print().as_bytes())?;
        file.sync_all()?;
        let path = self.path(&manifest.name);
        fs::rename(&draft, &path)?;
        sync_directory(&self.directory.join("backups")).inspect_err(|_| {
            // The caller removes the files of a backup that does not exist.
            let _ = fs::remove_file(&path);
        })?;
        Ok(())
    }

    /// Removes all but the newest backups, then the files that none of those needs; returns the
    /// removed backups. Removes nothing while some list is unreadable.
    pub(crate) fn prune(&self, keep: usize) -> anyhow::Result<Vec<Name>> {
        let mut gone = self.names()?;
        let kept = gone.split_off(gone.len().saturating_sub(keep.max(1)));
        let mut wanted = HashSet::new();
        for name in &kept {
            wanted.extend(self.manifest(name)?.files.iter().map(|file| file.id));
        }
        for name in &gone {
            fs::remove_file(self.path(name))?;
        }
        // No list may name a removed file, even after a power failure.
        sync_directory(&self.directory.join("backups"))?;
        self.pool.sweep(&wanted)?;
        Ok(gone)
    }

    /// Removes incomplete files of an interrupted backup.
    fn clear_incoming(&self) -> anyhow::Result<()> {
        for entry in fs::read_dir(self.directory.join("incoming"))? {
            fs::remove_file(entry?.path())?;
        }
        Ok(())
    }

    fn path(&self, name: &Name) -> PathBuf {
        self.directory.join("backups").join(name.to_string())
    }
}

/// Whether the directory is marked as a series.
fn is_series(directory: &Path) -> anyhow::Result<bool> {
    match fs::read_to_string(directory.join(MARK)) {
        Ok(text) if text == MARK_TEXT => Ok(true),
        Ok(_) => bail!(
            "the backups in `{}` were made by another version: use the sheaf that made them, or a \
             newer one",
            directory.display()
        ),
        Err(error) if is_absent(&error) => Ok(false),
        Err(error) => Err(error).with_context(|| format!("cannot read `{}`", directory.display())),
    }
}

/// Refuses a directory that contains other files.
fn refuse_strangers(directory: &Path) -> anyhow::Result<()> {
    let shown = directory.display();
    match fs::read_dir(directory) {
        Ok(mut entries) => {
            let is_ours = |entry: io::Result<fs::DirEntry>| {
                entry.is_ok_and(|entry| entry.file_name() == MARK_DRAFT)
            };
            ensure!(
                entries.all(is_ours),
                "`{shown}` contains other files: choose an empty directory"
            );
            Ok(())
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        Err(error) => Err(error).with_context(|| format!("cannot use `{shown}`")),
    }
}

fn check_lock(directory: &Path, locked: Result<(), TryLockError>) -> anyhow::Result<()> {
    match locked {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            bail!("the backups in `{}` are in use by another sheaf", directory.display())
        }
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock `{}`", directory.display()))
        }
    }
}

/// Resolves a path of which only a part may exist: follows links as far as they exist.
fn resolve(path: &Path) -> anyhow::Result<PathBuf> {
    for above in path.ancestors() {
        match above.canonicalize() {
            Ok(found) => {
                let rest = path.strip_prefix(above).unwrap_or_else(|_| Path::new(""));
                return Ok(if rest.as_os_str().is_empty() { found } else { found.join(rest) });
            }
            Err(error) if is_absent(&error) => {}
            Err(error) => {
                return Err(error).with_context(|| format!("cannot use `{}`", above.display()));
            }
        }
    }
    Ok(path.to_owned())
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(directory: &Path, source: &Path) -> String {
        Series::claim(directory, source).unwrap_err().to_string()
    }

    #[test]
    fn a_place_of_its_own_is_needed() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        fs::create_dir(&data).unwrap();
        assert!(refusal(Path::new("backups"), &data).contains("absolute"));
        assert!(refusal(&scratch.path().join("data/../x"), &data).contains(".."));
        for inside in [&data, &data.join("backups/here"), scratch.path(), Path::new("/")] {
            assert!(refusal(inside, &data).contains("contain each other"), "{}", inside.display());
        }
        let stranger = scratch.path().join("stranger");
        fs::create_dir(&stranger).unwrap();
        fs::write(stranger.join("file"), "work").unwrap();
        assert!(refusal(&stranger, &data).contains("other files"));
        assert!(Series::claim(&stranger.join("file"), &data).is_err());
        assert!(Series::claim(&stranger.join("file/below"), &data).is_err());
        assert_eq!(fs::read_dir(&stranger).unwrap().count(), 1);
        fs::write(stranger.join(MARK), "sheaf backups 2\n").unwrap();
        assert!(refusal(&stranger, &data).contains("another version"));
    }

    #[cfg(unix)]
    #[test]
    fn links_do_not_lead_into_the_data() {
        let scratch = tempfile::tempdir().unwrap();
        let data = scratch.path().join("data");
        fs::create_dir(&data).unwrap();
        let link = scratch.path().join("link");
        std::os::unix::fs::symlink(&data, &link).unwrap();
        assert!(refusal(&link.join("backups"), &data).contains("contain each other"));
        assert!(refusal(&data.join("backups"), &link).contains("contain each other"));
        assert_eq!(fs::read_dir(&data).unwrap().count(), 0);
    }

    #[test]
    fn one_writes_or_several_read() {
        let scratch = tempfile::tempdir().unwrap();
        let (data, place) = (scratch.path().join("data"), scratch.path().join("a/b"));
        assert!(Series::read(&place).unwrap_err().to_string().contains("contains no backups"));
        let writer = Series::claim(&place, &data).unwrap();
        assert!(refusal(&place, &data).contains("in use"));
        assert!(Series::read(&place).is_err());
        drop(writer);
        let readers = (Series::read(&place).unwrap(), Series::read(&place).unwrap());
        assert!(refusal(&place, &data).contains("in use"));
        assert!(readers.0.find(None).unwrap_err().to_string().contains("no complete backup"));
        drop(readers);
        fs::remove_file(place.join("lock")).unwrap();
        Series::read(&place).unwrap();
    }

    #[test]
    fn a_beginning_that_was_cut_short_is_no_obstacle() {
        let scratch = tempfile::tempdir().unwrap();
        let (data, place) = (scratch.path().join("data"), scratch.path().join("backups"));
        fs::create_dir(&place).unwrap();
        fs::write(place.join(MARK_DRAFT), "she").unwrap();
        let series = Series::claim(&place, &data).unwrap();
        fs::write(place.join("incoming/file"), "half").unwrap();
        drop(series);
        Series::claim(&place, &data).unwrap();
        assert_eq!(fs::read_dir(place.join("incoming")).unwrap().count(), 0);
    }
}
