//! Reads a file with its own position: clones of a file handle share theirs, but readers of an
//! image must not.

use std::{
    fs::File,
    io::{self, Read, Seek, SeekFrom},
};

/// A file, and the position of the next read.
pub(crate) struct Window<'a> {
    file: &'a File,
    at: u64,
}

impl<'a> Window<'a> {
    /// Starts at the beginning.
    pub(crate) fn new(file: &'a File) -> Self {
        Self { file, at: 0 }
    }
}

impl Read for Window<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(self.file, buffer, self.at)?;
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(self.file, buffer, self.at)?;
        self.at += read as u64;
        Ok(read)
    }
}

impl Seek for Window<'_> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        let at = match to {
            SeekFrom::Start(at) => Some(at),
            SeekFrom::Current(by) => self.at.checked_add_signed(by),
            SeekFrom::End(by) => self.file.metadata()?.len().checked_add_signed(by),
        };
        self.at = at.ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        Ok(self.at)
    }
}
