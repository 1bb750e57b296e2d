//! Users' JavaScript: stored procedures, triggers and functions.
//!
//! A script runs in QuickJS inside a worker process, never in the server's own. The host side hands
//! a [`Job`] to the [`Pool`] and carries out the script's operations through a [`Host`]; the worker
//! side is [`worker::main`], which the binary runs for a hidden subcommand.
//!
//! In reading order:
//! - [`job`]: what to run and its result, [`host`]: what a script can ask for,
//! - [`pool`]: which worker runs it, `drive`: one execution, `process`: one worker,
//! - `wire`: messages between the two, `message`: their encoding,
//! - [`worker`]: the other side of the pipe, and the API that scripts see: `worker/api`, and
//!   `parts/*.js` for its rarely used parts.

pub mod host;
pub mod job;
pub mod pool;
pub mod worker;

mod drive;
mod links;
mod message;
mod process;
mod wire;

pub use host::{Answer, Call, Host, Operation, Promise, Reply, Target};
pub use job::{Context, Failure, Job, Kind, Limits, Outcome, Property, Report};
pub use pool::{Pool, PoolOptions, Turn};

/// Decodes a message as every message type, for `fuzz/`.
#[cfg(fuzzing)]
pub fn decode_message(message: &[u8]) {
    let _ = wire::Run::decode(message);
    let _ = wire::Told::decode(message);
    let _ = wire::Said::decode(message);
}
