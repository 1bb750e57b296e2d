//! The stages of aggregations that need no database: `$match`, `$group`, `$sort` and their like.
//! Synchronous and free of I/O. [`Pipeline::parse`] checks and compiles all stages;
//! [`Pipeline::start`] begins an [`Execution`], into which documents are pushed one by one. It hands
//! on what comes out, and says when it wants no more.
//!
//! Stages that need the database are recognised and kept as [`Stage::Outside`]: whoever has the
//! database runs the stages between them.
//!
//! In reading order:
//! - `execution`: operators, how documents flow through them, and the budget of memory,
//! - `options`, `stage`: compiled stages, `parse`: the table of stages, `refuse`: errors that stages
//!   share,
//! - `fields`: `$match`, `$project`, `$unset`, `$replaceRoot`, `add_fields`: `$addFields`,
//! - `limit`: `$limit`, `$skip`, `$count`, `unwind`,
//! - `sort_key`: the place of a document in an order, `sort`: `$sort` and `$sample`,
//! - `accumulator`, `percentile`, `state`, `group`, `bucket`, `bucket_auto`: `$group` and what is made of it,
//! - `facet`, `redact`, `documents`,
//! - `update`: updates by pipeline.

mod accumulator;
mod add_fields;
mod bucket;
mod bucket_auto;
mod documents;
mod execution;
mod facet;
mod fields;
mod group;
mod limit;
mod options;
mod parse;
mod percentile;
mod redact;
mod refuse;
mod sort;
mod sort_key;
mod stage;
mod state;
#[cfg(test)]
mod tests;
mod unwind;
mod update;

pub use execution::{Budget, Environment, Execution, Flow, Operator, Out};
pub use options::PipelineOptions;
pub use parse::Pipeline;
pub use sort_key::SortKey;
pub use stage::{Inside, Stage};
pub use update::UpdatePipeline;
