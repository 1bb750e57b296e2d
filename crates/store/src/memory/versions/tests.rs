//! Old versions are kept exactly as long as they can be read.

use super::*;

fn put(versions: &Versions, key: &'static str, value: &'static str) {
    let mut batch = Batch::default();
    batch.put(key, value);
    versions.apply(batch);
}

fn delete(versions: &Versions, key: &'static str) {
    let mut batch = Batch::default();
    batch.delete(key);
    versions.apply(batch);
}

fn get(pin: &Pin, key: &'static str) -> Option<Bytes> {
    pin.get_many(&[Bytes::from(key)]).remove(0)
}

/// How many versions the map holds, tombstones included.
fn held(versions: &Versions) -> usize {
    versions.map.read().unwrap().values().map(|history| 1 + history.older.versions().len()).sum()
}

#[test]
fn overwriting_keeps_nothing_without_snapshots() {
    let versions = Arc::new(Versions::default());
    for _ in 0..100 {
        put(&versions, "k", "v");
    }
    assert_eq!(held(&versions), 1);
    delete(&versions, "k");
    assert_eq!((held(&versions), versions.size()), (0, 0));
}

#[test]
fn each_snapshot_keeps_one_version_of_a_hot_key() {
    let versions = Arc::new(Versions::default());
    put(&versions, "k", "0");
    let first = Pin::new(Arc::clone(&versions));
    let twin = Pin::new(Arc::clone(&versions));
    for _ in 0..100 {
        put(&versions, "k", "1");
    }
    let second = Pin::new(Arc::clone(&versions));
    for _ in 0..100 {
        put(&versions, "k", "2");
    }
    assert_eq!(held(&versions), 3);
    assert_eq!(get(&first, "k").unwrap(), "0");
    drop(first);
    assert_eq!(get(&twin, "k").unwrap(), "0");
    assert_eq!(held(&versions), 3);
    drop(twin);
    assert_eq!(held(&versions), 2);
    assert_eq!(get(&second, "k").unwrap(), "1");
    drop(second);
    assert_eq!(held(&versions), 1);
}

#[test]
fn a_version_passes_from_one_holder_to_the_next() {
    let versions = Arc::new(Versions::default());
    put(&versions, "k", "0");
    let first = Pin::new(Arc::clone(&versions));
    put(&versions, "other", "x");
    let second = Pin::new(Arc::clone(&versions));
    delete(&versions, "k");
    drop(first);
    assert_eq!(get(&second, "k").unwrap(), "0");
    put(&versions, "k", "1");
    delete(&versions, "k");
    assert_eq!(get(&second, "k").unwrap(), "0");
    drop(second);
    // Only `other` is left: the tombstone goes with the last version under it.
    assert_eq!(held(&versions), 1);
    delete(&versions, "other");
    assert_eq!(versions.size(), 0);
}
