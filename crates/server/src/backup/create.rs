//! Writes a backup: copies the files of an image that the series does not have yet, then writes the
//! list of all files.

use std::{
    fmt,
    sync::atomic::{AtomicBool, AtomicU64, Ordering},
    time::Duration,
};

use anyhow::{Context as _, bail};
use store::{Image, ImageFile};
use tools::backup::size;
use value::Value;

use super::{
    manifest::{Entry, FileId, Manifest, Name},
    pool::Put,
    series::Series,
};

/// The progress of a backup. Other tasks may read it, and may stop the backup.
#[derive(Debug, Default)]
pub(crate) struct Progress {
    pub(crate) is_cancelled: AtomicBool,
    /// The total bytes of the files, and the bytes done.
    pub(crate) bytes: AtomicU64,
    pub(crate) done_bytes: AtomicU64,
}

/// The result of a backup.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Summary {
    pub(crate) name: String,
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Files that no earlier backup had.
    pub(crate) copied_files: u64,
    pub(crate) copied_bytes: u64,
    /// How long writes were stopped.
    pub(crate) pause: Duration,
    /// Number of old backups that were removed afterwards.
    pub(crate) removed: u64,
    /// A problem after the backup was made.
    pub(crate) warning: Option<String>,
}

impl Summary {
    /// Parses a server's summary of a backup.
    pub(crate) fn read(said: &Value) -> Option<Self> {
        let number = |name| said.get(name).as_i64().and_then(|number| u64::try_from(number).ok());
        let number = |name| number(name).unwrap_or(0);
        let pause = said.get("writesPausedMs").as_f64()?.clamp(0.0, 1e12) / 1000.0;
        Some(Self {
            name: said.get("name").as_str()?.to_owned(),
            files: number("files"),
            bytes: number("bytes"),
            copied_files: number("copiedFiles"),
            copied_bytes: number("copiedBytes"),
            pause: Duration::from_secs_f64(pause),
            removed: number("removed"),
            warning: said.get("warning").as_str().map(str::to_owned),
        })
    }
}

/// Writes an image into a series. If it fails, it removes everything it wrote.
pub(crate) fn write(
    image: &dyn Image,
    series: &Series,
    seconds_since_epoch: u64,
    progress: &Progress,
) -> anyhow::Result<Summary> {
    let name = Name::after(series.names()?.last(), seconds_since_epoch);
    let total = image.files().iter().map(|file| file.bytes).sum();
    progress.bytes.store(total, Ordering::Relaxed);
    let mut copied = Copied { series, ids: Vec::new() };
    let mut files = Vec::with_capacity(image.files().len());
    for (index, file) in image.files().iter().enumerate() {
        let id = put(image, index, file, &mut copied, progress)
            .with_context(|| format!("cannot copy `{}`", file.path))?;
        files.push(Entry { path: file.path.clone(), id });
    }
    series.pool.sync().context("cannot write the backup")?;
    let copied_bytes = copied.ids.iter().map(|id| id.bytes).sum();
    let server = env!("CARGO_PKG_VERSION").to_owned();
    let manifest = Manifest { name, server, copied_bytes, files };
    series.add(&manifest).context("cannot write the list of files")?;
    let copied_files = std::mem::take(&mut copied.ids).len() as u64;
    Ok(Summary {
        name: manifest.name.to_string(),
        files: manifest.files.len() as u64,
        bytes: total,
        copied_files,
        copied_bytes,
        pause: image.pause(),
        removed: 0,
        warning: None,
    })
}

/// Removes old backups, and files that no backup needs. The backup is already made, so a failure is
/// only a warning.
pub(crate) fn tidy(series: &Series, keep: Option<usize>, mut summary: Summary) -> Summary {
    match series.prune(keep.unwrap_or(usize::MAX)) {
        Ok(removed) => summary.removed = removed.len() as u64,
        Err(error) => summary.warning = Some(format!("cannot remove old files: {error:#}")),
    }
    summary
}

fn put(
    image: &dyn Image,
    index: usize,
    file: &ImageFile,
    copied: &mut Copied<'_>,
    progress: &Progress,
) -> anyhow::Result<FileId> {
    let pool = &copied.series.pool;
    let mut proceed = |bytes| {
        progress.done_bytes.fetch_add(bytes, Ordering::Relaxed);
        if progress.is_cancelled.load(Ordering::Relaxed) {
            bail!("the backup was stopped");
        }
        Ok(())
    };
    if let Some(checksum) = file.checksum {
        let id = FileId { checksum, bytes: file.bytes };
        if pool.has(id) {
            proceed(file.bytes)?;
            return Ok(id);
        }
    }
    let (id, put) = pool.put(image.open(index)?, file.bytes, file.checksum, &mut proceed)?;
    if put == Put::Copied {
        copied.ids.push(id);
    }
    Ok(id)
}

/// The files that were added; removed on drop unless a backup now has them.
struct Copied<'a> {
    series: &'a Series,
    ids: Vec<FileId>,
}

impl Drop for Copied<'_> {
    fn drop(&mut self) {
        self.ids.iter().for_each(|id| self.series.pool.remove(*id));
    }
}

impl fmt::Display for Summary {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, files, copied_files, removed, .. } = self;
        let (bytes, copied) = (size(self.bytes), size(self.copied_bytes));
        let pause = self.pause.as_secs_f64() * 1000.0;
        write!(f, "{name}: {files} files, {bytes}; copied {copied_files} files, {copied}; ")?;
        write!(f, "writes waited for {pause:.1} ms")?;
        if *removed > 0 {
            write!(f, "; removed {removed} old backups")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests;
