//! The table of `load query`.

use std::time::Duration;

use super::{cost::Cost, data::Data, text::Query};

/// How much more a query may read in the large collection than in the small one, and how much more
/// CPU time it may take.
const READS_RATIO_MAX: f64 = 1.5;
const CPU_RATIO_MAX: f64 = 2.0;

/// A query, what it costs Sheaf, and Postgres if that is there.
pub(crate) type Line = (Query, Cost, Option<Cost>);

/// How long it took to load the documents, and what they occupy.
pub(crate) fn print_load(
    name: &str,
    data: Data,
    elapsed: Duration,
    cpu: Option<Duration>,
    size: f64,
) {
    let cpu = cpu.map_or_else(String::new, |cpu| format!(", {:.1} s of CPU", cpu.as_secs_f64()));
    println!(
        "{} documents loaded in {:.1} s{cpu}, {size:.0} MB: {name}",
        data.documents,
        elapsed.as_secs_f64()
    );
}

/// How long it took to compact the documents, and the bytes they occupied before and after.
pub(crate) fn print_compaction(data: Data, elapsed: Duration, (before, after): (f64, f64)) {
    println!(
        "{} documents compacted in {:.1} s, from {:.0} MB to {:.0} MB",
        data.documents,
        elapsed.as_secs_f64(),
        before / 1e6,
        after / 1e6
    );
}

/// The names of the columns.
pub(crate) fn print_header() {
    println!();
    println!(
        "{:16} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9} {:>10} {:>9} {:>8}",
        "query",
        "documents",
        "keys",
        "blocks",
        "loads",
        "CPU µs",
        "p50 ms",
        "pg CPU µs",
        "pg p50 ms",
        "CPU/pg"
    );
}

/// A query in both collections, and how they compare.
pub(crate) fn print_query(
    [small, large]: [Data; 2],
    (query, small_cost, small_pg): &Line,
    (_, large_cost, large_pg): &Line,
) {
    let lines = [(query.name(), small, small_cost, small_pg), ("", large, large_cost, large_pg)];
    for (name, data, cost, pg) in lines {
        let reads = [cost.keys, cost.blocks, cost.loads].map(or_dash);
        let pg_cpu = or_dash(pg.map(|pg| micros(pg.cpu)));
        let pg_p50 = pg.map_or_else(|| "-".to_owned(), |pg| format!("{:.2}", millis(pg.p50)));
        let of_pg = pg.map_or_else(
            || "-".to_owned(),
            |pg| format!("{:.2}x", cost.cpu.as_secs_f64() / pg.cpu.as_secs_f64()),
        );
        println!(
            "{name:16} {:>9} {:>9} {:>9} {:>9} {:>10.1} {:>9.2} {pg_cpu:>10} {pg_p50:>9} {of_pg:>8}",
            data.documents,
            reads[0],
            reads[1],
            reads[2],
            micros(cost.cpu),
            millis(cost.p50),
        );
    }
    let times = |cost: fn(&Cost) -> f64| Some(cost(large_cost) / cost(small_cost));
    // Of next to nothing there are no multiples.
    let reads = |small: Option<f64>, large: Option<f64>| {
        Some(large? / small.filter(|reads| *reads >= 0.1)?)
    };
    let pg_times = |cost: fn(&Cost) -> f64| {
        let (small, large) = (small_pg.as_ref()?, large_pg.as_ref()?);
        Some(cost(large) / cost(small))
    };
    println!(
        "{:16} {:>9} {:>9} {:>9} {:>9} {:>10} {:>9} {:>10} {:>9}",
        "",
        "times",
        ratio(reads(small_cost.keys, large_cost.keys), READS_RATIO_MAX),
        ratio(reads(small_cost.blocks, large_cost.blocks), READS_RATIO_MAX),
        ratio(reads(small_cost.loads, large_cost.loads), f64::INFINITY),
        ratio(times(|cost| micros(cost.cpu)), CPU_RATIO_MAX),
        ratio(times(|cost| millis(cost.p50)), f64::INFINITY),
        ratio(pg_times(|cost| micros(cost.cpu)), f64::INFINITY),
        ratio(pg_times(|cost| millis(cost.p50)), f64::INFINITY),
    );
}

/// `1.23x`, with a mark if it is more than it should be.
fn ratio(ratio: Option<f64>, most: f64) -> String {
    let Some(ratio) = ratio.filter(|ratio| ratio.is_finite()) else { return "-".to_owned() };
    let mark = if ratio > most { "!" } else { "" };
    format!("{mark}{ratio:.2}x")
}

fn or_dash(figure: Option<f64>) -> String {
    figure.map_or_else(|| "-".to_owned(), |figure| format!("{figure:.1}"))
}

fn micros(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e6
}

fn millis(duration: Duration) -> f64 {
    duration.as_secs_f64() * 1e3
}
