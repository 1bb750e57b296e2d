//! The parts of a tree that a plan is made from: names, paths, and the few nodes that
//! rewritten queries are built with.

use value::Value;

use crate::ast::{Call, Expr, ExprKind, Name, Projection, Property, Query, SelectItem};
pub(super) use crate::program::{aggregate_of, alias_of, has_aggregate, property_names, root_of};

/// Whether a call compares vectors, with as many arguments as that takes.
pub(super) fn is_vector_distance(call: &Call) -> bool {
    let is_named = call.name.text.eq_ignore_ascii_case("VectorDistance") && !call.is_udf;
    is_named && (2..=4).contains(&call.args.len())
}

/// The last step of a path: a name, or the place of an element.
fn step_of(expr: &Expr) -> Option<PathStep<'_>> {
    match &expr.kind {
        ExprKind::Member { name, .. } => Some(PathStep::Name(&name.text)),
        ExprKind::Index { index, .. } => match &index.kind {
            ExprKind::Literal(value) => Some(PathStep::Value(value)),
            _ => None,
        },
        _ => None,
    }
}

/// A step as it was written: `.a` or `["a"]` or `[0]`.
enum PathStep<'a> {
    Name(&'a str),
    Value(&'a Value),
}

impl<'a> PathStep<'a> {
    fn as_str(&self) -> Option<&'a str> {
        match self {
            PathStep::Name(name) => Some(name),
            PathStep::Value(value) => value.as_str(),
        }
    }
}

/// The name that a path begins with and the names of its steps, as long as all are names.
pub(super) fn path_of(expr: &Expr) -> Option<(&str, Vec<&str>)> {
    match &expr.kind {
        ExprKind::Identifier(name) => Some((name, Vec::new())),
        ExprKind::Member { base, .. } | ExprKind::Index { base, .. } => {
            let step = step_of(expr)?.as_str()?;
            let (root, mut steps) = path_of(base)?;
            steps.push(step);
            Some((root, steps))
        }
        _ => None,
    }
}

/// Whether two expressions are the same, `c.a` and `c["a"]` included.
pub(super) fn same(a: &Expr, b: &Expr) -> bool {
    match (path_of(a), path_of(b)) {
        (Some(a), Some(b)) => a == b,
        _ => a.to_string() == b.to_string(),
    }
}

/// A name without a place in the text.
pub(super) fn name(text: &str) -> Name {
    Name { text: text.to_owned(), span: crate::Span::default() }
}

/// `name(args)`.
pub(super) fn call(function: &str, args: Vec<Expr>) -> Expr {
    ExprKind::Call(Call { name: name(function), is_udf: false, args }).into()
}

/// `{"a": b}`.
pub(super) fn object(members: impl IntoIterator<Item = (impl AsRef<str>, Expr)>) -> Expr {
    let property = |(key, value): (_, Expr)| Property { name: name(AsRef::as_ref(&key)), value };
    ExprKind::Object(members.into_iter().map(property).collect()).into()
}

/// `[{"item": a}, {"item": b}]`.
pub(super) fn items<'a>(exprs: impl IntoIterator<Item = &'a Expr>) -> Expr {
    let wrapped = exprs.into_iter().map(|expr| object([("item", expr.clone())]));
    ExprKind::Array(wrapped.collect()).into()
}

/// `expr AS alias`.
pub(super) fn select_item(expr: Expr, alias: &str) -> SelectItem {
    SelectItem { expr, alias: Some(name(alias)) }
}

/// `root._rid`, which clients compare where sort keys are equal.
pub(super) fn rid_of(root: &str) -> SelectItem {
    let base = Box::new(ExprKind::Identifier(root.to_owned()).into());
    SelectItem { expr: ExprKind::Member { base, name: name("_rid") }.into(), alias: None }
}

/// What SELECT makes of a row, as one expression: the source, the value, or an object.
pub(super) fn payload(query: &Query, root: &str) -> Expr {
    match &query.select.projection {
        Projection::Star(_) => ExprKind::Identifier(root.to_owned()).into(),
        Projection::Value(expr) => expr.clone(),
        Projection::List(items) => {
            let values = items.iter().map(|item| item.expr.clone());
            object(property_names(items).into_iter().zip(values))
        }
    }
}
