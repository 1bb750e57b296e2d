//! From a condition to its filter. [`Analysis::truth`] asks for the rows where a condition is
//! true, or false; undefined is neither. Asking for both keeps NOT simple: it swaps the question.

use super::check;
use super::interval::{self, FALSE, TRUE, UNDEFINED};
use super::path::Path;
use super::scope::Analysis;
use super::simplify::{self, and, inexact, or};
use super::{Filter, IndexUse, Test, TestKind};
use crate::ast::{BinaryOp, Expr, ExprKind, LogicalOp, Query, SubqueryKind, UnaryOp};

impl<'q> Analysis<'q> {
    /// The items for which a query has a row before SELECT, or the rows from which aggregates are
    /// made. Leaves the names of FROM known. Arrays that must not be empty are mentioned only if
    /// `names_arrays`: reading all elements of all arrays is seldom worth it.
    pub(super) fn query(&mut self, query: &'q Query, names_arrays: bool) -> Filter {
        let sources = self.enter(&query.from);
        let condition = match &query.filter {
            Some(condition) => self.truth(condition, true),
            None => Filter::Always,
        };
        let mut filters = vec![condition];
        for path in sources.required {
            if !implies(&filters[0], &path) && (names_arrays || path.is_single_valued()) {
                filters.push(defined(path));
            }
        }
        let filter = and(filters.into_iter().chain(sources.filters));
        if sources.is_single { filter } else { inexact(filter) }
    }

    /// The items that can have a row for which `expr` is the boolean `wanted`.
    pub(super) fn truth(&mut self, expr: &'q Expr, wanted: bool) -> Filter {
        match &expr.kind {
            ExprKind::Logical { op, operands } => {
                // AND is true if all are, and false if one is; OR the other way round.
                let is_and = (*op == LogicalOp::And) == wanted;
                let filters: Vec<_> =
                    operands.iter().map(|operand| self.truth(operand, wanted)).collect();
                if is_and { and(filters) } else { or(filters) }
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.truth(operand, !wanted),
            ExprKind::Subquery { kind: SubqueryKind::Exists, query } if wanted => {
                self.exists(query)
            }
            ExprKind::Binary { op: BinaryOp::Coalesce, left, right } => {
                self.coalesce(left, right, wanted)
            }
            _ => match self.leaf(expr, wanted) {
                Some(filter) => filter,
                None => self.conditional(expr, wanted),
            },
        }
    }

    /// `a ? b : c` over several paths: either a and b hold, or c.
    fn conditional(&mut self, expr: &'q Expr, wanted: bool) -> Filter {
        let ExprKind::Conditional { condition, then, otherwise } = &expr.kind else {
            return Filter::All;
        };
        let then = and([self.truth(condition, true), self.truth(then, wanted)]);
        inexact(or([then, self.truth(otherwise, wanted)]))
    }

    /// `a ?? b`: either a holds, or a is undefined and b holds.
    fn coalesce(&mut self, left: &'q Expr, right: &'q Expr, wanted: bool) -> Filter {
        let holds = self.truth(left, wanted);
        let otherwise = self.truth(right, wanted);
        let Some(reference) = self.reference(left) else {
            return inexact(or([holds, otherwise]));
        };
        let nothing = interval::of_type(UNDEFINED);
        let nothing = self.test(left, wanted, reference.path, nothing, true, IndexUse::Full);
        or([holds, and([nothing, otherwise])])
    }

    fn exists(&mut self, query: &'q Query) -> Filter {
        if super::order::may_aggregate(query) {
            return Filter::All;
        }
        let depth = self.depth();
        let filter = self.query(query, true);
        self.leave(depth);
        inexact(filter)
    }

    /// A predicate without others in it.
    fn leaf(&self, expr: &Expr, wanted: bool) -> Option<Filter> {
        if let Some(reference) = self.reference(expr) {
            let kind = if wanted { TRUE } else { FALSE };
            let intervals = interval::of_type(kind);
            return Some(self.test(expr, wanted, reference.path, intervals, true, IndexUse::Seek));
        }
        self.comparison(expr, wanted)
            .or_else(|| self.call(expr, wanted))
            .or_else(|| check::filter(self, expr, wanted))
    }

    /// The test of a predicate that is as wanted if the value at the path lies in `intervals`;
    /// only if, where `is_exact`.
    pub(super) fn test(
        &self,
        expr: &Expr,
        wanted: bool,
        path: Path,
        intervals: Vec<interval::Interval>,
        is_exact: bool,
        use_: IndexUse,
    ) -> Filter {
        let kind = TestKind::Intervals(intervals);
        let is_exact = is_exact && path.is_single_valued();
        simplify::test(Test { path, kind, is_exact, text: self.text(expr, wanted), use_ })
    }
}

/// True if there is anything at the path.
fn defined(path: Path) -> Filter {
    let is_exact = path.is_single_valued();
    let kind = TestKind::Intervals(interval::defined());
    let text = String::new();
    simplify::test(Test { path, kind, is_exact, text, use_: IndexUse::Precise })
}

/// Whether the filter lets no item through that has nothing at the path.
fn implies(filter: &Filter, path: &Path) -> bool {
    match filter {
        Filter::All | Filter::Always => false,
        Filter::Nothing => true,
        Filter::And(filters) => filters.iter().any(|filter| implies(filter, path)),
        Filter::Or(filters) => filters.iter().all(|filter| implies(filter, path)),
        Filter::Test(test) => {
            let has_undefined = match &test.kind {
                TestKind::Intervals(intervals) | TestKind::Values { intervals, .. } => {
                    interval::touches(intervals, UNDEFINED)
                }
                TestKind::Spatial { .. } => false,
            };
            !has_undefined && test.path.0.starts_with(&path.0)
        }
    }
}
