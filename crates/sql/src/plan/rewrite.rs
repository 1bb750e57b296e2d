//! Determines the shape of a query, and so what to send to partitions instead of it.

use super::limits::Limits;
use super::{DistinctType, Info, Planner, QueryInfo, Refusal};
use super::{aggregates, distinct, group_by, hybrid, order_by, tree};
use crate::Query;
use crate::ast::{OrderByKind, Projection};

/// The plan without its ranges. `is_pinned` tells that one partition has the whole result.
pub(super) fn rewrite(
    query: &Query,
    planner: &Planner<'_>,
    is_pinned: bool,
) -> Result<Info, Refusal> {
    let order_by = query.order_by.as_ref().map(|order| &order.kind);
    if let Some(OrderByKind::Rank(score)) = order_by {
        return hybrid::rewrite(query, score, planner).map(Info::Hybrid);
    }
    let has_select_value = matches!(query.select.projection, Projection::Value(_));
    let info = QueryInfo { has_select_value, ..QueryInfo::default() };
    // Without FROM nothing is read, and any partition has the whole answer.
    if query.from.is_empty() {
        return Ok(Info::Query(info));
    }
    if let Some(info) = distinct::count_of_distinct(query) {
        return Ok(Info::Query(info));
    }
    let projected = query.projected();
    if projected.iter().any(|expr| aggregates::is_composed(expr)) {
        let sentence = "Compositions of aggregates and other expressions are not allowed.";
        return Err(Refusal::Plain(vec![sentence.to_owned()]));
    }
    let is_aggregate = projected.iter().any(|expr| tree::aggregate_of(expr).is_some());
    let merges_groups = is_aggregate || !query.group_by.is_empty();
    let mut limits = Limits::of(query, planner);
    if is_pinned && !merges_groups && !query.select.is_distinct {
        limits.leave_offset_to_partition();
    }
    let mut info =
        QueryInfo { top: limits.top, offset: limits.offset, limit: limits.limit, ..info };
    if query.select.is_distinct {
        info.distinct = DistinctType::Unordered;
    }
    if !query.group_by.is_empty() {
        group_by::rewrite(query, &mut info);
    } else if is_aggregate {
        aggregates::rewrite(query, &mut info);
    } else if let Some(OrderByKind::Items(items)) = order_by {
        order_by::rewrite(query, items, &limits, planner, &mut info);
    } else if query.select.is_distinct {
        distinct::rewrite(query, &limits, &mut info);
    } else if limits.offset.is_some() {
        info.rewritten_query = limits.widened(query).to_string();
    }
    Ok(Info::Query(info))
}
