//! What a query costs, from many that are asked one after the other.

use std::time::{Duration, Instant};

/// A query that takes long is still asked so often.
const QUERIES_MIN: usize = 3;

/// What one query costs.
#[derive(Clone, Copy)]
pub(crate) struct Cost {
    /// CPU time of the server.
    pub(crate) cpu: Duration,
    /// Median latency.
    pub(crate) p50: Duration,
    /// Keys looked up and entries scanned, where the server tells.
    pub(crate) keys: Option<f64>,
    /// Blocks looked at for them, and those that were not cached.
    pub(crate) blocks: Option<f64>,
    pub(crate) loads: Option<f64>,
}

/// The latencies of queries that are asked one after the other.
pub(crate) struct Samples {
    until: Instant,
    latencies: Vec<Duration>,
}

impl Samples {
    pub(crate) fn new(duration: Duration) -> Self {
        Self { until: Instant::now() + duration, latencies: Vec::new() }
    }

    pub(crate) fn wants_more(&self) -> bool {
        self.latencies.len() < QUERIES_MIN || Instant::now() < self.until
    }

    pub(crate) fn add(&mut self, latency: Duration) {
        self.latencies.push(latency);
    }

    pub(crate) fn count(&self) -> usize {
        self.latencies.len()
    }

    /// The cost of each, if all of them took so much CPU time.
    pub(crate) fn cost(&self, cpu: Duration) -> Cost {
        let mut latencies = self.latencies.clone();
        latencies.sort_unstable();
        let cpu = cpu.div_f64(latencies.len() as f64);
        Cost { cpu, p50: latencies[latencies.len() / 2], keys: None, blocks: None, loads: None }
    }
}
