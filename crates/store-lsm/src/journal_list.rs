//! Tracks which journals the store needs.
//!
//! fjall uses the journals that it finds. If one is missing, it silently starts with what is in the
//! tables, and acknowledged writes are lost. So the store keeps its own list, `journals.list`:
//!
//! ```text
//! sheaf journals 1
//! 4 64000113
//! 5 0
//! end
//! ```
//!
//! Each line has a journal's number and the minimum length of its batches in bytes. The list is
//! always a subset of what is on disk: a new journal is listed after it was created and before its
//! first batch; one that is no longer needed is unlisted before it is removed. So whenever a crash
//! happens, the listed journals exist. An unlisted journal is harmless: it is empty, or all of it
//! is in tables.
//!
//! Directories older than the list get one when they are opened. For those it is still known that
//! fjall always leaves one journal, and that their numbers have no gaps.

use std::{
    collections::BTreeMap,
    fs::File,
    io::{self, ErrorKind, Read, Seek, SeekFrom, Write},
    path::{Path, PathBuf},
    sync::{Mutex, MutexGuard, PoisonError},
};

use fjall::JournalListener;
use store::{Error, Result};

use crate::{
    extent,
    files::{VERSION, io_error, journal_number, journals, sync_directory},
};

/// The name of the file.
pub(crate) const LIST: &str = "journals.list";

/// The next list is written here before it replaces the current one.
const DRAFT: &str = "journals.list.new";

const FIRST_LINE: &str = "sheaf journals 1";
const LAST_LINE: &str = "end";

/// Journals by number, with the minimum length of each in bytes.
pub(crate) type Needed = BTreeMap<u64, u64>;

/// The list of an open store.
pub(crate) struct JournalList {
    directory: PathBuf,
    needed: Mutex<Needed>,
}

impl JournalList {
    /// Lists the existing journals before fjall opens them.
    pub(crate) fn start(directory: &Path, listed: &Needed) -> Result<Self> {
        let found = journals(directory)?;
        let bytes = |number: &u64| listed.get(number).copied().unwrap_or(0);
        let needed: Needed = found.iter().map(|(number, _)| (*number, bytes(number))).collect();
        let list = Self { directory: directory.to_owned(), needed: Mutex::new(needed) };
        // A directory being created has no journal yet; it gets its list once it has one.
        if !found.is_empty() {
            list.write(&list.lock()).map_err(|error| list.error(&error))?;
        }
        Ok(list)
    }

    /// Records the length of the newest journal, whose contents must be durable by now.
    pub(crate) fn note_newest(&self) -> Result<()> {
        let Some((number, path)) = journals(&self.directory)?.pop() else { return Ok(()) };
        let file = File::open(&path).map_err(|error| io_error(&path, &error))?;
        let bytes = extent::whole(&file).map_err(|error| io_error(&path, &error))?;
        self.change(|needed| needed.insert(number, bytes)).map_err(|error| self.error(&error))
    }

    /// Records that a journal is about to be emptied, because all of it is in tables.
    pub(crate) fn note_empty(&self, number: u64) -> Result<()> {
        self.change(|needed| needed.insert(number, 0)).map_err(|error| self.error(&error))
    }

    fn change<T>(&self, change: impl FnOnce(&mut Needed) -> T) -> io::Result<()> {
        let mut needed = self.lock();
        let mut next = needed.clone();
        change(&mut next);
        if next != *needed {
            self.write(&next)?;
            *needed = next;
        }
        Ok(())
    }

    fn write(&self, needed: &Needed) -> io::Result<()> {
        let draft = self.directory.join(DRAFT);
        let mut file = File::create(&draft)?;
        file.write_all(text(needed).as_bytes())?;
        file.sync_all()?;
        std::fs::rename(&draft, self.directory.join(LIST))?;
        sync_directory(&self.directory).map_err(io::Error::other)
    }

    fn lock(&self) -> MutexGuard<'_, Needed> {
        self.needed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn error(&self, error: &io::Error) -> Error {
        io_error(&self.directory.join(LIST), error)
    }
}

impl JournalListener for JournalList {
    fn created(&self, path: &Path) -> io::Result<()> {
        let Some(number) = journal_number(path) else { return Ok(()) };
        // The previous journal was synced to its end when it was sealed.
        let sealed = number.checked_sub(1);
        let sealed = sealed.map(|sealed| (sealed, self.directory.join(format!("{sealed}.jnl"))));
        let bytes = match &sealed {
            Some((_, path)) => content_bytes(path)?,
            None => 0,
        };
        self.change(|needed| {
            if let Some((sealed, _)) = sealed {
                needed.entry(sealed).and_modify(|listed| *listed = bytes);
            }
            needed.insert(number, 0)
        })
    }

    fn released(&self, path: &Path) -> io::Result<()> {
        let Some(number) = journal_number(path) else { return Ok(()) };
        self.change(|needed| needed.remove(&number))
    }
}

/// Reads the list of a directory, and fails if a listed journal is missing.
pub(crate) fn check(directory: &Path) -> Result<Needed> {
    let listed = read(directory)?;
    let found: Vec<u64> = journals(directory)?.into_iter().map(|(number, _)| number).collect();
    let is_store = directory.join(VERSION).metadata().is_ok_and(|file| file.len() > 0);
    let gap = match (found.first(), found.last()) {
        (Some(first), Some(last)) => (*first..*last).find(|number| !found.contains(number)),
        _ => None,
    };
    let gone = listed.keys().copied().find(|number| !found.contains(number));
    if let Some(number) = gone.or(gap) {
        return Err(missing(directory, &format!("{number}.jnl"), !listed.is_empty()));
    }
    if is_store && found.is_empty() {
        // In directories of earlier builds the number is unknown.
        return Err(missing(directory, "*.jnl", false));
    }
    Ok(listed)
}

fn missing(directory: &Path, name: &str, is_listed: bool) -> Error {
    let (path, list) = (directory.join(name), directory.join(LIST));
    // An earlier build running in between removed journals without updating the list.
    let hint = if is_listed {
        format!(" (if an earlier build used this directory, remove `{}`)", list.display())
    } else {
        String::new()
    };
    Error::Corrupt(format!(
        "the journal `{}` is missing, and with it acknowledged writes: put it back, or restore a \
         backup{hint}",
        path.display()
    ))
}

/// Fails if a journal has fewer bytes of batches than listed.
pub(crate) fn check_length(path: &Path, bytes: u64, listed: Option<&u64>) -> Result<()> {
    match listed {
        Some(listed) if bytes < *listed => Err(Error::Corrupt(format!(
            "the journal `{}` was cut short: {bytes} bytes are readable, but it had at least \
             {listed}. Put it back, or restore a backup",
            path.display()
        ))),
        _ => Ok(()),
    }
}

/// Reads the list; empty if there is none.
fn read(directory: &Path) -> Result<Needed> {
    let path = directory.join(LIST);
    match std::fs::read_to_string(&path) {
        Ok(content) => parse(&content).ok_or_else(|| {
            Error::Corrupt(format!("the list of journals `{}` is damaged", path.display()))
        }),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(Needed::new()),
        Err(error) if error.kind() == ErrorKind::InvalidData => {
            Err(Error::Corrupt(format!("the list of journals `{}` is damaged", path.display())))
        }
        Err(error) => Err(io_error(&path, &error)),
    }
}

fn parse(content: &str) -> Option<Needed> {
    let content = content.strip_suffix('\n')?;
    let lines = content.strip_prefix(FIRST_LINE)?.strip_suffix(LAST_LINE)?;
    let lines = lines.strip_prefix('\n')?;
    let number = |line: &str| {
        let (number, bytes) = line.split_once(' ')?;
        Some((number.parse().ok()?, bytes.parse().ok()?))
    };
    lines.lines().map(number).collect()
}

/// The text of a list with these journals.
pub(crate) fn text(needed: &Needed) -> String {
    let first = std::iter::once(FIRST_LINE.to_owned());
    let journals = needed.iter().map(|(number, bytes)| format!("{number} {bytes}"));
    let lines: Vec<String> = first.chain(journals).chain([LAST_LINE.to_owned()]).collect();
    lines.join("\n") + "\n"
}

/// Where a journal's batches end: only zeros follow, and a batch ends with another byte.
fn content_bytes(path: &Path) -> io::Result<u64> {
    const PIECE: u64 = 64 << 10;
    let mut file = File::open(path)?;
    let mut end = file.metadata()?.len();
    let mut piece = Vec::new();
    while end > 0 {
        let start = end.saturating_sub(PIECE);
        file.seek(SeekFrom::Start(start))?;
        piece.clear();
        (&mut file).take(end - start).read_to_end(&mut piece)?;
        if let Some(last) = piece.iter().rposition(|byte| *byte != 0) {
            return Ok(start + last as u64 + 1);
        }
        end = start;
    }
    Ok(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn directory(journals: &[u64]) -> tempfile::TempDir {
        let directory = tempfile::tempdir().unwrap();
        std::fs::write(directory.path().join(VERSION), "3").unwrap();
        for number in journals {
            std::fs::write(directory.path().join(format!("{number}.jnl")), [0; 64]).unwrap();
        }
        directory
    }

    fn refused(directory: &tempfile::TempDir) -> String {
        match check(directory.path()) {
            Err(Error::Corrupt(text)) => text,
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_list_is_read_as_it_was_written() {
        for needed in [Needed::new(), Needed::from([(0, 0)]), Needed::from([(7, 12), (8, 0)])] {
            assert_eq!(parse(&text(&needed)), Some(needed.clone()));
            let text = text(&needed);
            for cut in 0..text.len() {
                assert_eq!(parse(&text[..cut]), None, "{cut} bytes of {text:?}");
            }
        }
        for bad in ["", "sheaf journals 2\nend\n", "sheaf journals 1\n1\nend\n"] {
            assert_eq!(parse(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn what_is_missing_is_named() {
        let place = directory(&[3, 4]);
        let list = JournalList::start(place.path(), &Needed::new()).unwrap();
        assert_eq!(check(place.path()).unwrap(), Needed::from([(3, 0), (4, 0)]));
        let next = place.path().join("5.jnl");
        std::fs::write(&next, "").unwrap();
        // Created but not listed yet, or released but not removed yet: a crash may leave either.
        check(place.path()).unwrap();
        let content = [vec![1; 70_000], vec![0; 200_000]].concat();
        std::fs::write(place.path().join("4.jnl"), content).unwrap();
        list.created(&next).unwrap();
        list.released(&place.path().join("3.jnl")).unwrap();
        assert_eq!(check(place.path()).unwrap(), Needed::from([(4, 70_000), (5, 0)]));
        std::fs::remove_file(place.path().join("3.jnl")).unwrap();
        check(place.path()).unwrap();
        std::fs::remove_file(&next).unwrap();
        assert!(refused(&place).contains("5.jnl` is missing"), "{}", refused(&place));
    }

    #[test]
    fn without_a_list_gaps_are_seen_and_that_there_is_none() {
        let place = directory(&[3, 5]);
        assert!(refused(&place).contains("4.jnl` is missing"));
        assert!(refused(&directory(&[])).contains("*.jnl` is missing"));
        assert_eq!(check(directory(&[9]).path()).unwrap(), Needed::new());
    }

    #[test]
    fn a_damaged_list_is_refused() {
        let place = directory(&[0]);
        for content in [&b"sheaf journals 1\n0 0\n"[..], b"\xff\xfe", b""] {
            std::fs::write(place.path().join(LIST), content).unwrap();
            assert!(refused(&place).contains("journals.list` is damaged"));
        }
    }
}
