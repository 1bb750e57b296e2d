//! The store on disk keeps the contract, and keeps it after a crash.

use std::sync::{Arc, Mutex};

use store::Engine;
use store_lsm::{LsmStore, Options};

#[tokio::test]
async fn lsm_store_conforms() {
    let directories = Mutex::new(Vec::new());
    store::conformance::run(|| {
        let directory = tempfile::tempdir().unwrap();
        let store = LsmStore::open(directory.path(), Options::default()).unwrap();
        directories.lock().unwrap().push(directory);
        store as Arc<dyn Engine>
    })
    .await;
}
