//! Many partitions, and what remains of them.

use std::time::Instant;

use store::Store;

use crate::*;

/// The number of keyspace directories: one of fjall's, one of the store's own, one per partition.
fn keyspaces(directory: &Path) -> usize {
    std::fs::read_dir(directory.join("keyspaces")).unwrap().count()
}

#[tokio::test]
async fn two_hundred_come_and_go() {
    let directory = tempfile::tempdir().unwrap();
    let names: Vec<String> = (0..200).map(|number| format!("p{number:03}")).collect();
    {
        let store = open(directory.path());
        for name in &names {
            put(&*store.open(name, 0).await.unwrap(), "k", name.clone());
        }
        assert_eq!(store.key_spaces().await.unwrap(), names);
        store.close().await.unwrap();
    }
    {
        let started = Instant::now();
        let store = open(directory.path());
        println!("200 partitions open in {:?}", started.elapsed());
        for name in &names {
            assert_eq!(get(&*store.open(name, 0).await.unwrap(), "k").await.unwrap(), *name);
        }
        for name in &names[1..] {
            store.drop_key_space(name).await.unwrap();
        }
        assert_eq!(store.key_spaces().await.unwrap(), names[..1]);
        assert_eq!(keyspaces(directory.path()), 3, "directories are given back at once");
    }
    let store = open(directory.path());
    assert_eq!(store.key_spaces().await.unwrap(), names[..1]);
    assert_eq!(get(&*store.open(&names[0], 0).await.unwrap(), "k").await.unwrap(), names[0]);
}

#[tokio::test]
async fn a_dropped_partition_gives_its_space_back() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let partition = store.open("large", 0).await.unwrap();
    for number in 0..30 {
        put(&*partition, &format!("k{number}"), vec![number; 1 << 20]);
    }
    assert!(store.statistics().disk_bytes > 20 << 20);
    let snapshot = partition.snapshot();
    store.drop_key_space("large").await.unwrap();
    drop(partition);
    let keys = [Bytes::from("k7")];
    let value = snapshot.get_many(&keys).await.unwrap().remove(0).unwrap();
    assert_eq!(value.len(), 1 << 20, "a snapshot keeps what it reads");
    drop(snapshot);
    // A running flush holds the partition a little longer.
    for _ in 0..200 {
        if keyspaces(directory.path()) == 2 {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("the directory of a dropped partition is still there");
}
