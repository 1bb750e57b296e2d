//! The paths by which a query orders, those that it aggregates, and what it tests in SELECT.

use value::Value;

use super::path::Path;
use super::scope::Analysis;
use super::{Filter, Settings};
use crate::ast::{Call, Expr, ExprKind, Projection, Query};

/// An aggregate in SELECT.
#[derive(Clone, Debug)]
pub struct Aggregated {
    /// Its name, in upper case and without underscores.
    pub name: String,
    /// What it runs over.
    pub argument: Argument,
}

/// What an aggregate runs over.
#[derive(Clone, Debug)]
pub enum Argument {
    /// One value for every row, as in `COUNT(1)`.
    Constant(Value),
    /// The values at a path; the path is empty for the item itself.
    Path(Path),
    /// Anything else.
    Other,
}

/// The path in the item of an expression of ORDER BY, or of any other expression among the
/// sources of `query`, sources such as `FROM c.a.b` taken into account. None where it is no path,
/// or one of a computed property. A path through an array has an element in it, whichever it is:
/// see [`Path::is_single_valued`].
pub fn order_path(query: &Query, expr: &Expr, computed: &[String]) -> Option<Path> {
    let settings = Settings { computed, ..Settings::default() };
    let mut analysis = Analysis::new(&[], &settings);
    analysis.enter(&query.from);
    analysis.reference(expr).map(|reference| reference.path)
}

/// The aggregates of SELECT, in order and wherever they stand within an expression, but for those
/// of subqueries.
pub fn paths_of_aggregate(
    query: &Query,
    parameters: &[(String, Value)],
    computed: &[String],
) -> Vec<Aggregated> {
    let settings = Settings { computed, ..Settings::default() };
    let mut analysis = Analysis::new(parameters, &settings);
    analysis.enter(&query.from);
    let mut found = Vec::new();
    for expr in projected(query) {
        calls(expr, &mut |call| {
            let Some(name) = aggregate_name(call) else { return };
            let argument = match call.args.as_slice() {
                [argument] => match (analysis.reference(argument), analysis.constant(argument)) {
                    (Some(reference), _) => Argument::Path(reference.path),
                    (None, Some(value)) => Argument::Constant(value),
                    (None, None) => Argument::Other,
                },
                _ => Argument::Other,
            };
            found.push(Aggregated { name, argument });
        });
    }
    found
}

/// The predicates of SELECT as filters, one for each expression that is more than a path; those
/// within an object or an array that is made count on their own.
pub fn predicates_of_select(
    query: &Query,
    parameters: &[(String, Value)],
    computed: &[String],
) -> Vec<Filter> {
    if query.from.is_empty() {
        return Vec::new();
    }
    let settings = Settings { computed, ..Settings::default() };
    let mut analysis = Analysis::new(parameters, &settings);
    analysis.enter(&query.from);
    let (mut exprs, mut found) = (projected(query), Vec::new());
    exprs.reverse();
    while let Some(expr) = exprs.pop() {
        match &expr.kind {
            ExprKind::Array(items) => exprs.extend(items.iter().rev()),
            ExprKind::Object(members) => {
                exprs.extend(members.iter().rev().map(|member| &member.value));
            }
            _ if analysis.reference(expr).is_some() => {}
            _ => found.push(analysis.truth(expr, true)),
        }
    }
    found
}

/// Whether an aggregate stands in SELECT, so that there may be a row without any before it.
pub fn may_aggregate(query: &Query) -> bool {
    let mut aggregates = false;
    for expr in projected(query) {
        calls(expr, &mut |call| aggregates |= aggregate_name(call).is_some());
    }
    aggregates
}

fn projected(query: &Query) -> Vec<&Expr> {
    match &query.select.projection {
        Projection::Star(_) => Vec::new(),
        Projection::Value(expr) => vec![expr],
        Projection::List(items) => items.iter().map(|item| &item.expr).collect(),
    }
}

/// The name of the aggregate that is called, if it is one.
fn aggregate_name(call: &Call) -> Option<String> {
    let mut name = call.name.text.replace('_', "");
    name.make_ascii_uppercase();
    let names = ["COUNT", "COUNTIF", "SUM", "AVG", "MIN", "MAX", "MAKELIST", "MAKESET"];
    (!call.is_udf && names.contains(&name.as_str())).then_some(name)
}

/// Visits the calls within an expression, the outer before the inner; subqueries are left out.
fn calls<'e>(expr: &'e Expr, visit: &mut dyn FnMut(&'e Call)) {
    let children: Vec<&Expr> = match &expr.kind {
        ExprKind::Literal(_)
        | ExprKind::Parameter(_)
        | ExprKind::Identifier(_)
        | ExprKind::Subquery { .. }
        | ExprKind::Verbatim(_) => Vec::new(),
        ExprKind::Member { base: only, .. } | ExprKind::Unary { operand: only, .. } => vec![only],
        ExprKind::Index { base: first, index: second }
        | ExprKind::Binary { left: first, right: second, .. }
        | ExprKind::Like { operand: first, pattern: second, .. }
        | ExprKind::Let { value: first, body: second, .. } => vec![first, second],
        ExprKind::Conditional { condition: first, then: second, otherwise: third }
        | ExprKind::Between { operand: first, low: second, high: third, .. } => {
            vec![first, second, third]
        }
        ExprKind::Array(items) | ExprKind::Logical { operands: items, .. } => {
            items.iter().collect()
        }
        ExprKind::Object(members) => members.iter().map(|member| &member.value).collect(),
        ExprKind::In { needle, items, .. } => {
            std::iter::once(needle.as_ref()).chain(items).collect()
        }
        ExprKind::Call(call) => {
            visit(call);
            call.args.iter().collect()
        }
    };
    for child in children {
        calls(child, visit);
    }
}
