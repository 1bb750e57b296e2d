//! The paths by which a query orders, those that it aggregates, and what it tests in SELECT.

use value::Value;

use super::path::Path;
use super::scope::Analysis;
use super::{Filter, Settings};
use crate::ast::{Call, Expr, ExprKind, Query};

/// An aggregate in SELECT.
#[derive(Clone, Debug)]
pub struct Aggregated {
    /// Its name, in upper case and without underscores.
    pub name: String,
    /// Its argument.
    pub argument: Argument,
}

/// The argument of an aggregate.
#[derive(Clone, Debug)]
pub enum Argument {
    /// One value for every row, as in `COUNT(1)`.
    Constant(Value),
    /// The values at a path; the path is empty for the item itself.
    Path(Path),
    /// Anything else.
    Other,
}

/// The path in the item of an ORDER BY expression, or of any other expression over the sources of
/// `query`, including sources such as `FROM c.a.b`. `None` if it is not a path, or is a path of a
/// computed property. A path through an array contains an element step, for any element: see
/// [`Path::is_single_valued`].
pub fn order_path(query: &Query, expr: &Expr, computed: &[String]) -> Option<Path> {
    let settings = Settings { computed, ..Settings::default() };
    let mut analysis = Analysis::new(&[], &settings);
    analysis.enter(&query.from);
    analysis.reference(expr).map(|reference| reference.path)
}

/// The aggregates of SELECT in order, also inside expressions, but without those of subqueries.
pub fn paths_of_aggregate(
    query: &Query,
    parameters: &[(String, Value)],
    computed: &[String],
) -> Vec<Aggregated> {
    let settings = Settings { computed, ..Settings::default() };
    let mut analysis = Analysis::new(parameters, &settings);
    analysis.enter(&query.from);
    let mut found = Vec::new();
    for expr in query.projected() {
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
    let (mut exprs, mut found) = (query.projected(), Vec::new());
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

/// Whether SELECT contains an aggregate, so that there may be a row without any item.
pub fn may_aggregate(query: &Query) -> bool {
    let mut aggregates = false;
    for expr in query.projected() {
        calls(expr, &mut |call| aggregates |= aggregate_name(call).is_some());
    }
    aggregates
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
    if let ExprKind::Call(call) = &expr.kind {
        visit(call);
    }
    for child in expr.children() {
        calls(child, visit);
    }
}
