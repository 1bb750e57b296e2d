//! The SQL dialect of the service, from the text of a query to its results.
//! Synchronous, free of I/O, deterministic; no text makes it panic or recurse without bound.
//!
//! In reading order:
//! - [`ast`]: the tree, every node with the bytes it was read from,
//! - [`error`]: what the service says about a query it refuses, and its JSON,
//! - [`token`] and [`lexer`]: words, numbers, strings and signs,
//! - `parser`: recursive descent over clauses, operator precedence within expressions,
//! - `burden`: what a query and its parameters come to,
//! - `print`: the text of a tree, spaced and parenthesised as the service does,
//! - `functions`: the built-in functions over values,
//! - [`program`]: a query checked and compiled, run document by document,
//! - [`eval`]: what a query means: the executor over a whole container that others must equal,
//! - [`filter`]: what of a query an index can answer,
//! - [`plan`]: how clients ask several partitions and merge the answers,
//! - [`advice`]: how a query could be written better.

mod burden;

pub mod advice;
pub mod ast;
pub mod error;
pub mod eval;
pub mod filter;
pub mod lexer;
pub mod plan;
pub mod program;
pub mod token;

mod functions;
mod parser;
mod print;

pub use ast::Query;
pub use burden::check_burden;
pub use error::{Code, Error, Span};
pub use functions::{names as function_names, spatial};

/// Longest query, in UTF-16 code units: the documented 512 KB.
pub const TEXT_UNITS_MAX: usize = 512 * 1024;

/// How high the tree of an expression may grow. It bounds the recursion of everything that walks
/// a tree, dropping included. Chains of AND and OR are one node each, so that the long filters
/// which programs write do not count.
pub const HEIGHT_MAX: usize = 128;

/// How deep the parser may go: two steps for an expression within another, one more for a
/// subquery. A hundred expressions within each other are more than people or programs write, and
/// fit the stack of any thread.
pub const NESTING_MAX: usize = 200;

/// Parses a query. Does not check names, functions or the number of their arguments, only what the
/// service reports as `SC1xxx`, and the few counts it checks on the way.
pub fn parse(text: &str) -> Result<Query, Error> {
    parser::parse(text)
}
