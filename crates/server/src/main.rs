//! The program `sheaf`: configuration, wiring, HTTP, and the pages for operators.
//!
//! In reading order:
//! - `cli`, `settings`, `config`, `amount`, `size`, `span`: the command line and the settings,
//! - `serve`, `verify`, `compact`, `backup`, `cert`: the commands; those that talk to a running server
//!   are in the crate `tools`,
//! - `keys` (also `sheaf keys`), `issuers`, `reload`, `live`, `data_dir`, `certificate`, `database`,
//!   `clock`, `descriptors`, `disk`: what a server needs before it can run,
//! - `http`: HTTP on the connections that the crate `net` admits, and the limits on both,
//! - `app`, `audit`, `cors`, `proxies`, `front`, `admin`, `metrics`, `partitions`: the answers,
//! - `greeting`, `logging`, `signals`: communication with the operating system and the operator.

mod admin;
mod amount;
mod app;
mod audit;
mod backup;
mod cert;
mod certificate;
mod cli;
mod clock;
mod compact;
mod config;
mod cors;
mod data_dir;
mod database;
mod descriptors;
mod disk;
mod front;
mod greeting;
mod http;
mod issuers;
mod keys;
mod live;
mod logging;
mod memory;
mod metrics;
mod partitions;
mod proxies;
mod reload;
mod serve;
mod settings;
mod signals;
mod size;
mod span;
mod verify;

use std::process::ExitCode;

use clap::{CommandFactory as _, Parser as _};

use crate::cli::{Cli, Command};

/// A request makes some dozens of small allocations, often freed on another thread than theirs.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// The hidden command that starts script workers. It is not for people, so `cli` does not list it.
pub(crate) const SCRIPT_WORKER: &str = "script-worker";

fn main() -> ExitCode {
    if std::env::args_os().nth(1).is_some_and(|argument| argument == SCRIPT_WORKER) {
        script::worker::main(std::io::stdin(), std::io::stdout());
        return ExitCode::SUCCESS;
    }
    let command = match Cli::try_parse() {
        Ok(cli) => cli.command,
        Err(error) => {
            // A missing argument may be in a variable with a misspelt name.
            say_doubts();
            error.exit();
        }
    };
    // The server logs them instead.
    if !matches!(command, Command::Serve(_)) {
        say_doubts();
    }
    let outcome = match command {
        Command::Serve(args) => serve::run(*args),
        Command::Verify(args) => verify::run(&args),
        Command::Compact(args) => compact::run(&args),
        Command::Backup(command) => backup::run(&command),
        Command::Tool(command) => tools::run(&command),
        Command::Cert(args) => cert::run(&args),
        Command::Keys(command) => keys::command::run(&command),
        Command::Completions(args) => tools::manual::completions(&args, Cli::command()),
        Command::Man(args) => tools::manual::man(&args, Cli::command()),
    };
    outcome.unwrap_or_else(|failure| failure.report())
}

/// Warnings about misspelt variables.
fn doubts() -> Vec<String> {
    tools::variables::doubts(&Cli::command())
}

fn say_doubts() {
    for doubt in doubts() {
        tools::say(&doubt);
    }
}
