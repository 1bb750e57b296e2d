//! The real program, started as its users start it.

mod admin;
mod bounds;
mod client;
mod configuration;
mod process;
mod shutdown;
mod start;
mod transport;
