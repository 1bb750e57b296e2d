//! How partitions come, go, and are copied.

use super::{EVERYTHING, batch, commit, get, open, put, scan, submit, wait};
use crate::{Batch, Direction, Engine, Error};

pub(super) async fn are_independent(engine: &dyn Engine) {
    assert!(engine.partitions().await.expect("a list").is_empty());
    let (a, b) = (open(engine, "a").await, open(engine, "b-1_x").await);
    put(&*a, "k", "a");
    put(&*b, "k", "b");
    commit(&*b, batch([("only-b", Some("x"))]));
    assert_eq!(get(&*a.snapshot(), "k").await.expect("written"), "a");
    assert_eq!(get(&*b.snapshot(), "k").await.expect("written"), "b");
    assert_eq!(get(&*a.snapshot(), "only-b").await, None);
    assert_eq!(engine.partitions().await.expect("a list"), ["a", "b-1_x"]);
    let again = open(engine, "a").await;
    assert_eq!(get(&*again.snapshot(), "k").await.expect("the same partition"), "a");
    put(&*again, "k", "again");
    assert_eq!(get(&*a.snapshot(), "k").await.expect("the same partition"), "again");
    let statistics = engine.statistics();
    assert!(statistics.committed_batches >= 4 && statistics.commit_groups >= 1);
    assert_eq!(engine.failure(), None);
}

pub(super) async fn drop_and_open_again(engine: &dyn Engine) {
    let old = open(engine, "p").await;
    put(&*open(engine, "other").await, "k", "other");
    for round in 0..5 {
        let partition = open(engine, "p").await;
        assert_eq!(get(&*partition.snapshot(), "k").await, None, "round {round}");
        put(&*partition, "k", "v");
        let snapshot = partition.snapshot();
        engine.drop_partition("p").await.expect("a partition can be dropped");
        assert_eq!(get(&*snapshot, "k").await.expect("a snapshot stays readable"), "v");
        assert_eq!(engine.partitions().await.expect("a list"), ["other"]);
        let refused = wait(&submit(&*partition, batch([("k", Some("late"))])));
        assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    }
    let refused = wait(&submit(&*old, batch([("k", Some("late"))])));
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    engine.drop_partition("never-there").await.expect("dropping nothing is no error");
    let other = open(engine, "other").await;
    assert_eq!(get(&*other.snapshot(), "k").await.expect("untouched"), "other");
}

pub(super) async fn refuse_bad_names(engine: &dyn Engine) {
    let long = "x".repeat(101);
    for name in ["", "A", "a/b", "..", "a b", "ä", &long] {
        assert!(matches!(engine.open(name).await, Err(Error::Conflict(_))), "{name:?}");
    }
    open(engine, &"x".repeat(100)).await;
}

pub(super) async fn copy_what_is_asked_for(engine: &dyn Engine) {
    let from = open(engine, "from").await;
    let mut changes = Batch::default();
    for number in 0..10_000 {
        changes.put(format!("{number:05}"), format!("value {number}"));
    }
    commit(&*from, changes);
    let snapshot = from.snapshot();
    commit(&*from, batch([("00000", Some("changed later")), ("zz", Some("added later"))]));

    let is_even = |key: &[u8], _: &[u8]| key.last().is_some_and(|digit| digit % 2 == 0);
    engine.copy(&*snapshot, "even", &is_even).await.expect("a copy");
    let even = open(engine, "even").await;
    let copied = scan(&*even.snapshot(), EVERYTHING, Direction::Forward).await;
    let mut expected = scan(&*snapshot, EVERYTHING, Direction::Forward).await;
    expected.retain(|(key, value)| is_even(key, value));
    assert_eq!(copied.len(), 5_000);
    assert_eq!(copied, expected);

    // The copy lives on its own.
    commit(&*even, batch([("00002", None), ("00004", Some("new"))]));
    assert_eq!(get(&*even.snapshot(), "00002").await, None);
    assert_eq!(get(&*even.snapshot(), "00004").await.expect("written"), "new");
    assert_eq!(get(&*from.snapshot(), "00002").await.expect("untouched"), "value 2");
    engine.copy(&*snapshot, "nothing", &|_, _| false).await.expect("an empty copy");
    let nothing = open(engine, "nothing").await;
    assert!(scan(&*nothing.snapshot(), EVERYTHING, Direction::Forward).await.is_empty());
    // Still empty, so it may be filled.
    engine.copy(&*snapshot, "nothing", &|key, _| key == b"00001").await.expect("a copy");
    assert_eq!(get(&*nothing.snapshot(), "00001").await.expect("copied"), "value 1");
}

pub(super) async fn copy_refuses_a_target_in_use(engine: &dyn Engine) {
    let (from, to) = (open(engine, "from").await, open(engine, "to").await);
    put(&*from, "k", "from");
    put(&*to, "x", "to");
    let refused = engine.copy(&*from.snapshot(), "to", &|_, _| true).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert_eq!(get(&*to.snapshot(), "k").await, None);
    // Emptied, it can be used again.
    commit(&*to, batch([("x", None)]));
    engine.copy(&*from.snapshot(), "to", &|_, _| true).await.expect("a copy");
    assert_eq!(get(&*to.snapshot(), "k").await.expect("copied"), "from");
    assert_eq!(get(&*to.snapshot(), "x").await, None);
}

pub(super) async fn close_refuses_later_writes(engine: &dyn Engine) {
    let partition = open(engine, "p").await;
    put(&*partition, "k", "v");
    let queued: Vec<_> = (0..100)
        .map(|number| submit(&*partition, batch([("n", Some(&*number.to_string()))])))
        .collect();
    engine.close().await.expect("a store can be closed");
    for receiver in &queued {
        wait(receiver).expect("what was queued before the close is committed");
    }
    let refused = wait(&submit(&*partition, batch([("k", Some("late"))])));
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    assert!(matches!(partition.flush().await, Ok(()) | Err(Error::Closed(_))));
    assert!(engine.open("new").await.is_err());
    assert_eq!(get(&*partition.snapshot(), "k").await.expect("reads go on"), "v");
    assert_eq!(get(&*partition.snapshot(), "n").await.expect("reads go on"), "99");
    engine.close().await.expect("closing twice is no error");
}
