//! Golden files, collected cases (when those lie beside the repository), and random queries.
//!
//! - `corpus`, `random`: the parser and the printer,
//! - `functions`, `clauses` (with `clause_files`), `errors`, `cases`: what queries return and refuse,
//! - `filter`, `filter_random`: what of a query an index can answer,
//! - `plans` (with `plan_files`): how clients ask several partitions.

mod cases;
mod clause_files;
mod clauses;
mod corpus;
mod errors;
mod filter;
mod filter_random;
mod functions;
mod plan_files;
mod plans;
mod random;
