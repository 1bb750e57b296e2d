//! A process that dies in the middle of writing. The test runs itself again as the victim.

use std::{
    io::{BufRead, BufReader, Write},
    process::{Command, Stdio},
};

use store::{Error, Store};

use crate::*;

/// Marks the process as the victim and tells it where to write.
const DIRECTORY: &str = "STORE_LSM_CRASH_DIRECTORY";

/// The number of acknowledged batches after which the victim dies.
const ACKNOWLEDGED: usize = 1_500;

#[tokio::test]
async fn acknowledged_batches_survive_an_abort() {
    if let Some(directory) = std::env::var_os(DIRECTORY) {
        return die_writing(Path::new(&directory)).await;
    }
    let directory = tempfile::tempdir().unwrap();
    let mut victim = Command::new(std::env::current_exe().unwrap())
        .args(["crash::acknowledged_batches_survive_an_abort", "--exact", "--nocapture"])
        .env(DIRECTORY, directory.path())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let output = BufReader::new(victim.stdout.take().unwrap());
    let mut acknowledged = Vec::new();
    for line in output.lines() {
        let line = line.unwrap();
        if acknowledged.is_empty() && line.starts_with("ack ") {
            let refused = LsmStore::open(directory.path(), Options::default()).map(|_| ());
            // Unless the victim was so quick that it is already dead.
            assert!(matches!(refused, Err(Error::Conflict(_)) | Ok(())), "{refused:?}");
        }
        if let Some(name) = line.strip_prefix("ack ") {
            acknowledged.push(name.to_owned());
        }
    }
    assert!(!victim.wait().unwrap().success(), "the victim aborted");
    assert!(acknowledged.len() >= ACKNOWLEDGED);

    let store = open(directory.path());
    assert_eq!(store.key_spaces().await.unwrap(), ["p0", "p1", "p2"]);
    for name in acknowledged {
        let partition = store.open(&name[..2], 0).await.unwrap();
        let value = get(&*partition, &name).await.unwrap_or_else(|| panic!("{name} is lost"));
        assert_eq!(value, vec![b'v'; 2_000]);
        // Both changes of a batch, or neither.
        assert!(get(&*partition, &format!("{name}/index")).await.is_some());
    }
}

/// Runs in the victim.
async fn die_writing(directory: &Path) {
    // Small buffers, so that it dies among flushes and compactions.
    let options = Options { memtable_bytes: 256 << 10, ..Options::default() };
    let store = LsmStore::open(directory, options).unwrap();
    store.open("dropped", 0).await.unwrap();
    let mut partitions = Vec::new();
    for number in 0..3 {
        partitions.push(store.open(&format!("p{number}"), 0).await.unwrap());
    }
    store.drop_key_space("dropped").await.unwrap();
    let count = Arc::new(Mutex::new(0));
    std::thread::scope(|scope| {
        for thread in 0..6 {
            let (partition, count) = (&partitions[thread % 3], &count);
            scope.spawn(move || {
                for number in 0.. {
                    let name = format!("p{}-{thread}-{number}", thread % 3);
                    let mut batch = Batch::default();
                    batch.put(name.clone(), vec![b'v'; 2_000]);
                    batch.put(format!("{name}/index"), "");
                    commit(&**partition, batch).unwrap();
                    let mut count = count.lock().unwrap();
                    let mut output = std::io::stdout().lock();
                    writeln!(output, "ack {name}").unwrap();
                    output.flush().unwrap();
                    *count += 1;
                    if *count == ACKNOWLEDGED {
                        std::process::abort();
                    }
                }
            });
        }
    });
}
