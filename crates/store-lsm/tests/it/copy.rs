//! Interrupted copies. The contract lets a store leave a part; this one never does.

use crate::*;

/// Copies the current content of `from`.
fn clone<'a>(
    store: &'a LsmStore,
    from: &'a dyn KeySpace,
    to: &'a str,
) -> BoxFuture<'a, Result<()>> {
    Box::pin(async move { store.copy(&*from.snapshot(), to, &|_, _| true).await })
}

/// However far a clone got, its target is empty or complete. If empty, it can be filled again, and
/// then contains nothing of the first attempt.
#[tokio::test]
async fn a_cancelled_clone_leaves_all_or_nothing() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut batch = Batch::default();
    for number in 0..20_000 {
        batch.put(format!("{number:05}"), "v");
    }
    let (from, other) =
        (store.open("from", 0).await.unwrap(), store.open("other", 0).await.unwrap());
    commit(&*from, batch).unwrap();
    put(&*other, "other", "v");
    let mut wholes = Vec::new();
    for (polls, is_done) in (1..=12).flat_map(|polls| [(polls, false), (polls, true)]) {
        let name = format!("to{polls}{is_done}");
        let ended = advance(clone(&store, &*from, &name), polls, is_done).is_some();
        let again = loop {
            match clone(&store, &*other, &name).await {
                // The cancelled one has not noticed yet.
                Err(Error::Unavailable(_)) => std::thread::yield_now(),
                other => break other,
            }
        };
        let is_whole = match again {
            Ok(()) => false,
            Err(Error::Conflict(_)) => true,
            Err(error) => panic!("{error}"),
        };
        assert!(is_whole || !ended, "a clone that ended is whole");
        wholes.push(is_whole);
        let copy = store.open(&name, 0).await.unwrap();
        assert_eq!(get(&*copy, "other").await.is_some(), !is_whole, "after {polls} polls");
        for number in [0, 9_999, 19_999] {
            let value = get(&*copy, &format!("{number:05}")).await;
            assert_eq!(value.is_some(), is_whole, "{number} after {polls} polls");
        }
    }
    assert_eq!(wholes.first(), Some(&false), "the first one was cut short");
    assert_eq!(wholes.last(), Some(&true), "the last one was not");
}

/// After two concurrent clones into one partition, it contains one of them, not a mixture.
#[tokio::test]
async fn two_clones_do_not_mix() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let mut sources = Vec::new();
    for name in ["x", "y"] {
        let mut batch = Batch::default();
        for number in 0..5_000 {
            batch.put(format!("{name}{number}"), name);
        }
        let source = store.open(name, 0).await.unwrap();
        commit(&*source, batch).unwrap();
        sources.push(source);
    }
    for round in 0..10 {
        let name = format!("to{round}");
        let (x, y) =
            tokio::join!(clone(&store, &*sources[0], &name), clone(&store, &*sources[1], &name));
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
    let from = store.open("from", 0).await.unwrap();
    put(&*from, "k", "v");
    clone(&store, &*from, "to").await.unwrap();
    let crashed = copy_of(directory.path());
    let reopened = open(crashed.path()).open("to", 0).await.unwrap();
    assert_eq!(get(&*reopened, "k").await.unwrap(), "v");
}
