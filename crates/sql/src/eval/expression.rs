//! The value of an expression for one row. Nothing fails here: what the checks before let pass
//! has a value, undefined if need be.

use std::rc::Rc;

use value::{Object, Value};

use crate::ast::{BinaryOp, Call, Expr, ExprKind, LogicalOp, Query, SubqueryKind};
use crate::eval::aggregate::Aggregate;
use crate::eval::row::Row;
use crate::eval::{Error, binder, like, operators};
use crate::functions;

/// What all rows of a query share.
pub(super) struct Evaluator<'a> {
    /// Names, with their `@`, and values.
    pub(super) parameters: &'a [(String, Value)],
    /// The items of the container, in order.
    pub(super) documents: Vec<Rc<Value>>,
    /// What functions know of the world.
    pub(super) context: functions::Context,
    /// Whether ORDER BY keeps rows without a key.
    pub(super) undefined_keys: crate::eval::UndefinedKeys,
}

/// Checks and evaluates an expression over names and their values, with the parameters of a
/// request and the time of it in milliseconds since 1970.
pub fn evaluate(
    expr: &Expr,
    bindings: &[(&str, Value)],
    parameters: &[(String, Value)],
    now_millis: i64,
) -> Result<Value, Error> {
    let names: Vec<&str> = bindings.iter().map(|(name, _)| *name).collect();
    if let Some(error) = binder::check_expression(expr, &names, parameters).into_iter().next() {
        return Err(error);
    }
    let mut row = Row::default();
    for (name, value) in bindings {
        row = row.with(name, Rc::new(value.clone()));
    }
    let evaluator = Evaluator {
        parameters,
        documents: Vec::new(),
        context: functions::Context { now_millis },
        undefined_keys: crate::eval::UndefinedKeys::default(),
    };
    Ok(evaluator.evaluate(expr, &row))
}

impl Evaluator<'_> {
    /// The value of the expression for the row.
    pub(super) fn evaluate<'q>(&self, expr: &'q Expr, row: &Row<'q>) -> Value {
        if let Some(value) = borrowed(expr, row) {
            return value.clone();
        }
        match &expr.kind {
            ExprKind::Literal(value) => value.clone(),
            ExprKind::Parameter(name) => self.parameter(name).cloned().unwrap_or_default(),
            ExprKind::Identifier(name) => constant(name).unwrap_or_default(),
            ExprKind::Member { base, name } => self.evaluate(base, row).get(&name.text).clone(),
            ExprKind::Index { base, index } => {
                let index = self.evaluate(index, row);
                match borrowed(base, row) {
                    Some(base) => element(base, &index),
                    None => element(&self.evaluate(base, row), &index),
                }
            }
            ExprKind::Array(items) => self.array(items, row),
            ExprKind::Object(members) => {
                let mut object = Object::new();
                for member in members {
                    insert_defined(
                        &mut object,
                        &member.name.text,
                        self.evaluate(&member.value, row),
                    );
                }
                Value::from(object)
            }
            ExprKind::Call(call) => self.call(call, row),
            ExprKind::Subquery { kind, query } => self.subquery(*kind, query, row),
            ExprKind::Let { name, value, body } => {
                let value = Rc::new(self.evaluate(value, row));
                self.evaluate(body, &row.with(&name.text, value))
            }
            ExprKind::Conditional { condition, then, otherwise } => {
                match self.evaluate(condition, row) {
                    Value::Undefined => Value::Undefined,
                    Value::Bool(true) => self.evaluate(then, row),
                    _ => self.evaluate(otherwise, row),
                }
            }
            _ => self.operator(expr, row),
        }
    }

    /// Everything that is true, false or computed from operands alone.
    fn operator<'q>(&self, expr: &'q Expr, row: &Row<'q>) -> Value {
        let value_of = |expr: &'q Expr| self.evaluate(expr, row);
        match &expr.kind {
            ExprKind::Unary { op, operand } => operators::unary(*op, &value_of(operand)),
            ExprKind::Binary { op, left, right } => {
                operators::binary(*op, &value_of(left), &value_of(right))
            }
            ExprKind::Logical { op, operands } => {
                operators::logical(*op, operands.iter().map(value_of))
            }
            ExprKind::In { needle, items, is_negated } => {
                let needle = value_of(needle);
                let equals = items.iter().map(|item| operators::equal(&needle, &value_of(item)));
                negated(*is_negated, operators::logical(LogicalOp::Or, equals))
            }
            ExprKind::Between { operand, low, high, is_negated } => {
                let operand = value_of(operand);
                let within = [
                    operators::compare(BinaryOp::GreaterOrEqual, &operand, &value_of(low)),
                    operators::compare(BinaryOp::LessOrEqual, &operand, &value_of(high)),
                ];
                negated(*is_negated, operators::logical(LogicalOp::And, within))
            }
            ExprKind::Like { operand, pattern, escape, is_negated } => {
                let escape = escape.as_ref().and_then(|escape| escape.chars().next());
                let (operand, pattern) = (value_of(operand), value_of(pattern));
                let (Some(text), Some(pattern)) = (operand.as_str(), pattern.as_str()) else {
                    return Value::Undefined;
                };
                negated(*is_negated, Value::Bool(like::matches(text, pattern, escape)))
            }
            _ => Value::Undefined,
        }
    }

    /// The value that the request gives a parameter.
    pub(super) fn parameter(&self, name: &str) -> Option<&Value> {
        self.parameters.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// `[a, b]`: undefined elements leave no gap.
    fn array<'q>(&self, items: &'q [Expr], row: &Row<'q>) -> Value {
        let items = items.iter().map(|item| self.evaluate(item, row));
        Value::from(items.filter(|item| !item.is_undefined()).collect::<Vec<_>>())
    }

    fn call<'q>(&self, call: &'q Call, row: &Row<'q>) -> Value {
        let evaluate_all = |row: &Row<'q>| -> Vec<Value> {
            call.args.iter().map(|argument| self.evaluate(argument, row)).collect()
        };
        if let Some(aggregate) = Aggregate::lookup(&call.name.text) {
            let rows = row.group.as_deref().unwrap_or_default();
            return aggregate.of(rows.iter().flat_map(evaluate_all));
        }
        match functions::lookup(&call.name.text) {
            Some(function) => (function.call)(&evaluate_all(row), &self.context),
            None => Value::Undefined,
        }
    }

    fn subquery<'q>(&self, kind: SubqueryKind, query: &'q Query, row: &Row<'q>) -> Value {
        let mut values = self.query(query, row);
        match kind {
            SubqueryKind::Exists => Value::Bool(!values.is_empty()),
            SubqueryKind::Array => Value::from(values),
            SubqueryKind::All => {
                Value::Bool(values.iter().all(|value| value.as_bool() == Some(true)))
            }
            SubqueryKind::Scalar | SubqueryKind::First => {
                values.into_iter().next().unwrap_or_default()
            }
            SubqueryKind::Last => values.pop().unwrap_or_default(),
        }
    }
}

/// The value of `c.a.b` without copying the item it lies in; none if the expression is not of
/// this kind.
fn borrowed<'r>(expr: &Expr, row: &'r Row<'_>) -> Option<&'r Value> {
    match &expr.kind {
        ExprKind::Identifier(name) => row.get(name),
        ExprKind::Member { base, name } => Some(borrowed(base, row)?.get(&name.text)),
        _ => None,
    }
}

/// The names that stand for numbers where no source has taken them.
pub(super) fn constant(name: &str) -> Option<Value> {
    match name {
        "NaN" => Some(Value::from(f64::NAN)),
        "Infinity" => Some(Value::from(f64::INFINITY)),
        _ => None,
    }
}

/// Adds a member unless its value is undefined.
pub(super) fn insert_defined(object: &mut Object, name: &str, value: Value) {
    if !value.is_undefined() {
        object.insert(name, value);
    }
}

fn element(base: &Value, index: &Value) -> Value {
    match (base, index) {
        (Value::Object(object), Value::String(key)) => object.get(key).cloned(),
        (Value::Array(items), Value::Number(index)) => {
            let index = index.as_i64().and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| items.get(index)).cloned()
        }
        _ => None,
    }
    .unwrap_or_default()
}

fn negated(is_negated: bool, value: Value) -> Value {
    if is_negated { operators::not(&value) } else { value }
}
