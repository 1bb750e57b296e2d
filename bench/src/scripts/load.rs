//! One load: many connections sending one kind of request for a while.

use std::{
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
    },
    time::{Duration, Instant},
};

use anyhow::{Context as _, Result};

use super::requests::Maker;
use crate::{cell::Connection, process::Server};

/// Not counted, so that connections are open and workers started.
const WARM_UP: Duration = Duration::from_millis(700);

/// What was measured.
pub(crate) struct Measured {
    /// Of all requests that ended in time, sorted.
    latencies: Vec<Duration>,
    elapsed: Duration,
    /// CPU time of the server and of its workers.
    cpu: (Duration, Duration),
    /// Requests that were made, the uncounted ones included.
    pub(crate) made: usize,
}

impl Measured {
    pub(crate) fn percentile(&self, percent: usize) -> Result<Duration> {
        let at = self.latencies.len() * percent / 100;
        self.latencies.get(at).copied().context("no request ended in time")
    }

    pub(crate) fn per_second(&self) -> f64 {
        self.latencies.len() as f64 / self.elapsed.as_secs_f64()
    }

    /// CPU time for each request: the server's, and its workers'.
    pub(crate) fn cpu(&self) -> (Duration, Duration) {
        let count = self.latencies.len().max(1) as f64;
        (self.cpu.0.div_f64(count), self.cpu.1.div_f64(count))
    }
}

/// Sends until the time is over.
pub(crate) async fn run(
    server: &Server,
    maker: Maker,
    connections: usize,
    duration: Duration,
) -> Result<Measured> {
    let maker = Arc::new((maker, AtomicUsize::new(0)));
    let from = Instant::now() + WARM_UP;
    let to = from + duration;
    let mut senders = Vec::with_capacity(connections);
    for _ in 0..connections {
        let connection = Connection::open(&server.host).await?;
        senders.push(tokio::spawn(send(connection, Arc::clone(&maker), from, to)));
    }
    tokio::time::sleep_until(from.into()).await;
    let (begin, before) = (Instant::now(), server.cpu_with_workers()?);
    tokio::time::sleep_until(to.into()).await;
    let (elapsed, after) = (begin.elapsed(), server.cpu_with_workers()?);
    let mut latencies = Vec::new();
    for sender in senders {
        latencies.append(&mut sender.await??);
    }
    latencies.sort_unstable();
    let cpu = (after.0.saturating_sub(before.0), after.1.saturating_sub(before.1));
    Ok(Measured { latencies, elapsed, cpu, made: maker.1.load(Ordering::Relaxed) })
}

async fn send(
    mut connection: Connection,
    maker: Arc<(Maker, AtomicUsize)>,
    from: Instant,
    to: Instant,
) -> Result<Vec<Duration>> {
    let (maker, next) = &*maker;
    let mut latencies = Vec::new();
    loop {
        let request = maker.make(next.fetch_add(1, Ordering::Relaxed))?;
        let begin = Instant::now();
        connection.expect(request, maker.call.status()).await?;
        let end = Instant::now();
        if end >= to {
            return Ok(latencies);
        }
        if end >= from {
            latencies.push(end - begin);
        }
    }
}
