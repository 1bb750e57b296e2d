//! Copies of a whole store.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use super::{Checkpoints, EVERYTHING, batch, commit, get, open, put, scan, wait_for};
use crate::{Batch, Direction, Error, Store};

pub(super) async fn hold_everything(engine: &dyn Store, checkpoints: &Checkpoints<'_>) {
    let nothing = (checkpoints.place)();
    engine.checkpoint(&nothing).await.expect("a checkpoint of an empty store");
    assert!((checkpoints.open)(&nothing).key_spaces().await.expect("a list").is_empty());

    let (a, b) = (open(engine, "a").await, open(engine, "b").await);
    open(engine, "empty").await;
    open(engine, "dropped").await;
    engine.drop_key_space("dropped").await.expect("a partition can be dropped");
    let mut changes = Batch::default();
    for number in 0..3_000 {
        changes.put(format!("{number:05}"), vec![b'v'; number % 500]);
    }
    changes.put(vec![b'k'; 30_000], vec![b'v'; 2 << 20]);
    commit(&*a, changes);
    commit(&*a, batch([("00001", None), ("00002", Some("changed"))]));
    put(&*b, "k", "b");
    engine.clone_partition("b", "cloned").await.expect("a clone");
    let expected = scan(&*a.snapshot(), EVERYTHING, Direction::Forward).await;

    let place = (checkpoints.place)().join("below/that");
    engine.checkpoint(&place).await.expect("a checkpoint");
    put(&*b, "k", "later");
    open(engine, "later").await;

    let copy = (checkpoints.open)(&place);
    assert_eq!(copy.key_spaces().await.expect("a list"), ["a", "b", "cloned", "empty"]);
    let copied = scan(&*open(&*copy, "a").await.snapshot(), EVERYTHING, Direction::Forward).await;
    assert_eq!(copied.len(), 3_000);
    assert!(copied == expected, "the entries are the same");
    for name in ["b", "cloned"] {
        let value = get(&*open(&*copy, name).await.snapshot(), "k").await;
        assert_eq!(value.expect("copied"), "b");
    }
    // Each goes its own way.
    put(&*open(&*copy, "b").await, "k", "of the copy");
    copy.drop_key_space("a").await.expect("a partition can be dropped");
    assert_eq!(get(&*b.snapshot(), "k").await.expect("untouched"), "later");
    assert_eq!(get(&*a.snapshot(), "00002").await.expect("untouched"), "changed");
    let second = (checkpoints.place)();
    copy.checkpoint(&second).await.expect("a checkpoint of a checkpoint");
    let second = (checkpoints.open)(&second);
    let value = get(&*open(&*second, "b").await.snapshot(), "k").await;
    assert_eq!(value.expect("copied"), "of the copy");
}

/// A writer raises a number in one partition and then, once that is acknowledged, in the other. At
/// any one instant the first is equal to the second or one ahead.
pub(super) async fn are_of_one_instant(engine: &dyn Store, checkpoints: &Checkpoints<'_>) {
    let (first, second) = (open(engine, "first").await, open(engine, "second").await);
    let is_over = AtomicBool::new(false);
    let acknowledged = AtomicUsize::new(0);
    let write = |round: usize| {
        let text = format!("{round:08}");
        commit(&*first, batch([("k", Some(&*text)), (&*text, Some("x"))]));
        commit(&*second, batch([("k", Some(&*text)), (&*text, Some("x"))]));
        acknowledged.store(round, Ordering::Release);
    };
    write(1);
    let mut places = Vec::new();
    std::thread::scope(|scope| {
        scope.spawn(|| {
            for round in 2.. {
                if is_over.load(Ordering::Acquire) {
                    return;
                }
                write(round);
            }
        });
        for _ in 0..5 {
            let place = (checkpoints.place)();
            let before = acknowledged.load(Ordering::Acquire);
            let written = wait_for(engine.checkpoint(&place));
            places.push((place, before, written));
        }
        is_over.store(true, Ordering::Release);
    });
    for (place, before, written) in places {
        written.expect("a checkpoint");
        let copy = (checkpoints.open)(&place);
        let mut rounds = Vec::new();
        for name in ["first", "second"] {
            let snapshot = open(&*copy, name).await.snapshot();
            let round = get(&*snapshot, "k").await.expect("copied");
            let round: usize =
                String::from_utf8_lossy(&round).parse().expect("what the writer wrote");
            // One entry of each round, and the number.
            let entries = scan(&*snapshot, EVERYTHING, Direction::Forward).await;
            assert_eq!(entries.len(), round + 1);
            rounds.push(round);
        }
        assert!(rounds[0] == rounds[1] || rounds[0] == rounds[1] + 1, "{rounds:?}");
        assert!(rounds[1] >= before, "{rounds:?}: {before} was acknowledged");
    }
}

pub(super) async fn refuse_a_directory_in_use(engine: &dyn Store, checkpoints: &Checkpoints<'_>) {
    put(&*open(engine, "p").await, "k", "v");
    let place = (checkpoints.place)();
    std::fs::create_dir(&place).expect("a directory can be created");
    let file = place.join("somebody's");
    std::fs::write(&file, "work").expect("a file can be written");
    for path in [&place, &file] {
        let refused = engine.checkpoint(path).await;
        assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    }
    assert_eq!(std::fs::read(&file).expect("untouched"), b"work");
    assert_eq!(std::fs::read_dir(&place).expect("a list").count(), 1);
    std::fs::remove_file(&file).expect("a file can be removed");
    engine.checkpoint(&place).await.expect("an empty directory is taken");
    let refused = engine.checkpoint(&place).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    let copy = (checkpoints.open)(&place);
    let value = get(&*open(&*copy, "p").await.snapshot(), "k").await;
    assert_eq!(value.expect("the first checkpoint is whole"), "v");
}

pub(super) async fn refuse_a_closed_store(engine: &dyn Store, checkpoints: &Checkpoints<'_>) {
    engine.close().await.expect("a store can be closed");
    let place = (checkpoints.place)();
    let refused = engine.checkpoint(&place).await;
    assert!(matches!(refused, Err(Error::Closed(_))), "{refused:?}");
    assert!(!place.try_exists().expect("it can be looked for"));
}

/// By a store that has no files.
pub(super) async fn are_refused(engine: &dyn Store) {
    put(&*open(engine, "p").await, "k", "v");
    let place = std::env::temp_dir().join("no-store-writes-this-checkpoint");
    let refused = engine.checkpoint(&place).await;
    assert!(matches!(refused, Err(Error::Conflict(_))), "{refused:?}");
    assert!(!place.try_exists().expect("it can be looked for"));
    assert!(matches!(engine.image().await, Err(Error::Conflict(_))));
}
