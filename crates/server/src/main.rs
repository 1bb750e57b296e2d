//! `sheaf`: the program. Configuration, wiring, the network, and what operators look at.
//!
//! In reading order:
//! - `cli`, `settings`, `config`, `span`: what can be asked, and what was,
//! - `serve`, `verify`, `compact`, `query`, `partition`: the commands,
//! - `client`, `table`: what the commands that ask a running server share,
//! - `keys`, `data_dir`, `certificate`, `database`, `clock`, `descriptors`: what a server needs
//!   before it can run,
//! - `net`: sockets, TLS, HTTP, and the bounds on all of them,
//! - `app`, `admin`, `metrics`: who answers,
//! - `logging`, `signals`, `failure`: how it talks to the operating system and its operator.

mod admin;
mod app;
mod certificate;
mod cli;
mod client;
mod clock;
mod compact;
mod config;
mod data_dir;
mod database;
mod descriptors;
mod failure;
mod keys;
mod logging;
mod metrics;
mod net;
mod partition;
mod query;
mod serve;
mod settings;
mod signals;
mod span;
mod table;
mod verify;

use std::process::ExitCode;

use clap::Parser as _;

use crate::cli::{Cli, Command};

fn main() -> ExitCode {
    let outcome = match Cli::parse().command {
        Command::Serve(args) => serve::run(*args),
        Command::Verify(args) => verify::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Query(args) => query::run(&args),
        Command::Partition(command) => partition::run(&command),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}
