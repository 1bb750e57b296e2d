//! The parts of expressions, for everything that walks a tree without evaluating it.

use crate::ast::{Collection, Expr, ExprKind, Query, Source, Step};
use crate::program::aggregate::Aggregate;
use value::Value;

/// The aggregate that an expression calls, if it does.
pub(crate) fn aggregate_of(expr: &Expr) -> Option<Aggregate> {
    match &expr.kind {
        ExprKind::Call(call) if !call.is_udf => Aggregate::lookup(&call.name.text),
        _ => None,
    }
}

/// Whether the expression contains an aggregate of the same query.
pub(crate) fn has_aggregate(expr: &Expr) -> bool {
    aggregate_of(expr).is_some() || expr.children().into_iter().any(has_aggregate)
}

/// Whether the expression contains a subquery.
pub(super) fn has_subquery(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Subquery { .. }) || expr.children().into_iter().any(has_subquery)
}

/// Whether all rows become one: there is an aggregate but no GROUP BY.
pub(super) fn collapses(query: &Query) -> bool {
    query.group_by.is_empty() && query.projected().into_iter().any(has_aggregate)
}

/// The name of a source's values: as given, or that of the last step. None without either.
pub(crate) fn alias_of(source: &Source) -> Option<&str> {
    if let Some(alias) = &source.alias {
        return Some(&alias.text);
    }
    match &source.collection {
        Collection::Subquery(_) => None,
        Collection::Path { root, steps } => match steps.last() {
            None => Some(&root.text),
            Some(Step::Member(name) | Step::Key(name)) => Some(&name.text),
            Some(Step::Index(_)) => None,
        },
    }
}

/// The name that a property of SELECT has without being given one.
pub(super) fn implied_name(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Identifier(name) => Some(name),
        ExprKind::Member { name, .. } => Some(&name.text),
        ExprKind::Index { index, .. } => match &index.kind {
            ExprKind::Literal(Value::String(name)) => Some(name),
            _ => None,
        },
        _ => None,
    }
}

/// The names of the properties of SELECT, with `$1` and so on for those without.
pub(crate) fn property_names(items: &[crate::ast::SelectItem]) -> Vec<String> {
    let mut unnamed = 0;
    let mut name_of = |item: &crate::ast::SelectItem| {
        let given = item.alias.as_ref().map(|alias| alias.text.as_str());
        if let Some(name) = given.or_else(|| implied_name(&item.expr)) {
            return name.to_owned();
        }
        unnamed += 1;
        format!("${unnamed}")
    };
    items.iter().map(&mut name_of).collect()
}

/// The first name of a path such as `c.a["b"][0]`; `None` if it is not such a path.
pub(crate) fn root_of(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Identifier(name) => Some(name),
        ExprKind::Member { base, .. } => root_of(base),
        ExprKind::Index { base, index } if matches!(index.kind, ExprKind::Literal(_)) => {
            root_of(base)
        }
        _ => None,
    }
}
