//! What waits, what is taken, and in which order.

use std::sync::mpsc::{Sender, channel};

use bytes::Bytes;
use store::Store;

use super::*;
use crate::LsmStore;

const NOW: Duration = Duration::ZERO;

fn entry(partition: &Arc<LsmPartition>, text: &'static str, log: &Sender<String>) -> Entry {
    let mut batch = Batch::default();
    batch.put(text, text);
    let log = log.clone();
    let done = Box::new(move |result: Result<()>| {
        let _ = log.send(result.map_or_else(|error| error.to_string(), |()| text.to_owned()));
    });
    let (partition, size_bytes) = (Arc::clone(partition), batch.size_bytes());
    Entry { partition, epoch: 0, batch, size_bytes, durability: Durability::Durable, done }
}

fn take(queue: &Queue, behind: Option<u64>) -> Vec<Bytes> {
    match queue.next(NOW, |partition| Some(partition.id()) == behind) {
        Next::Group(group) => group.iter().map(|e| e.batch.changes[0].key.clone()).collect(),
        _ => Vec::new(),
    }
}

struct Fixture {
    _directory: tempfile::TempDir,
    _store: Arc<LsmStore>,
    a: Arc<LsmPartition>,
    b: Arc<LsmPartition>,
}

async fn fixture() -> Fixture {
    let directory = tempfile::tempdir().unwrap();
    let store = LsmStore::open(directory.path(), Options::default()).unwrap();
    for name in ["a", "b"] {
        store.open(name, 0).await.unwrap();
    }
    let (a, b) = (store.shared.partition("a").unwrap(), store.shared.partition("b").unwrap());
    Fixture { _directory: directory, _store: store, a, b }
}

/// A partition that is behind does not stop the others, and keeps its own order.
#[tokio::test]
async fn holds_back_only_who_is_behind() {
    let Fixture { a, b, .. } = &fixture().await;
    let (log, _) = channel();
    let queue = Queue::new(&Options { group_batches_max: 3, ..Options::default() });
    for (partition, text) in [(a, "a1"), (b, "b1"), (a, "a2"), (b, "b2")] {
        queue.push(entry(partition, text, &log));
    }
    assert_eq!(take(&queue, Some(a.id())), ["b1", "b2"]);
    assert!(queue.has_held());
    assert_eq!(a.debt().queued_batches, 2);
    for (partition, text) in [(a, "a3"), (b, "b3"), (a, "a4")] {
        queue.push(entry(partition, text, &log));
    }
    assert_eq!(take(&queue, Some(a.id())), ["b3"]);
    assert!(take(&queue, Some(a.id())).is_empty());
    assert_eq!(take(&queue, None), ["a1", "a2", "a3"]);
    assert_eq!(take(&queue, None), ["a4"]);
    assert!(!queue.has_held());
}

#[tokio::test]
async fn failure_ends_everything_that_waits() {
    let Fixture { a, .. } = &fixture().await;
    let (log, ends) = channel();
    let queue = Queue::new(&Options::default());
    queue.push(entry(a, "held", &log));
    assert!(take(&queue, Some(a.id())).is_empty());
    queue.push(entry(a, "waiting", &log));
    queue.fail(Vec::new(), &Error::Io("the disk is gone".to_owned()));
    queue.push(entry(a, "late", &log));
    let ends: Vec<String> = ends.try_iter().collect();
    assert_eq!(ends.len(), 3);
    assert!(ends.iter().all(|end| end.contains("the disk is gone")), "{ends:?}");
    assert_eq!(queue.failure().as_deref(), Some("i/o: the disk is gone"));
}

/// SIGTERM requests a close, which must not wait for a dead thread.
#[tokio::test]
async fn closes_are_answered_without_a_committer() {
    let queue = Queue::new(&Options::default());
    let (early, early_answer) = crate::reply::reply();
    assert!(queue.close(early));
    queue.abandon();
    let (late, late_answer) = crate::reply::reply();
    assert!(queue.close(late));
    for answer in [early_answer, late_answer] {
        let answer = answer.await;
        assert!(matches!(answer, Err(Error::Io(_))), "{answer:?}");
    }
    let (reply, _answer) = crate::reply::reply();
    assert!(queue.push_command(Command::Refresh { reply }).is_err());
}
