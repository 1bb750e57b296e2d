//! DISTINCT: clients remove what partitions have in common.

use super::limits::{self, Limits};
use super::{DistinctType, QueryInfo, tree};
use crate::Query;
use crate::ast::{Collection, Expr, ExprKind, Projection};
use crate::eval::Aggregate;

/// DISTINCT without an order. The text is the original, unless it counts rows.
pub(super) fn rewrite(query: &Query, limits: &Limits, info: &mut QueryInfo) {
    if limits.is_any() {
        info.rewritten_query = limits::without(query).to_string();
    }
}

/// The plan of `SELECT COUNT(1) FROM (SELECT DISTINCT …)`: clients count what is left of the
/// distinct rows of all partitions. None for any other query.
// COMPAT: which text the service sends is not known; that of the inner query is what clients need.
pub(super) fn count_of_distinct(query: &Query) -> Option<QueryInfo> {
    let inner = distinct_source(query)?;
    let (count, alias) = match &query.select.projection {
        Projection::Value(count) => (count, String::new()),
        Projection::List(items) => match items.as_slice() {
            [item] => (&item.expr, tree::property_names(items).pop()?),
            _ => return None,
        },
        Projection::Star(_) => return None,
    };
    if !counts_rows(count, query) {
        return None;
    }
    Some(QueryInfo {
        distinct: DistinctType::Unordered,
        has_select_value: matches!(query.select.projection, Projection::Value(_)),
        dcount: Some(alias),
        rewritten_query: inner.to_string(),
        ..QueryInfo::default()
    })
}

/// The inner query of `SELECT … FROM (SELECT DISTINCT …)` where no other clause comes between.
fn distinct_source(query: &Query) -> Option<&Query> {
    let is_bare = query.filter.is_none()
        && query.group_by.is_empty()
        && query.order_by.is_none()
        && query.offset_limit.is_none()
        && query.select.top.is_none()
        && !query.select.is_distinct;
    let [source] = query.from.as_slice() else { return None };
    let Collection::Subquery(inner) = &source.collection else { return None };
    let is_mergeable = inner.select.is_distinct
        && inner.group_by.is_empty()
        && !inner.projected().into_iter().any(tree::has_aggregate);
    (is_bare && !source.is_iterator && is_mergeable).then_some(inner)
}

/// Whether an expression counts every row: a constant, or the row itself, which is defined.
fn counts_rows(expr: &Expr, query: &Query) -> bool {
    if tree::aggregate_of(expr) != Some(Aggregate::Count) {
        return false;
    }
    let ExprKind::Call(call) = &expr.kind else { return false };
    match call.args.as_slice() {
        [argument] => match &argument.kind {
            ExprKind::Literal(value) => !value.is_undefined(),
            ExprKind::Identifier(name) => {
                query.from.first().and_then(tree::alias_of) == Some(name.as_str())
            }
            _ => false,
        },
        _ => false,
    }
}
