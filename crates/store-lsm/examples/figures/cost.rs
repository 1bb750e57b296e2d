//! What things cost: CPU time by kind of thread, latencies, memory.

use std::{collections::BTreeMap, time::Duration};

/// CPU seconds of this process, by kind of thread.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Cpu {
    /// The thread that commits.
    pub(crate) committer: f64,
    /// Flushes and compactions.
    pub(crate) background: f64,
    /// Everybody else: those who make batches and wait for them.
    pub(crate) others: f64,
}

impl Cpu {
    /// What the threads have used so far.
    pub(crate) fn now() -> Self {
        let mut cpu = Self::default();
        for (name, seconds) in threads() {
            match name.as_str() {
                "committer" => cpu.committer += seconds,
                "fjall:worker" => cpu.background += seconds,
                _ => cpu.others += seconds,
            }
        }
        cpu
    }

    /// What was used since an earlier moment.
    pub(crate) fn since(self, earlier: Self) -> Self {
        Self {
            committer: self.committer - earlier.committer,
            background: self.background - earlier.background,
            others: self.others - earlier.others,
        }
    }

    /// The sum.
    pub(crate) fn total(self) -> f64 {
        self.committer + self.background + self.others
    }

    /// Microseconds for one of `count`.
    pub(crate) fn text(self, count: u64) -> String {
        let each = |seconds: f64| seconds * 1e6 / count as f64;
        format!(
            "{:.1} µs (committer {:.1}, background {:.1}, others {:.1})",
            each(self.total()),
            each(self.committer),
            each(self.background),
            each(self.others)
        )
    }
}

/// CPU seconds of each name of a thread.
fn threads() -> BTreeMap<String, f64> {
    let mut threads = BTreeMap::new();
    let Ok(tasks) = std::fs::read_dir("/proc/self/task") else { return threads };
    for task in tasks.flatten() {
        let read = |name: &str| std::fs::read_to_string(task.path().join(name)).unwrap_or_default();
        // Nanoseconds on a processor; the times in `stat` are rounded to hundredths of a second.
        let spent = read("schedstat");
        let nanos = spent.split(' ').next().and_then(|text| text.parse::<f64>().ok());
        *threads.entry(read("comm").trim().to_owned()).or_default() += nanos.unwrap_or(0.0) / 1e9;
    }
    threads
}

/// Resident memory in MiB.
pub(crate) fn resident() -> usize {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = status.lines().find(|line| line.starts_with("VmRSS")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).unwrap_or(0) / 1024
}

/// Median, 99th percentile and maximum in milliseconds.
pub(crate) fn latencies(mut times: Vec<Duration>) -> String {
    times.sort_unstable();
    let at = |share: f64| {
        let index = (times.len() as f64 * share) as usize;
        times.get(index.min(times.len().saturating_sub(1))).map_or(0.0, |t| t.as_secs_f64() * 1e3)
    };
    format!(
        "p50 {:.2}, p99 {:.2}, p99.9 {:.2}, max {:.1} ms",
        at(0.5),
        at(0.99),
        at(0.999),
        at(1.0)
    )
}
