//! What a query means: the reference executor, which the answer of an index must equal. It reads
//! every item and keeps every result in memory; clarity comes before speed. Rows and expressions
//! are those of [`program`](crate::program); here are the clauses that see all of them.

mod executor;

/// The value of an expression without a query around it.
pub mod expression {
    pub use crate::program::evaluate;
}

#[cfg(test)]
mod tests;

pub use crate::program::Aggregate;
pub use executor::{check, run, values};
