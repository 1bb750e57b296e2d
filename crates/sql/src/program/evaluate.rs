//! The value of a compiled expression for one row. Nothing is wrong with an expression here: what
//! has no value is undefined. Paths borrow from the document; only what is made is owned.

use std::borrow::Cow;

use value::{Object, Value};

use super::answers::Parts;
use super::frame::{self, Frame, Frames};
use super::node::{LikePattern, Node};
use super::operators;
use super::run::{Halt, Run};
use crate::ast::{BinaryOp, LogicalOp, SubqueryKind, UnaryOp};
use crate::functions::Function;

impl Node {
    /// The value for the row.
    pub(super) fn evaluate<'v>(
        &'v self,
        frames: Frames<'_, 'v>,
        run: &mut Run<'_>,
    ) -> Result<Cow<'v, Value>, Halt> {
        Ok(match self {
            Node::Constant(value) => Cow::Borrowed(value),
            Node::Shared(value) => Cow::Borrowed(value),
            Node::Path { hops, steps } => {
                Cow::Borrowed(frame::descend(frame::lookup(frames, *hops), steps))
            }
            Node::Member { base, name } => match base.evaluate(frames, run)? {
                Cow::Borrowed(base) => Cow::Borrowed(base.get(name)),
                Cow::Owned(base) => Cow::Owned(base.get(name).clone()),
            },
            Node::Index { base, index } => {
                let index = index.evaluate(frames, run)?;
                match base.evaluate(frames, run)? {
                    Cow::Borrowed(base) => Cow::Borrowed(element(base, &index)),
                    Cow::Owned(base) => Cow::Owned(element(&base, &index).clone()),
                }
            }
            Node::Array(items) => Cow::Owned(array(items, frames, run)?),
            Node::Object(members) => Cow::Owned(object(members, frames, run)?),
            Node::Call { function, args } => call(function, args, frames, run)?,
            Node::Udf { site, name, args } => call_udf(*site, name, args, frames, run)?,
            Node::Binary { op, left, right } if !op.is_comparison() => {
                binary(*op, left, right, frames, run)?
            }
            Node::Unary { op, operand } if *op != UnaryOp::Not => {
                Cow::Owned(operators::unary(*op, operand.evaluate(frames, run)?.as_ref()))
            }
            Node::Conditional { condition, then, otherwise } => {
                let chosen = match condition.evaluate(frames, run)?.as_ref() {
                    Value::Bool(true) => then,
                    _ => otherwise,
                };
                chosen.evaluate(frames, run)?
            }
            Node::Subquery {
                kind:
                    kind @ (SubqueryKind::Scalar
                    | SubqueryKind::Array
                    | SubqueryKind::First
                    | SubqueryKind::Last),
                select,
            } => Cow::Owned(select.value(*kind, frames, run)?),
            Node::Let { value, body } => {
                let value = value.evaluate(frames, run)?;
                let frame = Frame { value: &value, outer: frames };
                let value = body.evaluate(Some(&frame), run)?;
                Cow::Owned(run.own(value)?)
            }
            Node::Computed { hops, body } => {
                let frame = Frame { value: frame::lookup(frames, *hops), outer: None };
                body.evaluate(Some(&frame), run)?
            }
            _ => Cow::Owned(self.truth(frames, run)?.map_or(Value::Undefined, Value::Bool)),
        })
    }

    /// Whether it is true or false for the row; `None` if it is neither.
    pub(super) fn truth<'v>(
        &'v self,
        frames: Frames<'_, 'v>,
        run: &mut Run<'_>,
    ) -> Result<Option<bool>, Halt> {
        Ok(match self {
            Node::Logical { op, operands } => logical(*op, operands, frames, run)?,
            Node::Binary { op, left, right } if op.is_comparison() => {
                // Both may have something to ask.
                let (left, right) = (left.evaluate(frames, run), right.evaluate(frames, run));
                operators::comparison(*op, left?.as_ref(), right?.as_ref())
            }
            Node::Unary { op: UnaryOp::Not, operand } => {
                operand.truth(frames, run)?.map(|truth| !truth)
            }
            Node::IsDefined(operand) => Some(!operand.evaluate(frames, run)?.is_undefined()),
            Node::ArrayContains { array, needle } => {
                let array = array.evaluate(frames, run)?;
                let needle = needle.evaluate(frames, run)?;
                match array.as_ref() {
                    Value::Array(items) if !needle.is_undefined() => {
                        run.work(items.len())?;
                        Some(items.iter().any(|item| item == needle.as_ref()))
                    }
                    _ => None,
                }
            }
            Node::In { needle, items, is_negated } => {
                let needle = needle.evaluate(frames, run)?;
                let mut found = Some(false);
                for item in items {
                    run.step()?;
                    let item = item.evaluate(frames, run)?;
                    match operators::comparison(BinaryOp::Equal, &needle, &item) {
                        Some(false) => {}
                        Some(true) => {
                            found = Some(true);
                            break;
                        }
                        None => found = None,
                    }
                }
                negated(*is_negated, found)
            }
            Node::OneOf { needle, values, is_negated } => {
                negated(*is_negated, values.contains(needle.evaluate(frames, run)?.as_ref()))
            }
            Node::Between { operand, low, high, is_negated } => {
                let operand = operand.evaluate(frames, run)?;
                let low = low.evaluate(frames, run)?;
                let above = operators::comparison(BinaryOp::GreaterOrEqual, &operand, &low);
                let high = high.evaluate(frames, run)?;
                let below = operators::comparison(BinaryOp::LessOrEqual, &operand, &high);
                negated(*is_negated, operators::and(above, below))
            }
            Node::Like { operand, pattern, is_negated } => {
                negated(*is_negated, like(operand, pattern, frames, run)?)
            }
            Node::Subquery { kind: SubqueryKind::Exists, select } => {
                Some(select.exists(frames, run)?)
            }
            Node::Subquery { kind: SubqueryKind::All, select } => {
                Some(select.is_all_true(frames, run)?)
            }
            _ => self.evaluate(frames, run)?.as_bool(),
        })
    }
}

/// AND and OR: one operand of false or true, respectively, decides; otherwise a non-boolean makes
/// the whole undefined.
fn logical<'v>(
    op: LogicalOp,
    operands: &'v [Node],
    frames: Frames<'_, 'v>,
    run: &mut Run<'_>,
) -> Result<Option<bool>, Halt> {
    let deciding = op == LogicalOp::Or;
    let mut result = Some(!deciding);
    for operand in operands {
        run.step()?;
        match operand.truth(frames, run)? {
            Some(truth) if truth == deciding => return Ok(Some(deciding)),
            Some(_) => {}
            None => result = None,
        }
    }
    Ok(result)
}

fn binary<'v>(
    op: BinaryOp,
    left: &'v Node,
    right: &'v Node,
    frames: Frames<'_, 'v>,
    run: &mut Run<'_>,
) -> Result<Cow<'v, Value>, Halt> {
    if op == BinaryOp::Coalesce {
        let left = left.evaluate(frames, run)?;
        return if left.is_undefined() { right.evaluate(frames, run) } else { Ok(left) };
    }
    // Both may have something to ask.
    let (left, right) = (left.evaluate(frames, run), right.evaluate(frames, run));
    let (left, right) = (left?, right?);
    if let (Value::String(left), Value::String(right)) = (left.as_ref(), right.as_ref()) {
        run.hold(left.len() + right.len())?;
    }
    Ok(Cow::Owned(operators::binary(op, &left, &right)))
}

fn like<'v>(
    operand: &'v Node,
    pattern: &'v LikePattern,
    frames: Frames<'_, 'v>,
    run: &mut Run<'_>,
) -> Result<Option<bool>, Halt> {
    let operand = operand.evaluate(frames, run)?;
    let Some(text) = operand.as_str() else { return Ok(None) };
    match pattern {
        LikePattern::Constant(pattern) => pattern.matches(text, run).map(Some),
        LikePattern::Computed { pattern, escape } => {
            let pattern = pattern.evaluate(frames, run)?;
            let Some(pattern) = pattern.as_str() else { return Ok(None) };
            super::like::Pattern::new(pattern, *escape).matches(text, run).map(Some)
        }
    }
}

/// `[a, b]`: undefined elements leave no gap.
fn array<'v>(items: &'v [Node], frames: Frames<'_, 'v>, run: &mut Run<'_>) -> Result<Value, Halt> {
    run.hold(size_of::<Value>() * (items.len() + 1))?;
    let mut values = Vec::with_capacity(items.len());
    let mut parts = Parts::default();
    for item in items {
        let Some(value) = parts.take(item.evaluate(frames, run))? else { continue };
        if !value.is_undefined() {
            values.push(run.own(value)?);
        }
    }
    parts.finish()?;
    Ok(Value::from(values))
}

/// `{"a": b}`: undefined members are left out.
pub(super) fn object<'v>(
    members: &'v [(String, Node)],
    frames: Frames<'_, 'v>,
    run: &mut Run<'_>,
) -> Result<Value, Halt> {
    let mut object = Object::new();
    let mut parts = Parts::default();
    for (name, node) in members {
        let Some(value) = parts.take(node.evaluate(frames, run))? else { continue };
        if !value.is_undefined() {
            run.hold(size_of::<Value>() + name.len())?;
            object.insert(name.as_str(), run.own(value)?);
        }
    }
    parts.finish()?;
    Ok(Value::from(object))
}

fn call<'v>(
    function: &'static Function,
    args: &'v [Node],
    frames: Frames<'_, 'v>,
    run: &mut Run<'_>,
) -> Result<Cow<'v, Value>, Halt> {
    run.step()?;
    let mark = run.mark();
    let value = if let [arg] = args {
        // A single argument need not be copied into a list.
        let arg = arg.evaluate(frames, run)?;
        (function.call)(std::slice::from_ref(arg.as_ref()), &run.context)
    } else {
        let args = all(args, frames, run)?;
        (function.call)(&args, &run.context)
    };
    run.release(mark);
    run.made(value)
}

fn call_udf<'v>(
    site: usize,
    name: &str,
    args: &'v [Node],
    frames: Frames<'_, 'v>,
    run: &mut Run<'_>,
) -> Result<Cow<'v, Value>, Halt> {
    run.step()?;
    let mark = run.mark();
    let args = all(args, frames, run)?;
    let value = run.call_udf(site, name, args)?;
    run.release(mark);
    run.made(value)
}

fn all<'v>(
    nodes: &'v [Node],
    frames: Frames<'_, 'v>,
    run: &mut Run<'_>,
) -> Result<Vec<Value>, Halt> {
    let mut values = Vec::with_capacity(nodes.len());
    let mut parts = Parts::default();
    for node in nodes {
        if let Some(value) = parts.take(node.evaluate(frames, run))? {
            values.push(run.own(value)?);
        }
    }
    parts.finish()?;
    Ok(values)
}

fn element<'v>(base: &'v Value, index: &Value) -> &'v Value {
    match (base, index) {
        (Value::Object(object), Value::String(key)) => object.get(key),
        (Value::Array(items), Value::Number(index)) => {
            let index = index.as_i64().and_then(|index| usize::try_from(index).ok());
            index.and_then(|index| items.get(index))
        }
        _ => None,
    }
    .unwrap_or(&frame::UNDEFINED)
}

fn negated(is_negated: bool, truth: Option<bool>) -> Option<bool> {
    truth.map(|truth| truth != is_negated)
}
