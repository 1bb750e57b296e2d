//! What a query means: the reference executor, which the answer of an index must equal. It reads
//! every item and keeps every row in memory; clarity comes before speed.
//!
//! In reading order:
//! - `error`: why a query that parses is refused,
//! - `binder`: names, functions, aggregates and clauses are checked before anything runs,
//! - `executor`: FROM to LIMIT, clause by clause,
//! - `aggregate`: COUNT and its kin,
//! - [`expression`]: the value of an expression for one row,
//! - `operators`, `like`: operators over values, with `undefined`,
//! - `row`, `walk`: the names known to a row, and the parts of an expression.
//!
//! Recursion follows the tree, whose height the parser bounds.

mod aggregate;
mod binder;
mod error;
mod executor;
pub mod expression;
mod like;
mod operators;
mod row;
mod walk;

#[cfg(test)]
mod tests;

pub use aggregate::Aggregate;
pub use binder::check;
pub use error::{Error, Kind};
pub use executor::{UndefinedKeys, run, run_with};
