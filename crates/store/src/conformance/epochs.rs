//! Who may write to a partition.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use bytes::Bytes;

use super::{EVERYTHING, barrier, batch, get, open, put, scan, submit, wait, wait_for};
use crate::{Direction, Error, KeySpace, Result, Snapshot, Store};

async fn open_at(engine: &dyn Store, epoch: u64) -> Arc<dyn KeySpace> {
    engine.open("p", epoch).await.expect("a partition can be opened")
}

fn is_fenced<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Fenced))
}

pub(super) async fn a_higher_one_fences(engine: &dyn Store) {
    let first = open_at(engine, 3).await;
    let same = open_at(engine, 3).await;
    let other = open(engine, "other").await;
    put(&*first, "k", "first");
    put(&*same, "same", "first");
    assert_eq!(get(&*first.snapshot(), "same").await.expect("one owner's"), "first");
    barrier(&*first).expect("the owner can wait");
    assert!(is_fenced(&engine.open("p", 2).await), "a lower epoch cannot open");
    put(&*first, "still", "first");

    let frozen = first.snapshot();
    let second = open_at(engine, 7).await;
    for lost in [&first, &same] {
        let refused = wait(&submit(&**lost, batch([("k", Some("late")), ("late", Some("x"))])));
        assert!(is_fenced(&refused), "{refused:?}");
        let refused = wait(&submit(&**lost, batch([])));
        assert!(is_fenced(&refused), "{refused:?}");
        assert!(is_fenced(&barrier(&**lost)));
    }
    for epoch in [0, 3, 6] {
        assert!(is_fenced(&engine.open("p", epoch).await), "epoch {epoch}");
    }
    assert_eq!(get(&*second.snapshot(), "k").await.expect("taken over"), "first");
    assert_eq!(get(&*second.snapshot(), "still").await.expect("taken over"), "first");
    put(&*second, "k", "second");
    barrier(&*second).expect("the owner can wait");
    assert_eq!(get(&*second.snapshot(), "late").await, None);
    reads_as_or_is_fenced(&*frozen, "k", "first").await;
    reads_as_or_is_fenced(&*first.snapshot(), "still", "first").await;

    put(&*other, "k", "untouched by all this");
    put(&*open_at(engine, 7).await, "k", "second again");
    put(&*open_at(engine, u64::MAX).await, "k", "last");
    assert!(is_fenced(&wait(&submit(&*second, batch([("k", None)])))));
    let keys = [Bytes::from("k")];
    let read = second.snapshot().get_many(&keys).await;
    assert!(is_fenced(&read) || read.is_ok(), "{read:?}");
}

/// A snapshot of a fenced handle may fail; until it does, it does not change.
async fn reads_as_or_is_fenced(snapshot: &dyn Snapshot, key: &str, expected: &str) {
    let read = snapshot.get_many(&[Bytes::copy_from_slice(key.as_bytes())]).await;
    match &read {
        Ok(values) => assert_eq!(values[0].as_deref(), Some(expected.as_bytes())),
        Err(_) => assert!(is_fenced(&read), "{read:?}"),
    }
}

/// Threads write through the old handle while a new one is opened. The new owner's first view
/// contains everything that was acknowledged to the old one, and nothing of the old one is
/// published later.
pub(super) async fn nothing_is_published_behind_a_fence(engine: &dyn Store) {
    const THREADS: usize = 4;
    for round in 0..10 {
        let old = open_at(engine, round * 2).await;
        let is_fenced_now = AtomicBool::new(false);
        let started = AtomicBool::new(false);
        let (seen, acknowledged) = std::thread::scope(|scope| {
            let write = |thread: usize| {
                let (mut ends, mut acknowledged) = (Vec::new(), Vec::new());
                for number in 0.. {
                    let is_last = is_fenced_now.load(Ordering::Acquire);
                    let key = format!("{round}-{thread}-{number}");
                    let end = submit(&*old, batch([(&*key, Some("old"))]));
                    ends.push((key, end));
                    // Keep some in flight, so that the fence falls among them.
                    if is_last || ends.len() == 16 {
                        for (key, end) in ends.drain(..) {
                            acknowledged.push((key, wait(&end)));
                        }
                        started.store(true, Ordering::Release);
                    }
                    if is_last {
                        break;
                    }
                }
                acknowledged
            };
            let threads: Vec<_> =
                (0..THREADS).map(|thread| scope.spawn(move || write(thread))).collect();
            let any_ended = || threads.iter().any(std::thread::ScopedJoinHandle::is_finished);
            while !started.load(Ordering::Acquire) && !any_ended() {
                std::thread::yield_now();
            }
            let new = wait_for(engine.open("p", round * 2 + 1)).expect("a higher epoch opens");
            let seen = new.snapshot();
            is_fenced_now.store(true, Ordering::Release);
            let ends = threads.into_iter().map(|thread| thread.join().expect("no panic"));
            (seen, ends.collect::<Vec<_>>())
        });
        for ends in acknowledged {
            let first = ends.iter().position(|(_, end)| end.is_err()).expect("the last is fenced");
            for (number, (key, end)) in ends.iter().enumerate() {
                let is_there = get(&*seen, key).await.is_some();
                assert_eq!(end.is_ok(), is_there, "{key}: {end:?}");
                assert_eq!(end.is_ok(), number < first, "{key} is out of order");
                assert!(end.is_ok() || is_fenced(end), "{key}: {end:?}");
            }
        }
        let now = open_at(engine, round * 2 + 1).await.snapshot();
        let now = scan(&*now, EVERYTHING, Direction::Forward).await;
        assert_eq!(now, scan(&*seen, EVERYTHING, Direction::Forward).await);
    }
}

/// A key space that is dropped and recreated starts without an epoch.
pub(super) async fn go_with_their_partition(engine: &dyn Store) {
    let old = open_at(engine, 9).await;
    put(&*old, "k", "old");
    engine.drop_key_space("p").await.expect("a partition can be dropped");
    let new = open_at(engine, 1).await;
    assert_eq!(get(&*new.snapshot(), "k").await, None);
    put(&*new, "k", "new");
    let refused = wait(&submit(&*old, batch([("k", Some("late"))])));
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    // A copy has no owner yet, and filling it does not make one.
    let filled = engine.open("filled", 5).await.expect("a partition can be opened");
    engine.copy(&*new.snapshot(), "filled", &|_, _| true).await.expect("a copy");
    put(&*filled, "x", "y");
    assert!(is_fenced(&engine.open("filled", 4).await));
    engine.copy(&*new.snapshot(), "fresh", &|_, _| true).await.expect("a copy");
    engine.open("fresh", 0).await.expect("a copy has no epoch");
}
