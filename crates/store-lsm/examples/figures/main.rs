//! Measures the stores without a server: `bench/store` builds and runs it. What the columns mean is
//! in `bench/README.md`.

#![expect(clippy::print_stdout, reason = "this is its purpose")]
#![expect(clippy::cast_precision_loss, reason = "figures are rounded anyway")]
#![expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "small numbers")]

mod cost;
mod load;
mod raw;

use std::{
    error::Error,
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicU64, Ordering},
    },
    time::{Duration, Instant},
};

use store::{
    Batch, Completion, Direction, Durability, KeySpace, PageLimit, Store, memory::MemoryStore,
};
use store_lsm::{LsmStore, Options};

use self::{
    cost::{Cpu, latencies, resident},
    raw::Raw,
};

/// The server's allocator.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

type Failure = Box<dyn Error + Send + Sync>;
type Submit = Arc<dyn Fn(Batch, Completion) + Send + Sync>;

const WRITERS: u64 = 64;

/// What is measured.
struct Plan {
    documents: u64,
    workers: usize,
    only: Option<String>,
}

impl Plan {
    fn read() -> Result<Self, Failure> {
        let workers = Options::default().workers;
        let mut plan = Self { documents: 200_000, workers, only: None };
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            let value = words.next().ok_or_else(|| format!("{word} needs a value"))?;
            match word.as_str() {
                "--documents" => plan.documents = value.parse()?,
                "--workers" => plan.workers = value.parse()?,
                "--only" => plan.only = Some(value),
                _ => return Err(format!("what is {word}?").into()),
            }
        }
        Ok(plan)
    }

    fn includes(&self, name: &str) -> bool {
        self.only.as_ref().is_none_or(|only| name.contains(only.as_str()))
    }
}

#[tokio::main(flavor = "multi_thread", worker_threads = 2)]
async fn main() -> Result<(), Failure> {
    let plan = Plan::read()?;
    if plan.includes("raw") {
        println!("== raw: one write and one fdatasync for a group");
        let directory = tempfile::tempdir()?;
        let raw = Raw::start(directory.path())?;
        let groups = Arc::clone(&raw.groups);
        let submit: Submit = Arc::new(move |batch, done| raw.submit(batch, done));
        let groups = move || groups.load(Ordering::Relaxed);
        creates(&submit, &plan, &groups, || true).await?;
        alone(&submit, &plan).await?;
    }
    if plan.includes("memory") {
        println!("== in memory");
        let store = MemoryStore::new();
        let partition = store.open("p", 0).await?;
        let submit = submit_to(&partition);
        creates(&submit, &plan, &|| store.statistics().commit_groups, || true).await?;
        reads(&*partition, &plan).await?;
    }
    if plan.includes("disk") {
        println!("== on disk");
        on_disk(&plan).await?;
    }
    Ok(())
}

fn submit_to(partition: &Arc<dyn KeySpace>) -> Submit {
    let partition = Arc::clone(partition);
    Arc::new(move |batch, done| partition.submit(batch, Durability::Durable, done))
}

async fn on_disk(plan: &Plan) -> Result<(), Failure> {
    let directory = tempfile::tempdir()?;
    let options = Options { workers: plan.workers, ..Options::default() };
    let open = || LsmStore::open(directory.path(), options.clone());
    let started = Instant::now();
    let store = open()?;
    println!("empty directory opens in {:?}, resident {} MiB", started.elapsed(), resident());
    let partition = store.open("p", 0).await?;
    let submit = submit_to(&partition);
    let is_done = || partition.debt().pressure_percent == 0;
    let groups = || store.statistics().commit_groups;
    let rate = creates(&submit, plan, &groups, is_done).await?;
    println!("disk {} MB", store.statistics().disk_bytes / 1_000_000);
    alone(&submit, plan).await?;
    reads(&*partition, plan).await?;
    paced(&partition, plan, rate / 2.0).await?;
    let started = Instant::now();
    store.close().await?;
    println!("close takes {:?}", started.elapsed());
    drop((partition, store, submit));
    let started = Instant::now();
    let store = open()?;
    println!("after a clean close it opens in {:?}", started.elapsed());
    println!("disk {} MB", store.statistics().disk_bytes / 1_000_000);
    let partition = store.open("p", 1).await?;
    reads(&*partition, plan).await?;
    Ok(())
}

/// Commits a batch, and says how long that took.
async fn commit(submit: &Submit, batch: Batch) -> Result<Duration, Failure> {
    let (sender, receiver) = tokio::sync::oneshot::channel();
    let started = Instant::now();
    submit(batch, Box::new(move |result| drop(sender.send(result))));
    receiver.await??;
    Ok(started.elapsed())
}

/// Creates all documents from 64 tasks as fast as it goes. Returns batches per second.
async fn creates(
    submit: &Submit,
    plan: &Plan,
    groups: &(dyn Fn() -> u64 + Sync),
    is_done: impl Fn() -> bool,
) -> Result<f64, Failure> {
    let next = Arc::<AtomicU64>::default();
    let (started, before, groups_before) = (Instant::now(), Cpu::now(), groups());
    let mut tasks = Vec::new();
    for _ in 0..WRITERS {
        let (next, submit, documents) = (Arc::clone(&next), Arc::clone(submit), plan.documents);
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            loop {
                let number = next.fetch_add(1, Ordering::Relaxed);
                if number >= documents {
                    return Ok::<_, Failure>(times);
                }
                times.push(commit(&submit, load::create(number)).await?);
            }
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    let seconds = started.elapsed().as_secs_f64();
    let rate = plan.documents as f64 / seconds;
    let group = plan.documents as f64 / (groups() - groups_before).max(1) as f64;
    println!("64 writers: {rate:.0}/s, {group:.1} in a group, {}", latencies(times));
    println!(
        "  CPU {}, resident {} MiB",
        Cpu::now().since(before).text(plan.documents),
        resident()
    );
    settle(is_done).await;
    println!("  with all compaction {}", Cpu::now().since(before).text(plan.documents));
    Ok(rate)
}

/// Waits until nothing is left to be done in the background.
async fn settle(is_done: impl Fn() -> bool) {
    let mut last = Cpu::now().background;
    loop {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let now = Cpu::now().background;
        if now - last < 0.005 && is_done() {
            return;
        }
        last = now;
    }
}

/// One writer, which waits for each batch.
async fn alone(submit: &Submit, plan: &Plan) -> Result<(), Failure> {
    let before = Cpu::now();
    let mut times = Vec::new();
    for number in 0..500 {
        times.push(commit(submit, load::create(plan.documents + number)).await?);
    }
    println!("one writer: {}, CPU {}", latencies(times), Cpu::now().since(before).text(500));
    Ok(())
}

/// Creates and replacements at a fixed rate, with point reads beside them.
async fn paced(partition: &Arc<dyn KeySpace>, plan: &Plan, rate: f64) -> Result<(), Failure> {
    let submit = submit_to(partition);
    let (total, step) = ((rate * 10.0) as u64, Duration::from_secs_f64(WRITERS as f64 / rate));
    let is_over = Arc::new(AtomicBool::new(false));
    let reader = {
        let (partition, is_over, documents) =
            (Arc::clone(partition), Arc::clone(&is_over), plan.documents);
        tokio::spawn(async move {
            let mut times = Vec::new();
            while !is_over.load(Ordering::Relaxed) {
                let number = load::spread(times.len() as u64) % documents;
                let started = Instant::now();
                read(&*partition, number).await?;
                times.push(started.elapsed());
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
            Ok::<_, Failure>(times)
        })
    };
    let started = Instant::now();
    let mut tasks = Vec::new();
    for writer in 0..WRITERS {
        let (submit, documents) = (Arc::clone(&submit), plan.documents);
        tasks.push(tokio::spawn(async move {
            let mut times = Vec::new();
            for (round, turn) in (writer..total).step_by(WRITERS as usize).enumerate() {
                let due = started + step.mul_f64(round as f64 + writer as f64 / WRITERS as f64);
                tokio::time::sleep_until(due.into()).await;
                let began = Instant::now();
                let batch = match turn % 4 {
                    0 => load::replace(load::spread(turn) % documents, documents + turn),
                    _ => load::create(2 * documents + turn),
                };
                commit(&submit, batch).await?;
                times.push(began.elapsed());
            }
            Ok::<_, Failure>(times)
        }));
    }
    let mut times = Vec::new();
    for task in tasks {
        times.extend(task.await??);
    }
    is_over.store(true, Ordering::Relaxed);
    println!("at {rate:.0}/s for 10 s: writes {}", latencies(times));
    println!("  reads beside them {}", latencies(reader.await??));
    Ok(())
}

/// A point read: the primary row, then the document.
async fn read(partition: &dyn KeySpace, number: u64) -> Result<(), Failure> {
    let snapshot = partition.snapshot();
    for key in [load::primary_key(number), load::document_key(number)] {
        let found = snapshot.get_many(&[key]).await?;
        if !matches!(found[..], [Some(_)]) {
            return Err(format!("document {number} is not there").into());
        }
    }
    Ok(())
}

async fn reads(partition: &dyn KeySpace, plan: &Plan) -> Result<(), Failure> {
    const READS: u64 = 100_000;
    for (what, among) in [("all", plan.documents), ("1,000", 1_000)] {
        for turn in 0..READS / 10 {
            read(partition, load::spread(turn) % among).await?;
        }
        let (started, before) = (Instant::now(), Cpu::now());
        for turn in 0..READS {
            read(partition, load::spread(turn + READS) % among).await?;
        }
        let each = started.elapsed() / READS as u32;
        let cpu = Cpu::now().since(before).others * 1e6 / READS as f64;
        println!("point read of two rows among {what}: {each:?}, {cpu:.2} CPU µs");
    }
    let range = (std::ops::Bound::Included(load::path_prefix(3)), std::ops::Bound::Unbounded);
    let limit = PageLimit { entries: 10_000, bytes: usize::MAX };
    let before = Cpu::now();
    for _ in 0..100 {
        let snapshot = partition.snapshot();
        let page = snapshot.scan(range.clone(), Direction::Forward, limit).await?;
        if page.entries.len() != 10_000 {
            return Err("index keys are missing".into());
        }
    }
    let cpu = Cpu::now().since(before).others * 1e6 / 100.0;
    println!("scan of 10,000 index keys: {cpu:.0} CPU µs");
    Ok(())
}
