//! Aggregates: partitions return what can be merged, clients merge it.

use super::limits;
use super::tree::{self, aggregate_of, call, object, select_item};
use super::{AggregateKind, QueryInfo};
use crate::Query;
use crate::ast::{Expr, ExprKind, Projection, SelectItem};
use crate::eval::Aggregate;

/// Whether an aggregate is only a part of the expression, so that its partial results could not
/// be merged.
// COMPAT: also for clients that announce CompositeAggregate. What the service would send them is
// unknown, and none of their aggregators could handle it.
pub(super) fn is_composed(expr: &Expr) -> bool {
    aggregate_of(expr).is_none() && tree::has_aggregate(expr)
}

/// Merges all rows into one.
pub(super) fn rewrite(query: &Query, info: &mut QueryInfo) {
    let mut rewritten = limits::without(query);
    rewritten.select.is_distinct = false;
    rewritten.select.projection = match payload(query, info) {
        Some(payload) if info.has_select_value => Projection::Value(payload),
        Some(payload) => Projection::List(vec![select_item(payload, "payload")]),
        None => rewritten.select.projection,
    };
    info.rewritten_query = rewritten.to_string();
}

/// What partitions return for a group; records in `info` how to merge it. `None` for `*`, which
/// groups do not have.
pub(super) fn payload(query: &Query, info: &mut QueryInfo) -> Option<Expr> {
    match &query.select.projection {
        Projection::Star(_) => None,
        Projection::Value(expr) => Some(match aggregate_of(expr) {
            None => expr.clone(),
            Some(aggregate) => {
                info.aggregates.push(AggregateKind(aggregate));
                ExprKind::Array(vec![partial(expr, aggregate)]).into()
            }
        }),
        Projection::List(items) => Some(properties(items, info)),
    }
}

fn properties(items: &[SelectItem], info: &mut QueryInfo) -> Expr {
    let names = tree::property_names(items);
    let mut members = Vec::with_capacity(items.len());
    for (name, item) in names.into_iter().zip(items) {
        let aggregate = aggregate_of(&item.expr);
        let value = match aggregate {
            Some(aggregate) => partial(&item.expr, aggregate),
            None => item.expr.clone(),
        };
        info.group_by_aliases.push(name.clone());
        info.group_by_alias_to_aggregate.push((name.clone(), aggregate.map(AggregateKind)));
        members.push((name, value));
    }
    object(members)
}

/// The partial result of an aggregate. The least and the greatest come with a count, by which
/// clients know a partition that had nothing to compare.
fn partial(expr: &Expr, aggregate: Aggregate) -> Expr {
    let args = match &expr.kind {
        ExprKind::Call(call) => call.args.clone(),
        _ => Vec::new(),
    };
    let extreme = |name: &str| {
        let count = call("COUNT", args.clone());
        object([
            ("item", expr.clone()),
            ("item2", object([(name, expr.clone()), ("count", count)])),
        ])
    };
    match aggregate {
        Aggregate::Avg => {
            let (sum, count) = (call("SUM", args.clone()), call("COUNT", args.clone()));
            object([("item", object([("sum", sum), ("count", count)]))])
        }
        Aggregate::Min => extreme("min"),
        Aggregate::Max => extreme("max"),
        _ => object([("item", expr.clone())]),
    }
}
