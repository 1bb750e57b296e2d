//! `load`: measures what a request costs a server.
//!
//! `load compare` measures it next to what others need for the same, in one run; `load startup` the time until a server is ready and the memory it holds; `load backup` what
//! backups cost beside a plain copy; `load query` what queries read and cost as the data grows, next to
//! Postgres; `load changes` how fast the change feed is read; `load cycles` what is left of collections that come and
//! go; `load idle` what a server with many collections costs that nobody asks for anything; `load ttl`
//! what it costs to sweep what has expired; `load scripts` what stored procedures cost beside creates; `load hostile` how much endless
//! ones slow others down; `load flood` what requests without a key cost those with one; `load floor` is
//! the bare HTTP server, and `load raw` the bare store, that `compare` starts as children, `load spin`
//! a process that is busy.
//!
//! Reading order: [`api`] (the requests), [`process`] (the servers), [`compare`] (with [`floor`] and
//! [`raw`]), [`cell`] (one measurement of the others), [`startup`], [`backup`], [`query`], [`changes`], [`cycles`], [`idle`], [`ttl`], [`scripts`],
//! [`flood`].

mod api;
mod arguments;
mod backup;
mod cell;
mod changes;
mod compare;
mod cycles;
mod flood;
mod floor;
mod idle;
mod process;
mod query;
mod raw;
mod scratch;
mod scripts;
mod startup;
mod ttl;

use anyhow::{Result, bail};
use arguments::Arguments;

/// The allocator of the server, for the floor's sake.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    if command == "floor" {
        return floor::serve(words.next().as_ref().map(std::path::Path::new));
    }
    if command == "raw" {
        return raw::run(words);
    }
    // One thread on purpose: the driver leaves the other cores to the server.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(drive(&command, words))
}

async fn drive(command: &str, words: impl Iterator<Item = String>) -> Result<()> {
    if command == "compare" {
        return compare::run(words).await;
    }
    let arguments = Arguments::parse(words)?;
    match command {
        "startup" => startup::run(&arguments).await,
        "backup" => backup::run(&arguments).await,
        "query" => query::run(&arguments).await,
        "flood" => flood::run(&arguments).await,
        "changes" => changes::run(&arguments).await,
        "cycles" => cycles::run(&arguments).await,
        "idle" => idle::run(&arguments).await,
        "ttl" => ttl::run(&arguments).await,
        "scripts" => scripts::cost::run(&arguments).await,
        "hostile" => scripts::hostile::run(&arguments).await,
        "spin" => scripts::hostile::spin(),
        _ => bail!(
            "usage: load compare | startup | backup | query | changes | cycles | idle | ttl | scripts | \
             hostile | flood | floor\n{}",
            arguments::HELP
        ),
    }
}
