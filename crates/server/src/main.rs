//! `sheaf`: the program. Configuration, wiring, the network, and what operators look at.
//!
//! In reading order:
//! - `cli`, `settings`, `config`, `amount`, `size`, `span`, `network`: what can be asked, and what was,
//! - `serve`, `verify`, `compact`, `backup`, `query`, `partition`, `top`, `cert`: the commands;
//!   `remote`, `client`, `table`: what those share that ask a running server,
//! - `keys` (also `sheaf keys`), `issuers`, `reload`, `live`, `data_dir`, `certificate`, `database`, `clock`,
//!   `descriptors`, `disk`: what a server needs
//!   before it can run,
//! - `net`: sockets, TLS, HTTP, and the bounds on all of them,
//! - `app`, `audit`, `cors`, `admin`, `metrics`, `partitions`: who answers,
//! - `logging`, `signals`, `failure`: how it talks to the operating system and its operator.

mod admin;
mod amount;
mod app;
mod audit;
mod backup;
mod cert;
mod certificate;
mod cli;
mod client;
mod clock;
mod compact;
mod config;
mod cors;
mod data_dir;
mod database;
mod descriptors;
mod disk;
mod failure;
mod issuers;
mod keys;
mod live;
mod logging;
mod metrics;
mod net;
mod network;
mod partition;
mod partitions;
mod query;
mod reload;
mod remote;
mod serve;
mod settings;
mod signals;
mod size;
mod span;
mod table;
mod top;
mod verify;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => serve::run(*args),
        Command::Verify(args) => verify::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Backup(command) => backup::run(&command),
        Command::Query(args) => query::run(&args),
        Command::Partition(command) => partition::run(&command),
        Command::Top(args) => top::run(&args),
        Command::Cert(args) => cert::run(&args),
        Command::Keys(command) => keys::command::run(&command),
        Command::ScriptWorker => {
            script::worker::main(std::io::stdin(), std::io::stdout());
            Ok(ExitCode::SUCCESS)
        }
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
