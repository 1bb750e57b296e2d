//! Latency at half of the greatest throughput: requests are sent at a fixed rate, whatever becomes of
//! those before them, and a latency begins when its request was due.

use std::{
    collections::VecDeque,
    sync::{
        Arc, Mutex,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};
use tokio::{sync::Semaphore, time::interval};

use super::{
    client::{Client, Transport},
    competitor::Competitor,
    figures::percentile,
    job::Job,
    load,
    options::Options,
    results::Results,
    workload::Workload,
};

/// The section's word on the command line.
pub(crate) const NAME: &str = "soak";
const CONNECTIONS: usize = 64;
/// How often requests become due.
const TICK: Duration = Duration::from_millis(1);
/// Writes that keep compaction running while reads are measured, as a part of the greatest rate.
const WRITES_BESIDE_READS: f64 = 0.05;

/// Requests that are due and have not been sent.
struct Due {
    times: Mutex<VecDeque<Instant>>,
    count: Semaphore,
    next: Arc<AtomicUsize>,
}

/// Measures writes, then reads beside a few writes.
pub(crate) async fn run(
    options: &Options,
    server: &Competitor,
    results: &mut Results,
) -> Result<()> {
    let job = |workload| server.job(workload)?.context("Sheaf does all of it");
    let target = server.target(Transport::Plain);
    let mut greatest = Vec::new();
    for workload in [Workload::Create, Workload::PointRead] {
        let next = server.next(workload);
        let job = job(workload)?;
        let times = options.times();
        let figures = load::measure(&target, &job, &next, CONNECTIONS, times, false).await?;
        greatest.push(figures.per_second);
    }
    let [writes, reads] = greatest[..] else { return Ok(()) };
    let creates =
        paced(server, job(Workload::Create)?, Workload::Create, writes / 2.0, options.soak);
    let latencies = creates.await?;
    let note = |results: &mut Results, what: &str, rate: f64, latencies: &[Duration]| {
        let share = latencies.len() as f64 / (rate * options.soak.as_secs_f64()) * 100.0;
        results.add(NAME, format!("{what}: due in a second"), rate, "");
        results.add(NAME, format!("{what}: sent of those due"), share, "%");
        for percent in [50.0, 99.0, 99.9] {
            let value = percentile(latencies, percent).as_secs_f64() * 1e3;
            results.add(NAME, format!("{what}: p{percent}"), value, "ms");
        }
    };
    note(results, "creates", writes / 2.0, &latencies);
    let beside = writes * WRITES_BESIDE_READS;
    let (read, create) = (job(Workload::PointRead)?, job(Workload::Create)?);
    let (latencies, _) = tokio::try_join!(
        paced(server, read, Workload::PointRead, reads / 2.0, options.soak),
        paced(server, create, Workload::Create, beside, options.soak),
    )?;
    note(results, "reads", reads / 2.0, &latencies);
    Ok(())
}

/// Sends at this rate for this long; gives the sorted latencies.
async fn paced(
    server: &Competitor,
    job: Job,
    workload: Workload,
    rate: f64,
    duration: Duration,
) -> Result<Vec<Duration>> {
    let due =
        Due { times: Mutex::default(), count: Semaphore::new(0), next: server.next(workload) };
    let due = Arc::new(due);
    let mut workers = Vec::new();
    for _ in 0..CONNECTIONS {
        let client = Client::open(&server.address, Transport::Plain, &job).await?;
        workers.push(tokio::spawn(work(client, job.clone(), Arc::clone(&due))));
    }
    let begin = Instant::now();
    let end = begin + duration;
    let (mut ticks, mut released) = (interval(TICK), 0.0);
    while Instant::now() < end {
        ticks.tick().await;
        let now = Instant::now();
        let new = (begin.elapsed().as_secs_f64() * rate).floor() - released;
        released += new;
        // The queue is never long: a soak is at half of what the server can do.
        #[expect(
            clippy::cast_possible_truncation,
            clippy::cast_sign_loss,
            reason = "small, positive"
        )]
        let count = new.max(0.0) as usize;
        due.times.lock().expect("no panic").extend(std::iter::repeat_n(now, count));
        due.count.add_permits(count);
    }
    due.count.close();
    let mut latencies = Vec::new();
    for worker in workers {
        latencies.append(&mut worker.await??);
    }
    latencies.sort_unstable();
    Ok(latencies)
}

async fn work(mut client: Client, job: Job, due: Arc<Due>) -> Result<Vec<Duration>> {
    let mut latencies = Vec::new();
    while let Ok(permit) = due.count.acquire().await {
        permit.forget();
        let since = due.times.lock().expect("no panic").pop_front();
        let number = due.next.fetch_add(1, Ordering::Relaxed);
        client.operate(&job, number, false).await?;
        latencies.extend(since.map(|since| since.elapsed()));
    }
    Ok(latencies)
}
