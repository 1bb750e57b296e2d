//! The names known at some place of a query, and where their values are found when it runs.

use crate::ast::{Expr, ExprKind};

/// A name, in the order in which they are bound; later ones hide earlier ones.
#[derive(Clone, Copy)]
pub(super) struct Name<'q> {
    /// Empty for a source without a name, which no query can write.
    pub(super) text: &'q str,
    pub(super) binding: Binding,
}

/// What a name refers to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Binding {
    /// The document itself, which has the computed properties.
    Document,
    /// Some other value.
    Value,
    /// A source of a query that groups its rows: there is no value for the group as a whole.
    Grouped,
}

/// The place of the name, if it is known.
pub(super) fn resolve(names: &[Name<'_>], text: &str) -> Option<usize> {
    names.iter().rposition(|name| name.text == text)
}

/// How many frames lie between the innermost and that of the name at `place`.
pub(super) fn hops(names: &[Name<'_>], place: usize) -> usize {
    names[place + 1..].iter().filter(|name| name.binding != Binding::Grouped).count()
}

/// Whether all names in the expression are among the first `end`. Subqueries are not looked into:
/// with one of them the answer is no.
pub(super) fn all_within(names: &[Name<'_>], expr: &Expr, end: usize) -> bool {
    match &expr.kind {
        ExprKind::Identifier(text) => resolve(names, text).is_none_or(|place| place < end),
        ExprKind::Subquery { .. } | ExprKind::Let { .. } => false,
        _ => expr.children().into_iter().all(|child| all_within(names, child, end)),
    }
}
