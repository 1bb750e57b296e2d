//! The data directory: only its owner may read it, and only one process at a time may use it.
//!
//! ```text
//! DIR/audit.log the audit log, unless it is kept elsewhere
//! DIR/keys     the account's keys, once `sheaf keys regenerate` has created some
//! DIR/lock     held while a process uses the directory; contains its id
//! DIR/store/   the store's files
//! DIR/tls/     the generated certificate and its key
//! ```

use std::{
    fs::{self, DirBuilder, File, OpenOptions, TryLockError},
    io::{self, Read as _, Seek as _, Write as _},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail};

/// A data directory that this process owns until the value is dropped.
#[derive(Debug)]
pub(crate) struct DataDir {
    path: PathBuf,
    /// The operating system releases the lock when the file is closed, however the process ends.
    _lock: Option<File>,
}

impl DataDir {
    /// Opens the directory, and creates it if it is missing.
    pub(crate) fn create(path: &Path) -> anyhow::Result<Self> {
        create_private(path)
            .with_context(|| format!("cannot create the data directory `{}`", path.display()))?;
        let directory = Self::lock(path)?;
        close_to_others(&directory.store())
            .with_context(|| format!("cannot create the store in `{}`", path.display()))?;
        Ok(directory)
    }

    /// Opens a directory that must exist and contain data.
    pub(crate) fn existing(path: &Path) -> anyhow::Result<Self> {
        check_holds_data(path)?;
        Self::lock(path)
    }

    /// Opens a directory that must exist and contain data, and writes nothing to it.
    pub(crate) fn look_at(path: &Path) -> anyhow::Result<Self> {
        check_holds_data(path)?;
        let name = path.join("lock");
        let lock = match File::open(&name) {
            Ok(mut lock) => {
                take(&mut lock, &name, path)?;
                Some(lock)
            }
            // A copy of a directory may lack the lock file.
            Err(error) if error.kind() == io::ErrorKind::NotFound => None,
            Err(error) => {
                return Err(error).with_context(|| format!("cannot open `{}`", name.display()));
            }
        };
        Ok(Self { path: path.to_owned(), _lock: lock })
    }

    fn lock(path: &Path) -> anyhow::Result<Self> {
        let name = path.join("lock");
        let mut lock =
            private_file().read(true).create(true).truncate(false).open(&name).with_context(
                || format!("cannot write to the data directory `{}`", path.display()),
            )?;
        take(&mut lock, &name, path)?;
        // The owner is only for the message above, so the server can start without it.
        let _ = note_owner(&mut lock);
        Ok(Self { path: path.to_owned(), _lock: Some(lock) })
    }

    /// The directory of the store.
    pub(crate) fn store(&self) -> PathBuf {
        self.path.join("store")
    }

    /// The directory of the generated certificate.
    pub(crate) fn tls(&self) -> PathBuf {
        self.path.join("tls")
    }
}

fn check_holds_data(path: &Path) -> anyhow::Result<()> {
    if !path.join("store").is_dir() {
        bail!("`{}` is not a data directory: it contains no `store`", path.display());
    }
    Ok(())
}

/// Locks the file `name` of the directory `path`; the error says which process has it.
fn take(lock: &mut File, name: &Path, path: &Path) -> anyhow::Result<()> {
    match lock.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => bail!(
            "the data directory `{}` is in use by another sheaf{}: stop it, or choose another \
             directory with --data-dir",
            path.display(),
            owner(lock),
        ),
        Err(TryLockError::Error(error)) => {
            Err(error).with_context(|| format!("cannot lock `{}`", name.display()))
        }
    }
}

/// Creates a directory, and its parents, that only this user may enter. Makes their names durable
/// before anything is put into them: a file is only as safe as the directories above it.
pub(crate) fn create_private(path: &Path) -> io::Result<()> {
    // Recursive, because another process may create the same directory at the same time.
    let builder = private_directories();
    // The parent of `data` is an empty path; that of `/here/data` is a directory that can be
    // synced.
    let path = std::path::absolute(path)?;
    let mut missing = Vec::new();
    let mut found = None;
    for ancestor in path.ancestors() {
        if ancestor.try_exists()? {
            found = Some(ancestor);
            break;
        }
        missing.push(ancestor);
    }
    // An earlier start may have been killed between creating this directory and syncing its name.
    if let Some(above) = found.and_then(Path::parent) {
        match sync_directory(above) {
            // A directory that we may not read was not created by us.
            Err(error) if error.kind() == io::ErrorKind::PermissionDenied => {}
            synced => synced?,
        }
    }
    for directory in missing.into_iter().rev() {
        builder.create(directory)?;
        sync_directory(directory)?;
        directory.parent().map_or(Ok(()), sync_directory)?;
    }
    Ok(())
}

/// Creates directories, and their parents, that only this user may enter.
pub(crate) fn private_directories() -> DirBuilder {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    std::os::unix::fs::DirBuilderExt::mode(&mut builder, 0o700);
    builder
}

/// Creates the directory of the documents, or removes other users' access to it. Its parent stays
/// unchanged: somebody else may have created it for other purposes, too.
fn close_to_others(path: &Path) -> io::Result<()> {
    create_private(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        let mode = fs::metadata(path)?.permissions().mode();
        if mode & 0o077 != 0 {
            // We may not change it: the administrator who mounted it decided who may read it.
            if let Err(error) = fs::set_permissions(path, fs::Permissions::from_mode(0o700)) {
                tracing::warn!(path = %path.display(), %error, "other users can read the data");
            }
        }
    }
    Ok(())
}

/// Writes a file that only this user may read, completely or not at all.
pub(crate) fn write_private(path: &Path, content: &str) -> io::Result<()> {
    write(path, content, None)
}

/// Writes a private file, completely or not at all. Gives it to the owner of `like` if this user
/// may do so, because the server could not read a file that belongs to an administrator.
pub(crate) fn write_private_like(path: &Path, content: &str, like: &Path) -> io::Result<()> {
    write(path, content, Some(like))
}

fn write(path: &Path, content: &str, like: Option<&Path>) -> io::Result<()> {
    let draft = path.with_extension("new");
    // A leftover draft may belong to anybody, with any permissions.
    match fs::remove_file(&draft) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = private_file().create_new(true).open(&draft)?;
    #[cfg(unix)]
    if let Some(like) = like {
        use std::os::unix::fs::{MetadataExt as _, fchown};
        let (now, like) = (file.metadata()?, fs::metadata(like)?);
        if (now.uid(), now.gid()) != (like.uid(), like.gid()) {
            // Only an administrator may do this; otherwise the file keeps its owner.
            let _ = fchown(&file, Some(like.uid()), Some(like.gid()));
        }
    }
    #[cfg(not(unix))]
    let _ = like;
    file.write_all(content.as_bytes())?;
    file.sync_all()?;
    fs::rename(&draft, path)?;
    std::path::absolute(path)?.parent().map_or(Ok(()), sync_directory)
}

/// Makes the names in a directory durable.
pub(crate) fn sync_directory(directory: &Path) -> io::Result<()> {
    if cfg!(not(unix)) {
        return Ok(());
    }
    File::open(directory)?.sync_all()
}

/// Options for a file that only this user may read, if it has to be created.
pub(crate) fn private_file() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    options
}

fn note_owner(lock: &mut File) -> io::Result<()> {
    lock.set_len(0)?;
    lock.rewind()?;
    writeln!(lock, "{}", std::process::id())
}

fn owner(lock: &mut File) -> String {
    let mut text = String::new();
    match lock.read_to_string(&mut text) {
        Ok(_) if !text.trim().is_empty() => format!(" (process {})", text.trim()),
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_process_at_a_time() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("data");
        let first = DataDir::create(&path).unwrap();
        let error = DataDir::create(&path).unwrap_err().to_string();
        assert!(error.contains("in use by another sheaf (process "), "{error}");
        drop(first);
        DataDir::create(&path).unwrap();
    }

    #[test]
    fn missing_parents_are_made() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("a/./b/c");
        create_private(&path).unwrap();
        create_private(&path).unwrap();
        assert!(path.is_dir());
        // The directory the tests run in, which exists.
        create_private(Path::new(".")).unwrap();
        assert!(create_private(&path.join("..").join("c")).is_ok());
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_may_look() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("data");
        let _held = DataDir::create(&path).unwrap();
        write_private(&path.join("secret"), "x").unwrap();
        let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
        assert_eq!((mode(&path), mode(&path.join("secret"))), (0o700, 0o600));
        assert_eq!(mode(&path.join("store")), 0o700);
        // A directory of other users, with a draft of theirs in it.
        let shared = scratch.path().join("shared");
        fs::create_dir_all(shared.join("store")).unwrap();
        for opened in [&shared, &shared.join("store")] {
            fs::set_permissions(opened, fs::Permissions::from_mode(0o755)).unwrap();
        }
        fs::write(shared.join("secret.new"), "").unwrap();
        fs::set_permissions(shared.join("secret.new"), fs::Permissions::from_mode(0o644)).unwrap();
        let _held = DataDir::create(&shared).unwrap();
        assert_eq!((mode(&shared), mode(&shared.join("store"))), (0o755, 0o700));
        write_private(&shared.join("secret"), "x").unwrap();
        assert_eq!(mode(&shared.join("secret")), 0o600);
    }

    /// What this test can check depends on its user: only an administrator can give files away.
    #[cfg(unix)]
    #[test]
    fn a_file_is_its_owners_whoever_writes_it() {
        use std::os::unix::fs::{MetadataExt as _, chown};
        let scratch = tempfile::tempdir().unwrap();
        let [path, like] = ["secret", "like"].map(|name| scratch.path().join(name));
        fs::write(&like, "").unwrap();
        let is_administrator = chown(&like, Some(12345), Some(12345)).is_ok();
        write_private_like(&path, "x", &like).unwrap();
        let written = fs::metadata(&path).unwrap();
        assert_eq!(written.uid(), fs::metadata(&like).unwrap().uid());
        assert!(!is_administrator || written.gid() == 12345);
        assert_eq!(written.mode() & 0o777, 0o600);
    }

    #[test]
    fn an_empty_directory_is_not_taken_for_data() {
        let scratch = tempfile::tempdir().unwrap();
        assert!(DataDir::existing(scratch.path()).is_err());
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 0);
    }
}
