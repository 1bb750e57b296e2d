//! The reference executor, which defines the meaning of queries: results obtained through an index
//! must equal its results. It reads every item and keeps every result in memory; clarity comes
//! before speed. Rows and expressions are those of [`program`](crate::program); this module adds
//! the clauses that need all of them.

mod executor;

/// The value of an expression without a query around it.
pub mod expression {
    pub use crate::program::evaluate;
}

#[cfg(test)]
mod tests;

pub use crate::program::Aggregate;
pub use executor::{check, run, values};
