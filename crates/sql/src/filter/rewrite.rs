//! Makes expressions independent of their query: parameters become values, constants are computed,
//! and each path is replaced as the caller decides.

use value::Value;

use super::scope::{Analysis, Reference};
use crate::ast::{BinaryOp, Call, Expr, ExprKind, Property};
use crate::program::evaluate;

/// An expression, and whether it is constant; it is a literal then.
type Rewritten = Option<(Expr, bool)>;

/// Rewrites an expression. `replace` returns the replacement of a path, or `None` to give up. The
/// rewrite also gives up on names that are not paths, subqueries, user-defined functions and
/// anything that changes between evaluations.
pub(super) struct Rewrite<'r, 'q> {
    analysis: &'r Analysis<'q>,
    replace: &'r mut dyn FnMut(Reference, &Expr) -> Option<Expr>,
    /// How many more expressions to take before giving up.
    pub(super) nodes_left: usize,
    /// Whether something was seen that may tell numbers apart that have one double, or zero from
    /// minus zero: a function, an index into an array, a division.
    pub(super) has_integers: bool,
}

impl<'r, 'q> Rewrite<'r, 'q> {
    pub(super) fn new(
        analysis: &'r Analysis<'q>,
        replace: &'r mut dyn FnMut(Reference, &Expr) -> Option<Expr>,
    ) -> Rewrite<'r, 'q> {
        Rewrite { analysis, replace, nodes_left: usize::MAX, has_integers: false }
    }

    pub(super) fn expr(&mut self, expr: &Expr) -> Rewritten {
        self.nodes_left = self.nodes_left.checked_sub(1)?;
        if let Some(reference) = self.analysis.reference(expr) {
            return Some(((self.replace)(reference, expr)?, false));
        }
        let (kind, is_constant) = match &expr.kind {
            ExprKind::Literal(_) => return Some((expr.clone(), true)),
            ExprKind::Parameter(name) => {
                let value = self.analysis.parameter(name)?.clone();
                return Some((ExprKind::Literal(value).into(), true));
            }
            ExprKind::Identifier(name) => {
                let double = match name.as_str() {
                    _ if self.analysis.is_bound(name) => return None,
                    "NaN" => f64::NAN,
                    "Infinity" => f64::INFINITY,
                    _ => return None,
                };
                return Some((ExprKind::Literal(Value::from(double)).into(), true));
            }
            ExprKind::Subquery { .. } | ExprKind::Let { .. } | ExprKind::Verbatim(_) => {
                return None;
            }
            ExprKind::Array(items) => {
                let (items, is_constant) = self.list(items)?;
                (ExprKind::Array(items), is_constant)
            }
            ExprKind::Object(members) => self.object(members)?,
            ExprKind::Call(call) => self.call(call)?,
            _ => self.operator(&expr.kind)?,
        };
        let rewritten = Expr::new(kind, expr.span);
        if !is_constant {
            return Some((rewritten, false));
        }
        let value = evaluate(&rewritten, &[], &[], self.analysis.now_millis()).ok()?;
        Some((ExprKind::Literal(value).into(), true))
    }

    fn operator(&mut self, kind: &ExprKind) -> Option<(ExprKind, bool)> {
        Some(match kind {
            ExprKind::Member { base, name } => {
                let (base, is_constant) = self.boxed(base)?;
                (ExprKind::Member { base, name: name.clone() }, is_constant)
            }
            ExprKind::Index { base, index } => {
                self.has_integers = true;
                let ([base, index], is_constant) = self.several([base, index])?;
                (ExprKind::Index { base, index }, is_constant)
            }
            ExprKind::Unary { op, operand } => {
                let (operand, is_constant) = self.boxed(operand)?;
                (ExprKind::Unary { op: *op, operand }, is_constant)
            }
            ExprKind::Binary { op, left, right } => {
                self.has_integers |= *op == BinaryOp::Divide;
                let ([left, right], is_constant) = self.several([left, right])?;
                (ExprKind::Binary { op: *op, left, right }, is_constant)
            }
            ExprKind::Logical { op, operands } => {
                let (operands, is_constant) = self.list(operands)?;
                (ExprKind::Logical { op: *op, operands }, is_constant)
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                let ([condition, then, otherwise], is_constant) =
                    self.several([condition, then, otherwise])?;
                (ExprKind::Conditional { condition, then, otherwise }, is_constant)
            }
            ExprKind::In { needle, items, is_negated } => {
                let (needle, needle_is_constant) = self.boxed(needle)?;
                let (items, is_constant) = self.list(items)?;
                let is_constant = needle_is_constant && is_constant;
                (ExprKind::In { needle, items, is_negated: *is_negated }, is_constant)
            }
            ExprKind::Between { operand, low, high, is_negated } => {
                let ([operand, low, high], is_constant) = self.several([operand, low, high])?;
                (ExprKind::Between { operand, low, high, is_negated: *is_negated }, is_constant)
            }
            ExprKind::Like { operand, pattern, escape, is_negated } => {
                let ([operand, pattern], is_constant) = self.several([operand, pattern])?;
                let (escape, is_negated) = (escape.clone(), *is_negated);
                (ExprKind::Like { operand, pattern, escape, is_negated }, is_constant)
            }
            _ => return None,
        })
    }

    fn call(&mut self, call: &Call) -> Option<(ExprKind, bool)> {
        if !self.analysis.is_evaluable(call) {
            return None;
        }
        self.has_integers = true;
        let (args, is_constant) = self.list(&call.args)?;
        // A search over constants can take seconds, and nothing could end it here.
        if is_constant && super::scope::function_key(&call.name.text).starts_with("REGEX") {
            return None;
        }
        Some((ExprKind::Call(Call { name: call.name.clone(), is_udf: false, args }), is_constant))
    }

    fn object(&mut self, members: &[Property]) -> Option<(ExprKind, bool)> {
        let mut is_constant = true;
        let mut rewritten = Vec::with_capacity(members.len());
        for member in members {
            let (value, value_is_constant) = self.expr(&member.value)?;
            is_constant &= value_is_constant;
            rewritten.push(Property { name: member.name.clone(), value });
        }
        Some((ExprKind::Object(rewritten), is_constant))
    }

    fn list(&mut self, items: &[Expr]) -> Option<(Vec<Expr>, bool)> {
        let mut is_constant = true;
        let mut rewritten = Vec::with_capacity(items.len());
        for item in items {
            let (item, item_is_constant) = self.expr(item)?;
            is_constant &= item_is_constant;
            rewritten.push(item);
        }
        Some((rewritten, is_constant))
    }

    fn boxed(&mut self, expr: &Expr) -> Option<(Box<Expr>, bool)> {
        self.expr(expr).map(|(expr, is_constant)| (Box::new(expr), is_constant))
    }

    fn several<const N: usize>(&mut self, exprs: [&Expr; N]) -> Option<([Box<Expr>; N], bool)> {
        let mut is_constant = true;
        let mut rewritten = Vec::with_capacity(N);
        for expr in exprs {
            let (expr, expr_is_constant) = self.boxed(expr)?;
            is_constant &= expr_is_constant;
            rewritten.push(expr);
        }
        Some((rewritten.try_into().ok()?, is_constant))
    }
}
