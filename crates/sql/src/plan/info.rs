//! What clients are told about a query: how to merge the results of several partitions.

use crate::ast::Direction;
use crate::eval::Aggregate;

/// Whether and how a client removes duplicates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DistinctType {
    /// It does not.
    #[default]
    None,
    /// Equal values follow each other: it is enough to compare neighbours.
    Ordered,
    /// It has to remember all values.
    Unordered,
}

impl DistinctType {
    /// The word that clients read.
    pub fn text(self) -> &'static str {
        match self {
            DistinctType::None => "None",
            DistinctType::Ordered => "Ordered",
            DistinctType::Unordered => "Unordered",
        }
    }
}

/// An aggregate that a client merges.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct AggregateKind(pub Aggregate);

impl AggregateKind {
    /// The word that clients read.
    pub fn text(self) -> &'static str {
        match self.0 {
            Aggregate::Count => "Count",
            Aggregate::CountIf => "CountIf",
            Aggregate::Sum => "Sum",
            Aggregate::Avg => "Average",
            Aggregate::Min => "Min",
            Aggregate::Max => "Max",
            Aggregate::MakeList => "MakeList",
            Aggregate::MakeSet => "MakeSet",
        }
    }
}

/// How to merge the answers of partitions to a query.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct QueryInfo {
    /// Whether to remove duplicates.
    pub distinct: DistinctType,
    /// How many rows to return at most.
    pub top: Option<u32>,
    /// How many rows to skip.
    pub offset: Option<u32>,
    /// How many rows to return after those.
    pub limit: Option<u32>,
    /// The directions of a merge by order.
    pub order_by: Vec<Direction>,
    /// The ORDER BY expressions as text.
    pub order_by_expressions: Vec<String>,
    /// The GROUP BY expressions as text.
    pub group_by_expressions: Vec<String>,
    /// The properties of a grouped or aggregated row, in their order.
    pub group_by_aliases: Vec<String>,
    /// The aggregate that SELECT VALUE returns.
    pub aggregates: Vec<AggregateKind>,
    /// Which of the properties are aggregates.
    pub group_by_alias_to_aggregate: Vec<(String, Option<AggregateKind>)>,
    /// The query to send to each partition; empty for the original.
    pub rewritten_query: String,
    /// Whether it was SELECT VALUE.
    pub has_select_value: bool,
    /// Set if the rows are to be counted once distinct: the property of the count, empty if the
    /// count is the result.
    pub dcount: Option<String>,
    /// Whether partitions return their best rows in no order that could be merged.
    pub has_non_streaming_order_by: bool,
}

/// How to merge the answers to ORDER BY RANK: statistics first, then one query per score, whose
/// ranks the client fuses.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HybridInfo {
    /// The query to send to every partition first.
    pub global_statistics_query: String,
    /// One query per score.
    pub components: Vec<QueryInfo>,
    /// The weight of each score; empty if all weigh the same.
    pub weights: Vec<f64>,
    /// How many rows to skip.
    pub skip: Option<u32>,
    /// How many rows to return.
    pub take: Option<u32>,
    /// Whether the components have placeholders for the statistics.
    pub requires_global_statistics: bool,
}

/// Either kind of answer.
#[derive(Clone, Debug, PartialEq)]
pub enum Info {
    /// For an ordinary query.
    Query(QueryInfo),
    /// For a query with ORDER BY RANK.
    Hybrid(HybridInfo),
}
