//! The stores of this crate keep the contract.

#![expect(clippy::unwrap_used, reason = "a test that cannot go on may as well panic")]

mod flaky;

use std::{
    sync::{
        Arc,
        atomic::{AtomicU64, Ordering},
    },
    time::Duration,
};

use store::{
    Batch, Durability, KeySpace, Store,
    conformance::Disk,
    memory::MemoryStore,
    testing::{Flaky, Journals, Slow},
};

#[tokio::test]
async fn the_memory_store_conforms() {
    store::conformance::run(|| Arc::new(MemoryStore::new()) as Arc<dyn Store>).await;
}

#[tokio::test]
async fn the_slow_store_conforms() {
    let seed = AtomicU64::new(1);
    let new = || {
        let seed = seed.fetch_add(1, Ordering::Relaxed);
        Slow::new(Arc::new(MemoryStore::new()), seed, Duration::from_micros(200))
    };
    store::conformance::run(|| Arc::new(new())).await;
}

#[tokio::test]
async fn the_flaky_store_conforms_until_it_fails() {
    let new = || Flaky::new(Arc::new(MemoryStore::new()), 1);
    store::conformance::run(|| Arc::new(new())).await;
}

/// Slow outside, so that the flaky store's completions run on another thread, and inside.
#[tokio::test]
async fn stores_of_stores_conform() {
    let slow = |store| Slow::new(store, 1, Duration::from_micros(50));
    let flaky = |store| Flaky::new(store, 1);
    store::conformance::run(|| Arc::new(flaky(Arc::new(slow(Arc::new(Journals::new())))))).await;
    store::conformance::run(|| Arc::new(slow(Arc::new(flaky(Arc::new(Journals::new())))))).await;
}

#[tokio::test]
async fn the_store_with_journals_conforms() {
    store::conformance::run(|| Arc::new(Journals::new())).await;
    let with_disk = || {
        let journals = Arc::new(Journals::new());
        (Arc::clone(&journals) as Arc<dyn Store>, journals as Arc<dyn Disk>)
    };
    store::conformance::run_disk(with_disk).await;
}

/// Durability in one key space implies nothing about another.
#[tokio::test]
async fn a_crash_loses_what_only_another_key_space_made_durable() {
    let journals = Journals::new();
    let (a, b) = (journals.open("a", 0).await.unwrap(), journals.open("b", 0).await.unwrap());
    let write = |to: &Arc<dyn KeySpace>, key: &'static str, durability| {
        let mut batch = Batch::default();
        batch.put(key, "v");
        to.submit(batch, durability, Box::new(|result| result.unwrap()));
    };
    write(&a, "k", Durability::Buffered);
    write(&b, "k", Durability::Durable);
    let after = async |name: &str| {
        let key_space = journals.crash().open(name, 0).await.unwrap();
        key_space.snapshot().get_many(&["k".into()]).await.unwrap()[0].is_some()
    };
    assert!(!after("a").await, "nothing made it durable");
    assert!(after("b").await);
    a.barrier(Durability::Durable, Box::new(|result| result.unwrap()));
    assert!(after("a").await);
    assert!(journals.is_in_use());
    drop((a, b));
    assert!(!journals.is_in_use());
}
