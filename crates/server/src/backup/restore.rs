//! Creates a data directory from a backup.

use std::{
    fs,
    path::{Path, PathBuf},
};

use anyhow::{Context as _, ensure};

use super::{manifest::Manifest, series::Series};
use crate::data_dir::{DataDir, private_directories};

/// Restores a backup into a new data directory. If it fails, it leaves the directory as it was; if
/// it is killed, no server will open the incomplete data.
pub(crate) fn run(
    series: &Series,
    manifest: &Manifest,
    data_dir: &Path,
    restore_store: impl FnOnce(&Path, &dyn Fn(&Path) -> anyhow::Result<()>) -> anyhow::Result<()>,
) -> anyhow::Result<()> {
    let target = Target::claim(data_dir)?;
    restore_store(&target.directory.store(), &|store| files(series, manifest, store))?;
    target.keep();
    Ok(())
}

/// Writes all files of a backup to their paths.
pub(crate) fn files(series: &Series, manifest: &Manifest, directory: &Path) -> anyhow::Result<()> {
    for file in &manifest.files {
        // The manifest was checked: no path leads out of the directory.
        let path = directory.join(&file.path);
        // The store makes everything durable at the end.
        private_directories().create(path.parent().unwrap_or(directory))?;
        let got = series.pool.get(file.id, &path);
        got.with_context(|| format!("cannot restore `{}`", file.path))?;
    }
    Ok(())
}

/// A data directory that is not complete yet.
struct Target {
    directory: DataDir,
    path: PathBuf,
    was_there: bool,
    is_kept: bool,
}

impl Target {
    fn claim(path: &Path) -> anyhow::Result<Self> {
        let shown = path.display();
        let was_there = path.try_exists().with_context(|| format!("cannot use `{shown}`"))?;
        if was_there {
            let mut entries =
                fs::read_dir(path).with_context(|| format!("cannot use `{shown}`"))?;
            ensure!(
                entries.next().is_none(),
                "`{shown}` is not empty: restore into a new directory"
            );
        }
        let directory = DataDir::create(path)?;
        Ok(Self { directory, path: path.to_owned(), was_there, is_kept: false })
    }

    fn keep(mut self) {
        self.is_kept = true;
    }
}

impl Drop for Target {
    fn drop(&mut self) {
        if self.is_kept {
            return;
        }
        // The store's directory is empty now; if not, nothing more can be done here.
        let _ = fs::remove_dir(self.path.join("store"));
        let _ = fs::remove_file(self.path.join("lock"));
        if !self.was_there {
            let _ = fs::remove_dir(&self.path);
        }
    }
}
