//! Repairs a journal whose last batch was being written when the power failed.
//!
//! The pages of an unsynced write reach the disk in any order, and may contain anything. Such a
//! batch was never acknowledged, and it can only be the last one, because the committer waits for
//! the fsync of one batch before it writes the next. fjall does not handle it well:
//!
//! - It reads lengths out of data that is not a batch at all. So everything after the last whole
//!   batch is cut off before fjall sees it.
//! - It takes an unknown tag for the end of the journal, and would silently lose every batch after
//!   one damaged byte. A whole batch after a broken place cannot be a torn write, so such a journal
//!   is rejected.
//! - A batch with a hole in the middle of a value looks complete but fails its checksum, and then
//!   fjall refuses to open at all. So the last batch is cut off and saved beside the journal, and
//!   fjall tries again. If it still fails, for whatever reason, the journal is restored: the damage
//!   is elsewhere, or the next attempt may succeed.
//!
//! Batches that need not be durable are written without an fsync between them; if several of them
//! are torn at once, that counts as damage too.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
};

use fjall::Database;
use store::{Error, Result};

use crate::{
    error::error_of,
    files::{io_error, journals, sync_directory},
    journal_list::{self, Needed},
};

/// Opens the database again, without the last batch of its newest journal.
pub(crate) fn without_torn_tail(
    directory: &Path,
    open: impl Fn() -> fjall::Result<Database>,
) -> Result<Database> {
    let damaged = || Error::Corrupt("the journal is damaged".to_owned());
    let (_, path) = journals(directory)?.pop().ok_or_else(damaged)?;
    let journal = read_content(&path).map_err(|error| io_error(&path, &error))?;
    let start = last_batch(&journal).ok_or_else(damaged)?;
    let tail = cut(directory, &path, journal, start)?;
    match open() {
        Ok(database) => {
            tail.report(&path);
            Ok(database)
        }
        Err(error) => {
            tail.restore(&path).map_err(|error| io_error(&path, &error))?;
            Err(error_of(error))
        }
    }
}

/// Cuts an incomplete batch off the end of the last non-empty journal.
pub(crate) fn prepare(directory: &Path, listed: &Needed) -> Result<()> {
    // It was never written in full, or was damaged later: keep it, since someone may want it.
    if let Some(Rest { path, journal, whole }) = find(directory, listed)? {
        cut(directory, &path, journal, whole)?.report(&path);
    }
    Ok(())
}

/// Finds the journal that does not end with a whole batch. Fails if a journal is shorter than
/// before, or if a whole batch follows a broken place.
///
/// A journal is synced before the next one is created, so only the last one can be torn.
pub(crate) fn find(directory: &Path, listed: &Needed) -> Result<Option<Rest>> {
    let damaged = |path: &Path, whole: usize| {
        Err(Error::Corrupt(format!("{} is damaged at byte {whole}", path.display())))
    };
    let mut rest: Option<Rest> = None;
    for (number, path) in journals(directory)? {
        let journal = read_content(&path).map_err(|error| io_error(&path, &error))?;
        let whole = whole_batches(&journal);
        journal_list::check_length(&path, whole as u64, listed.get(&number))?;
        if has_batch_behind_an_end(&journal[whole..]) {
            return damaged(&path, whole);
        }
        if let Some(earlier) = rest.as_ref().filter(|_| !journal.is_empty()) {
            return damaged(&earlier.path, earlier.whole);
        }
        if journal[whole..].iter().any(|byte| *byte != 0) {
            rest = Some(Rest { path, journal, whole });
        }
    }
    Ok(rest)
}

/// A journal that does not end with a whole batch.
pub(crate) struct Rest {
    path: PathBuf,
    journal: Vec<u8>,
    whole: usize,
}

impl Rest {
    /// Logs what the next start will do.
    pub(crate) fn announce(&self) {
        tracing::warn!(
            journal = %self.path.display(),
            byte = self.whole,
            "the journal ends with a partial batch: the next start cuts it off",
        );
    }

    /// Cuts the rest off the journal's copy in another directory.
    pub(crate) fn leave_out(&self, directory: &Path) -> Result<()> {
        let path = directory.join(self.path.file_name().unwrap_or_default());
        let file = OpenOptions::new().write(true).open(&path);
        let cut = file.and_then(|file| file.set_len(self.whole as u64));
        cut.map_err(|error| io_error(&path, &error))
    }
}

/// Reads a journal without the zeros at its end: fjall reserves 64 MiB for each.
fn read_content(path: &Path) -> std::io::Result<Vec<u8>> {
    const ZEROS: [u8; 16 << 10] = [0; 16 << 10];
    let mut file = File::open(path)?;
    let mut piece = [0; ZEROS.len()];
    let mut content = Vec::new();
    let mut zeros = 0;
    loop {
        match file.read(&mut piece)? {
            0 => return Ok(content),
            read if piece[..read] == ZEROS[..read] => zeros += read,
            read => {
                content.resize(content.len() + zeros, 0);
                content.extend_from_slice(&piece[..read]);
                zeros = 0;
            }
        }
    }
}

/// Where the whole batches at the beginning of a journal end.
fn whole_batches(journal: &[u8]) -> usize {
    let mut at = 0;
    while let Some(next) = batch_end(journal, at) {
        at = next;
    }
    at
}

/// Whether a whole batch follows the end of some batch.
fn has_batch_behind_an_end(rest: &[u8]) -> bool {
    let mut ends = rest.windows(MAGIC.len()).enumerate().filter(|(_, bytes)| *bytes == MAGIC);
    ends.any(|(end, _)| batch_end(rest, end + MAGIC.len()).is_some())
}

/// The last bytes of a batch.
const MAGIC: &[u8] = b"FJL\x03";

/// Where the batch that starts at `at` ends, if its frame is complete.
fn batch_end(journal: &[u8], at: usize) -> Option<usize> {
    let count = number(journal, at + 1, 4).filter(|_| journal.get(at) == Some(&1))?;
    let mut at = at + 13;
    for _ in 0..count {
        at = at.checked_add(match journal.get(at)? {
            2 => 21 + number(journal, at + 11, 2)? + number(journal, at + 17, 4)?,
            4 => 9,
            _ => return None,
        })?;
    }
    let is_whole = journal.get(at) == Some(&3) && journal.get(at + 9..at + 13) == Some(MAGIC);
    is_whole.then_some(at + 13)
}

/// The data cut off a journal.
struct Tail {
    start: u64,
    /// Without the zeros at the end.
    bytes: Vec<u8>,
    /// The journal's original length, including those zeros.
    journal_length: u64,
    /// Where the bytes were saved.
    kept: PathBuf,
}

impl Tail {
    fn report(&self, path: &Path) {
        tracing::warn!(
            journal = %path.display(),
            bytes = self.bytes.len(),
            kept = %self.kept.display(),
            "cut a partial batch off the journal, left by a power failure",
        );
    }

    fn restore(&self, path: &Path) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(self.start)?;
        file.seek(SeekFrom::Start(self.start))?;
        file.write_all(&self.bytes)?;
        file.set_len(self.journal_length)?;
        file.sync_all()?;
        // Otherwise each attempt to open a damaged store would leave another copy.
        std::fs::remove_file(&self.kept)
    }
}

/// Cuts a journal with this content off at `start`, and saves the rest.
fn cut(directory: &Path, path: &Path, mut journal: Vec<u8>, start: usize) -> Result<Tail> {
    let io = |error: std::io::Error| io_error(path, &error);
    let file = OpenOptions::new().write(true).open(path).map_err(io)?;
    let journal_length = file.metadata().map_err(io)?.len();
    let mut bytes = journal.split_off(start);
    bytes.truncate(bytes.iter().rposition(|byte| *byte != 0).map_or(0, |last| last + 1));
    let start = start as u64;
    let (kept, mut copy) = create_copy(path, start)?;
    let written = copy.write_all(&bytes).and_then(|()| copy.sync_all());
    written.map_err(|error| io_error(&kept, &error))?;
    sync_directory(directory)?;
    file.set_len(start).and_then(|()| file.sync_all()).map_err(io)?;
    Ok(Tail { start, bytes, journal_length, kept })
}

/// Creates a file for the data cut off at `start`. Later writes may be cut at the same place, and
/// earlier copies must be kept.
fn create_copy(journal: &Path, start: u64) -> Result<(PathBuf, File)> {
    let mut attempt = 0;
    loop {
        let path = journal.with_extension(format!("{start}-{attempt}.torn"));
        match File::create_new(&path) {
            Ok(file) => return Ok((path, file)),
            Err(error) if error.kind() == std::io::ErrorKind::AlreadyExists => attempt += 1,
            Err(error) => return Err(io_error(&path, &error)),
        }
    }
}

/// Where the last batch of a journal starts, judging only by the frames of its entries.
///
/// Entries of fjall's format 3, integers in little endian:
/// - start: 1, count u32, sequence number u64
/// - item: 2, kind u8, compression u8, keyspace u64, key length u16, value length u32, stored value
///   length u32, key, stored value
/// - end: 3, checksum u64, `FJL` and the byte 3
/// - clear: 4, keyspace u64
fn last_batch(journal: &[u8]) -> Option<usize> {
    let mut start = None;
    let mut at = 0;
    while let Some(tag) = journal.get(at) {
        let length = match tag {
            1 => {
                start = Some(at);
                13
            }
            2 => match (number(journal, at + 11, 2), number(journal, at + 17, 4)) {
                (Some(key), Some(value)) => 21 + key + value,
                _ => break,
            },
            3 => 13,
            4 => 9,
            _ => break,
        };
        at += length;
    }
    start
}

fn number(journal: &[u8], at: usize, length: usize) -> Option<usize> {
    let bytes = journal.get(at..at + length)?;
    Some(bytes.iter().rev().fold(0, |number, byte| number << 8 | usize::from(*byte)))
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;

    use store::{Batch, Durability, KeySpace, Store as _};

    use super::*;
    use crate::{LsmStore, Options, extent};

    fn commit(key_space: &dyn KeySpace, batch: Batch) {
        let (done, end) = channel();
        let done = Box::new(move |result| done.send(result).unwrap());
        key_space.submit(batch, Durability::Durable, done);
        end.recv().unwrap().unwrap();
    }

    /// Our readers of fjall's journals depend on its format, which another version of fjall may
    /// change.
    #[tokio::test]
    async fn a_fresh_journal_is_read_to_its_end() {
        const BATCHES: usize = 20;
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        let (p, q) = (store.open("p", 0).await.unwrap(), store.open("q", 0).await.unwrap());
        for number in 0..BATCHES {
            let key_space = if number % 3 == 0 { &p } else { &q };
            let mut batch = Batch::default();
            for length in [0, 1, 300, 70_000] {
                // Compressible on purpose: values must be stored uncompressed.
                batch.put(format!("{number}/{length}"), vec![b'x'; length]);
            }
            batch.put(vec![b'k'; 60_000], "a long key");
            batch.delete(format!("{}/1", number / 2));
            commit(&**key_space, batch);
        }
        let journals = journals(directory.path()).unwrap();
        assert_eq!(journals.len(), 1);
        let path = &journals[0].1;
        let journal = read_content(path).unwrap();
        let written = journal.iter().rposition(|byte| *byte != 0).unwrap() + 1;
        assert_eq!(whole_batches(&journal), written);
        assert_eq!(extent::whole(&File::open(path).unwrap()).unwrap(), written as u64);
        let (mut at, mut batches, mut last) = (0, 0, 0);
        while let Some(end) = batch_end(&journal, at) {
            (batches, last, at) = (batches + 1, at, end);
        }
        // The others are the store's own records.
        assert!(batches >= BATCHES, "{batches} batches");
        assert_eq!(last_batch(&journal[..written]), Some(last));
    }
}
