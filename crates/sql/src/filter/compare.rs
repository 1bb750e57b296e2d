//! Operators over a path and constants: equality and order, IN, BETWEEN, LIKE.

use value::Value;

use super::interval::{self, FALSE, Interval, NULL, NUMBER, STRING, TRUE};
use super::path::{Path, Segment};
use super::scope::Analysis;
use super::simplify::{and, or};
use super::{Filter, IndexUse, check, spatial};
use crate::ast::{BinaryOp, Expr, ExprKind};

/// From here on, a double may represent several integers.
const EXACT_END: f64 = 9_007_199_254_740_992.0;

/// How many parts of an array or object are looked up.
const PARTS_MAX: usize = 16;

impl Analysis<'_> {
    /// A predicate made by an operator, if it is one of a path and constants.
    pub(super) fn comparison(&self, expr: &Expr, wanted: bool) -> Option<Filter> {
        match &expr.kind {
            ExprKind::Binary { op, left, right } => {
                if !op.is_comparison() {
                    return None;
                }
                let flipped = || self.compare(expr, flip(*op), right, left, wanted);
                self.compare(expr, *op, left, right, wanted).or_else(flipped)
            }
            ExprKind::In { needle, items, is_negated } => {
                self.is_in(expr, needle, items, wanted != *is_negated, wanted)
            }
            ExprKind::Between { operand, low, high, is_negated } => {
                self.between(expr, [operand, low, high], wanted != *is_negated, wanted)
            }
            ExprKind::Like { operand, pattern, escape, is_negated } => {
                let escape = escape.as_ref().and_then(|escape| escape.chars().next());
                self.like(expr, operand, pattern, escape, wanted != *is_negated, wanted)
            }
            _ => None,
        }
    }

    /// `operand BETWEEN low AND high`, which is to be `holds`; the whole predicate is to be
    /// `wanted`.
    fn between(
        &self,
        expr: &Expr,
        [operand, low, high]: [&Expr; 3],
        holds: bool,
        wanted: bool,
    ) -> Option<Filter> {
        let (Some(low_value), Some(high_value)) = (self.constant(low), self.constant(high)) else {
            // A constant between two paths.
            let above = self.compare(expr, BinaryOp::LessOrEqual, low, operand, holds)?;
            let below = self.compare(expr, BinaryOp::GreaterOrEqual, high, operand, holds)?;
            return Some(if holds { and([above, below]) } else { or([above, below]) });
        };
        let Some(reference) = self.reference(operand) else {
            return spatial::distance(self, expr, operand, &high_value, holds);
        };
        let above = holding(BinaryOp::GreaterOrEqual, &low_value, holds);
        let below = holding(BinaryOp::LessOrEqual, &high_value, holds);
        let intervals = if holds {
            interval::intersection(&above, &below)
        } else {
            interval::union([above, below].concat())
        };
        let is_exact = is_exact(&low_value) && is_exact(&high_value);
        Some(self.test(expr, wanted, reference.path, intervals, is_exact, IndexUse::Precise))
    }

    /// `left op right` where the left is a path and the right a constant.
    fn compare(
        &self,
        expr: &Expr,
        op: BinaryOp,
        left: &Expr,
        right: &Expr,
        wanted: bool,
    ) -> Option<Filter> {
        let constant = self.constant(right)?;
        let Some(reference) = self.reference(left) else {
            let op = if wanted { op } else { opposite(op) };
            let is_bound = matches!(op, BinaryOp::Less | BinaryOp::LessOrEqual);
            return spatial::distance(self, expr, left, &constant, is_bound)
                .or_else(|| self.head_of(expr, op, left, &constant, wanted));
        };
        let path = reference.path;
        if (op == BinaryOp::Equal) == wanted
            && matches!(op, BinaryOp::Equal | BinaryOp::NotEqual)
            && matches!(constant, Value::Array(_) | Value::Object(_))
        {
            return Some(self.has_parts(expr, wanted, &path, &constant));
        }
        let intervals = holding(op, &constant, wanted);
        let use_ = match op {
            BinaryOp::Equal if wanted => IndexUse::Seek,
            BinaryOp::NotEqual if !wanted => IndexUse::Seek,
            BinaryOp::Equal | BinaryOp::NotEqual => IndexUse::Full,
            _ => IndexUse::Precise,
        };
        Some(self.test(expr, wanted, path, intervals, is_exact(&constant), use_))
    }

    /// `LEFT(path, n) = "x"` and `SUBSTRING(path, 0, n) = "x"`: the string begins with it.
    fn head_of(
        &self,
        expr: &Expr,
        op: BinaryOp,
        left: &Expr,
        constant: &Value,
        wanted: bool,
    ) -> Option<Filter> {
        let (ExprKind::Call(call), BinaryOp::Equal) = (&left.kind, op) else { return None };
        let name = super::scope::function_key(&call.name.text);
        let is_head = match (name.as_str(), call.args.as_slice()) {
            ("LEFT", [_, _]) => true,
            ("SUBSTRING", [_, start, _]) => self.constant(start)?.as_f64() == Some(0.0),
            _ => false,
        };
        let head = constant.as_str().filter(|_| is_head && !call.is_udf)?;
        // The replacement for half a character says nothing about the other half.
        let head = head.split('\u{FFFD}').next().unwrap_or_default();
        self.reference(call.args.first()?)?;
        check::filter_within(self, expr, wanted, &interval::prefix(head), IndexUse::Precise)
    }

    /// `needle IN (items)`, which is to be `holds`; the whole predicate is to be `wanted`.
    fn is_in(
        &self,
        expr: &Expr,
        needle: &Expr,
        items: &[Expr],
        holds: bool,
        wanted: bool,
    ) -> Option<Filter> {
        let constants = || items.iter().map(|item| self.constant(item)).collect::<Option<Vec<_>>>();
        if let (Some(reference), Some(constants)) = (self.reference(needle), constants()) {
            return Some(self.among(expr, wanted, reference.path, &constants, holds));
        }
        let each = items.iter().map(|item| {
            let equal = |a, b| self.compare(expr, BinaryOp::Equal, a, b, holds);
            equal(needle, item).or_else(|| equal(item, needle))
        });
        let each = each.collect::<Option<Vec<_>>>()?;
        Some(if holds { or(each) } else { and(each) })
    }

    /// True if the value at the path equals one of the constants, or none of them.
    pub(super) fn among(
        &self,
        expr: &Expr,
        wanted: bool,
        path: Path,
        constants: &[Value],
        holds: bool,
    ) -> Filter {
        let is_exact = constants.iter().all(is_exact);
        if !holds {
            // Compared with undefined, nothing is unequal.
            if constants.iter().any(Value::is_undefined) {
                return Filter::Nothing;
            }
            let points = constants.iter().filter(|value| is_scalar(value)).map(interval::point);
            let points = interval::union(points.collect());
            let intervals = interval::difference(&interval::defined(), &points);
            return self.test(expr, wanted, path, intervals, is_exact, IndexUse::Full);
        }
        let defined = constants.iter().filter(|value| !value.is_undefined());
        let intervals = interval::union(defined.map(interval::point).collect());
        self.test(expr, wanted, path, intervals, is_exact, IndexUse::Seek)
    }

    /// True if the value at the path equals the constant, or has all that the constant has.
    pub(super) fn has_parts(
        &self,
        expr: &Expr,
        wanted: bool,
        path: &Path,
        constant: &Value,
    ) -> Filter {
        let mut parts = Vec::new();
        collect_parts(path, constant, &mut parts);
        let tests = parts.into_iter().map(|(path, interval)| {
            self.test(expr, wanted, path, vec![interval], is_exact(constant), IndexUse::Seek)
        });
        and(tests)
    }
}

/// Collects the scalars within a constant, and its empty arrays and objects, with their paths.
fn collect_parts(path: &Path, constant: &Value, parts: &mut Vec<(Path, Interval)>) {
    if parts.len() >= PARTS_MAX {
        return;
    }
    let known = parts.len();
    match constant {
        Value::Array(items) => {
            let path = path.then(Segment::Element);
            for item in items {
                collect_parts(&path, item, parts);
            }
        }
        Value::Object(members) => {
            for (key, value) in members.iter().filter(|(_, value)| !value.is_undefined()) {
                collect_parts(&path.then(Segment::Key(key.to_owned())), value, parts);
            }
        }
        _ => {}
    }
    if parts.len() == known && !constant.is_undefined() {
        parts.push((path.clone(), interval::point(constant)));
    }
}

/// The values for which `value op constant` is `wanted`.
fn holding(op: BinaryOp, constant: &Value, wanted: bool) -> Vec<Interval> {
    let of_its_type = match constant {
        Value::Undefined => return Vec::new(),
        _ if op == BinaryOp::NotEqual => return holding(BinaryOp::Equal, constant, !wanted),
        _ if op == BinaryOp::Equal && wanted => return vec![interval::point(constant)],
        Value::Array(_) | Value::Object(_) if op == BinaryOp::Equal => return interval::defined(),
        Value::Array(_) | Value::Object(_) => return Vec::new(),
        _ if op == BinaryOp::Equal => {
            return interval::difference(&interval::defined(), &[interval::point(constant)]);
        }
        Value::Null => interval::of_type(NULL),
        Value::Bool(_) => interval::of_types(FALSE, TRUE),
        Value::Number(_) => interval::of_type(NUMBER),
        Value::String(_) => interval::of_type(STRING),
    };
    let Interval { low, high } = interval::point(constant);
    let (first, last) = match of_its_type.as_slice() {
        [whole] => (whole.low.clone(), whole.high.clone()),
        _ => return Vec::new(),
    };
    let holding = match op {
        // Nothing is less or greater than NaN.
        _ if constant.as_f64().is_some_and(f64::is_nan) => Vec::new(),
        BinaryOp::Less => vec![Interval { low: first, high: low }],
        BinaryOp::LessOrEqual => vec![Interval { low: first, high }],
        BinaryOp::Greater => vec![Interval { low: high, high: last }],
        _ => vec![Interval { low, high: last }],
    };
    let holding = interval::union(holding);
    if wanted { holding } else { interval::difference(&of_its_type, &holding) }
}

fn is_scalar(value: &Value) -> bool {
    !matches!(value, Value::Undefined | Value::Array(_) | Value::Object(_))
}

/// Whether the index tells values from this constant as comparison does.
pub(super) fn is_exact(constant: &Value) -> bool {
    match constant {
        Value::Array(_) | Value::Object(_) => false,
        Value::Number(number) => number.as_f64().abs() < EXACT_END,
        _ => true,
    }
}

/// The operator with its sides exchanged.
fn flip(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        other => other,
    }
}

/// The operator that is true where this one is false.
fn opposite(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Equal => BinaryOp::NotEqual,
        BinaryOp::NotEqual => BinaryOp::Equal,
        BinaryOp::Less => BinaryOp::GreaterOrEqual,
        BinaryOp::LessOrEqual => BinaryOp::Greater,
        BinaryOp::Greater => BinaryOp::LessOrEqual,
        BinaryOp::GreaterOrEqual => BinaryOp::Less,
        other => other,
    }
}
