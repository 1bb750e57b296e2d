//! The flaky store fails as planned, and keeps the contract while it does.

use std::sync::{
    Arc,
    mpsc::{Receiver, channel},
};

use store::{
    Batch, Direction, Durability, Error, KeySpace, PageLimit, Result, Store,
    memory::MemoryStore,
    testing::{Chances, Fault, Flaky, Random},
};

async fn opened(epoch: u64) -> (Flaky, Arc<dyn KeySpace>) {
    let flaky = Flaky::new(Arc::new(MemoryStore::new()), 1);
    let key_space = flaky.open("p", epoch).await.unwrap();
    (flaky, key_space)
}

fn submit(key_space: &dyn KeySpace, key: &str) -> Receiver<Result<()>> {
    let (sender, receiver) = channel();
    let mut batch = Batch::default();
    batch.put(key.to_owned(), "v");
    key_space.submit(batch, Durability::Durable, Box::new(move |end| sender.send(end).unwrap()));
    receiver
}

fn barrier(key_space: &dyn KeySpace) -> Receiver<Result<()>> {
    let (sender, receiver) = channel();
    key_space.barrier(Durability::Durable, Box::new(move |end| sender.send(end).unwrap()));
    receiver
}

async fn has(key_space: &dyn KeySpace, key: &str) -> bool {
    key_space.snapshot().get_many(&[key.to_owned().into()]).await.unwrap()[0].is_some()
}

fn is_unavailable<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Unavailable(_)))
}

fn is_fenced<T>(result: &Result<T>) -> bool {
    matches!(result, Err(Error::Fenced))
}

/// After each kind of failure nothing more is written until there is a new owner.
#[tokio::test]
async fn a_failed_batch_fails_those_behind_it() {
    for (fault, is_applied) in [(Fault::Unavailable, false), (Fault::Applied, true)] {
        let (flaky, old) = opened(0).await;
        submit(&*old, "before").recv().unwrap().unwrap();
        flaky.fail_in(0, fault);
        assert!(is_unavailable(&submit(&*old, "failed").recv().unwrap()));
        assert!(is_unavailable(&submit(&*old, "behind").recv().unwrap()));
        assert!(is_unavailable(&barrier(&*old).recv().unwrap()), "a barrier fails as a batch does");
        let same = flaky.open("p", 0).await.unwrap();
        assert!(is_unavailable(&submit(&*same, "same owner").recv().unwrap()));
        let new = flaky.open("p", 1).await.unwrap();
        assert!(is_fenced(&submit(&*old, "behind").recv().unwrap()));
        submit(&*new, "after").recv().unwrap().unwrap();
        barrier(&*new).recv().unwrap().unwrap();
        assert!(has(&*new, "before").await && has(&*new, "after").await);
        assert_eq!(has(&*new, "failed").await, is_applied);
        assert!(!has(&*new, "behind").await && !has(&*new, "same owner").await);
        assert_eq!(flaky.faults(), 1);
    }
}

#[tokio::test]
async fn a_barrier_may_be_what_fails() {
    let (flaky, old) = opened(0).await;
    flaky.fail_in(0, Fault::Unavailable);
    assert!(is_unavailable(&barrier(&*old).recv().unwrap()));
    assert!(is_unavailable(&submit(&*old, "behind").recv().unwrap()));
}

/// It is applied on release, but never after an open with a higher epoch.
#[tokio::test]
async fn a_late_batch_lands_before_the_next_owner_or_never() {
    let (flaky, old) = opened(0).await;
    flaky.fail_in(0, Fault::Late);
    assert!(is_unavailable(&submit(&*old, "late").recv().unwrap()));
    assert!(!has(&*old, "late").await);
    flaky.release();
    assert!(has(&*old, "late").await, "it has landed");

    let (mut landed, mut never) = (0, 0);
    for epoch in 1..40 {
        let key = format!("late{epoch}");
        let owner = flaky.open("p", epoch).await.unwrap();
        flaky.fail_in(0, Fault::Late);
        assert!(is_unavailable(&submit(&*owner, &key).recv().unwrap()));
        let next = flaky.open("p", epoch + 1).await.unwrap();
        let seen = has(&*next, &key).await;
        flaky.release();
        assert_eq!(has(&*next, &key).await, seen, "it landed behind the open");
        (landed, never) = (landed + u32::from(seen), never + u32::from(!seen));
    }
    assert!(landed > 0 && never > 0, "{landed} {never}");
}

#[tokio::test]
async fn a_stalled_batch_waits_and_holds_up_the_others() {
    let (flaky, key_space) = opened(0).await;
    flaky.fail_in(0, Fault::Stalled);
    let ends =
        [submit(&*key_space, "stalled"), submit(&*key_space, "behind"), barrier(&*key_space)];
    assert!(ends.iter().all(|end| end.try_recv().is_err()));
    assert!(!has(&*key_space, "stalled").await && !has(&*key_space, "behind").await);
    assert_eq!(key_space.debt().queued_batches, 3);
    flaky.release();
    for end in &ends {
        end.recv().unwrap().unwrap();
    }
    assert!(has(&*key_space, "stalled").await && has(&*key_space, "behind").await);

    let (mut published, mut fenced) = (0, 0);
    for epoch in 1..40 {
        let owner = flaky.open("p", epoch).await.unwrap();
        flaky.fail_in(0, Fault::Stalled);
        let key = format!("stalled{epoch}");
        let (stalled, behind) = (submit(&*owner, &key), submit(&*owner, "late"));
        let next = flaky.open("p", epoch + 1).await.unwrap();
        let (stalled, behind) = (stalled.recv().unwrap(), behind.recv().unwrap());
        assert_eq!(has(&*next, &key).await, stalled.is_ok(), "{stalled:?}");
        assert!(stalled.is_ok() || is_fenced(&stalled), "{stalled:?}");
        assert!(is_fenced(&behind), "{behind:?}");
        (published, fenced) =
            (published + u32::from(stalled.is_ok()), fenced + u32::from(stalled.is_err()));
    }
    assert!(published > 0 && fenced > 0, "{published} {fenced}");
    assert!(!has(&*flaky.open("p", 40).await.unwrap(), "late").await);
}

#[tokio::test]
async fn a_fenced_handle_stays_fenced() {
    let (flaky, old) = opened(5).await;
    flaky.fail_in(0, Fault::Fenced);
    assert!(is_fenced(&submit(&*old, "k").recv().unwrap()));
    assert!(is_fenced(&submit(&*old, "behind").recv().unwrap()));
    assert!(is_fenced(&barrier(&*old).recv().unwrap()));
    assert!(is_fenced(&flaky.open("p", 5).await));
    let new = flaky.open("p", 6).await.unwrap();
    submit(&*new, "after").recv().unwrap().unwrap();
    assert!(!has(&*new, "behind").await);

    flaky.fail_in(0, Fault::Fenced);
    assert!(is_fenced(&flaky.open("p", 7).await));
    assert!(is_fenced(&flaky.open("p", 7).await));
    assert!(is_fenced(&submit(&*new, "k").recv().unwrap()));
    flaky.open("p", 8).await.unwrap();
}

#[tokio::test]
async fn other_calls_fail_too() {
    let (flaky, key_space) = opened(0).await;
    submit(&*key_space, "k").recv().unwrap().unwrap();
    let snapshot = key_space.snapshot();
    let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
    let limit = PageLimit { entries: 10, bytes: 1000 };
    flaky.fail_in(0, Fault::Unavailable);
    assert!(is_unavailable(&snapshot.get_many(&["k".into()]).await));
    flaky.fail_in(1, Fault::Applied);
    snapshot.get_many(&["k".into()]).await.unwrap();
    assert!(is_unavailable(&snapshot.scan(all, Direction::Forward, limit).await));
    flaky.fail_in(0, Fault::Unavailable);
    assert!(is_unavailable(&flaky.open("new", 0).await));
    assert_eq!(flaky.key_spaces().await.unwrap(), ["p"]);
    flaky.fail_in(0, Fault::Applied);
    assert!(is_unavailable(&flaky.copy(&*snapshot, "copy", &|_, _| true).await));
    assert_eq!(flaky.key_spaces().await.unwrap(), ["copy", "p"]);
    flaky.fail_in(0, Fault::Applied);
    assert!(is_unavailable(&flaky.drop_key_space("copy").await));
    assert_eq!(flaky.key_spaces().await.unwrap(), ["p"]);
    flaky.fail_in(0, Fault::Late);
    flaky.calm();
    assert_eq!(flaky.key_spaces().await.unwrap(), ["p"], "the plan was cleared");
    assert_eq!(flaky.faults(), 5);
}

/// One writer takes a new epoch after each failure. What it was told matches what is stored.
#[tokio::test]
async fn random_faults_agree_with_a_ledger() {
    let faults =
        [Fault::Unavailable, Fault::Applied, Fault::Fenced, Fault::Late, Fault::Stalled].to_vec();
    for seed in 1..=20 {
        let flaky = Flaky::new(Arc::new(MemoryStore::new()), seed);
        flaky.set_chances(Chances { writes: 100, reads: 50, calls: 100, faults: faults.clone() });
        let (mut random, mut epoch, mut owner) = (Random::new(seed), 0, None);
        let (mut written, mut unknown) = (Vec::new(), Vec::new());
        for number in 0..300 {
            let key = format!("{number:03}");
            let Some(handle) = &owner else {
                epoch += 1;
                owner = flaky.open("p", epoch).await.ok();
                continue;
            };
            let end = submit(&**handle, &key);
            if random.below(10) == 0 {
                flaky.release();
            }
            if matches!(end.try_recv(), Ok(Ok(()))) {
                written.push(key);
            } else {
                unknown.push(key);
                owner = None;
            }
        }
        flaky.calm();
        let last = flaky.open("p", epoch + 10).await.unwrap();
        for key in &written {
            assert!(has(&*last, key).await, "seed {seed}: {key} is lost");
        }
        assert!(flaky.faults() > 10 && !unknown.is_empty() && written.len() > 50, "seed {seed}");
        let all = (std::ops::Bound::Unbounded, std::ops::Bound::Unbounded);
        let limit = PageLimit { entries: usize::MAX, bytes: usize::MAX };
        let page = last.snapshot().scan(all, Direction::Forward, limit).await.unwrap();
        assert!(page.entries.len() > written.len(), "seed {seed}: no failed batch was applied");
        assert!(page.entries.len() < written.len() + unknown.len(), "seed {seed}: all were");
    }
}
