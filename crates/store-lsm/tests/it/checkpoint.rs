//! Checkpoints: what they hold after a restart, and what is left of one that did not end well.

use std::{
    process::{Command, Stdio},
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use crate::*;

/// Tells the victim where its store is, and where its checkpoint. Without it, the victim's test
/// does nothing.
const DIRECTORY: &str = "STORE_LSM_CHECKPOINT_DIRECTORY";

/// The mark of an unfinished checkpoint.
const UNFINISHED: &str = "checkpoint.unfinished";

/// Enough that a checkpoint takes a while.
async fn fill(store: &LsmStore) {
    for name in ["a", "b"] {
        let partition = store.open(name, 0).await.unwrap();
        for part in 0..30 {
            let mut batch = Batch::default();
            for number in 0..1_000 {
                batch.put(format!("{part:02}-{number:04}"), vec![b'v'; 200]);
            }
            commit(&*partition, batch).unwrap();
        }
    }
}

async fn count(partition: &dyn KeySpace) -> usize {
    let range = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    let limit = store::PageLimit { entries: usize::MAX, bytes: usize::MAX };
    partition.snapshot().scan(range, store::Direction::Forward, limit).await.unwrap().entries.len()
}

/// Eight writers go on through checkpoint after checkpoint, with flushes and compactions all the
/// time. Each checkpoint holds what was acknowledged before it, batches are whole in it, and it is
/// a store like any other: it takes writes, keeps them over a crash, and is closed and opened again.
#[tokio::test]
async fn can_be_opened_after_writers_ran() {
    const WRITERS: usize = 8;
    let directory = tempfile::tempdir().unwrap();
    let options = Options { memtable_bytes: 64 << 10, ..Options::default() };
    let store = LsmStore::open(&directory.path().join("store"), options.clone()).unwrap();
    let mut partitions = Vec::new();
    for number in 0..4 {
        partitions.push(store.open(&format!("p{number}"), 0).await.unwrap());
    }
    let is_over = AtomicBool::new(false);
    let acknowledged: Vec<AtomicUsize> = (0..WRITERS).map(|_| AtomicUsize::new(0)).collect();
    let mut checkpoints = Vec::new();
    std::thread::scope(|scope| {
        for (writer, acknowledged) in acknowledged.iter().enumerate() {
            let (partition, is_over) = (&partitions[writer % 4], &is_over);
            scope.spawn(move || {
                for number in 0.. {
                    if is_over.load(Ordering::Acquire) {
                        return;
                    }
                    let mut batch = Batch::default();
                    batch.put(format!("{writer}-{number}"), vec![b'v'; 500]);
                    batch.put(format!("{writer}-{number}/index"), "");
                    commit(&**partition, batch).unwrap();
                    acknowledged.store(number + 1, Ordering::Release);
                }
            });
        }
        let make = || {
            let runtime = tokio::runtime::Builder::new_current_thread().build().unwrap();
            for number in 0..3 {
                std::thread::sleep(Duration::from_millis(100));
                let before: Vec<_> =
                    acknowledged.iter().map(|count| count.load(Ordering::Acquire)).collect();
                let path = directory.path().join(format!("checkpoint{number}"));
                runtime.block_on(store.checkpoint(&path)).unwrap();
                checkpoints.push((path, before));
            }
        };
        let made = scope.spawn(make).join();
        is_over.store(true, Ordering::Release);
        made.unwrap();
    });
    for (path, before) in checkpoints {
        check(&path, &before, &options).await;
    }
}

/// Checks that a checkpoint holds at least `before` batches of each writer, then uses it.
async fn check(path: &Path, before: &[usize], options: &Options) {
    assert_eq!(journal_bytes(path), 0, "closed in good order");
    let copy = LsmStore::open(path, options.clone()).unwrap();
    assert_eq!(copy.key_spaces().await.unwrap(), ["p0", "p1", "p2", "p3"]);
    for (writer, before) in before.iter().enumerate() {
        let partition = copy.open(&format!("p{}", writer % 4), 0).await.unwrap();
        let mut number = 0;
        while let Some(value) = get(&*partition, &format!("{writer}-{number}")).await {
            assert_eq!(value, vec![b'v'; 500]);
            let index = get(&*partition, &format!("{writer}-{number}/index")).await;
            assert!(index.is_some(), "half a batch");
            number += 1;
        }
        assert!(*before > 0 && number >= *before, "writer {writer}: {number} of {before}");
        let next = get(&*partition, &format!("{writer}-{}", number + 1)).await;
        assert_eq!(next, None, "a hole");
    }
    let partition = copy.open("p0", 0).await.unwrap();
    let entries = count(&*partition).await;
    put(&*partition, "new", "v");
    put(&*copy.open("more", 0).await.unwrap(), "k", "v");
    let crashed = copy_of(path);
    copy.close().await.unwrap();
    drop((partition, copy));
    for path in [path, crashed.path()] {
        let again = LsmStore::open(path, options.clone()).unwrap();
        assert_eq!(again.key_spaces().await.unwrap(), ["more", "p0", "p1", "p2", "p3"]);
        assert_eq!(count(&*again.open("p0", 0).await.unwrap()).await, entries + 1);
    }
}

fn journal_bytes(directory: &Path) -> u64 {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap());
    let journals = files.filter(|file| file.path().extension().is_some_and(|e| e == "jnl"));
    journals.map(|file| file.metadata().unwrap().len()).sum()
}

/// All files below a directory.
fn files(directory: &Path) -> Vec<std::path::PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let entry = entry.unwrap();
        if entry.file_type().unwrap().is_dir() {
            found.extend(files(&entry.path()));
        } else {
            found.push(entry.path());
        }
    }
    found
}

/// The second partition cannot be read, when the first one is written already.
#[tokio::test]
async fn a_failed_one_is_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path);
    fill(&store).await;
    store.close().await.unwrap();
    drop(store);
    // Keyspace 1 is ours, 2 is the first partition, 3 the second.
    for table in files(&path.join("keyspaces/3/tables")) {
        let mut bytes = std::fs::read(&table).unwrap();
        let middle = bytes.len() / 2;
        bytes[..middle].fill(b'?');
        std::fs::write(&table, bytes).unwrap();
    }
    let store = open(&path);
    let below = directory.path().join("some/where");
    let refused = store.checkpoint(&below).await;
    assert!(matches!(refused, Err(Error::Corrupt(_) | Error::Io(_))), "{refused:?}");
    assert!(!directory.path().join("some").try_exists().unwrap(), "nothing was left");
    let empty = directory.path().join("empty");
    std::fs::create_dir(&empty).unwrap();
    assert!(store.checkpoint(&empty).await.is_err());
    assert_eq!(std::fs::read_dir(&empty).unwrap().count(), 0, "left as it was found");
    assert_eq!(store.failure(), None);
    put(&*store.open("a", 0).await.unwrap(), "k", "v");
}

/// Nobody can say how far a checkpoint is when it is cancelled; on a busy machine it may just have
/// ended. Whatever it was, nothing is left of it or it is whole. (That a cancelled one does stop is
/// tested beside the code.)
#[tokio::test]
async fn a_cancelled_one_is_removed_or_whole() {
    let directory = tempfile::tempdir().unwrap();
    let (path, place) = (directory.path().join("store"), directory.path().join("checkpoint"));
    let store = open(&path);
    fill(&store).await;
    drop(store);
    for polls in 1..=3 {
        let store = reopen(&path);
        let ended = advance(store.checkpoint(&place), polls, false);
        drop(store);
        // It holds the store until it has cleaned up.
        let store = reopen(&path);
        if ended.is_none() && !place.try_exists().unwrap() {
            store.checkpoint(&place).await.unwrap();
        }
        let copy = open(&place);
        for name in ["a", "b"] {
            assert_eq!(count(&*copy.open(name, 0).await.unwrap()).await, 30_000);
        }
        drop((copy, store));
        std::fs::remove_dir_all(&place).unwrap();
    }
}

/// The process dies while it writes a checkpoint. What is left is not taken for a store.
#[tokio::test]
async fn an_interrupted_one_is_not_opened() {
    let directory = tempfile::tempdir().unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["checkpoint::victim", "--exact", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    assert!(!victim.wait().unwrap().success(), "the victim aborted");
    let place = directory.path().join("checkpoint");
    assert!(place.join(UNFINISHED).try_exists().unwrap());
    for _ in 0..2 {
        let refused = LsmStore::open(&place, Options::default()).map(|_| ());
        assert!(
            matches!(refused, Err(Error::Corrupt(ref text)) if text.contains("interrupted")),
            "{refused:?}"
        );
    }
    let store = open(&directory.path().join("store"));
    assert_eq!(count(&*store.open("b", 0).await.unwrap()).await, 30_000);
    let refused = store.checkpoint(&place).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert!(place.join(UNFINISHED).try_exists().unwrap());
    std::fs::remove_dir_all(&place).unwrap();
    store.checkpoint(&place).await.unwrap();
    assert_eq!(count(&*open(&place).open("b", 0).await.unwrap()).await, 30_000);
}

#[tokio::test]
async fn victim() {
    let Some(directory) = std::env::var_os(DIRECTORY) else { return };
    let directory = Path::new(&directory);
    let store = open(&directory.join("store"));
    fill(&store).await;
    let place = directory.join("checkpoint");
    let second = place.join("keyspaces/2");
    std::thread::spawn(move || {
        while !second.try_exists().unwrap() {
            std::thread::yield_now();
        }
        std::process::abort();
    });
    store.checkpoint(&place).await.unwrap();
}

/// A store must not find strange files among its own.
#[tokio::test]
async fn the_own_directory_is_no_place() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("store");
    let store = open(&path);
    let before = files(directory.path());
    for below in ["", "checkpoint", "new/below", "new/../other"] {
        let refused = store.checkpoint(&path.join(below)).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{below}: {refused:?}");
    }
    let refused = store.checkpoint(&directory.path().join("new/../store/checkpoint")).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert_eq!(files(directory.path()), before);
    assert!(!path.join("checkpoint").try_exists().unwrap());
    assert!(!directory.path().join("new").try_exists().unwrap());
}
