//! ORDER BY RANK: rows are ranked by one or several scores. A client asks all partitions for the
//! statistics of words, then for the best rows by each score, and fuses the ranks.

use value::Value;

use super::score::{self, Component};
use super::tree::{self, call, items, object, rid_of, select_item};
use super::{HybridInfo, Planner, QueryInfo, Refusal, limits, order_by};
use crate::ast::{Collection, Count, Expr, ExprKind, Projection, Query, SelectItem, Top};
use crate::error::{Code, Error, Span};

/// The fewest rows that a component returns, so that ranks mean something.
const DEPTH_MIN: u64 = 120;

/// The plan of a query that orders by `rank`.
pub(super) fn rewrite(
    query: &Query,
    rank: &Expr,
    planner: &Planner<'_>,
) -> Result<HybridInfo, Refusal> {
    check_sources(query)?;
    let span = query.order_by.as_ref().map(|order| order.span);
    let (components, weights) = score::components(rank, span)?;
    let root =
        query.from.first().and_then(tree::alias_of).ok_or_else(|| score::not_a_score(span))?;

    let limits = limits::Limits::of(query, planner);
    let is_optimized = planner.container.skips_rank_rewrite;
    let info_of = |component| {
        if is_optimized && components.len() > 1 {
            ranked_by_client(query, root, component, &components, &limits)
        } else {
            ordered(query, root, component, &components, &limits, is_optimized)
        }
    };
    Ok(HybridInfo {
        global_statistics_query: statistics(query, &components).to_string(),
        components: components.iter().map(info_of).collect(),
        weights: weights.iter().map(|weight| weight.abs()).collect(),
        skip: limits.offset,
        take: limits.limit.or(limits.top),
        requires_global_statistics: components.iter().any(|component| component.words.is_some()),
    })
}

/// Ranking works on documents alone.
fn check_sources(query: &Query) -> Result<(), Refusal> {
    let Some(source) = query.from.get(1).or_else(|| query.from.first()) else { return Ok(()) };
    let (code, message) = match &source.collection {
        _ if query.from.len() > 1 => {
            (Code::RankOverJoin, "The JOIN operator is not allowed with the ORDER BY RANK clause.")
        }
        _ if source.is_iterator => (
            Code::RankOverElements,
            "The FROM clause with the IN operator is not allowed with the ORDER BY RANK clause.",
        ),
        Collection::Subquery(_) => (
            Code::RankOverSubquery,
            "Subqueries in the FROM clause are not allowed with the ORDER BY RANK clause.",
        ),
        Collection::Path { .. } => return Ok(()),
    };
    Err(Error::new(code, message, source.span).into())
}

/// The query for the best rows by one score, in the shape of ORDER BY.
fn ordered(
    query: &Query,
    root: &str,
    component: &Component<'_>,
    components: &[Component<'_>],
    limits: &limits::Limits,
    is_optimized: bool,
) -> QueryInfo {
    // A client that ranks by itself does not need the only score a second time.
    let scores = if is_optimized { &[] } else { components };
    let scores = scores.iter().map(Component::defined).collect();
    let payload = object([
        ("payload", tree::payload(query, root)),
        ("componentScores", ExprKind::Array(scores).into()),
    ]);
    let mut info = QueryInfo {
        order_by: vec![component.direction()],
        order_by_expressions: vec![component.score.to_string()],
        has_select_value: matches!(query.select.projection, Projection::Value(_)),
        has_non_streaming_order_by: true,
        ..QueryInfo::default()
    };
    let projection = vec![
        rid_of(root),
        select_item(items([&component.score]), "orderByItems"),
        select_item(payload, "payload"),
    ];
    let mut rewritten = best_rows(query, projection, component, limits, Some(&mut info));
    rewritten.filter = Some(order_by::filter(query.filter.as_ref(), None));
    info.rewritten_query = rewritten.to_string();
    info
}

/// The query for the best rows by one score, for clients that compute ranks from all scores.
fn ranked_by_client(
    query: &Query,
    root: &str,
    component: &Component<'_>,
    components: &[Component<'_>],
    limits: &limits::Limits,
) -> QueryInfo {
    let scores = components.iter().map(Component::best_high).collect();
    let scores = ExprKind::Array(scores).into();
    let projection = vec![
        rid_of(root),
        select_item(tree::payload(query, root), "payload"),
        select_item(scores, "componentScores"),
    ];
    QueryInfo {
        has_select_value: matches!(query.select.projection, Projection::Value(_)),
        rewritten_query: best_rows(query, projection, component, limits, None).to_string(),
        ..QueryInfo::default()
    }
}

/// The query with another projection, in the order of the component, and as deep as ranks need.
fn best_rows(
    query: &Query,
    projection: Vec<SelectItem>,
    component: &Component<'_>,
    limits: &limits::Limits,
    info: Option<&mut QueryInfo>,
) -> Query {
    let mut rewritten = limits::without(query);
    rewritten.select.projection = Projection::List(projection);
    rewritten.order_by = Some(component.order());
    let mut counts = limits::Limits::default();
    if let (Some(offset), Some(limit)) = (limits.offset, limits.limit) {
        let depth = wrapped(depth(u64::from(offset) + u64::from(limit)));
        rewritten.offset_limit = Some(limits::up_to(depth));
        (counts.offset, counts.limit) = (Some(0), Some(depth));
    } else if let Some(top) = limits.top {
        let depth = depth(u64::from(top));
        // A depth beyond 32 bits is printed in full, and told modulo 2^32.
        let count = Count::Parameter(tree::name(&depth.to_string()));
        rewritten.select.top = Some(Top { count, span: Span::default() });
        counts.top = Some(wrapped(depth));
    }
    if let Some(info) = info {
        (info.top, info.offset, info.limit) = (counts.top, counts.offset, counts.limit);
    }
    rewritten
}

/// How many rows each component returns for `count` rows of the result.
fn depth(count: u64) -> u64 {
    DEPTH_MIN.max(2 * count)
}

// COMPAT: the service computes depths with 64 bits and tells them with 32.
fn wrapped(depth: u64) -> u32 {
    #[expect(clippy::cast_possible_truncation, reason = "what the service does")]
    let low = depth as u32;
    low
}

/// `SELECT COUNT(1) AS documentCount, […] AS fullTextStatistics`: how often words occur at all.
// COMPAT: whether the service counts only what passes the filter is not known; we count everything,
// since the rarity of a word is that in the whole container.
fn statistics(query: &Query, components: &[Component<'_>]) -> Query {
    let of_component = |component: &Component<'_>| {
        let (path, words) = component.words?;
        let hits = |word: &Expr| {
            call("COUNTIF", vec![call("FullTextContains", vec![path.clone(), word.clone()])])
        };
        let total = call("SUM", vec![call("_FullTextWordCount", vec![path.clone()])]);
        let hits = ExprKind::Array(words.iter().map(hits).collect()).into();
        Some(object([("totalWordCount", total), ("hitCounts", hits)]))
    };
    let one = ExprKind::Literal(Value::from(1_i64)).into();
    let statistics = ExprKind::Array(components.iter().filter_map(of_component).collect()).into();
    let mut rewritten = limits::without(query);
    rewritten.filter = None;
    rewritten.order_by = None;
    rewritten.group_by.clear();
    rewritten.select.is_distinct = false;
    rewritten.select.projection = Projection::List(vec![
        select_item(call("COUNT", vec![one]), "documentCount"),
        select_item(statistics, "fullTextStatistics"),
    ]);
    rewritten
}
