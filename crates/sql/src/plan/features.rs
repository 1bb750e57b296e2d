//! The features that a client needs to follow a plan, and those it announces.

use super::{DistinctType, Info, Plan, QueryInfo};
use crate::eval::Aggregate;

/// Something that clients name in `x-ms-cosmos-supported-query-features`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Feature {
    /// SELECT VALUE of an aggregate.
    Aggregate,
    /// An aggregate within an expression. No plan needs it: such queries are refused.
    CompositeAggregate,
    /// COUNTIF.
    CountIf,
    /// Counting distinct rows.
    DCount,
    /// DISTINCT.
    Distinct,
    /// GROUP BY.
    GroupBy,
    /// ORDER BY RANK.
    HybridSearch,
    /// MAKELIST and MAKESET. No plan needs it: .NET merges them without announcing it.
    ListAndSetAggregate,
    /// More than one aggregate.
    MultipleAggregates,
    /// ORDER BY with several expressions.
    MultipleOrderBy,
    /// An order that partitions cannot stream.
    NonStreamingOrderBy,
    /// Aggregates as properties.
    NonValueAggregate,
    /// OFFSET and LIMIT.
    OffsetAndLimit,
    /// ORDER BY.
    OrderBy,
    /// TOP.
    Top,
    /// Weights in RRF.
    WeightedRankFusion,
}

impl Feature {
    /// The word that clients write.
    pub fn text(self) -> &'static str {
        match self {
            Feature::Aggregate => "Aggregate",
            Feature::CompositeAggregate => "CompositeAggregate",
            Feature::CountIf => "CountIf",
            Feature::DCount => "DCount",
            Feature::Distinct => "Distinct",
            Feature::GroupBy => "GroupBy",
            Feature::HybridSearch => "HybridSearch",
            Feature::ListAndSetAggregate => "ListAndSetAggregate",
            Feature::MultipleAggregates => "MultipleAggregates",
            Feature::MultipleOrderBy => "MultipleOrderBy",
            Feature::NonStreamingOrderBy => "NonStreamingOrderBy",
            Feature::NonValueAggregate => "NonValueAggregate",
            Feature::OffsetAndLimit => "OffsetAndLimit",
            Feature::OrderBy => "OrderBy",
            Feature::Top => "Top",
            Feature::WeightedRankFusion => "WeightedRankFusion",
        }
    }
}

impl Plan {
    /// The features that the query needs and the client does not name.
    pub fn missing(&self, supported: &[String]) -> Vec<Feature> {
        let is_supported = |feature: &Feature| {
            supported.iter().any(|name| name.eq_ignore_ascii_case(feature.text()))
        };
        self.features.iter().copied().filter(|feature| !is_supported(feature)).collect()
    }
}

/// The service's error for a client that lacks features.
pub fn missing_text(missing: &[Feature]) -> String {
    let names: Vec<&str> = missing.iter().map(|feature| feature.text()).collect();
    format!(
        "Query contains the following features, which the calling client does not support: {}",
        names.join(", ")
    )
}

/// The features that a plan needs, in name order.
pub(super) fn needed(info: &Info) -> Vec<Feature> {
    match info {
        Info::Query(info) => of_query(info),
        Info::Hybrid(info) => {
            let weights = (!info.weights.is_empty()).then_some(Feature::WeightedRankFusion);
            std::iter::once(Feature::HybridSearch).chain(weights).collect()
        }
    }
}

fn of_query(info: &QueryInfo) -> Vec<Feature> {
    let by_alias = info.group_by_alias_to_aggregate.iter().filter_map(|(_, kind)| *kind);
    let aggregates: Vec<Aggregate> =
        info.aggregates.iter().copied().chain(by_alias).map(|kind| kind.0).collect();
    let is_grouped = !info.group_by_expressions.is_empty();
    let needs = [
        (Feature::Aggregate, !info.aggregates.is_empty()),
        (Feature::CountIf, aggregates.contains(&Aggregate::CountIf)),
        (Feature::DCount, info.dcount.is_some()),
        (Feature::Distinct, info.distinct != DistinctType::None),
        (Feature::GroupBy, is_grouped),
        (Feature::MultipleAggregates, aggregates.len() > 1),
        (Feature::MultipleOrderBy, info.order_by.len() > 1),
        (Feature::NonStreamingOrderBy, info.has_non_streaming_order_by),
        (Feature::NonValueAggregate, !is_grouped && !info.group_by_aliases.is_empty()),
        (Feature::OffsetAndLimit, info.offset.is_some() || info.limit.is_some()),
        (Feature::OrderBy, !info.order_by.is_empty()),
        (Feature::Top, info.top.is_some()),
    ];
    needs.into_iter().filter(|(_, is_needed)| *is_needed).map(|(feature, _)| feature).collect()
}
