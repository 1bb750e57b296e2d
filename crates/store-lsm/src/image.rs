//! The files of the whole store at one instant, pinned while they are copied.
//!
//! What a power loss would leave at a moment when nothing is half written is a valid store, and so
//! is an image: the journals and, for each keyspace, the current version and the tables it lists.
//! The committer takes it between two groups. Background work continues meanwhile, so the order
//! matters: journals first. Data flushed to a table after that is in both, and opening skips it in
//! the journal, as after a crash.
//!
//! Nothing is copied while the committer waits. fjall deletes a table when the last version that
//! lists it is dropped, and a keyspace when its last handle is dropped, so the image holds both.
//! Journals and the tables of fjall's own list of keyspaces, for which there are no handles, are
//! held as open files.
//!
//! The newest journal keeps growing. The image cuts it at the sequence number of the instant, see
//! `extent`.

use std::{
    collections::HashSet,
    fs::File,
    io::{Cursor, ErrorKind, Read},
    panic::{AssertUnwindSafe, catch_unwind},
    path::{Path, PathBuf},
    sync::{Arc, atomic::Ordering},
    time::{Duration, Instant},
};

use fjall::{AbstractTree, Keyspace, PersistMode};
use store::{Error, Image, ImageFile, Result};

use crate::{
    error::error_of,
    extent,
    files::{self, KEYSPACES, VERSION, io_error},
    journal_list::{self, Needed},
    partition::LsmPartition,
    reply::Reply,
    shared::Shared,
    window::Window,
};

/// fjall's lock file, which must exist when a database is opened.
const LOCK: &str = "lock";

/// The file that names a keyspace's current version.
const CURRENT: &str = "current";

/// The directory of a keyspace's tables.
const TABLES: &str = "tables";

/// The keyspace that is fjall's own list of keyspaces.
const LIST: &str = "0";

/// How many times to retry if a version is being replaced, and how long to wait before: a replacement
/// takes some fsyncs.
const ATTEMPTS: usize = 30_000;
const STEP: Duration = Duration::from_millis(1);

/// The state that the committer captures while nothing is being committed.
pub(crate) struct Capture {
    /// Batches from this sequence number on are not in the image.
    sequence: u64,
    journals: Vec<(u64, File)>,
    /// Short files, and files that never change.
    files: Vec<(String, Content)>,
    tables: Vec<Table>,
    /// The versions that list the tables.
    pins: Vec<Box<dyn Send + Sync>>,
    partitions: Vec<Arc<LsmPartition>>,
    held: Held,
    pause: Duration,
}

struct Table {
    name: String,
    path: PathBuf,
    checksum: u128,
}

enum Content {
    Bytes(Vec<u8>),
    /// The first bytes of a file, up to this length.
    Open(File, u64),
    /// A table, opened only when it is read: there may be more than the limit of open files.
    Table(PathBuf),
}

/// Keeps the journals unchanged until dropped.
struct Held(Arc<Shared>);

impl Drop for Held {
    fn drop(&mut self) {
        self.0.images.fetch_sub(1, Ordering::AcqRel);
    }
}

/// Takes an image. Only the committer may call this.
pub(crate) fn capture(shared: &Arc<Shared>) -> Result<Capture> {
    let started = Instant::now();
    if let Some(reason) = shared.queue.failure() {
        return Err(Error::Closed(reason));
    }
    shared.images.fetch_add(1, Ordering::AcqRel);
    let held = Held(Arc::clone(shared));
    shared.database.persist(PersistMode::Buffer).map_err(error_of)?;
    let mut capture = Capture {
        sequence: shared.database.supervisor.seqno.get(),
        journals: journals(&shared.directory)?,
        files: Vec::new(),
        tables: Vec::new(),
        pins: Vec::new(),
        partitions: shared.all_partitions(),
        held,
        pause: Duration::ZERO,
    };
    capture.add_list(&shared.directory)?;
    capture.add_keyspace(&shared.system)?;
    for partition in capture.partitions.clone() {
        capture.add_keyspace(&partition.keyspace)?;
    }
    capture.pause = started.elapsed();
    Ok(capture)
}

/// Opens the journals. If one vanishes meanwhile, all of its data is in tables.
fn journals(directory: &Path) -> Result<Vec<(u64, File)>> {
    let mut journals = Vec::new();
    for (number, path) in files::journals(directory)? {
        match File::open(&path) {
            Ok(file) => journals.push((number, file)),
            Err(error) if error.kind() == ErrorKind::NotFound => {}
            Err(error) => return Err(io_error(&path, &error)),
        }
    }
    Ok(journals)
}

impl Capture {
    /// Adds fjall's own list of keyspaces. Only the committer changes it, so it does not change
    /// now. Tables not mentioned in the version belong to the previous version and are left out. An
    /// extra one would do no harm, because opening removes it.
    fn add_list(&mut self, directory: &Path) -> Result<()> {
        let keyspace = directory.join(KEYSPACES).join(LIST);
        let below = format!("{KEYSPACES}/{LIST}");
        let (version, current) = current_version(&keyspace)?;
        let content = read(&keyspace.join(format!("v{version}")))?;
        let mentioned = mentioned(&content);
        self.add_version(&below, version, current, content);
        let tables = keyspace.join(TABLES);
        let io = |error: std::io::Error| io_error(&tables, &error);
        for entry in tables.read_dir().map_err(io)? {
            let entry = entry.map_err(io)?;
            let name = entry.file_name();
            let number = name.to_str().and_then(|name| name.parse().ok());
            let Some(name) = number.filter(|number: &u64| mentioned.contains(number)) else {
                continue;
            };
            let file = File::open(entry.path()).map_err(io)?;
            let bytes = file.metadata().map_err(io)?.len();
            self.files.push((format!("{below}/{TABLES}/{name}"), Content::Open(file, bytes)));
        }
        Ok(())
    }

    fn add_keyspace(&mut self, keyspace: &Keyspace) -> Result<()> {
        let directory = keyspace.path();
        let below = format!("{KEYSPACES}/{}", keyspace.id());
        for _ in 0..ATTEMPTS {
            let held = keyspace.tree.current_version();
            // While it is locked, the held version stays the latest one, so its file stays. But the
            // next version may be on disk already.
            let locked = keyspace.tree.get_version_history_lock();
            let (version, current) = current_version(directory)?;
            if version != held.id() {
                drop(locked);
                std::thread::sleep(STEP);
                continue;
            }
            let content = read(&directory.join(format!("v{version}")))?;
            drop(locked);
            if held.blob_file_count() > 0 {
                return Err(Error::Conflict(format!("`{below}` keeps values apart from keys")));
            }
            for table in held.iter_tables() {
                self.tables.push(Table {
                    name: format!("{below}/{TABLES}/{}", table.id()),
                    path: table.path.to_path_buf(),
                    checksum: table.checksum().into_u128(),
                });
            }
            self.add_version(&below, version, current, content);
            self.pins.push(Box::new(held));
            return Ok(());
        }
        Err(Error::Unavailable(format!("`{below}` keeps changing")))
    }

    fn add_version(&mut self, below: &str, version: u64, current: Vec<u8>, content: Vec<u8>) {
        self.files.push((format!("{below}/{CURRENT}"), Content::Bytes(current)));
        self.files.push((format!("{below}/v{version}"), Content::Bytes(content)));
    }
}

/// The number of the current version, and the content of the file that names it.
fn current_version(keyspace: &Path) -> Result<(u64, Vec<u8>)> {
    let path = keyspace.join(CURRENT);
    let content = read(&path)?;
    let number = content.first_chunk().copied().map(u64::from_le_bytes);
    let damaged = || Error::Corrupt(format!("`{}` is damaged", path.display()));
    Ok((number.ok_or_else(damaged)?, content))
}

/// The numbers of tables that a version lists, and other numbers that look the same: each is in
/// little endian, before the byte 0 for the kind of its checksum.
fn mentioned(version: &[u8]) -> HashSet<u64> {
    let places = version.windows(9).filter(|bytes| bytes[8] == 0);
    places.filter_map(|bytes| bytes.first_chunk().copied().map(u64::from_le_bytes)).collect()
}

fn read(path: &Path) -> Result<Vec<u8>> {
    std::fs::read(path).map_err(|error| io_error(path, &error))
}

/// Builds the list of files on a separate thread, because it has to read journals.
pub(crate) fn start(capture: Capture, reply: Reply<LsmImage>) -> Result<()> {
    let run = move || {
        let made = catch_unwind(AssertUnwindSafe(|| LsmImage::new(capture)));
        let panicked = || Err(Error::Io("the image panicked".to_owned()));
        reply.send(made.unwrap_or_else(|_| panicked()));
    };
    let builder = std::thread::Builder::new().name("image".to_owned());
    builder.spawn(run).map_err(|error| Error::Io(error.to_string()))?;
    Ok(())
}

/// The files of the store, see [`Image`].
pub(crate) struct LsmImage {
    files: Vec<ImageFile>,
    /// Their contents, in the same order.
    contents: Vec<Content>,
    pause: Duration,
    // Dropped in this order: tables before their keyspace, everything before the lock.
    _pins: Vec<Box<dyn Send + Sync>>,
    _partitions: Vec<Arc<LsmPartition>>,
    _held: Held,
}

impl LsmImage {
    fn new(capture: Capture) -> Result<Self> {
        let directory = capture.held.0.directory.clone();
        let mut image = Self {
            files: Vec::new(),
            contents: Vec::new(),
            pause: capture.pause,
            _pins: capture.pins,
            _partitions: capture.partitions,
            _held: capture.held,
        };
        image.add(VERSION.to_owned(), None, Content::Bytes(read(&directory.join(VERSION))?))?;
        image.add(LOCK.to_owned(), None, Content::Bytes(Vec::new()))?;
        let mut needed = Needed::new();
        for (number, file) in capture.journals {
            let name = format!("{number}.jnl");
            let bytes = extent::before(&file, capture.sequence, &directory.join(&name))?;
            needed.insert(number, bytes);
            image.add(name, None, Content::Open(file, bytes))?;
        }
        let list = journal_list::text(&needed).into_bytes();
        image.add(journal_list::LIST.to_owned(), None, Content::Bytes(list))?;
        for (name, content) in capture.files {
            image.add(name, None, content)?;
        }
        for table in capture.tables {
            image.add(table.name, Some(table.checksum), Content::Table(table.path))?;
        }
        Ok(image)
    }

    fn add(&mut self, path: String, checksum: Option<u128>, content: Content) -> Result<()> {
        let bytes = match &content {
            Content::Bytes(bytes) => bytes.len() as u64,
            Content::Open(_, bytes) => *bytes,
            Content::Table(path) => path.metadata().map_err(|error| io_error(path, &error))?.len(),
        };
        self.files.push(ImageFile { path, bytes, checksum });
        self.contents.push(content);
        Ok(())
    }
}

impl Image for LsmImage {
    fn files(&self) -> &[ImageFile] {
        &self.files
    }

    fn pause(&self) -> Duration {
        self.pause
    }

    fn open(&self, index: usize) -> Result<Box<dyn Read + Send + '_>> {
        let content = self.contents.get(index);
        let content = content.ok_or_else(|| Error::Conflict(format!("no file {index}")))?;
        Ok(match content {
            Content::Bytes(bytes) => Box::new(Cursor::new(bytes)),
            Content::Open(file, bytes) => Box::new(Window::new(file).take(*bytes)),
            Content::Table(path) => {
                Box::new(File::open(path).map_err(|error| io_error(path, &error))?)
            }
        })
    }
}
