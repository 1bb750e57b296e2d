//! The memory store keeps the contract.

use std::{sync::Arc, time::Instant};

use bytes::Bytes;
use store::{Batch, Durability, Store, memory::MemoryStore};

/// How many keys are measured with.
const KEYS: usize = 1_000_000;

#[tokio::test]
async fn memory_store_conforms() {
    store::conformance::run(|| Arc::new(MemoryStore::new()) as Arc<dyn Store>).await;
}

/// Measures instead of testing: set `STORE_FIGURES=1`, build with `--release` and `--nocapture`.
#[tokio::test]
async fn figures() {
    if std::env::var_os("STORE_FIGURES").is_none() {
        return;
    }
    let store = MemoryStore::new();
    let partition = store.open("p", 0).await.unwrap();
    let key = |number: usize| Bytes::from(format!("key/{:012}", number * 7_919 % KEYS));
    let started = Instant::now();
    for number in 0..KEYS / 20 {
        let mut batch = Batch::default();
        for part in 0..20 {
            batch.put(key(number * 20 + part), "value");
        }
        partition.submit(batch, Durability::Durable, Box::new(|result| result.unwrap()));
    }
    println!("write: {:?} per key", started.elapsed() / 1_000_000);
    let keys: Vec<[Bytes; 1]> = (0..KEYS).map(|number| [key(number * 31)]).collect();
    let started = Instant::now();
    for key in &keys {
        assert!(partition.snapshot().get_many(key).await.unwrap()[0].is_some());
    }
    println!("snapshot and read: {:?} among {KEYS} keys", started.elapsed() / 1_000_000);
}
