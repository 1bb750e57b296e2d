//! The workloads, measured in turns: each round of a cell goes over all servers.

use std::time::{Duration, Instant};

use anyhow::Result;

use super::{
    client::Transport,
    competitor::{Competitor, Who},
    figures::Figures,
    load,
    options::Options,
    raw::Raw,
    results::{Cell, Outcome, Results},
    workload::Workload,
};

/// Connections of workloads that are not measured with several numbers of them.
const CONNECTIONS: usize = 16;
/// Who takes so many times longer than the others in a round is not asked again.
const PATIENCE: f64 = 5.0;

/// A latency that is too long to be measured with more documents.
const SLOW_MS: f64 = 500.0;

/// How long a server that has failed may take to come to rest.
const ABANDONED_MAX: Duration = Duration::from_mins(2);

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
            add(64, Transport::Plain);
            if documents == options.largest() {
                add(1, Transport::Plain);
                add(16, Transport::Plain);
                for transport in [Transport::Http2, Transport::Tls] {
                    add(64, transport);
                }
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
    raw: &mut Option<Raw>,
    plan: &[Cell],
    results: &mut Results,
) -> Result<()> {
    for cell in plan {
        let mut outcomes: Vec<Outcome> = servers
            .iter()
            .filter(|server| server.speaks(cell.transport))
            .map(|server| Outcome {
                cell: *cell,
                who: server.who,
                rounds: hope(results, cell, server),
            })
            .collect();
        let of_raw = raw.iter().flat_map(|_| Raw::parts(cell));
        outcomes.extend(of_raw.map(|who| Outcome { cell: *cell, who, rounds: Ok(Vec::new()) }));
        let mut is_slow = Vec::new();
        for _ in 0..options.rounds {
            for outcome in &mut outcomes {
                if is_slow.contains(&outcome.who) {
                    continue;
                }
                if let (true, Some(raw)) = (outcome.who.is_raw(), raw.as_mut()) {
                    note(outcome, raw.turn(outcome.who, cell, options).await);
                    continue;
                }
                let Some(server) = servers.iter().find(|it| it.who == outcome.who) else {
                    continue;
                };
                let begin = Instant::now();
                if outcome.rounds.is_ok() {
                    note(outcome, turn(options, server, cell).await);
                    if outcome.rounds.is_err() {
                        // It may still be busy with what nobody waits for any longer.
                        load::rest(server.process, ABANDONED_MAX).await?;
                    }
                }
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

/// No rounds yet; or why there will be none: a server that is made for less and took long with fewer
/// documents would take minutes now.
fn hope(results: &Results, cell: &Cell, server: &Competitor) -> Result<Vec<Figures>, String> {
    let cells = results.cells().into_iter();
    let mut smaller = cells.filter(|it| Cell { documents: cell.documents, ..*it } == *cell);
    let slow = smaller.find_map(|smaller| {
        let p50_ms = results.figures(&smaller, server.who)?.p50_ms;
        (p50_ms > SLOW_MS).then_some((smaller.documents, p50_ms))
    });
    match slow {
        Some((documents, p50_ms)) if server.who.is_small() => {
            Err(format!("it took {p50_ms:.0} ms with {documents} documents"))
        }
        _ => Ok(Vec::new()),
    }
}

/// Adds a round. Who fails once is not asked again.
fn note(outcome: &mut Outcome, round: Result<Option<Figures>>) {
    match (&mut outcome.rounds, round) {
        (Ok(rounds), Ok(round)) => rounds.extend(round),
        (Ok(_), Err(error)) => outcome.rounds = Err(format!("{error:#}")),
        (Err(_), _) => {}
    }
}

/// One round of a cell for one server, if it has a counterpart.
async fn turn(options: &Options, server: &Competitor, cell: &Cell) -> Result<Option<Figures>> {
    let Some(job) = server.job(cell.workload)? else { return Ok(None) };
    let (target, next) = (server.target(cell.transport), server.next(cell.workload));
    let (times, is_write) = (options.times(), cell.workload.is_write());
    load::measure(&target, &job, &next, cell.connections, times, is_write).await.map(Some)
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
