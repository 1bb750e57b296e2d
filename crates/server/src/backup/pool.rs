//! The files of all backups of a series, each once, under its length and checksum.
//!
//! A file gets its name only when it is complete and durable, so every named file can be relied on.

use std::{
    collections::HashSet,
    fs::{self, File},
    io::{self, Read},
    path::{Path, PathBuf},
};

use anyhow::{Context as _, bail, ensure};
use xxhash_rust::xxh3::Xxh3Default;

use super::manifest::FileId;
use crate::data_dir::{private_file, sync_directory};

/// Bytes to copy at a time. A copy can be stopped between two pieces.
const PIECE_BYTES: usize = 1 << 20;

/// The directory of the files.
#[derive(Debug)]
pub(crate) struct Pool {
    files: PathBuf,
    incoming: PathBuf,
}

/// Whether a file already existed.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Put {
    Known,
    Copied,
}

impl Pool {
    pub(crate) fn new(files: PathBuf, incoming: PathBuf) -> Self {
        Self { files, incoming }
    }

    fn path(&self, id: FileId) -> PathBuf {
        self.files.join(id.to_string())
    }

    /// Whether a complete file of this name exists.
    pub(crate) fn has(&self, id: FileId) -> bool {
        fs::metadata(self.path(id)).is_ok_and(|file| file.is_file() && file.len() == id.bytes)
    }

    /// Copies a file in, whose checksum may be known already. `proceed` is called for each piece
    /// and may stop the copy.
    pub(crate) fn put(
        &self,
        mut from: impl Read,
        bytes: u64,
        checksum: Option<u128>,
        proceed: &mut dyn FnMut(u64) -> anyhow::Result<()>,
    ) -> anyhow::Result<(FileId, Put)> {
        let draft = self.incoming.join("file");
        let mut file = private_file().create(true).truncate(true).open(&draft)?;
        let id = copy(&mut from, &mut file, proceed)?;
        ensure!(id.bytes == bytes, "it has {} bytes instead of {bytes}", id.bytes);
        if checksum.is_some_and(|checksum| checksum != id.checksum) {
            bail!("its checksum does not match: the disk has damaged it (run `sheaf verify`)");
        }
        if self.has(id) {
            fs::remove_file(&draft)?;
            return Ok((id, Put::Known));
        }
        file.sync_all()?;
        fs::rename(&draft, self.path(id))?;
        Ok((id, Put::Copied))
    }

    /// Makes the names of all files durable.
    pub(crate) fn sync(&self) -> io::Result<()> {
        sync_directory(&self.files)
    }

    /// Copies a file out, and verifies it while copying. It is not durable yet.
    pub(crate) fn get(&self, id: FileId, to: &Path) -> anyhow::Result<()> {
        let from = self.path(id);
        let mut source =
            File::open(&from).with_context(|| format!("cannot read `{}`", from.display()))?;
        let mut target = private_file().create_new(true).open(to)?;
        let found = copy(&mut source, &mut target, &mut |_| Ok(()))?;
        if found != id {
            bail!("`{}` is damaged: its checksum does not match", from.display());
        }
        Ok(())
    }

    /// The problem with a file, if there is one.
    pub(crate) fn problem(&self, id: FileId) -> Option<String> {
        let path = self.path(id);
        let found = File::open(&path).map_err(anyhow::Error::from);
        match found.and_then(|mut file| copy(&mut file, &mut io::sink(), &mut |_| Ok(()))) {
            Ok(found) if found == id => None,
            Ok(_) => Some(format!("`{}` is damaged: remove it", path.display())),
            Err(error) => Some(format!("`{}` cannot be read: {error}", path.display())),
        }
    }

    /// Removes one file, if it exists.
    pub(crate) fn remove(&self, id: FileId) {
        let _ = fs::remove_file(self.path(id));
    }

    /// Removes the files that are not in `wanted`, and returns their size.
    pub(crate) fn sweep(&self, wanted: &HashSet<FileId>) -> io::Result<u64> {
        let wanted: HashSet<String> = wanted.iter().map(FileId::to_string).collect();
        let mut bytes = 0;
        for file in fs::read_dir(&self.files)? {
            let file = file?;
            let is_wanted = file.file_name().to_str().is_some_and(|name| wanted.contains(name));
            if !is_wanted && file.file_type()?.is_file() {
                bytes += file.metadata()?.len();
                fs::remove_file(file.path())?;
            }
        }
        Ok(bytes)
    }
}

/// Copies everything, and returns its length and checksum.
fn copy(
    from: &mut impl Read,
    to: &mut impl io::Write,
    proceed: &mut dyn FnMut(u64) -> anyhow::Result<()>,
) -> anyhow::Result<FileId> {
    let mut hasher = Xxh3Default::new();
    let mut piece = vec![0; PIECE_BYTES];
    let mut bytes = 0;
    loop {
        let read = match from.read(&mut piece) {
            Ok(0) => break,
            Ok(read) => read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            Err(error) => return Err(error.into()),
        };
        hasher.update(&piece[..read]);
        to.write_all(&piece[..read])?;
        bytes += read as u64;
        proceed(read as u64)?;
    }
    Ok(FileId { checksum: hasher.digest128(), bytes })
}
