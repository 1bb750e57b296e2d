//! What the project wants to reach, next to what was measured.

use super::{
    client::Transport,
    competitor::Who,
    figures::Figures,
    resources,
    results::{Cell, Results},
    soak,
    workload::Workload,
};

/// A wish and its figure.
#[derive(Clone, Debug)]
pub(crate) struct Target {
    pub(crate) text: String,
    /// `None` if something that it needs was not measured.
    pub(crate) value: Option<f64>,
    pub(crate) unit: &'static str,
    /// What it must not exceed, or must reach.
    pub(crate) limit: f64,
    pub(crate) is_minimum: bool,
}

impl Target {
    pub(crate) fn is_met(&self) -> Option<bool> {
        let value = self.value?;
        Some(if self.is_minimum { value >= self.limit } else { value <= self.limit })
    }

    /// In a word or two.
    pub(crate) fn verdict(&self) -> &'static str {
        match self.is_met() {
            Some(true) => "met",
            Some(false) => "NOT MET",
            None => "not measured",
        }
    }

    pub(crate) fn figure(&self) -> String {
        self.value.map_or_else(|| "-".to_owned(), |value| format!("{value:.2} {}", self.unit))
    }

    pub(crate) fn wish(&self) -> String {
        let word = if self.is_minimum { "at least" } else { "at most" };
        format!("{word} {} {}", self.limit, self.unit)
    }
}

/// Looks figures up at one size.
struct Lookup<'a> {
    results: &'a Results,
    documents: usize,
}

impl Lookup<'_> {
    fn figures(&self, workload: Workload, connections: usize, who: Who) -> Option<Figures> {
        let transport = Transport::Plain;
        let cell = Cell { workload, connections, transport, documents: self.documents };
        self.results.figures(&cell, who)
    }

    fn ratio(
        &self,
        (workload, connections): (Workload, usize),
        (of, to): (Who, Who),
        figure: fn(&Figures) -> f64,
    ) -> Option<f64> {
        let of = figure(&self.figures(workload, connections, of)?);
        let to = figure(&self.figures(workload, connections, to)?);
        (to > 0.0).then_some(of / to)
    }
}

/// All of them. Reads and creates are judged with 64 connections, all else with 16.
pub(crate) fn all(results: &Results, documents: usize) -> Vec<Target> {
    let at = Lookup { results, documents };
    let mut targets = Vec::new();
    of_reads(&at, &mut targets);
    of_creates(&at, &mut targets);
    of_queries(&at, &mut targets);
    of_several(&at, &mut targets);
    of_resources(results, &mut targets);
    targets
}

fn at_most(text: impl Into<String>, value: Option<f64>, limit: f64, unit: &'static str) -> Target {
    Target { text: text.into(), value, unit, limit, is_minimum: false }
}

fn at_least(text: impl Into<String>, value: Option<f64>, limit: f64, unit: &'static str) -> Target {
    Target { is_minimum: true, ..at_most(text, value, limit, unit) }
}

fn cpu(figures: &Figures) -> f64 {
    figures.cpu_us
}

fn rate(figures: &Figures) -> f64 {
    figures.per_second
}

fn of_reads(at: &Lookup<'_>, targets: &mut Vec<Target>) {
    let read = (Workload::PointRead, 64);
    for who in [Who::SheafMemory, Who::SheafDisk] {
        let name = who.name();
        let over_floor = at.ratio(read, (who, Who::Floor), cpu);
        targets.push(at_most(
            format!("point read, {name}: CPU of the floor"),
            over_floor,
            2.0,
            "x",
        ));
        let under_vercel = at.ratio(read, (Who::Vercel, who), cpu);
        let text = format!("point read, {name}: less CPU than vercel");
        targets.push(at_least(text, under_vercel, 6.0, "x"));
        let share = at.ratio(read, (who, Who::Floor), rate).map(|share| share * 100.0);
        let text = format!("point read, {name}: throughput of the floor's");
        targets.push(at_least(text, share, 50.0, "%"));
    }
}

fn of_creates(at: &Lookup<'_>, targets: &mut Vec<Target>) {
    let (create, alone) = ((Workload::Create, 64), (Workload::Create, 1));
    let disk = |to| (Who::SheafDisk, to);
    let value = at.ratio(create, disk(Who::RawStore), cpu);
    targets.push(at_most("durable create: CPU of the raw store", value, 2.0, "x"));
    let value = at.ratio(create, disk(Who::RawAppend), rate).map(|share| share * 100.0);
    targets.push(at_least("durable create: throughput of raw group commit", value, 60.0, "%"));
    let value = at.ratio(create, disk(Who::RawStore), rate).map(|share| share * 100.0);
    targets.push(at_least("durable create: throughput of the raw store", value, 60.0, "%"));
    let value = at.ratio(create, (Who::Vercel, Who::SheafMemory), cpu);
    targets.push(at_least("create in memory: less CPU than vercel", value, 3.0, "x"));
    let value = at.ratio(create, (Who::Postgres, Who::SheafDisk), cpu);
    targets.push(at_least("durable create: less CPU than PostgreSQL with GIN", value, 1.0, "x"));
    let value = at.ratio(create, (Who::SheafDisk, Who::Postgres), rate);
    targets.push(at_least("durable create: creates/s of PostgreSQL with GIN", value, 1.0, "x"));
    let value = at.ratio(alone, disk(Who::RawStore), |figures| figures.p50_ms);
    targets.push(at_most("durable create, one writer: p50 of the raw store", value, 2.0, "x"));
}

fn of_queries(at: &Lookup<'_>, targets: &mut Vec<Target>) {
    let value = at.ratio((Workload::Equality, 16), (Who::SheafDisk, Who::Postgres), cpu);
    let text = format!("equality, 10 of {} documents: CPU of PostgreSQL's GIN", at.documents);
    targets.push(at_most(text, value, 1.0, "x"));
    let top = (Workload::OrderTop, 16);
    let value = at.ratio(top, (Who::Postgres, Who::SheafDisk), cpu);
    targets.push(at_least(
        "ORDER BY TOP 10: less CPU than PostgreSQL without index",
        value,
        5.0,
        "x",
    ));
    let value = at.ratio(top, (Who::SheafDisk, Who::PostgresOrdered), cpu);
    targets.push(at_most("ORDER BY TOP 10: CPU of PostgreSQL with an index", value, 2.0, "x"));
    let cells = at.results.cells();
    let smaller = cells.iter().map(|cell| cell.documents).filter(|it| *it < at.documents).max();
    let queries = Workload::ALL.into_iter().filter(|it| it.rows().is_some_and(|_| !it.is_write()));
    let growth = queries.filter_map(|workload| {
        let small = Lookup { results: at.results, documents: smaller? };
        let large = at.figures(workload, 16, Who::SheafDisk)?.cpu_us;
        Some(large / small.figures(workload, 16, Who::SheafDisk)?.cpu_us)
    });
    let worst = growth.reduce(f64::max);
    let text = format!(
        "worst query: CPU at {} documents of that at {}",
        at.documents,
        smaller.unwrap_or_default()
    );
    targets.push(at_most(text, worst, 1.5, "x"));
}

fn of_several(at: &Lookup<'_>, targets: &mut Vec<Target>) {
    let each = |workload: Workload| at.figures(workload, 16, Who::SheafDisk).map(|it| it.cpu_us);
    let ratio = |of: Option<f64>, to: Option<f64>| Some(of? / to?);
    let value = ratio(each(Workload::Procedure), each(Workload::Batch));
    targets.push(at_most("procedure of ten creates: CPU of a batch of ten", value, 2.0, "x"));
    let single = at.results.single("load", "single creates: CPU of a document");
    let value = ratio(at.results.single("load", "sheaf-disk: CPU of a document"), single);
    let text = format!("bulk load of {} documents: CPU of single creates", at.documents);
    targets.push(at_most(text, value, 0.7, "x"));
    let index = at.results.single("size", "sheaf-disk: index bytes for each document byte");
    targets.push(at_most("index of document bytes", index.map(|it| it * 100.0), 60.0, "%"));
}

fn of_resources(results: &Results, targets: &mut Vec<Target>) {
    let single = |name: &str| results.single(resources::NAME, name);
    for (text, name, limit) in [("reads", "reads: p99", 10.0), ("writes", "creates: p99", 15.0)] {
        let text = format!("{text}: p99 at half of maximum throughput");
        targets.push(at_most(text, results.single(soak::NAME, name), limit, "ms"));
    }
    for (text, name, limit, unit) in [
        ("start, empty", "sheaf-disk: start, empty", 50.0, "ms"),
        ("start, clean stop", "sheaf-disk: start with data after a clean stop", 300.0, "ms"),
        ("start, killed", "sheaf-disk: start with data after a kill", 3000.0, "ms"),
        ("idle memory", "sheaf-disk: memory, empty and idle", 30.0, "MiB"),
        ("idle CPU", "sheaf-disk: idle CPU, no collection", 0.1, "%"),
    ] {
        targets.push(at_most(text, single(name), limit, unit));
    }
    // These are about so many, which a quick run does not have.
    let has = |name: &str, count: f64| single(name).is_some_and(|it| it >= count);
    let collections = has("sheaf-disk: many collections are", 1000.0);
    let cpu = single("sheaf-disk: idle CPU, many collections").filter(|_| collections);
    targets.push(at_most("idle CPU, 1,000 collections", cpu, 0.1, "%"));
    let connections = has("sheaf-disk: idle connections", 9_900.0);
    let memory = single("sheaf-disk: memory with them").filter(|_| connections);
    targets.push(at_most("memory with 10,000 idle connections", memory, 200.0, "MiB"));
}

/// The list, a line for each.
pub(crate) fn print(targets: &[Target]) {
    println!("\ntargets (CPU is that of the server; a run decides for itself only)");
    for target in targets {
        let (figure, wish, verdict) = (target.figure(), target.wish(), target.verdict());
        println!("  {:62} {figure:>14}   {wish:20} {verdict}", target.text);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_met_missed_or_unknown() {
        assert_eq!(at_most("a", Some(2.0), 2.0, "x").verdict(), "met");
        assert_eq!(at_most("a", Some(2.1), 2.0, "x").verdict(), "NOT MET");
        assert_eq!(at_least("a", Some(2.1), 2.0, "x").verdict(), "met");
        assert_eq!(at_least("a", None, 2.0, "x").verdict(), "not measured");
    }

    #[test]
    fn without_figures_nothing_is_judged() {
        assert!(all(&Results::default(), 1000).iter().all(|target| target.is_met().is_none()));
    }
}
