//! Batches of many writers share their fsync.

use store::{Engine, Error};

use crate::*;

#[tokio::test]
async fn sixty_four_writers_commit_in_groups() {
    const WRITERS: usize = 64;
    const EACH: usize = 20;
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut partitions = Vec::new();
    for number in 0..4 {
        partitions.push(store.open(&format!("p{number}")).await.unwrap());
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

/// The queue refuses instead of growing, and instead of blocking.
#[tokio::test]
async fn a_full_queue_refuses() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { queue_bytes_max: 1 << 20, ..Options::default() };
    let store = LsmStore::open(directory.path(), options).unwrap();
    let partition = store.open("p").await.unwrap();
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
