//! Measures both stores without a server: `bench/store` builds and runs it.
//!
//! The load is a 1 KB document with twenty index keys, one batch each. The only argument is the
//! number of background threads of the store on disk.

#![expect(clippy::print_stdout, reason = "this is its purpose")]

use std::{error::Error, fmt::Write as _, sync::mpsc::channel, time::Instant};

use bytes::Bytes;
use store::{
    Batch, Direction, Durability, KeySpace, PageLimit, Result, Store, memory::MemoryStore,
};
use store_lsm::{LsmStore, Options};

const DOCUMENTS: usize = 100_000;

fn document(number: usize) -> Batch {
    let mut batch = Batch::default();
    let spread = number.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    let mut text = format!("{{\"id\":\"{number}\",\"v\":\"");
    while text.len() < 1_000 {
        let noise = spread.wrapping_mul(text.len() | 1);
        let _ = write!(text, "{noise:016x}");
    }
    batch.put(format!("d/{number:012}"), text);
    batch.put(format!("p/{spread:016x}"), number.to_be_bytes().to_vec());
    for index in 0..20_usize {
        let term = spread.wrapping_mul(index * 2 + 1) >> 40;
        batch.put(format!("i/{index:02}/{term:08x}/{number:012}"), "");
    }
    batch
}

/// Resident memory in MiB.
fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).unwrap_or(0) / 1024
}

fn commit(partition: &dyn KeySpace, batch: Batch) -> Result<()> {
    let (sender, receiver) = channel();
    let done = Box::new(move |result| drop(sender.send(result)));
    partition.submit(batch, Durability::Durable, done);
    receiver.recv().expect("each batch is completed")
}

#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<(), Box<dyn Error>> {
    let workers = std::env::args().nth(1).map(|text| text.parse()).transpose()?;
    println!("== in memory");
    let store = MemoryStore::new();
    let partition = store.open("p", 0).await?;
    writes(&store, &*partition)?;
    reads(&*partition).await?;
    drop((partition, store));
    println!("== on disk");
    on_disk(workers).await
}

async fn on_disk(workers: Option<usize>) -> Result<(), Box<dyn Error>> {
    let directory = tempfile::tempdir()?;
    let usual = Options::default();
    let options = Options { workers: workers.unwrap_or(usual.workers), ..usual };
    let open = |options| LsmStore::open(directory.path(), options);
    let started = Instant::now();
    let store = open(options.clone())?;
    println!("empty directory opens in {:?}, resident {} MiB", started.elapsed(), resident());
    let partition = store.open("p", 0).await?;
    writes(&*store, &*partition)?;
    reads(&*partition).await?;

    let started = Instant::now();
    store.close().await?;
    println!("close takes {:?}", started.elapsed());
    drop((partition, store));
    let started = Instant::now();
    let store = open(options)?;
    println!("after a clean close it opens in {:?}", started.elapsed());
    println!("disk {} MB", store.statistics().disk_bytes / 1_000_000);
    Ok(())
}

fn writes(store: &dyn Store, partition: &dyn KeySpace) -> Result<()> {
    let (started, cpu) = (Instant::now(), cpu_seconds("self"));
    std::thread::scope(|scope| {
        for writer in 0..64 {
            scope.spawn(move || {
                for number in (writer..DOCUMENTS).step_by(64) {
                    commit(partition, document(number)).expect("a batch can be committed");
                }
            });
        }
    });
    let seconds = started.elapsed().as_secs_f64();
    let statistics = store.statistics();
    println!(
        "64 durable writers: {:.0} documents/s, {:.1} CPU s, {:.1} batches per group, {} journals, \
         resident {} MiB",
        DOCUMENTS as f64 / seconds,
        cpu_seconds("self") - cpu,
        statistics.committed_batches as f64 / statistics.commit_groups as f64,
        statistics.journals,
        resident(),
    );
    let started = Instant::now();
    for number in 0..500 {
        commit(partition, document(DOCUMENTS + number))?;
    }
    println!("one durable writer: {:?} each", started.elapsed() / 500);
    Ok(())
}

/// User and system time so far in seconds, of the process or of this thread.
fn cpu_seconds(whose: &str) -> f64 {
    let stat = std::fs::read_to_string(format!("/proc/{whose}/stat")).unwrap_or_default();
    let fields: Vec<f64> = stat.split_whitespace().filter_map(|field| field.parse().ok()).collect();
    // The second and third field are not numbers; times are in hundredths of a second.
    fields.get(11..13).map_or(0.0, |times| times.iter().sum::<f64>() / 100.0)
}

async fn reads(partition: &dyn KeySpace) -> Result<()> {
    let (started, cpu) = (Instant::now(), cpu_seconds("thread-self"));
    for number in 0..20_000 {
        let number = number * 7_919 % DOCUMENTS;
        let keys = [Bytes::from(format!("d/{number:012}"))];
        assert!(partition.snapshot().get_many(&keys).await?[0].is_some());
    }
    let cpu = (cpu_seconds("thread-self") - cpu) / 20_000.0 * 1e6;
    println!("point read: {:?}, {cpu:.1} CPU µs", started.elapsed() / 20_000);
    let range = (std::ops::Bound::Included("i/03/".into()), std::ops::Bound::Unbounded);
    let limit = PageLimit { entries: 10_000, bytes: usize::MAX };
    let (started, cpu) = (Instant::now(), cpu_seconds("thread-self"));
    for _ in 0..100 {
        let snapshot = partition.snapshot();
        let page = snapshot.scan(range.clone(), Direction::Forward, limit).await?;
        assert_eq!(page.entries.len(), 10_000);
    }
    let cpu = (cpu_seconds("thread-self") - cpu) / 100.0 * 1e6;
    println!("scan of 10,000 index keys: {:?}, {cpu:.0} CPU µs", started.elapsed() / 100);
    Ok(())
}
