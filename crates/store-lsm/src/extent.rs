//! Finds how much of a growing journal is older than an instant.
//!
//! Sequence numbers rise within a journal, so the answer is everything before the first batch with
//! the instant's number or a later one. That batch, including its number, may be half written, so a
//! place that makes no sense is read again after a while. The frame of a batch is described at
//! `torn::last_batch`.

use std::{
    fs::File,
    io::{BufReader, Read},
    path::Path,
    time::Duration,
};

use store::{Error, Result};

use crate::{files::io_error, window::Window};

/// How often, and at what interval, to re-read a place that makes no sense. A write in progress
/// finishes long before that.
const ATTEMPTS: u32 = 50;
const WAIT: Duration = Duration::from_millis(20);

/// The size of the read-ahead buffer.
const BUFFER_BYTES: usize = 1 << 20;

/// The length of the whole batches before the sequence number `limit`.
pub(crate) fn before(journal: &File, limit: u64, path: &Path) -> Result<u64> {
    let mut attempt = 0;
    loop {
        let (end, is_sound) = scan(journal, limit).map_err(|error| io_error(path, &error))?;
        if is_sound {
            return Ok(end);
        }
        attempt += 1;
        if attempt == ATTEMPTS {
            let path = path.display();
            return Err(Error::Corrupt(format!("{path} is damaged at byte {end}")));
        }
        std::thread::sleep(WAIT);
    }
}

/// The length of the whole batches in a journal that nobody is writing to.
pub(crate) fn whole(journal: &File) -> std::io::Result<u64> {
    scan(journal, u64::MAX).map(|(end, _)| end)
}

/// Where the batches before `limit` end, and whether it is certain that no other follows.
fn scan(journal: &File, limit: u64) -> std::io::Result<(u64, bool)> {
    let mut reader = BufReader::with_capacity(BUFFER_BYTES, Window::new(journal));
    let (mut end, mut last) = (0, None);
    loop {
        let mut start = [0; 13];
        let read = fill(&mut reader, &mut start)?;
        if start.iter().all(|byte| *byte == 0) {
            // The end of the file, or the zeros that fjall reserves.
            return Ok((end, true));
        }
        let sequence = number(&start[5..]);
        if read < start.len() || start[0] != 1 || last.is_some_and(|last| sequence <= last) {
            return Ok((end, false));
        }
        if sequence >= limit {
            return Ok((end, true));
        }
        let Some(length) = skip_batch(&mut reader, number(&start[1..5]))? else {
            return Ok((end, false));
        };
        end += start.len() as u64 + length;
        last = Some(sequence);
    }
}

/// Skips the entries and the end of a batch, and returns their length.
fn skip_batch(reader: &mut BufReader<Window<'_>>, count: u64) -> std::io::Result<Option<u64>> {
    let mut length = 0;
    for _ in 0..count {
        let mut head = [0; 21];
        if fill(reader, &mut head[..9])? < 9 {
            return Ok(None);
        }
        length += 9;
        if head[0] == 4 {
            continue;
        }
        if head[0] != 2 || fill(reader, &mut head[9..])? < 12 {
            return Ok(None);
        }
        let content = number(&head[11..13]) + number(&head[17..21]);
        reader.seek_relative(content.cast_signed())?;
        length += 12 + content;
    }
    let mut end = [0; 13];
    fill(reader, &mut end)?;
    Ok((end[0] == 3 && end[9..] == *b"FJL\x03").then_some(length + 13))
}

/// Reads until the buffer is full or the file ends.
fn fill(reader: &mut impl Read, buffer: &mut [u8]) -> std::io::Result<usize> {
    let mut filled = 0;
    while filled < buffer.len() {
        match reader.read(&mut buffer[filled..]) {
            Ok(0) => break,
            Ok(read) => filled += read,
            Err(error) if error.kind() == std::io::ErrorKind::Interrupted => {}
            Err(error) => return Err(error),
        }
    }
    Ok(filled)
}

/// Decodes a little-endian number.
fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

#[cfg(test)]
mod tests {
    use std::io::Write as _;

    use super::*;

    /// A batch of one entry.
    fn batch(sequence: u64, key: &[u8], value: &[u8]) -> Vec<u8> {
        let mut bytes = vec![1, 1, 0, 0, 0];
        bytes.extend(sequence.to_le_bytes());
        bytes.extend([2, 0, 0]);
        bytes.extend(7_u64.to_le_bytes());
        bytes.extend(u16::try_from(key.len()).unwrap().to_le_bytes());
        for _ in 0..2 {
            bytes.extend(u32::try_from(value.len()).unwrap().to_le_bytes());
        }
        bytes.extend(key);
        bytes.extend(value);
        bytes.extend([3, 9, 9, 9, 9, 9, 9, 9, 9]);
        bytes.extend(b"FJL\x03");
        bytes
    }

    fn scanned(content: &[u8], limit: u64) -> (u64, bool) {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(content).unwrap();
        scan(&file, limit).unwrap()
    }

    #[test]
    fn a_journal_ends_at_its_zeros_at_its_end_or_at_the_limit() {
        let (first, second) = (batch(5, b"k", &[1; 3000]), batch(9, b"key", b""));
        let both = [first.clone(), second].concat();
        let (one, two) = (first.len() as u64, both.len() as u64);
        assert_eq!(scanned(b"", 1), (0, true));
        assert_eq!(scanned(&[0; 100], 1), (0, true));
        for limit in [10, u64::MAX] {
            assert_eq!(scanned(&both, limit), (two, true));
            assert_eq!(scanned(&[both.clone(), vec![0; 64]].concat(), limit), (two, true));
        }
        for limit in [6, 9] {
            assert_eq!(scanned(&both, limit), (one, true));
            // However much of the later batch is written after its number.
            let written = &both[..first.len() + 13];
            assert_eq!(scanned(&[written, &[0; 64]].concat(), limit), (one, true));
        }
        assert_eq!(scanned(&both, 5), (0, true));
    }

    #[test]
    fn what_makes_no_sense_is_no_end() {
        let (first, second) = (batch(5, b"k", b"v"), batch(9, b"k", b"v"));
        let one = first.len() as u64;
        let both = [first.clone(), second.clone()].concat();
        for cut in first.len() + 1..both.len() {
            assert_eq!(scanned(&both[..cut], 20), (one, false), "{cut}");
            assert_eq!(scanned(&[&both[..cut], &[0; 64]].concat(), 20), (one, false), "{cut}");
        }
        assert_eq!(scanned(&[second, first].concat(), 20), (one, false), "numbers rise");
        assert_eq!(scanned(b"what is this", 20), (0, false));
    }

    #[test]
    fn damage_is_said() {
        let mut file = tempfile::tempfile().unwrap();
        file.write_all(b"what is this, no journal").unwrap();
        let refused = before(&file, 20, Path::new("1.jnl"));
        assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
    }
}
