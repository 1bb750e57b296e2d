//! Commits that panic.

use std::sync::mpsc::{Receiver, channel};

use store::{Batch, Store as _};

use super::*;
use crate::{LsmStore, Options};

async fn store() -> (tempfile::TempDir, Arc<LsmStore>, Arc<LsmPartition>) {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), Options::default()).unwrap();
    store.open("p", 0).await.unwrap();
    let partition = store.shared.partition("p").unwrap();
    (directory, store, partition)
}

/// A batch of one key that bypasses all checks, and its result.
fn entry(partition: &Arc<LsmPartition>, key: &str) -> (Entry, Receiver<Result<()>>) {
    let mut batch = Batch::default();
    batch.put(key.to_owned(), "value");
    let (sender, end) = channel();
    let done = Box::new(move |result| sender.send(result).unwrap());
    let (partition, size_bytes) = (Arc::clone(partition), batch.size_bytes());
    let durability = Durability::Durable;
    (Entry { partition, epoch: 0, batch, size_bytes, durability, done }, end)
}

async fn has(store: &LsmStore, key: &str) -> bool {
    let partition = store.open("p", 0).await.unwrap();
    let found = partition.snapshot().get_many(&[key.to_owned().into()]).await.unwrap();
    found[0].is_some()
}

fn told_of_the_panic(end: &Receiver<Result<()>>) {
    let end = end.recv().unwrap();
    assert!(matches!(&end, Err(Error::Io(why)) if why == "the commit panicked"), "{end:?}");
}

/// Every writer gets the error, nothing more is written, and existing data can be read.
async fn stopped(store: &LsmStore, partition: &Arc<LsmPartition>) {
    assert_eq!(store.failure().as_deref(), Some("i/o: the commit panicked"));
    let (late, end) = entry(partition, "late");
    store.shared.queue.push(late);
    let late = end.recv().unwrap();
    assert!(matches!(&late, Err(Error::Closed(why)) if why.contains("panicked")), "{late:?}");
    assert!(has(store, "before").await);
    assert!(!has(store, "late").await);
    assert!(matches!(store.close().await, Err(Error::Closed(_))));
    assert_eq!(partition.debt().queued_batches, 0);
}

/// fjall panics on a key that its format cannot hold; checked batches never contain one.
#[tokio::test]
async fn a_panic_while_writing_ends_the_writes() {
    let (directory, store, partition) = store().await;
    let (before, end) = entry(&partition, "before");
    store.shared.queue.push(before);
    end.recv().unwrap().unwrap();
    let (broken, end) = entry(&partition, &"k".repeat(70_000));
    store.shared.queue.push(broken);
    told_of_the_panic(&end);
    stopped(&store, &partition).await;
    drop((partition, store));
    let store = LsmStore::open(directory.path(), Options::default()).unwrap();
    assert!(has(&store, "before").await);
    assert_eq!(store.failure(), None);
}

/// The group is in the store, but its writers were never told so: it must not be visible.
#[tokio::test]
async fn a_panic_before_publishing_leaves_the_group_unseen() {
    let (directory, store, partition) = store().await;
    let (before, end) = entry(&partition, "before");
    store.shared.queue.push(before);
    end.recv().unwrap().unwrap();
    let mut committer = Committer::new(Arc::clone(&store.shared));
    let (first, end_of_first) = entry(&partition, "first");
    let (second, end_of_second) = entry(&partition, "second");
    for entry in [&first, &second] {
        partition.queued.add(entry.size_bytes);
    }
    let halfway = |committer: &Committer, group: &[Entry]| {
        committer.write(group)?;
        panic!("between writing and publishing")
    };
    committer.commit(vec![first, second], halfway);
    for end in [end_of_first, end_of_second] {
        told_of_the_panic(&end);
    }
    committer.look_around();
    assert!(!has(&store, "first").await && !has(&store, "second").await);
    stopped(&store, &partition).await;
    drop((committer, partition, store));
    // As for any write whose answer was lost: all of it or nothing.
    let store = LsmStore::open(directory.path(), Options::default()).unwrap();
    assert!(has(&store, "before").await);
    assert_eq!(has(&store, "first").await, has(&store, "second").await);
}
