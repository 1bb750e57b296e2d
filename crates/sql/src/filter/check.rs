//! Any expression over one path, as a check of the values that an index has there.

use std::sync::Arc;

use value::Value;

use super::domain::domain;
use super::interval::{self, ARRAY, FALSE, Interval, NULL, NUMBER, OBJECT, STRING, TRUE};
use super::rewrite::Rewrite;
use super::scope::{Analysis, Reference};
use super::simplify::TEXT_BYTES_MAX;
use super::{Filter, IndexUse, Test, TestKind, simplify};
use crate::ast::{Expr, ExprKind, Name};
use crate::program::{Expression, Run, Settings};

/// The name under which the expression of a check knows the value.
const VALUE: &str = "value";

/// From here on, a double may represent several integers.
const EXACT_END: f64 = 9_007_199_254_740_992.0;

/// Longest expression whose text is kept, in parts.
const TEXT_NODES_MAX: usize = 200;

/// A check of single values: that expressions over them are true, or false.
#[derive(Clone, Debug)]
pub struct ValueCheck {
    /// All of them must hold.
    pub(super) conditions: Vec<Condition>,
    /// The time of the request.
    pub(super) now_millis: i64,
}

/// A check at work on many values: what one of them has cost to prepare, such as a regular
/// expression, serves the next.
pub struct Checker<'c> {
    conditions: &'c [Condition],
    run: Run<'c>,
}

/// One expression of a check.
#[derive(Clone, Debug)]
pub(super) struct Condition {
    /// Over the value alone.
    expression: Arc<Expression>,
    /// The required result.
    wanted: bool,
    /// Whether it sees no more of a number than the double, and nothing of the sign of zero: just
    /// what an index keeps.
    reads_doubles: bool,
}

impl ValueCheck {
    /// Begins to check values.
    pub fn start(&self) -> Checker<'_> {
        Checker { conditions: &self.conditions, run: Run::new(self.now_millis, 0) }
    }

    /// [`Checker::passes`], for a single value.
    pub fn passes(&self, value: &Value) -> bool {
        self.start().passes(value)
    }
}

impl Checker<'_> {
    /// Whether an item whose entry in the index is this value can give a row. What an index does
    /// not hold in full passes: arrays, objects, and integers that no double can hold.
    pub fn passes(&mut self, value: &Value) -> bool {
        let run = &mut self.run;
        self.conditions.iter().all(|condition| condition.passes(value, run))
    }
}

impl Condition {
    fn passes(&self, value: &Value, run: &mut Run<'_>) -> bool {
        let mut holds = |value: &Value| self.holds(value, run).unwrap_or(true);
        match value {
            Value::Array(_) | Value::Object(_) => true,
            Value::Number(number) if !self.reads_doubles => {
                let double = number.as_f64();
                // Zero may have been written with a minus.
                double.abs() >= EXACT_END
                    || holds(&Value::from(double))
                    || double == 0.0 && holds(&Value::from(-double))
            }
            _ => holds(value),
        }
    }

    /// Whether the expression has the required result; `None` if it cannot be evaluated.
    fn holds(&self, value: &Value, run: &mut Run<'_>) -> Option<bool> {
        let result = self.expression.evaluate(&[value], run).ok()?;
        Some(result.as_bool() == Some(self.wanted))
    }
}

/// The filter of a predicate over one path.
pub(super) fn filter(analysis: &Analysis<'_>, expr: &Expr, wanted: bool) -> Option<Filter> {
    filter_within(analysis, expr, wanted, &interval::anything(), IndexUse::Full)
}

/// [`filter`], where the predicate is known to be as wanted only within some intervals.
pub(super) fn filter_within(
    analysis: &Analysis<'_>,
    expr: &Expr,
    wanted: bool,
    within: &[Interval],
    use_: IndexUse,
) -> Option<Filter> {
    let mut found: Option<Reference> = None;
    let mut replace = |reference: Reference, _: &Expr| {
        let is_same = found.as_ref().is_none_or(|found| found.is_same(&reference));
        found = Some(reference);
        is_same.then(|| ExprKind::Identifier(VALUE.to_owned()).into())
    };
    let mut rewrite = Rewrite::new(analysis, &mut replace);
    let (rewritten, _) = rewrite.expr(expr)?;
    let has_integers = rewrite.has_integers;
    let Some(reference) = found else {
        let ExprKind::Literal(value) = rewritten.kind else { return None };
        let is_wanted = value.as_bool() == Some(wanted);
        return Some(if is_wanted { Filter::Always } else { Filter::Nothing });
    };
    let mut intervals = interval::intersection(&domain(&rewritten), within);
    let expression = Expression::compile(&rewritten, &[VALUE], &Settings::default()).ok()?;
    let expression = Arc::new(expression);
    let condition = Condition { expression, wanted, reads_doubles: !has_integers };
    let now_millis = analysis.now_millis();
    let run = &mut Run::new(now_millis, 0);
    if condition.holds(&Value::Undefined, run)?
        && interval::touches(&intervals, interval::UNDEFINED)
    {
        return None;
    }
    intervals = interval::intersection(&intervals, &interval::defined());
    for (kind, value) in
        [(NULL, Value::Null), (FALSE, Value::from(false)), (TRUE, Value::from(true))]
    {
        if !condition.holds(&value, run)? {
            intervals = interval::difference(&intervals, &interval::of_type(kind));
        }
    }
    let has = |kind| interval::touches(&intervals, kind);
    let path = reference.path;
    let has_doubles = !has_integers || !has(NUMBER);
    let is_exact = path.is_single_valued() && ![ARRAY, OBJECT].into_iter().any(has) && has_doubles;
    let kind = if has(NUMBER) || has(STRING) {
        TestKind::Values {
            intervals,
            check: ValueCheck { conditions: vec![condition], now_millis },
        }
    } else {
        TestKind::Intervals(intervals)
    };
    let text = analysis.text(expr, wanted);
    Some(simplify::test(Test { path, kind, is_exact, text, use_ }))
}

impl Analysis<'_> {
    /// A predicate as index metrics print it: the item is `ROOT`, parameters are values.
    pub(super) fn text(&self, expr: &Expr, wanted: bool) -> String {
        if self.settings.without_texts {
            return String::new();
        }
        let mut replace = |reference: Reference, expr: &Expr| {
            if !reference.path.is_single_valued() {
                return Some(expr.clone());
            }
            let root = ExprKind::Identifier("ROOT".to_owned()).into();
            Some(reference.path.0.iter().fold(root, |base: Expr, segment| {
                let super::Segment::Key(key) = segment else { return base };
                let name = Name { text: key.clone(), ..Name::default() };
                ExprKind::Member { base: Box::new(base), name }.into()
            }))
        };
        let mut rewrite = Rewrite::new(self, &mut replace);
        rewrite.nodes_left = TEXT_NODES_MAX;
        let Some((rewritten, _)) = rewrite.expr(expr) else { return String::new() };
        let text = rewritten.to_string();
        match (text.len() <= TEXT_BYTES_MAX, wanted) {
            (false, _) => String::new(),
            (true, true) => text,
            (true, false) => format!("(NOT {text})"),
        }
    }
}
