//! What a batch does, and what a snapshot sees of it.

use std::{
    collections::BTreeMap,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
        mpsc::channel,
    },
};

use bytes::Bytes;

use super::{
    EVERYTHING, PATIENCE, assert_holds, barrier, batch, commit, get, open, put, scan, submit, wait,
};
use crate::{Batch, Direction, Durability, Error, KEY_BYTES_MAX, KeySpace, Result, Store};

pub(super) async fn reads_back_what_it_wrote(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    commit(&*partition, batch([("a", Some("1")), ("b", Some("2"))]));
    commit(&*partition, batch([("a", None), ("absent", None), ("c", Some("3"))]));
    let keys = ["c", "a", "b", "a", "x"].map(Bytes::from);
    let values = partition.snapshot().get_many(&keys).await.expect("keys can be read");
    assert_eq!(values, [Some("3".into()), None, Some("2".into()), None, None]);
    assert!(partition.snapshot().get_many(&[]).await.expect("no keys").is_empty());
    put(&*partition, "a", "again");
    assert_eq!(get(&*partition.snapshot(), "a").await.expect("it is back"), "again");
}

pub(super) async fn later_change_of_a_key_wins(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    let changes = [("k", Some("1")), ("gone", Some("1")), ("k", None), ("back", None)];
    let more = [("k", Some("2")), ("gone", None), ("back", Some("2"))];
    commit(&*partition, batch(changes.into_iter().chain(more)));
    let snapshot = partition.snapshot();
    assert_eq!(get(&*snapshot, "k").await.expect("the last change wrote it"), "2");
    assert_eq!(get(&*snapshot, "back").await.expect("the last change wrote it"), "2");
    assert_eq!(get(&*snapshot, "gone").await, None);
}

pub(super) async fn keeps_empty_and_large_entries(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    let mut expected = BTreeMap::new();
    for (key_bytes, value_bytes) in [(1, 0), (20_000, 10), (20_000, 0), (5, 3 << 20), (65_535, 1)] {
        let key = Bytes::from(vec![u8::try_from(expected.len()).unwrap_or(0); key_bytes]);
        let value: Vec<u8> = (0..value_bytes).map(|i: usize| i.to_le_bytes()[0]).collect();
        expected.insert(key, Bytes::from(value));
    }
    let mut batch = Batch::default();
    for (key, value) in &expected {
        batch.put(key.clone(), value.clone());
    }
    commit(&*partition, batch);
    let snapshot = partition.snapshot();
    assert_holds(&*snapshot, &expected).await;
    let keys: Vec<Bytes> = expected.keys().cloned().collect();
    let values = snapshot.get_many(&keys).await.expect("keys can be read");
    assert_eq!(values, expected.values().cloned().map(Some).collect::<Vec<_>>());
    commit(&*partition, Batch::default());
    assert_holds(&*partition.snapshot(), &expected).await;
}

pub(super) async fn refuses_impossible_keys(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    for key_bytes in [0, KEY_BYTES_MAX + 1] {
        let mut batch = Batch::default();
        batch.put("fine", "1");
        batch.put(vec![1; key_bytes], "2");
        let refused = wait(&submit(&*partition, batch));
        assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
        let keys = [Bytes::from(vec![1; key_bytes]), Bytes::from("fine")];
        let values = partition.snapshot().get_many(&keys).await.expect("keys can be looked for");
        assert_eq!(values, [None, None]);
    }
}

/// Each completion runs exactly once, in the order of submission, after its batch is visible.
pub(super) async fn completes_once_and_in_order(engine: &dyn Store) {
    const COUNT: usize = 300;
    let partition = open(engine, "p").await;
    let order = Arc::new(Mutex::new(Vec::new()));
    let (sender, receiver) = channel();
    for number in 0..COUNT {
        let (order, sender) = (Arc::clone(&order), sender.clone());
        let done = Box::new(move |result: Result<()>| {
            result.expect("the batch is committed");
            order.lock().expect("no completion panicked").push(number);
            let _ = sender.send(());
        });
        let text = number.to_string();
        partition.submit(batch([("k", Some(&*text))]), Durability::Durable, done);
    }
    for _ in 0..COUNT {
        receiver.recv_timeout(PATIENCE).expect("each batch ends");
    }
    assert!(receiver.try_recv().is_err(), "a completion ran twice");
    let order = order.lock().expect("no completion panicked").clone();
    assert_eq!(order, (0..COUNT).collect::<Vec<_>>());
    assert_eq!(get(&*partition.snapshot(), "k").await.expect("written"), "299");
    let debt = partition.debt();
    assert_eq!((debt.queued_batches, debt.queued_bytes), (0, 0));
}

/// Many threads write the same key. The last completion to run belongs to the final value, and each
/// completion sees its own value or a later one.
pub(super) async fn keeps_the_order_of_concurrent_batches(engine: &dyn Store) {
    const THREADS: usize = 8;
    const EACH: usize = 50;
    let partition = open(engine, "p").await;
    let last = Arc::new(Mutex::new(String::new()));
    let (sender, receiver) = channel();
    std::thread::scope(|scope| {
        for thread in 0..THREADS {
            let (partition, last, sender) = (&partition, &last, sender.clone());
            scope.spawn(move || {
                for number in 0..EACH {
                    let text = format!("{thread}-{number}");
                    let own = format!("own{thread}");
                    let changes = batch([("shared", Some(&*text)), (&*own, Some(&*text))]);
                    let (last, sender) = (Arc::clone(last), sender.clone());
                    let done = Box::new(move |result: Result<()>| {
                        result.expect("the batch is committed");
                        *last.lock().expect("no completion panicked") = text;
                        let _ = sender.send(());
                    });
                    partition.submit(changes, Durability::Durable, done);
                }
            });
        }
    });
    for _ in 0..THREADS * EACH {
        receiver.recv_timeout(PATIENCE).expect("each batch ends");
    }
    let snapshot = partition.snapshot();
    let last = last.lock().expect("no completion panicked").clone();
    assert_eq!(get(&*snapshot, "shared").await.expect("written"), last);
    for thread in 0..THREADS {
        let value = get(&*snapshot, &format!("own{thread}")).await.expect("written");
        assert_eq!(value, format!("{thread}-{}", EACH - 1));
    }
}

/// A completion may submit the next batch. A store that holds a lock meanwhile would hang.
pub(super) async fn completions_may_submit(engine: &dyn Store) {
    fn chain(partition: Arc<dyn KeySpace>, left: usize, end: std::sync::mpsc::Sender<()>) {
        let text = left.to_string();
        let next = Arc::clone(&partition);
        let done = Box::new(move |result: Result<()>| {
            result.expect("the batch is committed");
            if left == 0 {
                let _ = end.send(());
            } else {
                chain(next, left - 1, end);
            }
        });
        partition.submit(batch([("k", Some(&*text))]), Durability::Durable, done);
    }
    let partition = open(engine, "p").await;
    let (sender, receiver) = channel();
    chain(Arc::clone(&partition), 50, sender);
    receiver.recv_timeout(PATIENCE).expect("the chain ends");
    assert_eq!(get(&*partition.snapshot(), "k").await.expect("written"), "0");
}

/// A panic in a completion affects nothing else: batches before and after it complete as usual, and
/// the queue is empty afterwards.
pub(super) async fn completions_may_panic(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    let (sender, receiver) = channel();
    for number in 0..30 {
        let sender = sender.clone();
        let done = Box::new(move |result: Result<()>| {
            let _ = sender.send(result);
            assert!(number % 3 != 1, "a completion that panics, on purpose");
        });
        let key = format!("k{number}");
        partition.submit(batch([(&*key, Some("value"))]), Durability::Durable, done);
    }
    for _ in 0..30 {
        receiver.recv_timeout(PATIENCE).expect("each batch ends").expect("committed");
    }
    // The last completion may still be running; the barrier comes after it.
    barrier(&*partition).expect("all are published");
    for number in 0..30 {
        assert!(get(&*partition.snapshot(), &format!("k{number}")).await.is_some());
    }
    assert_eq!(engine.failure(), None);
    let debt = partition.debt();
    assert_eq!((debt.queued_batches, debt.queued_bytes), (0, 0));
}

pub(super) async fn buffered_batches_are_visible(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    let (sender, receiver) = channel();
    for number in 0..10 {
        let sender = sender.clone();
        let text = number.to_string();
        let done = Box::new(move |result| {
            let _ = sender.send(result);
        });
        partition.submit(batch([("k", Some(&*text))]), Durability::Buffered, done);
    }
    for _ in 0..10 {
        wait(&receiver).expect("the batch is committed");
    }
    assert_eq!(get(&*partition.snapshot(), "k").await.expect("written"), "9");
    barrier(&*partition).expect("they can be made durable");
    assert_eq!(get(&*partition.snapshot(), "k").await.expect("written"), "9");
}

/// A barrier completes in queue order, and so does a batch without changes. Neither changes
/// anything.
pub(super) async fn barriers_wait_for_what_was_queued(engine: &dyn Store) {
    let (partition, other) = (open(engine, "p").await, open(engine, "other").await);
    barrier(&*partition).expect("there is nothing to wait for");
    let (sender, receiver) = channel();
    let done = |number: usize| {
        let sender = sender.clone();
        Box::new(move |result: Result<()>| {
            let _ = sender.send((number, result));
        })
    };
    for round in 0..40 {
        let text = round.to_string();
        let durability = [Durability::Durable, Durability::Buffered][round % 2];
        partition.submit(batch([("k", Some(&*text))]), durability, done(round * 4));
        partition.barrier(durability, done(round * 4 + 1));
        partition.submit(Batch::default(), durability, done(round * 4 + 2));
        partition.barrier(Durability::Buffered, done(round * 4 + 3));
        other.submit(batch([("k", Some(&*text))]), Durability::Durable, Box::new(|_| ()));
    }
    for expected in 0..160 {
        let (number, result) = receiver.recv_timeout(PATIENCE).expect("each one ends");
        result.expect("none fails");
        assert_eq!(number, expected);
    }
    let entries = scan(&*partition.snapshot(), EVERYTHING, Direction::Forward).await;
    assert_eq!(entries, [("k".into(), "39".into())]);
}

pub(super) async fn snapshots_are_frozen(engine: &dyn Store) {
    let partition = open(engine, "p").await;
    let empty = partition.snapshot();
    commit(&*partition, batch([("a", Some("1")), ("b", Some("1"))]));
    let first = partition.snapshot();
    commit(&*partition, batch([("a", Some("2")), ("b", None), ("c", Some("2"))]));
    let second = partition.snapshot();
    commit(&*partition, batch([("a", None), ("b", Some("3"))]));

    assert!(scan(&*empty, EVERYTHING, Direction::Forward).await.is_empty());
    let expect = |pairs: &[(&'static str, &'static str)]| {
        pairs.iter().map(|(k, v)| (Bytes::from(*k), Bytes::from(*v))).collect::<BTreeMap<_, _>>()
    };
    assert_holds(&*first, &expect(&[("a", "1"), ("b", "1")])).await;
    assert_holds(&*second, &expect(&[("a", "2"), ("c", "2")])).await;
    assert_holds(&*partition.snapshot(), &expect(&[("b", "3"), ("c", "2")])).await;
    drop(first);
    assert_eq!(get(&*second, "b").await, None);
    assert_eq!(get(&*empty, "a").await, None);
}

/// While one thread keeps writing all keys in one batch, no snapshot may see two different values
/// or change later. Creating and dropping key spaces meanwhile must not affect that.
pub(super) async fn snapshots_see_whole_batches(engine: &dyn Store) {
    const ROUNDS: usize = 300;
    let partition = open(engine, "p").await;
    let keys: Vec<String> = (0..50).map(|number| format!("k{number:03}")).collect();
    let rounds = Arc::new(AtomicUsize::new(0));
    let writer = {
        let (partition, rounds, keys) = (Arc::clone(&partition), Arc::clone(&rounds), keys.clone());
        std::thread::spawn(move || {
            for round in 0..ROUNDS {
                let text = format!("{round:0100}");
                commit(&*partition, batch(keys.iter().map(|key| (&**key, Some(&*text)))));
                rounds.store(round + 1, Ordering::Release);
            }
        })
    };
    let mut number = 0;
    while rounds.load(Ordering::Acquire) < ROUNDS && !writer.is_finished() {
        let published = rounds.load(Ordering::Acquire);
        let snapshot = partition.snapshot();
        let before = scan(&*snapshot, EVERYTHING, Direction::Forward).await;
        assert!(before.is_empty() || before.len() == keys.len(), "half a batch is visible");
        assert!(before.windows(2).all(|pair| pair[0].1 == pair[1].1), "half a batch is visible");
        assert!(published == 0 || before[0].1 >= format!("{:0100}", published - 1).as_bytes());
        if number % 16 == 0 {
            let name = format!("other{number}");
            put(&*open(engine, &name).await, "x", "y");
            engine.drop_key_space(&name).await.expect("a partition can be dropped");
        }
        number += 1;
        let after = scan(&*snapshot, EVERYTHING, Direction::Forward).await;
        assert_eq!(before, after, "a snapshot changed");
    }
    writer.join().expect("the writer did not panic");
}
