//! A closed loop: many connections, each with one request at a time, for a while or for so many.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::{
    client::{Client, Transport},
    figures::Figures,
    job::Job,
};
use crate::process::cpu_of_tree;

/// Connections of HTTP/2 that share the streams.
const HTTP2_CONNECTIONS: usize = 4;
/// How often is looked whether a server has come to rest.
const REST_INTERVAL: Duration = Duration::from_millis(200);
/// CPU time between two looks that still is rest: one clock tick.
const REST_CPU: Duration = Duration::from_millis(10);

/// So many such looks in a row are rest. Some work begins only when nothing was written for two or
/// three seconds, and belongs to those who wrote.
const REST_LOOKS: u32 = 20;

/// Where and how requests go.
#[derive(Clone)]
pub(crate) struct Target {
    pub(crate) address: String,
    pub(crate) transport: Transport,
    /// The process whose CPU time, with its children's, is that of the server.
    pub(crate) process: u32,
}

/// How long to measure.
#[derive(Clone, Copy)]
pub(crate) struct Times {
    /// Not counted, so that connections, caches and compilers are warm.
    pub(crate) warm_up: Duration,
    pub(crate) measured: Duration,
    /// How long a server may take to come to rest after writes; the CPU time until then counts.
    pub(crate) rest_max: Duration,
}

/// What the connections share.
struct Shared {
    job: Job,
    next: Arc<AtomicUsize>,
    /// Numbers from here on are not used.
    end: usize,
    from: Instant,
    to: Instant,
}

/// What one connection did.
#[derive(Default)]
struct Done {
    /// Of operations that ended within the measured time.
    latencies: Vec<Duration>,
    /// Of all of them.
    all: Vec<Duration>,
}

/// Measures a job; numbers come from `next`.
pub(crate) async fn measure(
    target: &Target,
    job: &Job,
    next: &Arc<AtomicUsize>,
    connections: usize,
    times: Times,
    is_write: bool,
) -> Result<Figures> {
    let mut clients = open(target, job, connections).await?;
    let start = Instant::now();
    let cpu_start = cpu_of_tree(target.process)?;
    let from = start + times.warm_up;
    let to = from + times.measured;
    let next = Arc::clone(next);
    let shared = Arc::new(Shared { job: job.clone(), next, end: usize::MAX, from, to });
    let workers: Vec<_> =
        clients.drain(..).map(|client| tokio::spawn(work(client, Arc::clone(&shared)))).collect();
    tokio::time::sleep_until(from.into()).await;
    let (begin, cpu_begin) = (Instant::now(), cpu_of_tree(target.process)?);
    tokio::time::sleep_until(to.into()).await;
    let (elapsed, cpu_end) = (begin.elapsed(), cpu_of_tree(target.process)?);
    let mut done = finish(workers).await?;
    let total = done.all.len();
    if is_write {
        // All that was written, and all the work it made, compaction included.
        rest(target.process, times.rest_max).await?;
        let cpu = cpu_of_tree(target.process)?.saturating_sub(cpu_start);
        if done.latencies.is_empty() {
            return Ok(Figures::new(&mut done.all, start.elapsed(), cpu, total));
        }
        return Ok(Figures::new(&mut done.latencies, elapsed, cpu, total));
    }
    // A few slow operations do not say much by the time that they end in.
    if done.latencies.len() < connections * 4 {
        let cpu = cpu_of_tree(target.process)?.saturating_sub(cpu_start);
        return Ok(Figures::new(&mut done.all, start.elapsed(), cpu, total));
    }
    let count = done.latencies.len();
    Ok(Figures::new(&mut done.latencies, elapsed, cpu_end.saturating_sub(cpu_begin), count))
}

/// Operations after which a job is made anew: a signature ages.
const CHUNK: usize = 50_000;

/// Does operations `0..count`, as fast as they go. Gives the time they took, and the CPU time until
/// the server has come to rest.
pub(crate) async fn run_all(
    target: &Target,
    make_job: impl Fn() -> Result<Job>,
    count: usize,
    connections: usize,
    rest_max: Duration,
) -> Result<(Duration, Duration)> {
    let start = Instant::now();
    let cpu = cpu_of_tree(target.process)?;
    let far = start + Duration::from_hours(24);
    for begin in (0..count).step_by(CHUNK) {
        let (next, end) = (Arc::new(AtomicUsize::new(begin)), count.min(begin + CHUNK));
        let shared = Arc::new(Shared { job: make_job()?, next, end, from: far, to: far });
        let mut workers = Vec::new();
        for client in open(target, &shared.job, connections).await? {
            workers.push(tokio::spawn(work(client, Arc::clone(&shared))));
        }
        finish(workers).await?;
    }
    let elapsed = start.elapsed();
    rest(target.process, rest_max).await?;
    Ok((elapsed, cpu_of_tree(target.process)?.saturating_sub(cpu)))
}

async fn open(target: &Target, job: &Job, connections: usize) -> Result<Vec<Client>> {
    let mut clients = Vec::with_capacity(connections);
    if target.transport == Transport::Http2 {
        let mut senders = Vec::new();
        for _ in 0..HTTP2_CONNECTIONS.min(connections) {
            senders.push(Client::open_http2(&target.address).await?);
        }
        clients.extend((0..connections).map(|at| Client::share(&senders[at % senders.len()])));
        return Ok(clients);
    }
    for _ in 0..connections {
        clients.push(Client::open(&target.address, target.transport, job).await?);
    }
    Ok(clients)
}

async fn finish(workers: Vec<tokio::task::JoinHandle<Result<Done>>>) -> Result<Done> {
    let mut all = Done::default();
    let mut failure = None;
    for worker in workers {
        match worker.await.context("a connection's task failed")? {
            Ok(mut done) => {
                all.latencies.append(&mut done.latencies);
                all.all.append(&mut done.all);
            }
            Err(error) => failure = Some(error),
        }
    }
    failure.map_or(Ok(all), Err)
}

async fn work(mut client: Client, shared: Arc<Shared>) -> Result<Done> {
    let mut done = Done::default();
    loop {
        let number = shared.next.fetch_add(1, Ordering::Relaxed);
        if number >= shared.end {
            return Ok(done);
        }
        let begin = Instant::now();
        client.operate(&shared.job, number, done.all.is_empty()).await?;
        let end = Instant::now();
        done.all.push(end - begin);
        if end >= shared.to {
            return Ok(done);
        }
        if end >= shared.from {
            done.latencies.push(end - begin);
        }
    }
}

/// Waits until a server has nothing left to do: what was written is compacted.
pub(crate) async fn rest(process: u32, rest_max: Duration) -> Result<()> {
    let begin = Instant::now();
    let (mut before, mut quiet) = (cpu_of_tree(process)?, 0);
    while begin.elapsed() < rest_max && quiet < REST_LOOKS {
        tokio::time::sleep(REST_INTERVAL).await;
        let now = cpu_of_tree(process)?;
        quiet = if now.saturating_sub(before) <= REST_CPU { quiet + 1 } else { 0 };
        before = now;
    }
    Ok(())
}
