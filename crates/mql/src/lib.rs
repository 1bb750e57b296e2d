//! The MongoDB query language: filters, updates and projections of BSON documents.
//! Synchronous, free of I/O, and deterministic: whoever calls it passes the time in.
//!
//! What values are, how they are ordered and what expressions compute is in the crate
//! [`expression`], whose modules are at hand here, too.
//!
//! In reading order:
//! - [`filter`]: which documents a query matches,
//! - `writer`: documents written and read element by element,
//! - [`projection`]: which fields of a document a client gets,
//! - [`update`]: how a document changes, and what is inserted.

pub mod filter;
pub mod projection;
pub mod update;
mod writer;

#[cfg(test)]
#[path = "../../expression/src/testing.rs"]
mod testing;

pub use expression;
pub use expression::{
    Code, Collation, Error, Result, class, collation, decimal, error, key, number, order, path,
    show,
};
