//! Visible data has the requested durability, and what a crash leaves.

use std::{
    collections::BTreeMap,
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
        mpsc::{Receiver, channel},
    },
};

use bytes::Bytes;

use super::{
    EVERYTHING, assert_holds, barrier, batch, commit, get, open, put, scan, submit, wait, wait_for,
};
use crate::{Batch, Direction, Durability, KeySpace, Result, Store};

/// The disk below a store, as far as a test can control it.
pub trait Disk: Send + Sync {
    /// From now on nothing becomes durable. Calls do not fail; they wait.
    fn pause(&self);

    /// Ends the pause: everything that waited becomes durable.
    fn resume(&self);

    /// The store as it would be found if the process died now.
    fn crash(&self) -> Arc<dyn Store>;
}

fn submit_buffered(partition: &dyn KeySpace, batch: Batch) -> Receiver<Result<()>> {
    let (sender, receiver) = channel();
    let done = Box::new(move |result| {
        let _ = sender.send(result);
    });
    partition.submit(batch, Durability::Buffered, done);
    receiver
}

/// Starts a barrier without waiting for it.
fn start_barrier(partition: &dyn KeySpace) -> Receiver<Result<()>> {
    let (sender, receiver) = channel();
    let done = Box::new(move |result| {
        let _ = sender.send(result);
    });
    partition.barrier(Durability::Durable, done);
    receiver
}

/// While nothing can become durable, neither a durable batch nor any batch after it is visible. A
/// new owner does not find it either, and then it never appears.
pub(super) async fn nothing_is_visible_before_it_is_durable(store: &dyn Store, disk: &dyn Disk) {
    let (p, other) = (open(store, "p").await, open(store, "other").await);
    put(&*p, "k", "before");
    put(&*other, "k", "before");
    disk.pause();
    let durable = submit(&*p, batch([("k", Some("durable")), ("d", Some("1"))]));
    let behind = submit_buffered(&*p, batch([("k", Some("behind")), ("b", Some("1"))]));
    let barrier_end = start_barrier(&*p);
    let elsewhere = submit(&*other, batch([("k", Some("durable"))]));
    let before = BTreeMap::from([(Bytes::from("k"), Bytes::from("before"))]);
    for _ in 0..100 {
        assert_holds(&*p.snapshot(), &before).await;
        assert_holds(&*other.snapshot(), &before).await;
        for end in [&durable, &behind, &barrier_end, &elsewhere] {
            assert!(end.try_recv().is_err(), "a batch ended that is not durable");
        }
        std::thread::yield_now();
    }
    let crashed = disk.crash();
    assert_holds(&*open(&*crashed, "p").await.snapshot(), &before).await;
    disk.resume();
    for end in [&durable, &behind, &barrier_end, &elsewhere] {
        wait(end).expect("it goes on");
    }
    let snapshot = p.snapshot();
    assert_eq!(get(&*snapshot, "k").await.expect("written"), "behind");
    assert_eq!(get(&*snapshot, "d").await.expect("written"), "1");
    assert_eq!(get(&*other.snapshot(), "k").await.expect("written"), "durable");
    let crashed = disk.crash();
    assert_eq!(get(&*open(&*crashed, "p").await.snapshot(), "b").await.expect("durable"), "1");
}

/// One thread writes durable batches. Every value that a reader sees is found after a crash.
pub(super) async fn what_was_seen_survives(store: &dyn Store, disk: &dyn Disk) {
    let partition = open(store, "p").await;
    let is_over = AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for number in 0..100_000 {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                let text = format!("{number:08}");
                // Every other batch is submitted while the previous one is in flight.
                let end = submit(&*partition, batch([("k", Some(&*text))]));
                put(&*partition, "l", &text);
                wait(&end).expect("a batch can be committed");
            }
        });
        for _ in 0..8 {
            let seen = wait_for(scan(&*partition.snapshot(), EVERYTHING, Direction::Forward));
            let crashed = disk.crash();
            let found = wait_for(open(&*crashed, "p")).snapshot();
            for (key, value) in seen {
                let key = std::str::from_utf8(&key).expect("written as text");
                let left = wait_for(get(&*found, key)).expect("a visible key is lost");
                assert!(left >= value, "`{key}` was seen as {value:?} and is {left:?} now");
            }
        }
        is_over.store(true, Ordering::Release);
    });
}

/// Buffered batches survive a later durable batch or barrier of their key space, in order.
pub(super) async fn buffered_batches_survive_a_barrier(store: &dyn Store, disk: &dyn Disk) {
    let partition = open(store, "p").await;
    for number in 0..20 {
        let key = format!("{number:02}");
        wait(&submit_buffered(&*partition, batch([(&*key, Some("x"))]))).expect("committed");
        match number {
            5 => barrier(&*partition).expect("a barrier"),
            10 => put(&*partition, "durable", "x"),
            _ => {}
        }
        let crashed = disk.crash();
        let found = open(&*crashed, "p").await.snapshot();
        let found = scan(&*found, EVERYTHING, Direction::Forward).await;
        let kept = found.iter().filter(|(key, _)| key != "durable").count();
        let least = [(10, 11), (5, 6), (0, 0)].into_iter().find(|(at, _)| number >= *at);
        assert!(kept >= least.map_or(0, |(_, least)| least), "{number}: {found:?}");
        for (position, (key, _)) in found.iter().take(kept).enumerate() {
            assert_eq!(*key, format!("{position:02}"), "a batch is lost among others");
        }
    }
}

/// Key spaces are created and dropped durably, and closing makes everything durable.
pub(super) async fn key_spaces_and_a_close_survive(store: &dyn Store, disk: &dyn Disk) {
    open(store, "a").await;
    open(store, "b").await;
    store.drop_key_space("b").await.expect("a key space can be dropped");
    assert_eq!(disk.crash().key_spaces().await.expect("a list"), ["a"]);
    let a = open(store, "a").await;
    commit(&*a, batch([("x", Some("1")), ("y", Some("1"))]));
    store.copy(&*a.snapshot(), "c", &|key, _| key == b"y").await.expect("a copy");
    let crashed = disk.crash();
    let copied = open(&*crashed, "c").await.snapshot();
    assert_eq!(scan(&*copied, EVERYTHING, Direction::Forward).await, [("y".into(), "1".into())]);
    wait(&submit_buffered(&*a, batch([("z", Some("1"))]))).expect("committed");
    store.close().await.expect("a store can be closed");
    let crashed = disk.crash();
    assert_eq!(get(&*open(&*crashed, "a").await.snapshot(), "z").await.expect("closed"), "1");
}

/// A batch that is waiting for the disk when a new owner opens the key space is there by then, or
/// never.
pub(super) async fn an_open_settles_what_waits(store: &dyn Store, disk: &dyn Disk) {
    let old = open(store, "p").await;
    put(&*old, "k", "old");
    disk.pause();
    let waiting = submit(&*old, batch([("k", Some("late"))]));
    let (new, seen) = std::thread::scope(|scope| {
        let opening = scope.spawn(|| {
            let new = wait_for(store.open("p", 1)).expect("a higher epoch opens");
            let seen = wait_for(get(&*new.snapshot(), "k")).expect("written");
            (new, seen)
        });
        // The open may have to wait for the disk.
        disk.resume();
        opening.join().expect("no panic")
    });
    let end = wait(&waiting);
    assert_eq!(end.is_ok(), seen == "late", "{end:?}, and the new owner saw {seen:?}");
    barrier(&*new).expect("the owner can wait");
    assert_eq!(get(&*new.snapshot(), "k").await.expect("written"), seen);
}
