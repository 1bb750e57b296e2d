//! GROUP BY: partitions return their groups with the keys, clients merge groups of equal keys.

use super::tree::{items, select_item};
use super::{QueryInfo, aggregates, limits};
use crate::Query;
use crate::ast::Projection;

/// Rows become groups. An ORDER BY stays in the text and is not told to clients.
// COMPAT: the service does plan GROUP BY with ORDER BY; that it treats the order as it does with
// an aggregate is a guess.
pub(super) fn rewrite(query: &Query, info: &mut QueryInfo) {
    let mut rewritten = limits::without(query);
    rewritten.select.is_distinct = false;
    info.group_by_expressions = query.group_by.iter().map(ToString::to_string).collect();
    if let Some(payload) = aggregates::payload(query, info) {
        rewritten.select.projection = Projection::List(vec![
            select_item(items(&query.group_by), "groupByItems"),
            select_item(payload, "payload"),
        ]);
    }
    info.rewritten_query = rewritten.to_string();
}
