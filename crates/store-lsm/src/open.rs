//! Opens a directory, with the steps that fjall leaves to us to survive a power loss.
//!
//! fjall syncs its journal, tables, versions and their directories, but
//!
//! - not `keyspaces/`, which holds one directory per partition: without it a new partition may be
//!   gone after a power loss, with all that was acknowledged in it ([`sync_keyspaces`]);
//! - not the directories above the database ([`create_directory`]);
//! - it cannot open a directory whose creation was interrupted ([`clear_unfinished`]);
//! - it does not remember the sequence numbers of its own list of keyspaces. After a restart it
//!   may hand out lower ones, and a deletion or creation written with a lower number is outranked
//!   by what it replaces: a deleted partition comes back, a new one vanishes. So each such change
//!   is followed by a record in a keyspace of our own ([`mark`]), which fjall does count, and each
//!   open skips more numbers than can have been used since the last record ([`skip_ahead`]).

use std::{
    fs::{File, OpenOptions},
    io::Read,
    path::Path,
    sync::Arc,
    time::Duration,
};

use fjall::{
    AbstractTree, Database, Keyspace, KeyspaceCreateOptions, PersistMode, compaction::Leveled,
    config::PartitioningPolicy,
};
use store::{Error, Result};

use crate::{
    error::error_of,
    files::{KEYSPACES, VERSION, create_directory, io_error, journals, sync_directory, sync_tree},
    journal_list::{self, JournalList, Needed},
    options::Options,
    partition::LsmPartition,
    priority, restore,
    scratch::Scratch,
    shared::Shared,
    torn,
};

/// The keyspace of the store's own records. No partition can have this name.
const SYSTEM: &str = "SYSTEM";

/// The store's own lock. fjall has one too, but ours is held before its files are read.
pub(crate) const LOCK: &str = "owner.lock";

/// How often, and at what interval, to retry a lock that is taken.
const LOCK_ATTEMPTS: u32 = 20;
const LOCK_STEP: Duration = Duration::from_millis(25);

/// The minimum that fjall accepts. It is also about the size at which it starts a new journal, so
/// that a sealed journal makes it flush at once whatever keeps that journal alive: otherwise one
/// idle partition would pin all journals since its last write.
const JOURNAL_BYTES_MAX: u64 = 64 << 20;

/// Sequence numbers to skip at each open. Between two of our records fjall uses a few for each
/// change of its list and one for each flush or compaction.
const SKIPPED_SEQUENCE_NUMBERS: u64 = 1 << 20;

/// Opens the database, with all its partitions.
pub(crate) fn open(directory: &Path, options: Options) -> Result<Arc<Shared>> {
    create_directory(directory)?;
    restore::refuse_unfinished(directory)?;
    let lock = lock(directory)?;
    clear_unfinished(directory)?;
    let listed = journal_list::check(directory)?;
    torn::prepare(directory, &listed)?;
    sync_tree(directory)?;
    open_prepared(directory, options, lock, &listed, None)
}

/// Opens a copy of an already checked directory. Closing removes the copy.
pub(crate) fn open_copy(options: Options, scratch: Scratch) -> Result<Arc<Shared>> {
    let directory = scratch.directory().to_owned();
    let lock = lock(&directory)?;
    let listed = journal_list::check(&directory)?;
    open_prepared(&directory, options, lock, &listed, Some(scratch))
}

fn open_prepared(
    directory: &Path,
    options: Options,
    lock: File,
    listed: &Needed,
    scratch: Option<Scratch>,
) -> Result<Arc<Shared>> {
    let list = Arc::new(JournalList::start(directory, listed)?);
    let database = match open_database(directory, &options, &list) {
        Err(fjall::Error::JournalRecovery(_)) => {
            torn::without_torn_tail(directory, || open_database(directory, &options, &list))?
        }
        other => other.map_err(error_of)?,
    };
    let small = || KeyspaceCreateOptions::default().max_memtable_size(64 << 10);
    let system = database.keyspace(SYSTEM, small).map_err(error_of)?;
    sync_keyspaces(directory)?;
    sync_directory(directory)?;
    skip_ahead(&database, &system);
    mark(&database, &system)?;
    list.note_newest()?;
    let mut keyspaces = Vec::new();
    for name in database.list_keyspace_names() {
        if &*name != SYSTEM {
            let keyspace = database.keyspace(&name, KeyspaceCreateOptions::default);
            keyspaces.push(keyspace.map_err(error_of)?);
        }
    }
    let shared = Shared::new(database, system, directory.to_owned(), options, lock, list, scratch);
    let shared = Arc::new(shared);
    for keyspace in keyspaces {
        let name = keyspace.name().to_string();
        shared.insert(name, LsmPartition::new(keyspace));
    }
    Ok(shared)
}

fn open_database(
    directory: &Path,
    options: &Options,
    list: &Arc<JournalList>,
) -> fjall::Result<Database> {
    Database::builder(directory)
        .journal_listener(Arc::clone(list) as _)
        .on_worker_start(priority::give_way)
        .cache_size(options.cache_bytes)
        .max_cached_files(Some(options.open_files_max))
        .max_journaling_size(JOURNAL_BYTES_MAX)
        .worker_threads_unchecked(options.workers)
        .open()
}

/// Options for a new partition.
///
/// Below level 0, filters and indexes are partitioned. Unpartitioned, as fjall has them down to
/// level 2, a table's filter has more than a megabyte, and a cache that is small compared with the
/// data loads it from disk again and again to read one byte of it.
pub(crate) fn keyspace_options(options: &Options) -> KeyspaceCreateOptions {
    let is_partitioned = PartitioningPolicy::new([false, true]);
    let compaction = Leveled::default()
        .with_l0_threshold(options.flushed_tables_max)
        .with_table_target_size(options.table_bytes);
    KeyspaceCreateOptions::default()
        .compaction_strategy(Arc::new(compaction))
        .max_memtable_size(options.memtable_bytes)
        .filter_block_partitioning_policy(is_partitioned.clone())
        .index_block_partitioning_policy(is_partitioned)
}

/// Removes the remains of an interrupted first open: fjall writes its version last, and without it
/// starts from scratch but fails on its own journal.
///
/// A version lost later must not look the same, or a full database would be served empty. The first
/// keyspace is created only once the version is durable, and every batch belongs to a keyspace, so
/// a directory without keyspaces has never held data. Its journal is checked as well.
fn clear_unfinished(directory: &Path) -> Result<()> {
    let io = |error: std::io::Error| io_error(directory, &error);
    let version = directory.join(VERSION);
    if version.metadata().is_ok_and(|file| file.len() > 0) {
        return Ok(());
    }
    let corrupt = |found: &str| {
        let directory = directory.display();
        Err(Error::Corrupt(format!(
            "`{directory}` holds {found}, but its file `{VERSION}` is missing or empty: restore it \
             from a backup"
        )))
    };
    match std::fs::read_dir(directory.join(KEYSPACES)) {
        Ok(mut keyspaces) => {
            if keyspaces.next().is_some() {
                return corrupt("partitions");
            }
        }
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {}
        Err(error) => return Err(io(error)),
    }
    let list = directory.join(journal_list::LIST);
    if list.try_exists().map_err(io)? {
        return corrupt("a list of journals");
    }
    let journals = journals(directory)?;
    for (number, path) in &journals {
        let mut first = [0];
        let has_entries =
            File::open(path).and_then(|mut file| file.read(&mut first)).map_err(io)?;
        if *number != 0 || (has_entries > 0 && first != [0]) {
            return corrupt("journals");
        }
    }
    for path in journals.iter().map(|(_, path)| path).chain([&version]) {
        if path.try_exists().map_err(io)? {
            std::fs::remove_file(path).map_err(io)?;
        }
    }
    Ok(())
}

fn lock(directory: &Path) -> Result<File> {
    let path = directory.join(LOCK);
    let file = OpenOptions::new().create(true).truncate(false).write(true).open(&path);
    take_lock(file.map_err(|error| io_error(&path, &error))?, directory)
}

/// Locks the file for as long as it is open, or fails if it is locked already.
///
/// A forked process shares its parent's open files, including locks, until it executes its program.
/// So a lock may still be held for a moment after it was released.
pub(crate) fn take_lock(file: File, directory: &Path) -> Result<File> {
    for _ in 0..LOCK_ATTEMPTS {
        match file.try_lock() {
            Ok(()) => return Ok(file),
            Err(std::fs::TryLockError::WouldBlock) => std::thread::sleep(LOCK_STEP),
            Err(std::fs::TryLockError::Error(error)) => {
                return Err(io_error(&directory.join(LOCK), &error));
            }
        }
    }
    let directory = directory.display();
    Err(Error::Conflict(format!("directory `{directory}` is in use by another process")))
}

/// Raises the sequence number above any that may have been used before.
fn skip_ahead(database: &Database, system: &Keyspace) {
    let mut highest = system.tree.get_highest_seqno().unwrap_or(0);
    for name in database.list_keyspace_names() {
        if let Ok(keyspace) = database.keyspace(&name, KeyspaceCreateOptions::default) {
            highest = highest.max(keyspace.tree.get_highest_seqno().unwrap_or(0));
        }
    }
    let supervisor = &database.supervisor;
    let next = supervisor.seqno.get().max(highest + 1) + SKIPPED_SEQUENCE_NUMBERS;
    supervisor.seqno.fetch_max(next);
    supervisor.snapshot_tracker.set(next);
}

/// Durably records that the sequence numbers so far have been used.
pub(crate) fn mark(database: &Database, system: &Keyspace) -> Result<()> {
    let mut batch = database.batch().durability(Some(PersistMode::SyncData));
    batch.insert(system, "sequence", "");
    batch.commit().map_err(error_of)
}

/// Makes the directories of new partitions durable.
pub(crate) fn sync_keyspaces(directory: &Path) -> Result<()> {
    sync_directory(&directory.join(KEYSPACES))
}

/// Empties the journal once everything in it is in tables, so that the next open has nothing to
/// replay. fjall itself starts a new one only after 64 MB.
///
/// The last file must stay: without any, fjall would not recover the sequence number.
pub(crate) fn empty_journals(directory: &Path, list: &JournalList) -> Result<()> {
    let mut journals = journals(directory)?;
    let last = journals.pop();
    // Sealed ones are left to fjall, which still tracks them; it skips what is already in tables.
    let Some((number, path)) = last else { return Ok(()) };
    list.note_empty(number)?;
    let file = OpenOptions::new().write(true).open(&path);
    let emptied = file.and_then(|file| file.set_len(0).and_then(|()| file.sync_all()));
    emptied.map_err(|error| io_error(&path, &error))
}
