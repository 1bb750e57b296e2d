//! The MongoDB query language: BSON values and their order, filters, updates and expressions.
//! Synchronous, free of I/O, and deterministic: whoever calls it passes the time in.
//!
//! Documents are read where they lie, as BSON bytes ([`bson::RawDocument`]), and never converted as
//! a whole. A value that is computed is a [`bson::RawBson`].
//!
//! In reading order:
//! - [`error`]: codes and messages as MongoDB's clients know them,
//! - [`decimal`], [`number`]: the four kinds of numbers, and their common order,
//! - [`collation`]: the order of strings in a language,
//! - [`class`]: the classes of types that are compared with each other, [`order`]: the total order,
//! - [`key`]: bytes that sort like values,
//! - [`path`]: dotted paths, and what they lead to, through arrays,
//! - [`show`]: values as the shell prints them,
//! - [`expression`]: aggregation expressions,
//! - [`filter`]: which documents a query matches,
//! - `writer`: documents written and read element by element,
//! - [`projection`]: which fields of a document a client gets,
//! - [`update`]: how a document changes, and what is inserted.

pub mod class;
pub mod collation;
pub mod decimal;
pub mod error;
pub mod expression;
pub mod filter;
pub mod key;
pub mod number;
pub mod order;
pub mod path;
pub mod projection;
pub mod show;
pub mod update;
mod writer;

#[cfg(test)]
mod testing;

pub use collation::Collation;
pub use error::{Code, Error, Result};
