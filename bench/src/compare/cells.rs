//! The workloads, measured in turns: each round of a cell goes over all servers.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    client::Transport,
    competitor::{Competitor, Who},
    figures::Figures,
    load,
    options::Options,
    results::{Cell, Outcome, Results},
    workload::Workload,
};

/// Connections of workloads that are not measured with several numbers of them.
const CONNECTIONS: usize = 16;
/// Who takes so many times longer than the others in a round is not asked again.
const PATIENCE: f64 = 5.0;

/// What is measured at a size, in this order.
pub(crate) fn plan(options: &Options, documents: usize) -> Vec<Cell> {
    let names = Workload::ALL.map(Workload::name);
    let mut cells = Vec::new();
    for workload in Workload::ALL {
        let is_extra = workload.is_write() && documents != options.largest();
        if is_extra || !options.wants(workload.name(), &names) {
            continue;
        }
        let mut add = |connections, transport| {
            cells.push(Cell { workload, connections, transport, documents });
        };
        if matches!(workload, Workload::PointRead | Workload::Create) {
            [1, 16, 64].into_iter().for_each(|connections| add(connections, Transport::Plain));
            if documents == options.largest() {
                [Transport::Http2, Transport::Tls].into_iter().for_each(|way| add(64, way));
            }
        } else {
            add(CONNECTIONS, Transport::Plain);
        }
    }
    cells
}

/// Measures all cells of the plan.
pub(crate) async fn run(
    options: &Options,
    servers: &[Competitor],
    plan: &[Cell],
    results: &mut Results,
) -> Result<()> {
    for cell in plan {
        let mut outcomes: Vec<Outcome> = servers
            .iter()
            .filter(|server| server.speaks(cell.transport))
            .map(|server| Outcome { cell: *cell, who: server.who, rounds: Ok(Vec::new()) })
            .collect();
        let mut is_slow = Vec::new();
        for _ in 0..options.rounds {
            for outcome in &mut outcomes {
                if is_slow.contains(&outcome.who) {
                    continue;
                }
                let Some(server) = servers.iter().find(|it| it.who == outcome.who) else { continue };
                let begin = Instant::now();
                turn(options, server, cell, outcome).await;
                if begin.elapsed().as_secs_f64() > options.seconds * PATIENCE + 10.0 {
                    is_slow.push(outcome.who);
                }
            }
        }
        outcomes.retain(|outcome| !matches!(&outcome.rounds, Ok(rounds) if rounds.is_empty()));
        print_cell(cell, &outcomes);
        results.outcomes.extend(outcomes);
    }
    Ok(())
}

/// One round of a cell for one server. What fails once is not tried again.
async fn turn(options: &Options, server: &Competitor, cell: &Cell, outcome: &mut Outcome) {
    let Ok(rounds) = &mut outcome.rounds else { return };
    let job = match server.job(cell.workload) {
        Ok(Some(job)) => job,
        Ok(None) => return,
        Err(error) => {
            outcome.rounds = Err(format!("{error:#}"));
            return;
        }
    };
    let mut times = options.times();
    if !cell.workload.is_write() {
        times.rest_max = Duration::ZERO;
    }
    let (target, next) = (server.target(cell.transport), server.next(cell.workload));
    let is_write = cell.workload.is_write();
    let figures = load::measure(&target, &job, &next, cell.connections, times, is_write);
    match figures.await {
        Ok(figures) => rounds.push(figures),
        Err(error) => outcome.rounds = Err(format!("{error:#}")),
    }
}

fn print_cell(cell: &Cell, outcomes: &[Outcome]) {
    println!(
        "{:28} {:>9} documents {:>10} {:>9} {:>9} {:>10} {:>8}",
        cell.title(),
        cell.documents,
        "ops/s",
        "p50 ms",
        "p99 ms",
        "CPU µs",
        "/disk"
    );
    let median = |outcome: &Outcome| Figures::median(outcome.rounds.as_deref().ok()?);
    let disk = outcomes.iter().find(|it| it.who == Who::SheafDisk).and_then(median);
    for outcome in outcomes {
        let name = outcome.who.name();
        let Some(figures) = median(outcome) else {
            let reason = outcome.rounds.as_ref().err().cloned().unwrap_or_default();
            println!("  {name:46} not measured: {reason}");
            continue;
        };
        let ratio = disk.map_or_else(
            || "-".to_owned(),
            |disk| format!("{:.2}x", figures.cpu_us / disk.cpu_us.max(1e-9)),
        );
        println!(
            "  {name:46} {:10.0} {:9.3} {:9.3} {:10.1} {ratio:>8}",
            figures.per_second, figures.p50_ms, figures.p99_ms, figures.cpu_us
        );
    }
}
