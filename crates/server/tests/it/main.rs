//! The real program, started as its users start it.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as tests may")]

mod admin;
mod audit;
mod backup;
mod bounds;
mod certificate;
mod client;
mod clients;
mod command_line;
mod configuration;
mod documentation;
mod everyday;
mod hostile;
mod keys;
mod logs;
mod partition;
mod process;
mod query;
mod rest;
mod shutdown;
mod start;
mod tokens;
mod top;
mod transport;
mod variables;
