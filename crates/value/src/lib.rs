//! The values of the database: JSON with `undefined`, its order, its key bytes and its hashes.
//! Synchronous, free of I/O, and deterministic: the same input always gives the same bytes.
//!
//! In reading order:
//! - `value`, `object`, [`number`]: the value in memory,
//! - [`json`]: text to value and back, and the spans of a document's top-level members,
//! - [`binary`]: Cosmos binary JSON to text,
//! - [`order`]: the total order of values, [`distinct`]: arrays and objects as ORDER BY has them,
//! - [`path`]: document paths such as `/address/city`,
//! - [`key`]: key bytes that sort like values,
//! - [`hash`], [`partition_key`]: MurmurHash3, and where a partition key lies in the hash space.

mod object;
mod value;

pub mod binary;
pub mod distinct;
pub mod hash;
pub mod json;
pub mod key;
pub mod number;
pub mod order;
pub mod partition_key;
pub mod path;

#[cfg(test)]
mod testing;

pub use number::Number;
pub use object::Object;
pub use value::Value;
