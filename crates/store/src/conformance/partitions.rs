//! Creating and dropping key spaces.

use super::{EPOCH, barrier, batch, commit, get, open, put, submit, wait};
use crate::{Error, Store};

pub(super) async fn are_independent(engine: &dyn Store) {
    assert!(engine.key_spaces().await.expect("a list").is_empty());
    let (a, b) = (open(engine, "a").await, open(engine, "b-1_x").await);
    put(&*a, "k", "a");
    put(&*b, "k", "b");
    commit(&*b, batch([("only-b", Some("x"))]));
    assert_eq!(get(&*a.snapshot(), "k").await.expect("written"), "a");
    assert_eq!(get(&*b.snapshot(), "k").await.expect("written"), "b");
    assert_eq!(get(&*a.snapshot(), "only-b").await, None);
    assert_eq!(engine.key_spaces().await.expect("a list"), ["a", "b-1_x"]);
    let again = open(engine, "a").await;
    assert_eq!(get(&*again.snapshot(), "k").await.expect("the same partition"), "a");
    put(&*again, "k", "again");
    assert_eq!(get(&*a.snapshot(), "k").await.expect("the same partition"), "again");
    let statistics = engine.statistics();
    assert!(statistics.committed_batches >= 4 && statistics.commit_groups >= 1);
    assert_eq!(engine.failure(), None);
}

pub(super) async fn drop_and_open_again(engine: &dyn Store) {
    let old = open(engine, "p").await;
    put(&*open(engine, "other").await, "k", "other");
    for round in 0..5 {
        let partition = open(engine, "p").await;
        assert_eq!(get(&*partition.snapshot(), "k").await, None, "round {round}");
        put(&*partition, "k", "v");
        let snapshot = partition.snapshot();
        engine.drop_key_space("p").await.expect("a partition can be dropped");
        assert_eq!(get(&*snapshot, "k").await.expect("a snapshot stays readable"), "v");
        assert_eq!(engine.key_spaces().await.expect("a list"), ["other"]);
        let refused = wait(&submit(&*partition, batch([("k", Some("late"))])));
        assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
        let refused = barrier(&*partition);
        assert!(
            matches!(refused, Err(Error::Closed(_))),
            "a barrier fails as a batch: {refused:?}"
        );
    }
    let refused = wait(&submit(&*old, batch([("k", Some("late"))])));
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    engine.drop_key_space("never-there").await.expect("dropping nothing is no error");
    let other = open(engine, "other").await;
    assert_eq!(get(&*other.snapshot(), "k").await.expect("untouched"), "other");
}

pub(super) async fn refuse_bad_names(engine: &dyn Store) {
    let long = "x".repeat(101);
    for name in ["", "A", "a/b", "..", "a b", "ä", &long] {
        assert!(matches!(engine.open(name, EPOCH).await, Err(Error::Conflict(_))), "{name:?}");
    }
    open(engine, &"x".repeat(100)).await;
}

pub(super) async fn close_refuses_later_writes(engine: &dyn Store) {
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
    let refused = barrier(&*partition);
    assert!(matches!(refused, Err(Error::Closed(_))), "a barrier fails as a batch: {refused:?}");
    assert!(engine.open("new", EPOCH).await.is_err());
    assert_eq!(get(&*partition.snapshot(), "k").await.expect("reads go on"), "v");
    assert_eq!(get(&*partition.snapshot(), "n").await.expect("reads go on"), "99");
    engine.close().await.expect("closing twice is no error");
}
