//! What was measured: of one round, and of all rounds together.

use std::time::Duration;

/// What one server did in one round.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Figures {
    pub(crate) per_second: f64,
    pub(crate) p50_ms: f64,
    pub(crate) p99_ms: f64,
    /// CPU time of the server and its children for each operation, in microseconds.
    pub(crate) cpu_us: f64,
    /// Operations that were counted.
    pub(crate) operations: f64,
}

impl Figures {
    /// From the latencies of what ended in time.
    pub(crate) fn new(
        latencies: &mut [Duration],
        elapsed: Duration,
        cpu: Duration,
        cpu_operations: usize,
    ) -> Self {
        latencies.sort_unstable();
        let milliseconds = |percent| percentile(latencies, percent).as_secs_f64() * 1e3;
        Self {
            per_second: latencies.len() as f64 / elapsed.as_secs_f64().max(1e-9),
            p50_ms: milliseconds(50.0),
            p99_ms: milliseconds(99.0),
            cpu_us: cpu.as_secs_f64() * 1e6 / cpu_operations.max(1) as f64,
            operations: latencies.len() as f64,
        }
    }

    /// The median of each figure over several rounds; `None` of none.
    pub(crate) fn median(rounds: &[Self]) -> Option<Self> {
        let of = |figure: fn(&Self) -> f64| median(rounds.iter().map(figure).collect());
        Some(Self {
            per_second: of(|round| round.per_second)?,
            p50_ms: of(|round| round.p50_ms)?,
            p99_ms: of(|round| round.p99_ms)?,
            cpu_us: of(|round| round.cpu_us)?,
            operations: of(|round| round.operations)?,
        })
    }
}

/// The middle value, or the mean of the two in the middle.
pub(crate) fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let upper = *values.get(values.len() / 2)?;
    let lower = values[(values.len() - 1) / 2];
    Some(f64::midpoint(lower, upper))
}

/// The smallest of sorted values that at least so many percent do not exceed; zero of none.
pub(crate) fn percentile(sorted: &[Duration], percent: f64) -> Duration {
    let rank = (sorted.len() as f64 * percent / 100.0).ceil().max(1.0);
    // Truncation is no loss: the rank is a whole number that is not negative.
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "see above")]
    let at = rank as usize - 1;
    sorted.get(at).or(sorted.last()).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn milliseconds(values: &[u64]) -> Vec<Duration> {
        values.iter().copied().map(Duration::from_millis).collect()
    }

    #[test]
    fn percentiles_are_values_that_occurred() {
        let hundred = milliseconds(&(1..=100).collect::<Vec<_>>());
        assert_eq!(percentile(&hundred, 50.0), Duration::from_millis(50));
        assert_eq!(percentile(&hundred, 99.0), Duration::from_millis(99));
        assert_eq!(percentile(&hundred, 100.0), Duration::from_millis(100));
        assert_eq!(percentile(&hundred, 0.0), Duration::from_millis(1));
        assert_eq!(percentile(&milliseconds(&[7]), 99.0), Duration::from_millis(7));
        assert_eq!(percentile(&[], 99.0), Duration::ZERO);
    }

    #[test]
    fn medians_ignore_one_bad_round() {
        assert_eq!(median(vec![9.0, 1.0, 2.0]), Some(2.0));
        assert_eq!(median(vec![4.0, 1.0, 2.0, 3.0]), Some(2.5));
        assert_eq!(median(vec![]), None);
        let round = |cpu_us| Figures { cpu_us, ..Figures::default() };
        let all = [round(10.0), round(500.0), round(11.0)];
        assert_eq!(Figures::median(&all).map(|it| it.cpu_us), Some(11.0));
    }

    #[test]
    fn figures_count_what_ended_in_time() {
        let mut latencies = milliseconds(&[2, 1, 3]);
        let (second, cpu) = (Duration::from_secs(1), Duration::from_micros(400));
        let figures = Figures::new(&mut latencies, second, cpu, 4);
        assert_eq!((figures.per_second, figures.p50_ms, figures.cpu_us), (3.0, 2.0, 100.0));
    }
}
