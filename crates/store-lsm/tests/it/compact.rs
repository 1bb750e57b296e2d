//! What a compaction leaves on disk, and what remains of an interrupted one.

use store::{Direction, Files as _, PageLimit, Store};

use crate::*;

const KEYS: usize = 2_000;

/// Rewrites every key `rounds` times, with small buffers, so that there are many tables.
async fn churn(store: &LsmStore, rounds: usize) {
    let partition = store.open("p", 0).await.unwrap();
    for round in 0..rounds {
        let mut batch = Batch::default();
        for number in 0..KEYS {
            // Hard to compress, so that file sizes reflect the amount of data.
            let noise = (number + round * KEYS).wrapping_mul(0x9E37_79B9_7F4A_7C15);
            batch.put(format!("{number:05}"), format!("{noise:x}-{:x}", !noise));
        }
        commit(&*partition, batch).unwrap();
    }
}

fn options() -> Options {
    Options { memtable_bytes: 64 << 10, ..Options::default() }
}

/// The size of the partition's table files, including those the store no longer uses.
fn table_bytes(directory: &Path) -> u64 {
    // Keyspace 1 is the store's own, 2 is the first partition.
    let tables = std::fs::read_dir(directory.join("keyspaces/2/tables")).unwrap();
    // A file may vanish while a background thread still cleans up.
    tables.filter_map(|file| file.ok()?.metadata().ok()).map(|file| file.len()).sum()
}

/// Waits until background threads have released the last replaced table.
fn shrinks_below(directory: &Path, limit: u64) -> bool {
    let started = Instant::now();
    while table_bytes(directory) >= limit {
        if started.elapsed() > Duration::from_mins(1) {
            return false;
        }
        std::thread::yield_now();
    }
    true
}

async fn count(store: &LsmStore) -> usize {
    let range = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    let limit = PageLimit { entries: usize::MAX, bytes: usize::MAX };
    let snapshot = store.open("p", 0).await.unwrap().snapshot();
    snapshot.scan(range, Direction::Forward, limit).await.unwrap().entries.len()
}

/// While a snapshot is open, its data is kept. Afterwards it is removed, even without a non-empty
/// buffer to flush, which is when fjall checks which snapshots are left.
#[tokio::test]
async fn what_a_snapshot_needed_is_gone_after_it() {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), options()).unwrap();
    churn(&store, 1).await;
    let held = store.open("p", 0).await.unwrap().snapshot();
    churn(&store, 9).await;
    store.compact(None).await.unwrap();
    let before = table_bytes(directory.path());
    let first = held.get_many(&[Bytes::from("00001")]).await.unwrap().remove(0);
    drop(held);
    store.compact(None).await.unwrap();
    assert!(shrinks_below(directory.path(), before / 4), "{before} bytes");
    let now = get(&*store.open("p", 0).await.unwrap(), "00001").await;
    assert!(first.is_some() && now.is_some() && first != now);
}

/// Likewise for a store that was closed and reopened: the files of the tables with old versions are
/// removed too.
#[tokio::test]
async fn what_was_replaced_is_gone_after_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), options()).unwrap();
    // By itself, fjall drops only what no snapshot sees.
    let held = store.open("p", 0).await.unwrap().snapshot();
    churn(&store, 10).await;
    store.close().await.unwrap();
    drop((held, store));

    let store = LsmStore::open(directory.path(), options()).unwrap();
    let before = table_bytes(directory.path());
    store.compact(None).await.unwrap();
    assert!(shrinks_below(directory.path(), before / 4), "{before} bytes");
    assert_eq!(count(&store).await, KEYS);
    let mut batch = Batch::default();
    for number in 0..KEYS {
        batch.delete(format!("{number:05}"));
    }
    commit(&*store.open("p", 0).await.unwrap(), batch).unwrap();
    store.compact(Some("p")).await.unwrap();
    assert!(shrinks_below(directory.path(), 1), "nothing is left of what was deleted");
    store.close().await.unwrap();
    drop(store);
    let store = LsmStore::open(directory.path(), options()).unwrap();
    assert_eq!(count(&store).await, 0);
}

/// Reads only the filter, index and data of one table, the filter in two pieces.
#[tokio::test]
async fn a_key_is_found_in_one_table() {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), options()).unwrap();
    churn(&store, 10).await;
    let partition = store.open("p", 0).await.unwrap();
    store.compact(Some("p")).await.unwrap();
    let read = async || {
        let before = store.statistics().blocks_read;
        for number in 0..KEYS {
            assert!(get(&*partition, &format!("{number:05}")).await.is_some());
        }
        store.statistics().blocks_read - before
    };
    let blocks = read().await;
    assert!(blocks > 0 && blocks <= 4 * KEYS as u64, "{blocks} blocks for {KEYS} keys");
}

/// The process may die at any moment; here right after the compaction, without a clean close.
#[tokio::test]
async fn a_crash_loses_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), options()).unwrap();
    churn(&store, 3).await;
    store.compact(None).await.unwrap();
    put(&*store.open("p", 0).await.unwrap(), "later", "v");
    let crashed = copy_of(directory.path());
    let store = LsmStore::open(crashed.path(), options()).unwrap();
    assert_eq!(count(&store).await, KEYS + 1);
    store.compact(None).await.unwrap();
    assert_eq!(count(&store).await, KEYS + 1);
}

/// The caller may go away, the partition may be dropped, the store may be closed.
#[tokio::test]
async fn one_that_is_cut_short_does_no_harm() {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), options()).unwrap();
    churn(&store, 3).await;
    for polls in 1..=4 {
        for is_done in [false, true] {
            put(&*store.open("other", 0).await.unwrap(), "k", "v");
            drop(advance(store.compact(None), polls, is_done));
            assert_eq!(count(&store).await, KEYS);
            drop(advance(store.compact(Some("other")), polls, is_done));
            store.drop_key_space("other").await.unwrap();
        }
    }
    store.compact(None).await.unwrap();
    assert_eq!(count(&store).await, KEYS);
    assert_eq!(store.failure(), None);
    drop(advance(store.compact(None), 2, false));
    store.close().await.unwrap();
    drop(store);
    let store = reopen(directory.path());
    assert_eq!(count(&store).await, KEYS);
}
