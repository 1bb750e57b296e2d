//! Copies that are cut short.

use std::task::{Context, Waker};

use store::{Engine, Error};

use crate::*;

/// However far a clone came, its target is empty or whole. If it is empty it can be filled again,
/// and then holds nothing of the first try.
#[tokio::test]
async fn a_cancelled_clone_leaves_all_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut batch = Batch::default();
    for number in 0..20_000 {
        batch.put(format!("{number:05}"), "v");
    }
    commit(&*store.open("from", 0).await.unwrap(), batch).unwrap();
    put(&*store.open("other", 0).await.unwrap(), "other", "v");
    let mut wholes = 0;
    for steps in 1..=12 {
        let name = format!("to{steps}");
        {
            let mut clone = store.clone_partition("from", &name);
            let mut context = Context::from_waker(Waker::noop());
            for _ in 0..steps {
                if clone.as_mut().poll(&mut context).is_ready() {
                    break;
                }
                // Long enough for what was asked for to be done.
                std::thread::sleep(Duration::from_millis(30));
            }
        }
        let again = loop {
            match store.clone_partition("other", &name).await {
                // The cancelled one has not noticed yet.
                Err(Error::Unavailable(_)) => std::thread::sleep(Duration::from_millis(1)),
                other => break other,
            }
        };
        let is_whole = match again {
            Ok(()) => false,
            Err(Error::Conflict(_)) => true,
            Err(error) => panic!("{error}"),
        };
        wholes += usize::from(is_whole);
        let copy = store.open(&name, 0).await.unwrap();
        assert_eq!(get(&*copy, "other").await.is_some(), !is_whole, "after {steps} steps");
        for number in [0, 9_999, 19_999] {
            let value = get(&*copy, &format!("{number:05}")).await;
            assert_eq!(value.is_some(), is_whole, "{number} after {steps} steps");
        }
    }
    assert!(wholes > 0, "the last ones were not cut short");
    assert!(wholes < 12, "the first ones were");
}

/// Two clones at once into one partition: it holds one of them, not a mixture.
#[tokio::test]
async fn two_clones_do_not_mix() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    for name in ["x", "y"] {
        let mut batch = Batch::default();
        for number in 0..5_000 {
            batch.put(format!("{name}{number}"), name);
        }
        commit(&*store.open(name, 0).await.unwrap(), batch).unwrap();
    }
    for round in 0..10 {
        let name = format!("to{round}");
        let (x, y) =
            tokio::join!(store.clone_partition("x", &name), store.clone_partition("y", &name));
        assert!(x.is_ok() != y.is_ok(), "{x:?} {y:?}");
        let refused = if x.is_ok() { y } else { x };
        assert!(matches!(refused, Err(Error::Conflict(_) | Error::Unavailable(_))));
        let copy = store.open(&name, 0).await.unwrap();
        let (x, y) = (get(&*copy, "x7").await, get(&*copy, "y7").await);
        assert!(x.is_some() != y.is_some());
    }
}

/// A clone is durable once it is acknowledged, without a clean close.
#[tokio::test]
async fn a_clone_survives_a_crash() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("from", 0).await.unwrap(), "k", "v");
    store.clone_partition("from", "to").await.unwrap();
    let crashed = copy_of(directory.path());
    let reopened = open(crashed.path()).open("to", 0).await.unwrap();
    assert_eq!(get(&*reopened, "k").await.unwrap(), "v");
}
