//! Examining a store changes nothing.

use std::{collections::BTreeMap, path::PathBuf, time::SystemTime};

use store::Store;

use crate::*;

/// All files of a directory, with content and modification time.
fn state(directory: &Path) -> BTreeMap<PathBuf, (SystemTime, Vec<u8>)> {
    let mut state = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let changed = path.metadata().unwrap().modified().unwrap();
        if path.is_dir() {
            state.extend(self::state(&path));
            state.insert(path, (changed, Vec::new()));
        } else {
            let content = std::fs::read(&path).unwrap();
            state.insert(path, (changed, content));
        }
    }
    state
}

/// Examines a directory, which must not change, and returns the value of the key.
async fn look(directory: &Path, key: &str) -> Option<Bytes> {
    let before = state(directory);
    let store = LsmStore::examine(directory, Options::default()).unwrap();
    let partition = store.open("p", 0).await.unwrap();
    let found = get(&*partition, key).await;
    put(&*partition, "written", "forgotten");
    drop((partition, store));
    assert!(state(directory) == before, "the directory has changed");
    found
}

fn refused(directory: &Path) -> String {
    let before = state(directory);
    let refused = LsmStore::examine(directory, Options::default()).map(|_| ());
    assert!(state(directory) == before, "the directory has changed");
    refused.unwrap_err().to_string()
}

#[tokio::test]
async fn a_crashed_store_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { memtable_bytes: 64 << 10, ..Options::default() };
    let store = LsmStore::open(directory.path(), options).unwrap();
    let partition = store.open("p", 0).await.unwrap();
    for number in 0..60 {
        put(&*partition, &format!("k{number}"), vec![b'v'; 8 << 10]);
    }
    let crashed = copy_of(directory.path());
    let path = crashed.path();
    // Remains of a crash that opening would remove.
    std::fs::write(path.join("keyspaces/2/tables/999"), "orphan").unwrap();
    std::fs::write(path.join("keyspaces/2/v999"), "orphan").unwrap();
    assert_eq!(look(path, "k59").await.unwrap().len(), 8 << 10);
    assert_eq!(look(path, "written").await, None);
    let journal = path.join("0.jnl");
    let bytes = std::fs::read(&journal).unwrap();
    let end = bytes.iter().rposition(|byte| *byte != 0).unwrap() + 1;
    std::fs::write(&journal, &bytes[..end - 1]).unwrap();
    assert_eq!(look(path, "k59").await, None, "the last batch is torn");
    assert_eq!(look(path, "k58").await.unwrap().len(), 8 << 10);
    std::fs::remove_file(&journal).unwrap();
    assert!(refused(path).contains("0.jnl` is missing"), "{}", refused(path));
    assert!(refused(path).contains(path.to_str().unwrap()), "it names the file");
}

#[tokio::test]
async fn a_closed_store_stays_as_it_is() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("p", 0).await.unwrap(), "k", "v");
    assert!(matches!(
        LsmStore::examine(directory.path(), Options::default()).map(|_| ()),
        Err(Error::Conflict(_))
    ));
    store.close().await.unwrap();
    drop(store);
    assert_eq!(look(directory.path(), "k").await.unwrap(), "v");
    std::fs::remove_file(directory.path().join("version")).unwrap();
    assert!(refused(directory.path()).contains("version` is missing"));
    assert!(refused(tempfile::tempdir().unwrap().path()).contains("version` is missing"));
}
