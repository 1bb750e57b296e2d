//! The content of a store after reopening.

use store::{Error, Store};

use crate::*;

/// Bytes in the journal files.
fn journal_bytes(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let journals = files.filter(|file| file.path().extension().is_some_and(|e| e == "jnl"));
    journals.map(|file| file.metadata().unwrap().len()).sum()
}

#[tokio::test]
async fn clean_close_keeps_everything_and_leaves_no_journal() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..4 {
        let store = open(directory.path());
        let (a, b) = (store.open("a", 0).await.unwrap(), store.open("b", 0).await.unwrap());
        for earlier in 0..round {
            assert_eq!(get(&*a, &format!("k{earlier}")).await.unwrap(), "a");
            assert_eq!(get(&*b, &format!("k{earlier}")).await.unwrap(), "b");
        }
        if round > 0 {
            assert_eq!(get(&*a, "same").await.unwrap(), (round - 1).to_string());
        }
        // Newer values must win over those of earlier sessions, whatever sequence numbers fjall
        // assigns.
        put(&*a, "same", round.to_string());
        assert_eq!(get(&*a, "same").await.unwrap(), round.to_string());
        put(&*a, &format!("k{round}"), "a");
        put(&*b, &format!("k{round}"), "b");
        store.close().await.unwrap();
        assert_eq!(journal_bytes(directory.path()), 0);
        assert_eq!(get(&*a, &format!("k{round}")).await.unwrap(), "a");
    }
}

#[tokio::test]
async fn drop_without_close_keeps_everything() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..3 {
        let store = open(directory.path());
        let partition = store.open("p", 0).await.unwrap();
        for earlier in 0..round {
            assert_eq!(get(&*partition, &format!("k{earlier}")).await.unwrap(), "v");
        }
        put(&*partition, &format!("k{round}"), "v");
    }
}

#[tokio::test]
async fn a_directory_has_one_owner() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let refused = LsmStore::open(directory.path(), Options::default());
    assert!(matches!(refused, Err(Error::Conflict(ref text)) if text.contains("in use")));
    drop(store);
    open(directory.path());
}

/// A first open that dies halfway leaves a directory that can still be opened; but a non-empty
/// journal is never discarded.
#[tokio::test]
async fn an_interrupted_creation_is_no_obstacle() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("some/where");
    std::fs::create_dir_all(path.join("keyspaces")).unwrap();
    std::fs::write(path.join("lock"), "").unwrap();
    std::fs::write(path.join("version"), "").unwrap();
    std::fs::write(path.join("0.jnl"), [0; 4096]).unwrap();
    {
        let store = open(&path);
        put(&*store.open("p", 0).await.unwrap(), "k", "v");
    }
    let crashed = copy_of(&path);
    std::fs::remove_file(crashed.path().join("version")).unwrap();
    let refused = LsmStore::open(crashed.path(), Options::default()).map(|_| ());
    assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
    assert!(crashed.path().join("0.jnl").metadata().unwrap().len() > 0);
}

/// After a clean close the journal is empty, as after an interrupted creation, but the tables are
/// not.
#[tokio::test]
async fn a_lost_version_does_not_make_a_store_empty() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("p", 0).await.unwrap(), "k", "v");
    store.close().await.unwrap();
    drop(store);
    let version = directory.path().join("version");
    let content = std::fs::read(&version).unwrap();
    let lose: [&dyn Fn(); 2] =
        [&|| std::fs::write(&version, "").unwrap(), &|| std::fs::remove_file(&version).unwrap()];
    for lose in lose {
        lose();
        let refused = LsmStore::open(directory.path(), Options::default()).map(|_| ());
        assert!(matches!(refused, Err(Error::Corrupt(ref text)) if text.contains("`version`")));
    }
    std::fs::write(&version, content).unwrap();
    let partition = open(directory.path()).open("p", 0).await.unwrap();
    assert_eq!(get(&*partition, "k").await.unwrap(), "v");
}

#[cfg(unix)]
#[test]
fn nobody_else_may_look() {
    use std::os::unix::fs::PermissionsExt as _;
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let _store = open(&path);
    assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o700);
}

/// fjall forgets the sequence numbers of its own list of keyspaces. Without our records a dropped
/// partition comes back after a crash.
#[tokio::test]
async fn partitions_stay_dropped() {
    let directory = tempfile::tempdir().unwrap();
    let mut names: Vec<String> = (0..10).map(|number| format!("p{number}")).collect();
    {
        let store = open(directory.path());
        for name in &names {
            store.open(name, 0).await.unwrap();
        }
    }
    while names.len() > 1 {
        let store = open(directory.path());
        assert_eq!(store.key_spaces().await.unwrap(), names);
        let name = names.pop().unwrap();
        // While there is a handle the files exist too: only the list shows that it is dropped.
        let _handle = store.open(&name, 0).await.unwrap();
        store.drop_key_space(&name).await.unwrap();
        let crashed = copy_of(directory.path());
        assert_eq!(open(crashed.path()).key_spaces().await.unwrap(), names, "dropped {name}");
    }
}

/// Likewise, a new partition with an old one's sequence number must not vanish.
#[tokio::test]
async fn partitions_stay() {
    let directory = tempfile::tempdir().unwrap();
    for round in 0..6 {
        {
            let store = open(directory.path());
            for _ in 0..6 {
                store.open("old", 0).await.unwrap();
                store.drop_key_space("old").await.unwrap();
            }
        }
        let name = format!("new{round}");
        {
            let store = open(directory.path());
            put(&*store.open(&name, 0).await.unwrap(), "k", "v");
        }
        {
            let store = open(directory.path());
            assert_eq!(store.key_spaces().await.unwrap(), [&*name], "round {round}");
            assert_eq!(get(&*store.open(&name, 0).await.unwrap(), "k").await.unwrap(), "v");
            store.drop_key_space(&name).await.unwrap();
        }
    }
}

/// A hole that a power loss leaves in a batch that was never acknowledged.
#[tokio::test]
async fn a_torn_batch_is_cut_off_but_damage_is_reported() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let partition = store.open("p", 0).await.unwrap();
    put(&*partition, "before", "v");
    put(&*partition, "early", vec![b'e'; 30_000]);
    put(&*partition, "torn", vec![b't'; 30_000]);

    let damage = |byte: u8| {
        let copy = copy_of(directory.path());
        let journal = copy.path().join("0.jnl");
        let mut bytes = std::fs::read(&journal).unwrap();
        let run = [byte; 10_000];
        let at = bytes.windows(run.len()).position(|window| window == run).unwrap();
        bytes[at + 4096..at + 8192].fill(0);
        std::fs::write(&journal, bytes).unwrap();
        copy
    };
    let torn = damage(b't');
    let opened = open(torn.path());
    let reopened = opened.open("p", 0).await.unwrap();
    assert_eq!(get(&*reopened, "early").await.unwrap().len(), 30_000);
    assert_eq!(get(&*reopened, "torn").await, None);
    put(&*reopened, "torn", "again");
    drop((reopened, opened));
    let again = open(torn.path()).open("p", 0).await.unwrap();
    assert_eq!(get(&*again, "torn").await.unwrap(), "again");

    drop(again);
    assert_eq!(torn_files(torn.path()), 1);

    let damaged = damage(b'e');
    let before = std::fs::read(damaged.path().join("0.jnl")).unwrap();
    for _ in 0..2 {
        let refused = LsmStore::open(damaged.path(), Options::default()).map(|_| ());
        assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
    }
    assert!(before == std::fs::read(damaged.path().join("0.jnl")).unwrap());
    assert_eq!(torn_files(damaged.path()), 0);
}

/// The number of saved pieces that were cut off journals.
fn torn_files(directory: &Path) -> usize {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    files.filter(|path| path.extension().is_some_and(|e| e == "torn")).count()
}

/// fjall silently takes the first unknown byte for the end of a journal.
#[tokio::test]
async fn damage_before_a_whole_batch_is_not_taken_for_the_end() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let partition = store.open("p", 0).await.unwrap();
    for number in 0..10 {
        put(&*partition, &format!("k{number}"), vec![b'v'; 3000]);
    }
    let damage = |which: usize| {
        let copy = copy_of(directory.path());
        let journal = copy.path().join("0.jnl");
        let mut bytes = std::fs::read(&journal).unwrap();
        let magic = bytes.windows(4).enumerate().filter(|(_, window)| window == b"FJL\x03");
        let ends: Vec<usize> = magic.map(|(at, _)| at + 4).collect();
        // The start of a batch, counted from the last one.
        bytes[ends[ends.len() - 1 - which]] = 9;
        std::fs::write(&journal, bytes).unwrap();
        LsmStore::open(copy.path(), Options::default()).map(|_| ())
    };
    for which in 2..5 {
        let refused = damage(which);
        assert!(matches!(refused, Err(Error::Corrupt(_))), "{refused:?}");
    }
    assert!(damage(1).is_ok(), "the last batch alone may be torn");
    // Lengths read from garbage must not be trusted.
    let copy = copy_of(directory.path());
    let journal = copy.path().join("0.jnl");
    let mut bytes = std::fs::read(&journal).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    let start = [1, 9, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0];
    bytes[end..end + 13].copy_from_slice(&start);
    bytes[end + 13..end + 40].fill(2);
    std::fs::write(&journal, bytes).unwrap();
    let reopened = open(copy.path()).open("p", 0).await.unwrap();
    assert_eq!(get(&*reopened, "k9").await.unwrap().len(), 3000);
}

/// A failed background job stops the writes, reports the reason, and lets reads continue.
#[tokio::test]
async fn a_failed_flush_poisons_the_store() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { memtable_bytes: 64 << 10, ..Options::default() };
    let store = LsmStore::open(directory.path(), options).unwrap();
    let partition = store.open("p", 0).await.unwrap();
    put(&*partition, "k", "v");
    // Keyspace 1 is the store's own, 2 is the first partition.
    std::fs::remove_dir_all(directory.path().join("keyspaces/2/tables")).unwrap();
    let mut failed = None;
    for number in 0..2_000 {
        let mut batch = Batch::default();
        batch.put(format!("n{number}"), vec![0; 4096]);
        failed = commit(&*partition, batch).err();
        if failed.is_some() {
            break;
        }
    }
    assert!(matches!(failed, Some(Error::Closed(_) | Error::Io(_))), "{failed:?}");
    assert!(store.failure().is_some());
    let refused = commit(&*partition, Batch::default());
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    assert!(store.open("new", 0).await.is_err());
    assert_eq!(get(&*partition, "k").await.unwrap(), "v");
    assert!(store.close().await.is_err());
}
