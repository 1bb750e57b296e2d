//! Creating and dropping partitions repeatedly leaves nothing behind.

use store::Store;

use crate::*;

/// The size of all files except journals, which are bounded elsewhere and reserve space.
fn table_bytes(directory: &Path) -> u64 {
    let mut bytes = 0;
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            bytes += table_bytes(&path);
        } else if path.extension().is_none_or(|extension| extension != "jnl") {
            // A file that a background thread removes meanwhile counts as empty.
            bytes += path.metadata().map_or(0, |file| file.len());
        }
    }
    bytes
}

/// The number of files of fjall's own list of keyspaces.
fn list_files(directory: &Path) -> usize {
    let list = directory.join("keyspaces/0");
    let count = |path: &Path| std::fs::read_dir(path).unwrap().count();
    count(&list) + count(&list.join("tables"))
}

/// Each change to fjall's list of keyspaces makes a version and rewrites tables. Unless the old
/// ones are released, 300 cycles take 97 MB until the next start, and 1,000 cycles take 1 GB.
#[tokio::test]
async fn creating_and_dropping_takes_no_space() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    put(&*store.open("stays", 0).await.unwrap(), "k", "v");
    let before = table_bytes(directory.path());
    for number in 0..300 {
        let name = format!("p{number}");
        put(&*store.open(&name, 0).await.unwrap(), "k", "v");
        store.drop_key_space(&name).await.unwrap();
    }
    let grown = table_bytes(directory.path()).saturating_sub(before);
    println!("300 cycles: {grown} bytes more, {} files of the list", list_files(directory.path()));
    assert!(grown < 1 << 20, "{grown} bytes more");
    assert!(list_files(directory.path()) < 30, "{} files", list_files(directory.path()));
    let crashed = copy_of(directory.path());
    let store = open(crashed.path());
    assert_eq!(store.key_spaces().await.unwrap(), ["stays"]);
    assert_eq!(get(&*store.open("stays", 0).await.unwrap(), "k").await.unwrap(), "v");
}
