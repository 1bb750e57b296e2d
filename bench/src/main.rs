//! `load`: measures what a request costs a server.
//!
//! `load run` prints a table of creates and point reads against several servers, one after the
//! other; `load startup` the time until a server is ready and the memory it holds; `load query` what
//! queries read and cost as the data grows, next to Postgres; `load flood` what requests without a key cost those with one; `load floor` is the bare HTTP server
//! that `run` starts as a child and compares with.
//!
//! Reading order: [`api`] (the requests), [`process`] (the servers), [`cell`] (one measurement),
//! [`table`] (all of them), [`startup`], [`query`], [`flood`].

mod api;
mod arguments;
mod cell;
mod flood;
mod floor;
mod process;
mod query;
mod startup;
mod table;

use anyhow::{Result, bail};
use arguments::Arguments;

/// One thread on purpose: the driver leaves the other cores to the server.
#[tokio::main(flavor = "current_thread")]
async fn main() -> Result<()> {
    let mut words = std::env::args().skip(1);
    let command = words.next().unwrap_or_default();
    let arguments = Arguments::parse(words)?;
    match command.as_str() {
        "run" => table::run(&arguments).await,
        "startup" => startup::run(&arguments).await,
        "query" => query::run(&arguments).await,
        "flood" => flood::run(&arguments).await,
        "floor" => floor::serve(),
        _ => bail!("usage: load run | startup | query | flood | floor\n{}", arguments::HELP),
    }
}
