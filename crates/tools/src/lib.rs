//! The command-line tools: clients that talk to a running server as any other client does.
//!
//! In reading order:
//! - [`told`], [`keys`], [`args`], [`variables`], `input`, `output`, [`Failure`]: input and output
//!   of commands,
//! - `remote`, `client`: a connection, and signed requests on it,
//! - [`table`], `pretty`, `partition_key`, [`throughput`], `confirm`, `deletion`: shared by several
//!   commands,
//! - [`database`], [`collection`], [`document`], [`query`], [`partition`], [`top`]: the commands;
//!   [`backup`]: the client side of `sheaf backup`; [`manual`]: completions and manual pages.

pub mod args;
pub mod backup;
mod client;
pub mod collection;
mod confirm;
pub mod database;
mod deletion;
pub mod document;
mod failure;
mod input;
pub mod keys;
pub mod manual;
mod output;
pub mod partition;
mod partition_key;
mod pretty;
pub mod query;
mod remote;
pub mod table;
#[cfg(test)]
mod testing;
pub mod throughput;
pub mod told;
pub mod top;
pub mod variables;

use std::process::ExitCode;

use clap::Subcommand;

use self::{
    collection::CollectionCommand, database::DatabaseCommand, document::DocumentCommand,
    partition::PartitionCommand, query::QueryArgs, top::TopArgs,
};
pub use self::{failure::Failure, output::say};

/// The commands that talk to a running server.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// List, create and delete databases
    #[command(subcommand, after_help = database::HELP)]
    Db(DatabaseCommand),
    /// List, create, show and delete collections
    #[command(subcommand, after_help = collection::HELP)]
    Coll(CollectionCommand),
    /// Get, put and delete documents
    #[command(subcommand, after_help = document::HELP)]
    Doc(DocumentCommand),
    /// Run a query on a running server
    #[command(after_help = query::HELP)]
    Query(Box<QueryArgs>),
    /// List, split and merge the partitions of a collection on a running server
    #[command(subcommand, after_help = partition::HELP)]
    Partition(PartitionCommand),
    /// Watch the partitions of a running server
    #[command(after_help = top::HELP)]
    Top(TopArgs),
}

/// Runs the command, and returns the exit code.
pub fn run(command: &Command) -> Result<ExitCode, Failure> {
    match command {
        Command::Db(command) => database::run(command),
        Command::Coll(command) => collection::run(command),
        Command::Doc(command) => document::run(command),
        Command::Query(args) => query::run(args),
        Command::Partition(command) => partition::run(command),
        Command::Top(args) => top::run(args),
    }
}
