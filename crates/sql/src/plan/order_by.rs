//! ORDER BY: partitions return rows with the keys they are ordered by, clients merge them.

use super::limits::{self, Limits};
use super::ranges::constant;
use super::tree::{self, call, items, rid_of, select_item};
use super::{DistinctType, Metric, Planner, QueryInfo};
use crate::Query;
use crate::ast::{Direction, Expr, ExprKind, LogicalOp, OrderItem, Projection};

/// Clients replace this with `true`, or with a condition to continue after the rows they have.
const FILTER_PLACEHOLDER: &str = "({documentdb-formattableorderbyquery-filter})";

/// Rows in an order.
pub(super) fn rewrite(
    query: &Query,
    order: &[OrderItem],
    limits: &Limits,
    planner: &Planner<'_>,
    info: &mut QueryInfo,
) {
    let keys = order.iter().map(|item| &item.expr);
    for OrderItem { expr, direction } in order {
        let metric = vector_metric(expr, planner);
        info.has_non_streaming_order_by |= metric.is_some();
        info.order_by.push(match (metric, direction) {
            (Some(Metric::Euclidean), _) => Direction::Ascending,
            (Some(_), _) => Direction::Descending,
            (None, direction) => direction.unwrap_or(Direction::Ascending),
        });
        info.order_by_expressions.push(expr.to_string());
    }
    // Partitions cannot count rows that clients may find to be duplicates.
    let mut rewritten = match info.distinct {
        DistinctType::None => limits.widened(query),
        _ => limits::without(query),
    };
    rewritten.select.is_distinct = false;
    if let (Projection::Value(value), [key]) = (&query.select.projection, order)
        && query.select.is_distinct
        && tree::same(value, &key.expr)
    {
        info.distinct = DistinctType::Ordered;
    }
    let root = root_of(query, order);
    let value = match &query.select.projection {
        Projection::Value(value) => Some(value),
        _ => None,
    };
    rewritten.filter = Some(filter(query.filter.as_ref(), value));
    rewritten.select.projection = Projection::List(vec![
        rid_of(root),
        select_item(items(keys), "orderByItems"),
        select_item(tree::payload(query, root), "payload"),
    ]);
    info.rewritten_query = rewritten.to_string();
}

/// The name of the documents.
fn root_of<'q>(query: &'q Query, order: &'q [OrderItem]) -> &'q str {
    let first = query.from.first().and_then(tree::alias_of);
    first.or_else(|| tree::root_of(&order.first()?.expr)).unwrap_or("root")
}

/// The filter with the placeholder, and without rows that SELECT VALUE would leave out.
pub(super) fn filter(filter: Option<&Expr>, value: Option<&Expr>) -> Expr {
    let placeholder = ExprKind::Verbatim(FILTER_PLACEHOLDER.to_owned()).into();
    let mut operands: Vec<Expr> = filter.into_iter().cloned().chain([placeholder]).collect();
    operands.extend(value.map(|value| call("IS_DEFINED", vec![value.clone()])));
    match <[Expr; 1]>::try_from(operands) {
        Ok([only]) => only,
        Err(operands) => ExprKind::Logical { op: LogicalOp::And, operands }.into(),
    }
}

/// The path that `VectorDistance` compares with a vector, in either place.
pub(super) fn vector_path(expr: &Expr) -> Option<&Expr> {
    match &expr.kind {
        ExprKind::Call(call) if tree::is_vector_distance(call) => {
            call.args.iter().take(2).find(|argument| tree::root_of(argument).is_some())
        }
        _ => None,
    }
}

/// How `VectorDistance` compares: as its options say, or as the container does.
pub(super) fn vector_metric(expr: &Expr, planner: &Planner<'_>) -> Option<Metric> {
    let path = vector_path(expr)?;
    let ExprKind::Call(call) = &expr.kind else { return None };
    let options = call.args.get(3).and_then(|options| constant::value(options, planner));
    let given = options.as_ref().and_then(|options| options.get("distanceFunction").as_str());
    if let Some(given) = given {
        return Some(match given.to_ascii_lowercase().as_str() {
            "euclidean" => Metric::Euclidean,
            "dotproduct" => Metric::DotProduct,
            _ => Metric::Cosine,
        });
    }
    let (_, steps) = tree::path_of(path)?;
    let known = planner.container.vectors.iter().find(|(path, _)| *path == steps);
    Some(known.map(|(_, metric)| *metric).unwrap_or_default())
}
