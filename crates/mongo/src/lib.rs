//! The MongoDB wire protocol: messages, and how clients authenticate.
//!
//! In reading order:
//! - [`wire`]: messages and their compression,
//! - [`auth`]: SCRAM, by which a client shows that it has one of the account's keys.

pub mod auth;
pub mod wire;
