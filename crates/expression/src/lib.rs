//! BSON values, their order, and the expressions of MongoDB's aggregations.
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
//! - `expression`: aggregation expressions, from [`Expression`] on.

pub mod class;
pub mod collation;
pub mod decimal;
pub mod error;
mod expression;
pub mod key;
pub mod number;
pub mod order;
pub mod path;
pub mod show;

#[cfg(test)]
mod testing;

pub use collation::Collation;
pub use error::{Code, Error, Result};
pub use expression::{
    Average, Checkpoint, Computed, Context, DEPTH_MAX, Deviation, Expression, FieldPaths, Frame,
    Random, Scope, Sum, Variables, check_depth,
};
