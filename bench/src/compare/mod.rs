//! `load compare`: Sheaf next to what others need for the same, in one run.
//!
//! Reading order: [`workload`] (what is measured), [`competitor`] (who is compared; [`install`],
//! [`setup`] and [`record`] are what they need first), [`rest`], [`queries`], [`postgres`] and
//! [`mongo`] (the requests; [`pgwire`] and [`bson`] are their bytes), [`framing`], [`stream`] and
//! [`client`] (one connection), [`load`] (many), [`cells`] (turn after turn; [`raw`] takes part),
//! [`soak`] and [`resources`] (Sheaf alone), [`results`] and [`figures`], [`summary`], [`targets`] and
//! [`report`] (what is told).

mod bson;
mod cells;
mod client;
mod competitor;
mod figures;
mod framing;
mod install;
mod job;
mod load;
mod mongo;
mod options;
mod pgwire;
mod pool;
mod postgres;
mod queries;
mod raw;
mod record;
mod report;
mod resources;
mod rest;
mod results;
mod setup;
mod soak;
mod stream;
mod summary;
mod targets;
mod workload;

pub(crate) use self::{figures::Figures, load::rest, pool::Pool, record::record};

use std::sync::Arc;

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

use self::{
    competitor::{Competitor, Place, Who},
    install::Programs,
    options::Options,
    raw::Raw,
    results::Results,
};
use crate::{
    query::{data::Data, postgres::Postgres},
    scratch::Scratch,
};

/// Measures, prints and writes the report. A signal ends it in good order: what was started is
/// dropped with the future, and with it processes and directories.
pub(crate) async fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let options = Options::parse(words)?;
    Scratch::sweep();
    let (mut interrupt, mut terminate) =
        (signal(SignalKind::interrupt())?, signal(SignalKind::terminate())?);
    tokio::select! {
        outcome = Box::pin(all(&options)) => outcome,
        _ = interrupt.recv() => anyhow::bail!("interrupted"),
        _ = terminate.recv() => anyhow::bail!("terminated"),
    }
}

async fn all(options: &Options) -> Result<()> {
    let names = Who::ALL.map(Who::name);
    let wants = |who: Who| options.wants(who.name(), &names);
    let programs = Programs::install(wants).await;
    let postgres = Postgres::find(options.postgres.as_deref());
    let pool = Arc::new(Pool::new()?);
    let answers = Scratch::named("answers")?;
    record(&options.sheaf, &pool, &answers.0).await?;
    let place = Place {
        sheaf: &options.sheaf,
        answers: &answers.0,
        programs: &programs,
        postgres: postgres.as_deref(),
        pool: &pool,
        partitions: options.partitions,
        rest_max: options.times().rest_max,
    };
    let mut results = Results::default();
    for &documents in &options.sizes {
        let data = Data::new(documents)?;
        let outcome = measure(options, &place, data, &mut results).await;
        results.note_failure("measurement", outcome);
    }
    if options.wants_section(resources::NAME, &SECTIONS) {
        let outcome = resources::run(options, &mut results).await;
        results.note_failure(resources::NAME, outcome);
    }
    summary::print(&results);
    targets::print(&targets::all(&results, options.largest()));
    report::write(options, &results)
}

/// What `--only` may name beside servers and workloads.
const SECTIONS: [&str; 3] = [WORKLOADS, soak::NAME, resources::NAME];
const WORKLOADS: &str = "workloads";

/// Everything that concerns collections of one size.
async fn measure(
    options: &Options,
    place: &Place<'_>,
    data: Data,
    results: &mut Results,
) -> Result<()> {
    let names = Who::ALL.map(Who::name);
    let wants = |who: Who| options.wants(who.name(), &names);
    let is_largest = data.documents == options.largest();
    let mut raw = None;
    if is_largest && wants(Who::RawStore) {
        match Raw::start(options, place, data, results).await {
            Ok(started) => raw = Some(started),
            Err(error) => results.note(format!("raw store: not measured: {error:#}")),
        }
    }
    let mut servers: Vec<Competitor> = Vec::new();
    for who in Who::ALL.into_iter().filter(|who| wants(*who) && !who.is_raw()) {
        if who == Who::PostgresOrdered {
            let ordered = servers.iter().find_map(Competitor::ordered);
            servers.extend(ordered);
            continue;
        }
        match Competitor::start(who, place, data).await {
            Ok(server) => servers.push(server),
            Err(error) => {
                let (who, size) = (who.name(), data.documents);
                results.note(format!("{who}, {size} documents: not measured: {error:#}"));
            }
        }
    }
    if is_largest {
        let outcome = resources::sizes(&servers, data, results).await;
        results.note_failure("sizes", outcome);
    }
    if options.wants_section(WORKLOADS, &SECTIONS) {
        let plan = cells::plan(options, data.documents);
        cells::run(options, &servers, &mut raw, &plan, results).await?;
    }
    drop(raw);
    if !is_largest {
        return Ok(());
    }
    let disk = servers.iter().position(|server| server.who == Who::SheafDisk);
    let disk = disk.map(|at| servers.swap_remove(at));
    drop(servers);
    let Some(disk) = disk else { return Ok(()) };
    if options.wants_section(soak::NAME, &SECTIONS) {
        let outcome = soak::run(options, &disk, results).await;
        results.note_failure(soak::NAME, outcome);
    }
    if options.wants_section(resources::NAME, &SECTIONS) {
        let outcome = resources::restarts(options, disk, place.pool, data, results).await;
        results.note_failure("restarts", outcome);
    }
    Ok(())
}
