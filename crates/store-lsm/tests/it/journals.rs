//! Journals are released, even if some partition never writes again.

use store::Store;

use crate::*;

/// One partition writes a key and goes idle, another one writes 200 MB. By itself, fjall would keep
/// all journals since that key.
#[tokio::test]
async fn an_idle_partition_does_not_pin_the_journal() {
    let directory = tempfile::tempdir().unwrap();
    let store = open(directory.path());
    let idle = store.open("idle", 0).await.unwrap();
    let busy = store.open("busy", 0).await.unwrap();
    put(&*idle, "k", "v");
    let mut journals_max = 0;
    let mut buffers_max = 0;
    let mut ends = Vec::new();
    for number in 0..800 {
        let mut batch = Batch::default();
        for part in 0..16 {
            batch.put(format!("{:03}/{part:02}", number % 100), vec![b'x'; 16 << 10]);
        }
        ends.push(submit(&*busy, batch));
        if ends.len() == 16 {
            for end in ends.drain(..) {
                end.recv_timeout(Duration::from_mins(1)).unwrap().unwrap();
            }
            let statistics = store.statistics();
            journals_max = journals_max.max(statistics.journals);
            buffers_max = buffers_max.max(statistics.write_buffer_bytes);
        }
    }
    println!("at most {journals_max} journals, {} MB of buffers", buffers_max >> 20);
    assert!(journals_max <= 4, "{journals_max} journals");
    assert!(buffers_max <= 48 << 20, "{buffers_max} bytes of buffers");
    assert_eq!(get(&*idle, "k").await.unwrap(), "v");
}

/// Many partitions, each too small to be flushed, share one budget.
#[tokio::test]
async fn write_buffers_share_a_budget() {
    let directory = tempfile::tempdir().unwrap();
    let options = Options { write_buffer_bytes_total: 4 << 20, ..Options::default() };
    let store = LsmStore::open(directory.path(), options).unwrap();
    let mut partitions = Vec::new();
    for number in 0..10 {
        partitions.push(store.open(&format!("p{number}"), 0).await.unwrap());
    }
    for number in 0..200 {
        for partition in &partitions {
            put(&**partition, &format!("k{number}"), vec![b'x'; 10 << 10]);
        }
    }
    // 20 MB were written, but none of the ten reached the 4 MB at which it is flushed by itself.
    let mut buffers = 0;
    for _ in 0..100 {
        buffers = store.statistics().write_buffer_bytes;
        if buffers < 8 << 20 {
            return;
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    panic!("{buffers} bytes of buffers");
}
