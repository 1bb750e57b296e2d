//! Compactions: readers do not notice them.

use std::{
    collections::BTreeMap,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use bytes::Bytes;

use super::{EVERYTHING, assert_holds, batch, commit, get, open, put, scan, wait_for};
use crate::{Batch, Direction, Error, Files, KeySpace};

const KEYS: usize = 2_000;

/// Rewrites some keys and deletes others, differently in each round; updates the expected entries.
fn churn(partition: &dyn KeySpace, round: usize, expected: &mut BTreeMap<Bytes, Bytes>) {
    let mut changes = Batch::default();
    for number in (0..KEYS).filter(|number| !(number + round).is_multiple_of(3)) {
        let key = Bytes::from(format!("{number:05}"));
        if (number + round).is_multiple_of(5) {
            expected.remove(&key);
            changes.delete(key);
        } else {
            let value = Bytes::from(format!("{round} {number:020}"));
            expected.insert(key.clone(), value.clone());
            changes.put(key, value);
        }
    }
    commit(partition, changes);
}

pub(super) async fn change_nothing(engine: &dyn Files) {
    engine.compact(None).await.expect("a compaction of nothing");
    let (a, b) = (open(engine, "a").await, open(engine, "b").await);
    open(engine, "empty").await;
    put(&*b, "k", "b");
    let mut expected = BTreeMap::new();
    let mut snapshots = Vec::new();
    for round in 0..6 {
        churn(&*a, round, &mut expected);
        snapshots.push((a.snapshot(), expected.clone()));
        // In the middle, with older snapshots open, and of one partition or all.
        match round {
            2 => engine.compact(Some("a")).await.expect("a compaction of one"),
            4 => engine.compact(None).await.expect("a compaction of all"),
            _ => {}
        }
    }
    for _ in 0..2 {
        engine.compact(None).await.expect("a compaction can be repeated");
        for (snapshot, expected) in &snapshots {
            assert_holds(&**snapshot, expected).await;
        }
        assert_holds(&*a.snapshot(), &expected).await;
        assert_eq!(get(&*b.snapshot(), "k").await.expect("written"), "b");
    }
    // Compaction drops what no snapshot needs any more and keeps the rest.
    drop(snapshots);
    engine.compact(None).await.expect("a compaction");
    assert_holds(&*a.snapshot(), &expected).await;
    churn(&*a, 6, &mut expected);
    assert_holds(&*a.snapshot(), &expected).await;
    assert_eq!(engine.key_spaces().await.expect("a list"), ["a", "b", "empty"]);
}

/// A writer raises all values in one batch, again and again. Through all compactions, acknowledged
/// writes are there, batches are whole, and a snapshot does not change.
pub(super) async fn change_nothing_while_writers_run(engine: &dyn Files) {
    let partition = open(engine, "p").await;
    let keys: Vec<String> = (0..50).map(|number| format!("{number:05}")).collect();
    let is_over = AtomicBool::new(false);
    let acknowledged = AtomicUsize::new(0);
    let write = |round: usize| {
        let text = format!("{round:0100}");
        commit(&*partition, batch(keys.iter().map(|key| (&**key, Some(&*text)))));
        acknowledged.store(round, Ordering::Release);
    };
    write(1);
    let first = partition.snapshot();
    let of_first = scan(&*first, EVERYTHING, Direction::Forward).await;
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 2.. {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                write(round);
            }
        });
        let compacting = scope.spawn(|| {
            for number in 0..10 {
                let which = (number % 2 == 0).then_some("p");
                wait_for(engine.compact(which)).expect("a compaction");
            }
        });
        let reading = scope.spawn(|| {
            let mut is_last = false;
            while !is_last {
                is_last = compacting.is_finished();
                let before = acknowledged.load(Ordering::Acquire);
                let snapshot = partition.snapshot();
                let read = || wait_for(scan(&*snapshot, EVERYTHING, Direction::Forward));
                let entries = read();
                assert_eq!(entries.len(), keys.len());
                assert!(entries.windows(2).all(|pair| pair[0].1 == pair[1].1), "half a batch");
                assert!(entries[0].1 >= format!("{before:0100}").as_bytes(), "a write is lost");
                assert_eq!(entries, read(), "a snapshot changed");
            }
            compacting.join()
        });
        let joined = reading.join();
        is_over.store(true, Ordering::Release);
        joined.expect("the reader did not panic").expect("the compactions did not");
    });
    assert_eq!(scan(&*first, EVERYTHING, Direction::Forward).await, of_first);
}

pub(super) async fn refuse_what_they_cannot_do(engine: &dyn Files) {
    put(&*open(engine, "p").await, "k", "v");
    for name in ["nowhere", "", "A"] {
        let refused = engine.compact(Some(name)).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{name}: {refused:?}");
    }
    assert_eq!(engine.key_spaces().await.expect("a list"), ["p"]);
    engine.close().await.expect("a store can be closed");
    for name in [None, Some("p")] {
        let refused = engine.compact(name).await;
        assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    }
}
