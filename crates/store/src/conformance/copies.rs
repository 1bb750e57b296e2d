//! Copies of key spaces: their contents, and what is rejected.

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

    // The copy is independent of the original.
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

pub(super) async fn refuse_a_closed_store(engine: &dyn Store) {
    let from = open(engine, "from").await;
    put(&*from, "k", "from");
    let refused = engine.copy(&*from.snapshot(), "A", &|_, _| true).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "a bad name: {refused:?}");
    engine.close().await.expect("a store can be closed");
    let refused = engine.copy(&*from.snapshot(), "new", &|_, _| true).await;
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    assert_eq!(engine.key_spaces().await.expect("a list"), ["from"]);
}
