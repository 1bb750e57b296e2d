//! Expressions whose value no document changes.

use value::Value;

use crate::ast::{Call, Expr, ExprKind};
use crate::plan::Planner;
use crate::{eval, functions};

/// The value of an expression that is the same for every document; `None` if it may differ, or if a
/// parameter in it has no value.
pub(in crate::plan) fn value(expr: &Expr, planner: &Planner<'_>) -> Option<Value> {
    match &expr.kind {
        ExprKind::Literal(value) => Some(value.clone()),
        ExprKind::Parameter(name) => planner.parameters.get(name.as_str()).copied().cloned(),
        _ if is_constant(expr, planner) => {
            // Evaluation would look for each parameter among all of them.
            let mut expr = expr.clone();
            substitute(&mut expr, planner);
            eval::expression::evaluate(&expr, &[], &[], 0).ok()
        }
        _ => None,
    }
}

fn is_constant(expr: &Expr, planner: &Planner<'_>) -> bool {
    let is_plain = match &expr.kind {
        ExprKind::Identifier(_)
        | ExprKind::Subquery { .. }
        | ExprKind::Let { .. }
        | ExprKind::Verbatim(_) => false,
        ExprKind::Parameter(name) => planner.parameters.contains_key(name.as_str()),
        ExprKind::Call(call) => !call.is_udf && is_fixed(&call.name.text),
        _ => true,
    };
    is_plain && expr.children().into_iter().all(|child| is_constant(child, planner))
}

/// Whether a function depends only on its arguments and is fast: time and random numbers differ
/// between planning and running, and planning cannot be cancelled like running.
fn is_fixed(name: &str) -> bool {
    let name: String = name.chars().filter(|c| *c != '_').map(|c| c.to_ascii_uppercase()).collect();
    let is_quick = !name.starts_with("REGEX");
    is_quick && !name.starts_with("GETCURRENT") && !["RAND", "NOW", "AGO"].contains(&name.as_str())
}

/// Puts values in the place of parameters, and of what the evaluator takes to lie on the globe.
fn substitute(expr: &mut Expr, planner: &Planner<'_>) {
    for child in expr.children_mut() {
        substitute(child, planner);
    }
    let value = match &expr.kind {
        ExprKind::Parameter(name) => planner.parameters.get(name.as_str()).copied().cloned(),
        ExprKind::Call(call) if planner.container.is_planar => planar(call),
        _ => None,
    };
    if let Some(value) = value {
        expr.kind = ExprKind::Literal(value);
    }
}

/// The value of a spatial function in the plane; `None` for other functions. The arguments have
/// been substituted.
fn planar(call: &Call) -> Option<Value> {
    let function = functions::lookup(&call.name.text)?;
    if !function.name.starts_with("ST_") || !function.arity.contains(&call.args.len()) {
        return None;
    }
    let args = call.args.iter().map(|argument| eval::expression::evaluate(argument, &[], &[], 0));
    let args: Vec<Value> = args.collect::<Result<_, _>>().ok()?;
    let mut context = functions::Context::new(0);
    context.is_planar = true;
    Some((function.call)(&args, &context))
}
