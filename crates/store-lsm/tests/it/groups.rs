//! Batches of many writers share their fsync.

use std::ops::Bound;

use store::{Direction, Error, PageLimit, Store};

use crate::*;

#[tokio::test]
async fn sixty_four_writers_commit_in_groups() {
    const WRITERS: usize = 64;
    const EACH: usize = 20;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut partitions = Vec::new();
    for number in 0..4 {
        partitions.push(store.open(&format!("p{number}"), 0).await.unwrap());
    }
    std::thread::scope(|scope| {
        for writer in 0..WRITERS {
            let partition = &partitions[writer % 4];
            scope.spawn(move || {
                for number in 0..EACH {
                    put(&**partition, &format!("{writer}-{number}"), "v");
                }
            });
        }
    });
    let statistics = store.statistics();
    assert_eq!(statistics.committed_batches, (WRITERS * EACH) as u64);
    assert!(statistics.commit_groups < statistics.committed_batches);
    println!("{} batches in {} groups", statistics.committed_batches, statistics.commit_groups);
    for writer in 0..WRITERS {
        for number in 0..EACH {
            let key = format!("{writer}-{number}");
            assert_eq!(get(&*partitions[writer % 4], &key).await.unwrap(), "v");
        }
    }
}

/// The store counts keys written and read, and the blocks that reads accessed.
#[tokio::test]
async fn keys_and_blocks_are_counted() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let partition = store.open("p", 0).await.unwrap();
    for number in 0..100 {
        put(&*partition, &format!("{number:03}"), "v");
    }
    assert_eq!(store.statistics().keys_written, 100);
    store.close().await.unwrap();
    drop((partition, store));

    let store = open(directory.path());
    let partition = store.open("p", 0).await.unwrap();
    let before = store.statistics();
    assert!(get(&*partition, "042").await.is_some());
    let limit = PageLimit { entries: 10, bytes: 1 << 20 };
    let range = (Bound::Unbounded, Bound::Unbounded);
    let page = partition.snapshot().scan(range, Direction::Forward, limit).await.unwrap();
    assert_eq!(page.entries.len(), 10);
    let after = store.statistics();
    assert_eq!(after.keys_read - before.keys_read, 11);
    // At least the block that the point read had to load. Whether index and filter have their own
    // blocks depends on the table's current level.
    assert!(after.blocks_read - before.blocks_read >= 1);
    assert!(after.blocks_loaded <= after.blocks_read);
}

/// A full queue refuses batches instead of growing or blocking.
#[tokio::test]
async fn a_full_queue_refuses() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { queue_bytes_max: 1 << 20, ..Options::default() };
    let store = LsmStore::open(directory.path(), options).unwrap();
    let partition = store.open("p", 0).await.unwrap();
    let ends: Vec<_> = (0..200)
        .map(|number| {
            let mut batch = Batch::default();
            batch.put(format!("k{number}"), vec![0; 100 << 10]);
            submit(&*partition, batch)
        })
        .collect();
    let mut refused = 0;
    for end in ends {
        match end.recv_timeout(Duration::from_mins(1)).unwrap() {
            Ok(()) => {}
            Err(Error::Unavailable(_)) => refused += 1,
            Err(error) => panic!("{error}"),
        }
    }
    assert!(refused > 0 && refused < 200, "{refused} refused");
    put(&*partition, "later", "v");
}
