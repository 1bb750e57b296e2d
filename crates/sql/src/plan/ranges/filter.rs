//! From conditions to the partition keys that they allow.
//!
//! A condition is asked twice: for the keys of documents for which it is true, and, below NOT, for
//! those for which it is false. Undefined is neither.

use value::Value;

use super::constant;
use super::interval::Interval;
use super::set::{Allowed, Keys};
use crate::Query;
use crate::ast::{
    BinaryOp, Call, Collection, Expr, ExprKind, LogicalOp, Name, Source, Step, SubqueryKind,
    UnaryOp,
};
use crate::plan::{Kind, Planner, tree};

/// The keys of the documents that a query may read.
pub(super) fn keys_of(query: &Query, planner: &Planner<'_>) -> Keys {
    Reader { planner, names: Vec::new() }.query(query)
}

struct Reader<'q, 'p> {
    planner: &'p Planner<'p>,
    /// The names known at this place, and the path from the document for each; `None` if it is
    /// something else. Later names hide earlier ones.
    names: Vec<(&'q str, Option<Vec<&'q str>>)>,
}

impl<'q> Reader<'q, '_> {
    /// The keys for which a query can have a row.
    fn query(&mut self, query: &'q Query) -> Keys {
        let outer = self.names.len();
        let mut conditions = Vec::new();
        for source in &query.from {
            if let Collection::Subquery(inner) = &source.collection {
                conditions.push(self.subquery(inner));
            }
            let path = self.source_path(source);
            self.names.push((tree::alias_of(source).unwrap_or_default(), path));
        }
        if let Some(filter) = &query.filter {
            conditions.push(self.condition(filter, true));
        }
        self.names.truncate(outer);
        Keys::intersection_of(conditions)
    }

    /// The keys for which a subquery can have a row. An aggregate has one even without rows.
    fn subquery(&mut self, query: &'q Query) -> Keys {
        let has_aggregate = query.projected().into_iter().any(tree::has_aggregate);
        if has_aggregate && query.group_by.is_empty() {
            return Keys::Everything;
        }
        self.query(query)
    }

    /// The path of a source's values in the document. Where no name is known yet, any means the
    /// document.
    fn source_path(&self, source: &'q Source) -> Option<Vec<&'q str>> {
        let Collection::Path { root, steps } = &source.collection else { return None };
        let name_of = |step: &'q Step| match step {
            Step::Member(Name { text, .. }) | Step::Key(Name { text, .. }) => Some(text.as_str()),
            Step::Index(_) => None,
        };
        let is_container = self.names.is_empty();
        let mut path = if is_container { Vec::new() } else { self.lookup(&root.text)?.clone() };
        for step in steps {
            path.push(name_of(step)?);
        }
        (!source.is_iterator).then_some(path)
    }

    fn lookup(&self, name: &str) -> Option<&Vec<&'q str>> {
        self.names.iter().rev().find(|(known, _)| *known == name)?.1.as_ref()
    }

    /// Which path of the key an expression is.
    fn key_path(&self, expr: &'q Expr) -> Option<usize> {
        let (root, steps) = tree::path_of(expr)?;
        let base = self.lookup(root)?;
        let is_key = |path: &Vec<String>| {
            path.len() == base.len() + steps.len()
                && path.iter().zip(base.iter().chain(&steps)).all(|(a, b)| a == b)
        };
        self.planner.container.key.paths.iter().position(is_key)
    }

    fn paths(&self) -> usize {
        self.planner.container.key.paths.len()
    }

    fn constant(&self, expr: &Expr) -> Option<Value> {
        constant::value(expr, self.planner)
    }

    fn nothing(&self) -> Keys {
        Keys::nothing(self.paths())
    }

    /// The keys with one of these values at a path.
    fn values(&self, path: usize, values: impl IntoIterator<Item = Value>) -> Keys {
        Keys::single(self.paths(), path, Allowed::values(values))
    }

    /// The keys of documents for which the condition has the wanted value.
    fn condition(&mut self, expr: &'q Expr, wanted: bool) -> Keys {
        match &expr.kind {
            ExprKind::Logical { op, operands } => {
                let nothing = self.nothing();
                let all = operands.iter().map(|operand| self.condition(operand, wanted));
                // `a OR b` is false if both are.
                if (*op == LogicalOp::And) == wanted {
                    Keys::intersection_of(all.collect())
                } else {
                    all.fold(nothing, Keys::union)
                }
            }
            ExprKind::Unary { op: UnaryOp::Not, operand } => self.condition(operand, !wanted),
            ExprKind::Subquery { kind: SubqueryKind::Exists, query } if wanted => {
                self.subquery(query)
            }
            ExprKind::In { needle, items, is_negated } if *is_negated != wanted => {
                self.one_of(needle, items)
            }
            _ => match self.constant(expr) {
                Some(value) if value == Value::Bool(wanted) => Keys::Everything,
                Some(_) => self.nothing(),
                None => self.predicate(expr, wanted),
            },
        }
    }

    /// A condition that depends on the document.
    fn predicate(&mut self, expr: &'q Expr, wanted: bool) -> Keys {
        match &expr.kind {
            ExprKind::Binary { op, left, right } => self.comparison(*op, left, right, wanted),
            ExprKind::Between { operand, low, high, is_negated } if *is_negated != wanted => {
                let keys = [
                    self.ordered(BinaryOp::GreaterOrEqual, operand, low),
                    self.ordered(BinaryOp::LessOrEqual, operand, high),
                ];
                Keys::intersection_of(keys.into())
            }
            ExprKind::Like { operand, pattern, escape, is_negated } if *is_negated != wanted => {
                let pattern = self.constant(pattern);
                let escape = escape.as_ref().and_then(|escape| escape.chars().next());
                let text = pattern.as_ref().and_then(Value::as_str);
                match (self.key_path(operand), text.and_then(|text| literal(text, escape))) {
                    (Some(path), Some(text)) => self.values(path, [Value::from(text)]),
                    _ => Keys::Everything,
                }
            }
            ExprKind::Call(call) if wanted && !call.is_udf => self.call(call),
            _ => match self.key_path(expr) {
                Some(path) => self.values(path, [Value::Bool(wanted)]),
                None => Keys::Everything,
            },
        }
    }

    fn one_of(&self, needle: &'q Expr, items: &'q [Expr]) -> Keys {
        let values = items.iter().map(|item| self.constant(item));
        let Some(values) = values.collect::<Option<Vec<Value>>>() else { return Keys::Everything };
        if let Some(path) = self.key_path(needle) {
            return self.values(path, values);
        }
        match self.constant(needle) {
            Some(needle) if !needle.is_undefined() && values.contains(&needle) => Keys::Everything,
            Some(_) => self.nothing(),
            None => Keys::Everything,
        }
    }

    fn comparison(&mut self, op: BinaryOp, left: &'q Expr, right: &'q Expr, wanted: bool) -> Keys {
        if !op.is_comparison() {
            return Keys::Everything;
        }
        // Comparisons with undefined are undefined: a subquery in one must have a row.
        let mut conditions: Vec<Keys> =
            [left, right].into_iter().map(|operand| self.defined(operand)).collect();
        conditions.push(match (op, wanted) {
            (BinaryOp::Equal, true) | (BinaryOp::NotEqual, false) => {
                Keys::intersection_of(vec![self.equal(left, right), self.equal(right, left)])
            }
            (_, true) => {
                let mirrored = self.ordered(mirror(op), right, left);
                Keys::intersection_of(vec![self.ordered(op, left, right), mirrored])
            }
            (_, false) => Keys::Everything,
        });
        Keys::intersection_of(conditions)
    }

    fn defined(&mut self, expr: &'q Expr) -> Keys {
        match &expr.kind {
            ExprKind::Subquery { kind: SubqueryKind::Scalar, query } => self.subquery(query),
            _ => Keys::Everything,
        }
    }

    /// `path = constant`, or `ABS(path) = constant`.
    fn equal(&self, path: &'q Expr, other: &Expr) -> Keys {
        if let Some(path) = self.key_path(path) {
            return match self.constant(other) {
                Some(value) => self.values(path, [value]),
                None => Keys::Everything,
            };
        }
        let ExprKind::Call(call) = &path.kind else { return Keys::Everything };
        let ([argument], "ABS") = (call.args.as_slice(), canonical(call).as_str()) else {
            return Keys::Everything;
        };
        match (self.key_path(argument), self.constant(other)) {
            (Some(path), Some(value)) => match value.as_f64() {
                Some(number) if number >= 0.0 => self.values(path, [value, Value::from(-number)]),
                _ => self.nothing(),
            },
            _ => Keys::Everything,
        }
    }

    /// `path < constant` and its like, which say nothing of keys that are hashed.
    fn ordered(&self, op: BinaryOp, path: &'q Expr, other: &Expr) -> Keys {
        if self.planner.container.key.kind != Kind::Range {
            return Keys::Everything;
        }
        let Some(path) = self.key_path(path) else { return Keys::Everything };
        match self.constant(other).and_then(|value| Interval::compared(op, value)) {
            Some(interval) => Keys::single(self.paths(), path, Allowed::within(interval)),
            None => Keys::Everything,
        }
    }

    /// The functions that few values satisfy.
    fn call(&self, call: &'q Call) -> Keys {
        let path_at = |place: usize| call.args.get(place).and_then(|expr| self.key_path(expr));
        match canonical(call).as_str() {
            "ISBOOL" | "ISBOOLEAN" => match path_at(0) {
                Some(path) => self.values(path, [Value::Bool(false), Value::Bool(true)]),
                None => Keys::Everything,
            },
            "ISNULL" => match path_at(0) {
                Some(path) => self.values(path, [Value::Null]),
                None => Keys::Everything,
            },
            "ARRAYCONTAINS" | "TRYARRAYCONTAINS" => {
                let values = call.args.first().and_then(|array| self.constant(array));
                match (path_at(1), values) {
                    (Some(path), Some(Value::Array(values))) => self.values(path, values),
                    (Some(_), Some(_)) => self.nothing(),
                    _ => Keys::Everything,
                }
            }
            _ => Keys::Everything,
        }
    }
}

/// The normalized name of a function: case and underscores do not matter.
fn canonical(call: &Call) -> String {
    call.name.text.chars().filter(|c| *c != '_').map(|c| c.to_ascii_uppercase()).collect()
}

/// The operator with its operands exchanged.
fn mirror(op: BinaryOp) -> BinaryOp {
    match op {
        BinaryOp::Less => BinaryOp::Greater,
        BinaryOp::LessOrEqual => BinaryOp::GreaterOrEqual,
        BinaryOp::Greater => BinaryOp::Less,
        BinaryOp::GreaterOrEqual => BinaryOp::LessOrEqual,
        other => other,
    }
}

/// The only text that a pattern without wildcards matches.
fn literal(pattern: &str, escape: Option<char>) -> Option<String> {
    let mut text = String::with_capacity(pattern.len());
    let mut chars = pattern.chars();
    while let Some(c) = chars.next() {
        match c {
            _ if Some(c) == escape => text.push(chars.next()?),
            '%' | '_' | '[' => return None,
            _ => text.push(c),
        }
    }
    Some(text)
}
