//! `load compare`: Sheaf next to what others need for the same, in one run.
//!
//! Reading order: [`workload`] (what is measured), [`competitor`] (who is compared; [`install`],
//! [`setup`] and [`record`] are what they need first), [`rest`], [`queries`], [`postgres`] and
//! [`mongo`] (the requests; [`pgwire`] and [`bson`] are their bytes), [`framing`], [`stream`] and
//! [`client`] (one connection), [`load`] (many), [`cells`] (turn after turn), [`results`] and
//! [`figures`].

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
pub(crate) mod record;
mod rest;
mod results;
mod setup;
mod stream;
mod workload;

use std::sync::Arc;

use anyhow::Result;
use tokio::signal::unix::{SignalKind, signal};

use self::{
    competitor::{Competitor, Place, Who},
    install::Programs,
    options::Options,
    pool::Pool,
    results::Results,
};
use crate::{
    query::{data::Data, postgres::Postgres},
    table::Scratch,
};

/// Measures, prints and writes the report. A signal ends it in good order: what was started is
/// dropped with the future, and with it processes and directories.
pub(crate) async fn run(words: impl Iterator<Item = String>) -> Result<()> {
    let options = Options::parse(words)?;
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
    record::record(&options.sheaf, &pool, &answers.0).await?;
    let place = Place {
        sheaf: &options.sheaf,
        answers: &answers.0,
        programs: &programs,
        postgres: postgres.as_deref(),
        pool: &pool,
        rest_max: options.times().rest_max,
    };
    let mut results = Results::default();
    for &documents in &options.sizes {
        let data = Data::new(documents)?;
        let mut servers: Vec<Competitor> = Vec::new();
        for who in Who::ALL.into_iter().filter(|who| wants(*who)) {
            if who == Who::PostgresOrdered {
                servers.extend(servers.iter().find_map(Competitor::ordered).into_iter().collect::<Vec<_>>());
                continue;
            }
            match Competitor::start(who, &place, data).await {
                Ok(server) => servers.push(server),
                Err(error) => {
                    results.note(format!("{}: not measured: {error:#}", who.name()));
                }
            }
        }
        let plan = cells::plan(options, documents);
        cells::run(options, &servers, &plan, &mut results).await?;
    }
    Ok(())
}
