//! The memory store keeps the contract.

use std::sync::Arc;

use store::{Engine, memory::MemoryStore};

#[tokio::test]
async fn memory_store_conforms() {
    store::conformance::run(|| Arc::new(MemoryStore::new()) as Arc<dyn Engine>).await;
}
