//! Copies of partitions: what is in them, and what is refused.

use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering},
};

use super::{EVERYTHING, batch, commit, get, open, put, scan};
use crate::{Batch, Direction, Error, Store};

pub(super) async fn take_what_is_asked_for(engine: &dyn Store) {
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

pub(super) async fn refuse_a_target_in_use(engine: &dyn Store) {
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

pub(super) async fn clones_are_whole_and_independent(engine: &dyn Store) {
    let from = open(engine, "from").await;
    let mut changes = Batch::default();
    for number in 0..5_000 {
        changes.put(format!("{number:05}"), format!("value {number}"));
    }
    commit(&*from, changes);
    commit(&*from, batch([("00001", None), ("00002", Some("changed"))]));
    let expected = scan(&*from.snapshot(), EVERYTHING, Direction::Forward).await;
    engine.clone_partition("from", "absent").await.expect("a clone");
    open(engine, "empty").await;
    engine.clone_partition("from", "empty").await.expect("a clone into an empty partition");
    assert_eq!(engine.key_spaces().await.expect("a list"), ["absent", "empty", "from"]);
    put(&*from, "00002", "changed later");
    for name in ["absent", "empty"] {
        let clone = open(engine, name).await;
        let cloned = scan(&*clone.snapshot(), EVERYTHING, Direction::Forward).await;
        assert_eq!(cloned.len(), 4_999);
        assert_eq!(cloned, expected);
        commit(&*clone, batch([("00003", None), ("00004", Some("new"))]));
        assert_eq!(get(&*clone.snapshot(), "00003").await, None);
        assert_eq!(get(&*clone.snapshot(), "00004").await.expect("written"), "new");
    }
    assert_eq!(get(&*from.snapshot(), "00003").await.expect("untouched"), "value 3");
    engine.drop_key_space("from").await.expect("a partition can be dropped");
    let clone = open(engine, "absent").await;
    assert_eq!(get(&*clone.snapshot(), "00005").await.expect("its own"), "value 5");
}

/// While all keys are written in one batch again and again, a clone holds one value only, and not
/// an older one than was acknowledged.
pub(super) async fn clones_of_a_partition_in_use_are_of_one_instant(engine: &dyn Store) {
    let from = open(engine, "from").await;
    let keys: Vec<String> = (0..100).map(|number| format!("k{number:03}")).collect();
    let write = move |round: usize| {
        let text = format!("{round:08}");
        commit(&*from, batch(keys.iter().map(|key| (&**key, Some(&*text)))));
    };
    write(0);
    let is_over = Arc::new(AtomicBool::new(false));
    let acknowledged = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    let writer = {
        let (is_over, acknowledged) = (Arc::clone(&is_over), Arc::clone(&acknowledged));
        std::thread::spawn(move || {
            for round in 1.. {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                write(round);
                acknowledged.store(round, Ordering::Release);
            }
        })
    };
    for number in 0..10 {
        let before = acknowledged.load(Ordering::Acquire);
        let name = format!("to{number}");
        engine.clone_partition("from", &name).await.expect("a clone");
        let clone = open(engine, &name).await;
        let cloned = scan(&*clone.snapshot(), EVERYTHING, Direction::Forward).await;
        assert_eq!(cloned.len(), 100);
        assert!(cloned.windows(2).all(|pair| pair[0].1 == pair[1].1), "half a batch was cloned");
        assert!(cloned[0].1 >= format!("{before:08}").as_bytes(), "something is missing");
    }
    is_over.store(true, Ordering::Release);
    writer.join().expect("the writer did not panic");
}

pub(super) async fn clones_refuse_what_they_cannot_do(engine: &dyn Store) {
    let (from, to) = (open(engine, "from").await, open(engine, "to").await);
    put(&*from, "k", "from");
    put(&*to, "x", "to");
    for (from, to) in
        [("from", "to"), ("from", "from"), ("nowhere", "new"), ("from", "A"), ("", "new")]
    {
        let refused = engine.clone_partition(from, to).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{from} to {to}: {refused:?}");
    }
    assert_eq!(engine.key_spaces().await.expect("a list"), ["from", "to"]);
    assert_eq!(get(&*to.snapshot(), "k").await, None);
    assert_eq!(get(&*to.snapshot(), "x").await.expect("untouched"), "to");
    engine.close().await.expect("a store can be closed");
    let refused = engine.clone_partition("from", "new").await;
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
}
