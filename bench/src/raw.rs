//! `load raw`: the store alone, and an appended file alone, with the very bytes that Sheaf writes.
//!
//! A child process, so that its CPU time is its own. It reads the batches of a stopped Sheaf's
//! documents from its store, prints `ready`, and then runs what it is told, a line at a time:
//!
//! | line | what is run |
//! |---|---|
//! | `create TASKS COUNT` | durable batches into the store, each that of one new document |
//! | `append TASKS COUNT` | the same bytes into a file, a group after the other, each followed by a sync |
//! | `get TASKS COUNT` | the two rows of a point read |
//! | `scan TASKS COUNT` | ten entries of an index, and the ten documents |
//!
//! It answers with operations per second, p50 and p99 in milliseconds, CPU microseconds for each
//! operation, and how many there were. Of writes the CPU time counts until compaction is over.

mod append;
mod batches;

use std::{
    io::{BufRead as _, Write as _},
    path::Path,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result, anyhow, bail};
use bytes::Bytes;
use store::{Batch, Direction, Durability, KeySpace, PageLimit, Store as _};
use store_lsm::{LsmStore, Options};

use self::batches::{Loaded, Recorded};
use crate::compare::{Figures, rest};

/// Rows of a scan.
const SCANNED: usize = 10;
const REST_MAX: Duration = Duration::from_secs(30);

/// Runs until the standard input ends.
pub(crate) fn run(mut words: impl Iterator<Item = String>) -> Result<()> {
    let (source, work) = (words.next().context("no source")?, words.next().context("no place")?);
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    runtime.block_on(serve(Path::new(&source), Path::new(&work)))
}

/// The store, and what has still to be written into it.
struct Raw {
    spaces: Vec<Arc<dyn KeySpace>>,
    left: std::vec::IntoIter<(usize, Batch)>,
    loaded: Arc<Loaded>,
    pieces: Arc<Vec<Bytes>>,
    file: std::path::PathBuf,
}

async fn serve(source: &Path, work: &Path) -> Result<()> {
    let Recorded { names, batches } = batches::recorded(source).await?;
    let store = LsmStore::open(work, Options::default())?;
    let mut spaces = Vec::new();
    for name in &names {
        spaces.push(store.open(name, 0).await?);
    }
    let pieces = batches.iter().take(4096).map(|(_, batch)| batches::piece(batch)).collect();
    let half = batches.len() / 2;
    let loaded = Arc::new(Loaded::of(&batches[..half]));
    let (left, file) = (batches.into_iter(), work.with_extension("appended"));
    let mut raw = Raw { spaces, left, loaded, pieces: Arc::new(pieces), file };
    raw.create(64, half).await?;
    println!("ready {} batches", raw.left.len());
    for line in std::io::stdin().lock().lines() {
        let line = line?;
        let words: Vec<&str> = line.split(' ').collect();
        let [what, tasks, count] = words[..] else { bail!("not a command: {line}") };
        let (tasks, count) = (tasks.parse()?, count.parse()?);
        let figures = match what {
            "create" => raw.create(tasks, count).await,
            "append" => append::run(&raw.file, &raw.pieces, tasks, count).await,
            "get" => raw.read(tasks, count, false).await,
            "scan" => raw.read(tasks, count, true).await,
            _ => Err(anyhow!("not a command: {line}")),
        };
        match figures {
            Ok(it) => println!(
                "{} {} {} {} {}",
                it.per_second, it.p50_ms, it.p99_ms, it.cpu_us, it.operations
            ),
            Err(error) => println!("{error:#}"),
        }
        std::io::stdout().flush()?;
    }
    drop(store);
    Ok(())
}

impl Raw {
    async fn create(&mut self, tasks: usize, count: usize) -> Result<Figures> {
        let mut shares: Vec<Vec<(usize, Batch)>> = vec![Vec::new(); tasks];
        let taken: Vec<_> = self.left.by_ref().take(count).collect();
        if taken.is_empty() {
            bail!("no batches are left");
        }
        for (at, batch) in taken.into_iter().enumerate() {
            shares[at % tasks].push(batch);
        }
        let spaces = self.spaces.clone();
        timed(shares.into_iter().map(|share| create_all(spaces.clone(), share)), true).await
    }

    async fn read(&self, tasks: usize, count: usize, scans: bool) -> Result<Figures> {
        let next = Arc::new(AtomicUsize::new(0));
        let readers = (0..tasks).map(|_| {
            let (spaces, loaded, next) =
                (self.spaces.clone(), Arc::clone(&self.loaded), Arc::clone(&next));
            async move {
                let mut latencies = Vec::new();
                loop {
                    let number = next.fetch_add(1, Ordering::Relaxed);
                    if number >= count {
                        return anyhow::Ok(latencies);
                    }
                    let begin = Instant::now();
                    if scans {
                        loaded.scan(&spaces, number).await?;
                    } else {
                        loaded.get(&spaces, number).await?;
                    }
                    latencies.push(begin.elapsed());
                }
            }
        });
        timed(readers, false).await
    }
}

async fn create_all(
    spaces: Vec<Arc<dyn KeySpace>>,
    share: Vec<(usize, Batch)>,
) -> Result<Vec<Duration>> {
    let mut latencies = Vec::with_capacity(share.len());
    for (space, batch) in share {
        let begin = Instant::now();
        let (sender, receiver) = tokio::sync::oneshot::channel();
        let done = Box::new(move |outcome| drop(sender.send(outcome)));
        spaces[space].submit(batch, Durability::Durable, done);
        receiver.await??;
        latencies.push(begin.elapsed());
    }
    Ok(latencies)
}

/// Runs tasks side by side.
pub(crate) async fn timed<T>(tasks: impl Iterator<Item = T>, settles: bool) -> Result<Figures>
where
    T: Future<Output = Result<Vec<Duration>>> + Send + 'static,
{
    let own = std::process::id();
    let (begin, cpu) = (Instant::now(), crate::process::cpu_of(own)?);
    let running: Vec<_> = tasks.map(tokio::spawn).collect();
    let mut latencies = Vec::new();
    for task in running {
        latencies.append(&mut task.await??);
    }
    let elapsed = begin.elapsed();
    if settles {
        rest(own, REST_MAX).await?;
    }
    let (cpu, count) = (crate::process::cpu_of(own)?.saturating_sub(cpu), latencies.len());
    Ok(Figures::new(&mut latencies, elapsed, cpu, count))
}

/// One page of a scan.
pub(crate) async fn page(
    space: &Arc<dyn KeySpace>,
    from: std::ops::Bound<Bytes>,
    entries: usize,
) -> store::Result<store::Page> {
    let limit = PageLimit { entries, bytes: usize::MAX };
    let range = (from, std::ops::Bound::Unbounded);
    space.snapshot().scan(range, Direction::Forward, limit).await
}
