//! A journal whose last batch was being written when the power failed.
//!
//! The pages of an unsynced write reach the disk in any order. fjall drops a batch that ends early,
//! but one with a hole in the middle of a value is complete to the eye and fails its checksum, and
//! then fjall refuses to open at all. Such a batch was never acknowledged: it can only be the last
//! one, as the committer waits for the fsync of one batch before it writes the next.
//!
//! So when fjall refuses, the last batch is cut off and kept beside the journal, and fjall is asked
//! again. If it still refuses, the damage is elsewhere: the journal is restored and the store is
//! corrupt. Batches that were not asked to be durable are written without an fsync between them; if
//! several are torn at once, that counts as damage too.

use std::{
    fs::{File, OpenOptions},
    io::{Read, Seek, SeekFrom, Write},
    path::Path,
};

use fjall::Database;
use store::{Error, Result};

use crate::{
    open::{io_error, journals, sync_directory},
    shared::error_of,
};

/// Opens the database again, without the last batch of its newest journal.
pub(crate) fn without_torn_tail(
    directory: &Path,
    open: impl Fn() -> fjall::Result<Database>,
) -> Result<Database> {
    let damaged = || Error::Corrupt("the journal is damaged".to_owned());
    let (_, path) = journals(directory)?.pop().ok_or_else(damaged)?;
    let tail = cut(directory, &path)?.ok_or_else(damaged)?;
    match open() {
        Ok(database) => Ok(database),
        Err(error @ fjall::Error::JournalRecovery(_)) => {
            tail.restore(&path).map_err(|error| io_error(&path, &error))?;
            Err(error_of(error))
        }
        Err(error) => Err(error_of(error)),
    }
}

/// What was cut off a journal.
struct Tail {
    start: u64,
    bytes: Vec<u8>,
}

impl Tail {
    fn restore(&self, path: &Path) -> std::io::Result<()> {
        let mut file = OpenOptions::new().write(true).open(path)?;
        file.set_len(self.start)?;
        file.seek(SeekFrom::Start(self.start))?;
        file.write_all(&self.bytes)?;
        file.sync_all()
    }
}

fn cut(directory: &Path, path: &Path) -> Result<Option<Tail>> {
    let io = |error: std::io::Error| io_error(path, &error);
    let mut journal = Vec::new();
    let mut file = OpenOptions::new().read(true).write(true).open(path).map_err(io)?;
    file.read_to_end(&mut journal).map_err(io)?;
    let Some(start) = last_batch(&journal) else { return Ok(None) };
    let bytes = journal.split_off(start);
    let start = start as u64;
    let kept = path.with_extension("torn");
    let written = File::create(&kept).and_then(|mut copy| {
        copy.write_all(&bytes)?;
        copy.sync_all()
    });
    written.map_err(|error| io_error(&kept, &error))?;
    sync_directory(directory)?;
    file.set_len(start).and_then(|()| file.sync_all()).map_err(io)?;
    Ok(Some(Tail { start, bytes }))
}

/// Where the last batch of a journal starts, judging by the frame of its entries only.
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
