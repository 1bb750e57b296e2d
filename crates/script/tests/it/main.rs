//! The runtime from outside: a pool, real worker processes, and a database in memory.

mod ahead;
mod collection;
mod functions;
mod hostile;
mod isolation;
mod messages;
mod order;
#[cfg(target_os = "linux")]
mod processes;
mod query;
mod samples;
mod support;
mod syntax;
