//! Checks for errors in a query that do not depend on how it is executed.
//!
//! Uses the checks of the evaluator, which are stricter than a plan needs: it requires the values
//! of all parameters, and cannot rank. So it gets a copy of the query in which all parameters are
//! one and nothing is ranked, and its errors about unsupported features are ignored.

use value::Value;

use super::{Refusal, order_by, tree};
use crate::ast::{Call, Collection, Count, Expr, ExprKind, LogicalOp, OrderByKind, Projection};
use crate::program::check_vector_options;
use crate::{Code, Query, eval};

/// How many errors are listed. Each is located by counting through the text.
const ERRORS_MAX: usize = 100;

/// The parameter in the place of all others; no query can write it.
const ANY_PARAMETER: &str = "@";

/// Fails if the service would reject the query.
pub(super) fn check(query: &Query, parameters: &[(String, Value)]) -> Result<(), Refusal> {
    let mut errors = eval::check(&neutral(query), &known(query, parameters));
    // The keys of an order come last in the text, and the evaluator did not see these.
    errors.extend(ordering_vectors(query).into_iter().filter_map(check_vector_options));
    errors.retain(|error| error.code != Code::Unsupported);
    errors.truncate(ERRORS_MAX);
    if errors.is_empty() { Ok(()) } else { Err(Refusal::Errors(errors)) }
}

/// The calls of `VectorDistance` that rows are ordered by.
fn ordering_vectors(query: &Query) -> Vec<&Call> {
    let mut calls = Vec::new();
    match query.order_by.as_ref().map(|order| &order.kind) {
        None => {}
        Some(OrderByKind::Rank(score)) => collect_vectors(score, &mut calls),
        Some(OrderByKind::Items(items)) => {
            let exprs = items.iter().map(|item| &item.expr);
            let hidden = exprs.filter(|expr| order_by::vector_path(expr).is_some());
            hidden.for_each(|expr| collect_vectors(expr, &mut calls));
        }
    }
    calls
}

/// Collects those of one key: itself, or what it fuses.
fn collect_vectors<'q>(expr: &'q Expr, calls: &mut Vec<&'q Call>) {
    let ExprKind::Call(call) = &expr.kind else { return };
    if tree::is_vector_distance(call) {
        calls.push(call);
    } else {
        call.args.iter().for_each(|argument| collect_vectors(argument, calls));
    }
}

/// The parameters of the neutral query: the one for all, and those whose values matter.
fn known(query: &Query, parameters: &[(String, Value)]) -> Vec<(String, Value)> {
    let top = query.select.top.iter().map(|top| &top.count);
    let clause = query.offset_limit.iter().flat_map(|clause| [&clause.offset, &clause.limit]);
    let given = top.chain(clause).filter_map(|count| match count {
        Count::Literal(_) => None,
        Count::Parameter(name) => parameters.iter().find(|(known, _)| *known == name.text).cloned(),
    });
    std::iter::once((ANY_PARAMETER.to_owned(), Value::Null)).chain(given).collect()
}

/// The query without what only a plan knows.
fn neutral(query: &Query) -> Query {
    let mut query = query.clone();
    // The argument of RANK is checked where it is planned; here only the names inside it.
    if let Some(order) = query.order_by.take_if(|order| matches!(order.kind, OrderByKind::Rank(_)))
        && let OrderByKind::Rank(mut score) = order.kind
    {
        loosen(&mut score);
        query.filter = Some(match query.filter.take() {
            None => score,
            Some(filter) => {
                let operands = vec![filter, score];
                ExprKind::Logical { op: LogicalOp::And, operands }.into()
            }
        });
    }
    neutralize_query(&mut query);
    query
}

/// Puts arrays of their arguments in the place of functions that score.
fn loosen(score: &mut Expr) {
    if let ExprKind::Call(call) = &mut score.kind {
        call.args.iter_mut().for_each(loosen);
        score.kind = ExprKind::Array(std::mem::take(&mut call.args));
    }
}

fn neutralize_query(query: &mut Query) {
    match &mut query.select.projection {
        Projection::Star(_) => {}
        Projection::Value(expr) => neutralize(expr),
        Projection::List(items) => items.iter_mut().for_each(|item| neutralize(&mut item.expr)),
    }
    for source in &mut query.from {
        if let Collection::Subquery(inner) = &mut source.collection {
            neutralize_query(inner);
        }
    }
    query.filter.iter_mut().chain(&mut query.group_by).for_each(neutralize);
    match query.order_by.as_mut().map(|order| &mut order.kind) {
        None => {}
        Some(OrderByKind::Rank(score)) => neutralize(score),
        Some(OrderByKind::Items(items)) => {
            for item in items {
                if let Some(path) = order_by::vector_path(&item.expr).cloned() {
                    item.expr = path;
                }
                neutralize(&mut item.expr);
            }
        }
    }
}

fn neutralize(expr: &mut Expr) {
    expr.children_mut().into_iter().for_each(neutralize);
    match &mut expr.kind {
        ExprKind::Parameter(name) => ANY_PARAMETER.clone_into(name),
        ExprKind::Subquery { query, .. } => neutralize_query(query),
        _ => {}
    }
}
