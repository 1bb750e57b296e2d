//! A file that only its owner can read, rotated when it is full: `audit.log`, `audit.log.1` and so
//! on; the highest number is the oldest.

use std::{
    fs::{self, File},
    io::{self, BufWriter, Write as _},
    path::{Path, PathBuf},
};

use anyhow::Context as _;

use super::AuditSettings;
use crate::data_dir;

/// The current file, and how to rotate it.
pub(super) struct Rotated {
    settings: AuditSettings,
    /// `None` after a failure, until the next line tries again.
    file: Option<BufWriter<File>>,
    bytes: u64,
    /// The last line could not be written. The error is reported once.
    has_failed: bool,
}

impl Rotated {
    /// Opens the file to append to it, or creates it.
    pub(super) fn open(settings: &AuditSettings) -> anyhow::Result<Self> {
        let (file, bytes) = open(&settings.path)
            .with_context(|| format!("cannot write the audit log `{}`", settings.path.display()))?;
        Ok(Self { settings: settings.clone(), file: Some(file), bytes, has_failed: false })
    }

    /// Writes a line that includes its line break.
    pub(super) fn append(&mut self, line: &str) {
        let outcome = self.try_append(line);
        self.note(outcome);
    }

    /// Hands buffered lines to the operating system.
    pub(super) fn flush(&mut self) {
        let outcome = self.file.as_mut().map_or(Ok(()), io::Write::flush);
        self.note(outcome);
    }

    fn try_append(&mut self, line: &str) -> io::Result<()> {
        let length = line.len() as u64;
        if self.bytes > 0 && self.bytes + length > self.settings.bytes_max {
            self.put_aside()?;
        }
        if self.file.is_none() {
            let (file, bytes) = open(&self.settings.path)?;
            (self.file, self.bytes) = (Some(file), bytes);
        }
        self.bytes += length;
        self.file.as_mut().map_or(Ok(()), |file| file.write_all(line.as_bytes()))
    }

    /// Renames every file to the next number; removes the last one.
    fn put_aside(&mut self) -> io::Result<()> {
        if let Some(mut file) = self.file.take() {
            file.flush()?;
        }
        self.bytes = 0;
        let path = &self.settings.path;
        let oldest = self.settings.files_max.saturating_sub(1);
        if oldest == 0 {
            return absent_is_fine(fs::remove_file(path));
        }
        for number in (1..oldest).rev() {
            absent_is_fine(fs::rename(numbered(path, number), numbered(path, number + 1)))?;
        }
        absent_is_fine(fs::rename(path, numbered(path, 1)))
    }

    fn note(&mut self, outcome: io::Result<()>) {
        match outcome {
            Ok(()) => self.has_failed = false,
            Err(error) => {
                self.file = None;
                if !self.has_failed {
                    tracing::error!(%error, "the audit log cannot be written");
                }
                self.has_failed = true;
            }
        }
    }
}

fn open(path: &Path) -> io::Result<(BufWriter<File>, u64)> {
    let file = data_dir::private_file().append(true).create(true).open(path)?;
    let bytes = file.metadata()?.len();
    Ok((BufWriter::new(file), bytes))
}

fn numbered(path: &Path, number: u32) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(format!(".{number}"));
    PathBuf::from(name)
}

fn absent_is_fine(outcome: io::Result<()>) -> io::Result<()> {
    match outcome {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
        outcome => outcome,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_are_of_a_bounded_size_and_number() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("audit.log");
        let settings = AuditSettings { path: path.clone(), bytes_max: 10, files_max: 3 };
        let mut file = Rotated::open(&settings).unwrap();
        for number in 0..9 {
            file.append(&format!("{number}234\n"));
        }
        file.flush();
        let read = |path: &Path| fs::read_to_string(path).unwrap();
        assert_eq!(read(&path), "8234\n");
        assert_eq!(read(&numbered(&path, 1)), "6234\n7234\n");
        assert_eq!(read(&numbered(&path, 2)), "4234\n5234\n");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 3);
        // A restart continues where the last run ended.
        let mut again = Rotated::open(&settings).unwrap();
        again.append("9234\n");
        again.flush();
        assert_eq!(read(&path), "8234\n9234\n");
        // A line larger than a file is written anyway.
        again.append(&"x".repeat(30));
        again.flush();
        assert_eq!(read(&path).len(), 30);
    }

    #[test]
    fn one_file_begins_anew() {
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("audit.log");
        let settings = AuditSettings { path: path.clone(), bytes_max: 10, files_max: 1 };
        let mut file = Rotated::open(&settings).unwrap();
        for number in 0..3 {
            file.append(&format!("{number}234\n"));
        }
        file.flush();
        assert_eq!(fs::read_to_string(&path).unwrap(), "2234\n");
        assert_eq!(fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[cfg(unix)]
    #[test]
    fn nobody_else_reads_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let scratch = tempfile::tempdir().unwrap();
        let path = scratch.path().join("audit.log");
        let settings = AuditSettings { path: path.clone(), bytes_max: 10, files_max: 1 };
        Rotated::open(&settings).unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    }
}
