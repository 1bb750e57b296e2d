//! The plan of a query that reads several partitions, which clients follow: what to send to each
//! partition, how to merge the answers, and which partitions to ask at all.
//!
//! In reading order:
//! - [`info`]: what clients are told,
//! - `check`: what is refused before,
//! - `rewrite`: which of the shapes a query has,
//! - `aggregates`, `group_by`, `order_by`, `distinct`, `limits`, `hybrid`, `score`: the shapes,
//! - [`ranges`]: the partition keys that a filter allows,
//! - [`features`]: what a client must be able to do,
//! - [`json`]: all of this as text,
//! - `tree`: parts of trees, and building them.
//!
//! Everything is linear in the text, and recursion follows the tree, whose height the parser
//! bounds.

mod aggregates;
mod check;
mod distinct;
pub mod features;
mod group_by;
mod hybrid;
pub mod info;
pub mod json;
mod limits;
mod order_by;
pub mod ranges;
mod rewrite;
mod score;
mod tree;

use std::collections::HashMap;

use value::Value;

use crate::{Error, Query};
pub use features::{Feature, missing_text};
pub use info::{AggregateKind, DistinctType, HybridInfo, Info, QueryInfo};
pub use json::HexRange;
pub use ranges::{KeyRange, key_ranges};

/// How partition keys are spread.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// By a hash of all values together.
    Hash,
    /// By a hash per value: the leading values alone give a range.
    MultiHash,
    /// By the values themselves, as in the oldest containers.
    Range,
}

/// Where the partition key lies in a document.
#[derive(Clone, Copy, Debug)]
pub struct PartitionKeyPaths<'a> {
    /// The names that lead to each part of the key.
    pub paths: &'a [Vec<String>],
    /// How keys are spread.
    pub kind: Kind,
}

/// How vectors are compared.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Metric {
    /// By angle; higher is nearer.
    #[default]
    Cosine,
    /// By product; higher is nearer.
    DotProduct,
    /// By distance; lower is nearer.
    Euclidean,
}

/// What a plan depends on besides the query.
#[derive(Clone, Copy, Debug)]
pub struct Container<'a> {
    /// The partition key.
    pub key: PartitionKeyPaths<'a>,
    /// The paths of vectors and their metric, from the vector embedding policy.
    pub vectors: &'a [(Vec<String>, Metric)],
    /// Whether spatial functions calculate in the plane.
    pub is_planar: bool,
    /// Whether the client names `HybridSearchSkipOrderByRewrite`: it ranks by itself then.
    pub skips_rank_rewrite: bool,
}

impl<'a> Container<'a> {
    /// A container without vectors, on the globe.
    pub fn new(key: PartitionKeyPaths<'a>) -> Container<'a> {
        Container { key, vectors: &[], is_planar: false, skips_rank_rewrite: false }
    }
}

/// The plan of a query.
#[derive(Clone, Debug)]
pub struct Plan {
    /// How to ask, and how to merge the answers.
    pub info: Info,
    /// The partition keys to query; never empty, and without overlaps.
    pub ranges: Vec<KeyRange>,
    /// The features that the client needs.
    pub features: Vec<Feature>,
}

/// Why there is no plan.
#[derive(Clone, Debug, PartialEq)]
pub enum Refusal {
    /// The query is wrong: `{"errors":[…]}`.
    Errors(Vec<Error>),
    /// The query is right but cannot be planned: `{"Errors":["…"]}`.
    Plain(Vec<String>),
}

impl From<Error> for Refusal {
    fn from(error: Error) -> Refusal {
        Refusal::Errors(vec![error])
    }
}

/// State shared by the parts of the planner.
struct Planner<'a> {
    container: Container<'a>,
    parameters: HashMap<&'a str, &'a Value>,
}

/// Plans a query. `parameters` have names with their `@`; a missing one is only an error if TOP,
/// OFFSET or LIMIT uses it.
pub fn plan(
    query: &Query,
    parameters: &[(String, Value)],
    container: &Container<'_>,
) -> Result<Plan, Refusal> {
    check::check(query, parameters)?;
    let planner = Planner::new(container, parameters);
    let ranges = ranges::of(query, &planner);
    let info = rewrite::rewrite(query, &planner, is_pinned(&ranges))?;
    Ok(Plan { features: features::needed(&info), info, ranges })
}

/// Whether everything the query reads has one partition key.
fn is_pinned(ranges: &[KeyRange]) -> bool {
    matches!(ranges, [KeyRange::Point(_)])
}

impl<'a> Planner<'a> {
    fn new(container: &Container<'a>, parameters: &'a [(String, Value)]) -> Planner<'a> {
        // The first of two values of one name counts, as everywhere.
        let pairs = parameters.iter().rev().map(|(name, value)| (name.as_str(), value));
        Planner { container: *container, parameters: pairs.collect() }
    }
}
